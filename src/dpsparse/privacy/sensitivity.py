"""Every sensitivity in use, in integers, each with its proof.

Setting. A summed statistic is F(D) = sum over records of f(record), where f is a fixed function of one record
and of earlier releases, with integer values that the code itself clips. D and D' are neighbours: of the same
size n, equal except for one record, which is z in D and w in D' ("replace-one"), or with w null, f(w) = 0
("zero-out-one"). All other terms are the same integers, and the engines add integers exactly
(they refuse sums that could reach 2^53), so F(D) - F(D') = f(z) - f(w):
each proof below bounds that difference and nothing else.

The engine enforces the bounds: `quantize.rounded` and `quantize.weight_levels` that of `clipped_sum`, and
`vector_sums.integer_vectors` those of `bounded_norm_sum` and `gram`; `regrets.regret_sums` that of `regret`;
`errors.levels` those of `nonnegative_sums` and, for the sums of an evaluation, of `bounded_norm_sum`: k entries of at
most H levels have a norm of at most H sqrt k. A `count` adds up comparisons. Scores of records (`engine.scores`) go
through `integer_vectors` too, whatever becomes of their norms u before: a clip that rises from s on, min(u, T) + q
(min(u, T) - s)_+, is at most T + q (T - s)_+, the norm that has the levels. A residual whose sides are clipped in this
way, each by itself, lies in an interval, and `vector_sums.interval_sums` holds its integer to that of `interval_sum`.
Sums of residuals by category (`pursuit.steps.category_means`) are scores with one entry for each category and one for
none: a record is in one of them, so that its vector is as long as its clipped residual, but the proof needs no more
than the clip of the norm. A record of a raw table is a line of text or a row of cells: its cells' classes and hash
buckets are functions of the cell alone (`io.cells`), and a malformed line is a null record. Compiled loops
(`cpu.numba_kernels`) and GPU kernels (`cuda.levels`, `cuda.terms`) do the same, to the same bits. Bounds are in levels,
the integer steps of `integer_vectors` and `errors.levels`: 2^20 or, for a Gram matrix, 2^11.

Yes/no responses. A link (`engine.links`) makes a residual y - p of a response and of the record's own columns, p looked
up in a table of public numbers. It is weighted down to a bound W, and a row by its norm (`Terms.row_bound`). No proof
rests on either: the sums are those above, which clip whatever they are given. The share of yes and a level are
`gradient_sums` (`bounded_norm_sum`), picks `pick_weights` with W as 2^16 levels (`clipped_sum`), slope and score
moments `second_moment_sums` (`gram`), mean scores `clipped_sums` (`bounded_norm_sum`), and row norms `norm_counts`
(`histograms`). The number of responses counts residuals that are not NaN (`count`): those of records that are not null,
as p is a number whatever a record holds. Which text or label is yes is public, so 1, 0 and NaN are functions of one
record (`data.labels`, `io.cells.encoding.yes_or_no`). The bounds do what they are for all the same: |y - p| times
min(1, W / max(p, 1 - p)) is at most W for y in {0, 1}, since |y - p| <= max(p, 1 - p), so that no clip moves a mean.

Counts and costs. The link of a log of a mean makes y / c - E exp(z'b) of a response, of the record's own columns and of
its own exposure E, with c and b released before, the exponential looked up in a table of public numbers. Nothing bounds
it, and no proof rests on a bound of it: picks are `pick_weights` with a clip W as 2^16 levels (`clipped_sum`), slope
and score moments `second_moment_sums` (`gram`), mean scores and mean residuals `clipped_sums` (`bounded_norm_sum`),
norms of scores and sizes of residuals `norm_counts` (`histograms`). The sizes of responses that are not 0, and of
exposures, are counts (`located_utility`) and a histogram of a response's own bin (`histograms`); their means are
`response_sums` and `exposure_sums`: numbers clipped to [0, T], with a rise up to the norm that has the levels, as one
entry of `integer_vectors` (`bounded_norm_sum`). A response below 0 is read as none, and one whose
exposure is not above 0 has no residual: NaN, which every sum takes for 0, so that such a record adds to no sum but
those of its own response.

Two parts. A response that is mostly 0 is read three times (`estimators._two_part_fit`): as whether it is above 0, 1 or
0; as an amount, with NaN where it is not above 0; and as it is, with 0 where it is not. Each is a function of one
record. A record without an amount is null in the second reading, and none is left out: n and positions stay, and a
changed record changes at most one record of each reading, from or to a null one too. That the share of such records is
not public does no harm: f(z) - f(w) is bounded as above where either is 0. Of both parts together
(`engine.two_part_sums`) are released a histogram of amounts, each in one bin or in none (`histograms`); the mean of
responses, clipped to [0, M], over M and less 1/2; a vector of five numbers, one clipped to [-1/2, 1/2] and four to
[-1/4, 1/4]; and the mean of p mu, clipped to [0, T], over T and less 1/2: with norms of at most 1/2, sqrt(1/4 + 4/16) =
sqrt(1/2) and 1/2 (`bounded_norm_sum`). M, T and the clips are releases or functions of them. p and mu may be any
numbers: no proof rests on them.

Pairs. Some sums are over differences of pairs of records: record i less record n - 1 - i, by position, for i below
n // 2 (`Rows.differences`). Positions do not depend on values, so a record lies in at most one pair; the middle one of
an odd n lies in none. Lemma: the tables of differences of two neighbours are equal, or neighbours in the same relation.
So every bound of this file holds for sums over pairs.
Proof. Replaced: z and w have the same position, so the difference of at most one pair is another. Zeroed: a pair with a
null record is a null pair, of which f is 0, so the pair of z becomes null and no other pair changes.
The m records of one person lie in at most m pairs, so a person's bound is at most m times a record's, as without pairs.

People. Where ids tell whose rows are whose, a record of the setting above is all rows of a person. Neighbours have the
same number of rows, divided among people in the same way (the same positions belong together; a row without an id is a
person of its own, and what the ids are does not matter), and are equal except for the rows of one person A: these hold
anything else ("replace-one"), or are all blank ("zero-out-one"). So the number of people P and everybody's number of
rows are the same in both, and so are the row that stands for each person (`People.chosen`) and the weight of their rows
(`People.weights`), which these alone decide.
Blocks hold whole people, and a term is a function of one person's rows, of P, of the numbers of rows and of earlier
releases: F(D) - F(D') = f(A's rows) - f(A's other rows), and each proof below holds with "record" read as "person", if
f has the bound that it needs. It has:
- Counts, quantiles, histograms of values, splits, kinds, categories: of the rows that stand for people alone
  (`Records.one_each`, `PeopleRows.evaluate`), a table with one row a person. Replaced or blanked, one of its rows is.
- Pairs: of people (`People.pairs`). Who is paired with whom, and which row with which, follows from the numbers of rows
  and from positions, and is the same in both tables; a person lies in at most one pair. All differences of rows of a
  pair are one person's rows in what follows: A's rows change this one term. Blank rows of A make all of them blank.
  Likewise pairs of a person's own rows (`People.own_pairs`): which rows meet follows from their numbers and positions,
  all differences of A's rows are one term, which no other person's rows change, and of people with one row each lies in
  one pair of people at most. That a row is in two of A's differences does not matter: their sum is clipped.
- Vectors (`bounded_norm_sum`, and `gram` of one vector): a person's vectors are added up, the *sum* is clipped to the
  bound of one record, truncated to integers and checked there. A person's term is one vector of norm at most B. That
  each entry of a gradient is clipped before, too, is a function of this person's rows, and no proof rests on it.
- Numbers in an interval (`interval_sum`): a person's score on one column is clipped as one record's is.
- Histograms of norms and of residuals (`scores.norm_counts`, `scores.score_counts`): of one number a person.
- Second moments of rows (`gram` of several vectors): see `gram`.
- Scores of features (`clipped_sum`): a person's sum, of levels of a feature times levels of weights over their rows, is
  clipped at QW in each coordinate, and truncated (`add_people`): each coordinate of a term lies in [-QW, QW]. The
  score of a variable as a whole is not used: a person's rows may have several of its levels.
A person's blank rows add nothing. One whose rows are all blank has a term of 0: each of their vectors, weights and
counts is 0. With one row a person a fit takes the rows as records, to the same bits as without ids.

Gaps. What a missing cell adds is fixed by its own record: level 0, 0 in units, no count (`engine.quantize`), and its
indicator is one more feature. So f is still a function of one record with the same bounds. A record whose response is
missing is null: f is 0, the constant's entry included. No record is left out, so positions and pairs stay.
"""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsparse.privacy.protection import Adjacency, check_adjacency

_Numbers = TypeVar("_Numbers", float, NDArray[np.float64])


def _replaced(adjacency: Adjacency) -> bool:
    check_adjacency(adjacency)
    return adjacency == "replace-one"


def clipped_sum(feature_levels: int, weight_levels: int, adjacency: Adjacency) -> int:
    """Sup-norm sensitivity of G = sum_i w_i q_i, with q_i in [-Q, Q]^d and w_i in [-W, W] integers.

    Proof. Each coordinate of a term lies in [-QW, QW]. Replaced: the difference of two such numbers is at most
    2QW, reached at w = W and w = -W with the same feature at Q. Zeroed: at most QW. The bound is the same for
    |G_j + k_j| with k_j fixed earlier, since the absolute value is 1-Lipschitz.

    It is the same for a variable as a whole, whose levels divide the records: 0/1 features of which a record has at
    most one, and a rest that has none. Let S_l be the sum of w_i over the records of level l. A record adds w_i to one
    S_l and nothing to the others, so Q sum_l |S_l| moves by at most Q (|w_z| + |w_w|) <= 2QW, reached at one level;
    zeroed: by at most QW. A number times a category has levels q_i in [-Q, Q] in the records of the category, and 0 in
    all others: with S_l the sum of w_i q_i over the records of level l, sum_l |S_l| moves by at most |w_z q_z| +
    |w_w q_w| <= 2QW in the same way. So do its mean with a |G_j|, a number fixed earlier subtracted, the larger of two
    such numbers, and the whole number below it: floor(f + m) = floor(f) + m for whole m.

    Examples
    --------
    >>> from dpsparse.privacy.sensitivity import clipped_sum
    >>> clipped_sum(127, 65536, "replace-one"), clipped_sum(127, 65536, "zero-out-one")
    (16646144, 8323072)
    """
    return (2 if _replaced(adjacency) else 1) * feature_levels * weight_levels


def count(adjacency: Adjacency) -> int:
    """Sensitivity of a count of records with a property, such as "the response is at most g".

    Proof. A term is 0 or 1 (a null record counts 0), so two of them differ by at most 1 in either relation.
    """
    _replaced(adjacency)
    return 1


def histograms(columns: int, adjacency: Adjacency) -> float:
    """l2 sensitivity of `columns` = C histograms in one vector, each of which counts a record at most once.

    The histograms of the classes of C columns' cells (votes for their kinds), of the hash buckets of C columns' text,
    and of the values themselves (`mechanisms.partition`). With C = 1 also the histogram of norms of scores in public
    bins (`engine.scores.norm_counts`), or of residuals with their signs (`score_counts`): a number lies in one bin,
    since the thresholds rise and the last one is infinite; a residual that overflows to NaN has a vector of 0, and a
    null record lies in no bin. And the histograms of predicted log odds, and of yes and no by groups of them
    (`engine.errors`): a record has one prediction and one response, or lies in no cell.

    Proof. In one histogram the term of a record is a unit vector e_j or 0. Replaced: |e_j - e_k|^2 <= 2, reached at
    j != k. Zeroed: |e_j|^2 <= 1. Squares of C histograms add up to 2C, or C.

    Examples
    --------
    >>> from dpsparse.privacy.sensitivity import histograms
    >>> histograms(8, "replace-one"), histograms(9, "zero-out-one")
    (4.0, 3.0)
    """
    return math.sqrt((2 if _replaced(adjacency) else 1) * columns)


def distinct_counts(columns: int, adjacency: Adjacency) -> float:
    """l2 sensitivity of the numbers of distinct values of `columns` = C columns, which are no sums over records.

    Proof. Take away the record that differs: what is left is the same table on both sides, with k distinct values in a
    column. A record adds one value to a column or none, so each side has k or k + 1: the two differ by at most 1, in
    either relation. Squares of C columns add up to C. For m records of a person the same argument, record by record,
    gives m in each column: group privacy covers it as it does for sums.
    """
    _replaced(adjacency)
    return math.sqrt(columns)


def regret(levels: int, adjacency: Adjacency) -> int:
    """Sup-norm sensitivity of sums of regrets, one integer in [0, L] for each record and candidate.

    Proof. Two numbers in [0, L] differ by at most L, reached where a record's error is the smallest under one candidate
    and far above it under another, and the other way round for its neighbour. Zeroed: at most L.
    """
    _replaced(adjacency)
    return levels


def nonnegative_sums(levels: int, size: int, adjacency: Adjacency) -> float:
    """l2 sensitivity of `size` sums, one integer in [0, L] for each record and sum: L sqrt(size).

    Proof. A record's entry of each sum lies in [0, L], so two of them differ by at most L, and two vectors of `size`
    such entries by at most L sqrt(size), reached between a record with all entries 0 and one with all entries L. A null
    record has all entries 0, so the bound is the same, and is reached, in both relations.

    Examples
    --------
    >>> from dpsparse.privacy.sensitivity import nonnegative_sums
    >>> nonnegative_sums(10, 4, "replace-one"), nonnegative_sums(10, 4, "zero-out-one")
    (20.0, 20.0)
    """
    _replaced(adjacency)
    return levels * math.sqrt(size)


def quantile_utility(adjacency: Adjacency) -> int:
    """Sensitivity of u(g) = -|c(g) - target| for every g, with c a count and the target a public integer.

    Proof. c(g) moves by at most 1 (`count`) and u is 1-Lipschitz in c(g).
    """
    return count(adjacency)


def balanced_utility(of: int, adjacency: Adjacency) -> int:
    """Sensitivity of u(g) = -max(0, q A(g) - p m, q B(g) - (q - p) m), with q = `of` and 0 < p < q public integers.

    A(g) and B(g) count the values above and below a public interval about g, its cell, among m values, each of one
    record; some records have none. The utility is 0 where at most a share p/q of the values lie above the cell and at
    most 1 - p/q below.

    Proof. A record's value moves among "above", "inside", "below" and "none". q A - p m moves by at most q: by q
    between "above" and "inside" or "below", by q - p between "above" and "none", by p between the others and "none". So
    does q B - (q - p) m, with p and q - p exchanged. The maximum and the minus are 1-Lipschitz. A null record has no
    value.
    """
    _replaced(adjacency)
    return of


def located_utility(adjacency: Adjacency) -> int:
    """Sensitivity of u(g) = 2 C(g) - max(0, 2 A(g) - m, 2 B(g) - m), with C(g) a count of values near g.

    Proof. C(g) counts the values in a window about g, whose ends are fixed earlier. The first term moves by at most 2
    (`count`), the second by at most 2 (`balanced_utility` with q = 2, p = 1). The bound 4 is reached: a value in the
    window and the cell of g moves far above them, where more values are above the cell than below.
    """
    return 2 * count(adjacency) + balanced_utility(2, adjacency)


def split_utility(adjacency: Adjacency) -> int:
    """Sensitivity of u(t) = min(B(t), A(t)), with B(t) and A(t) the numbers of values at or below t and above it.

    Proof. Both are counts of records (one whose value is missing is in neither), so each moves by at most 1 (`count`),
    and the minimum is 1-Lipschitz. One record moves the utilities of all features: each feature's pick is a release of
    its own (`selection.exponential_picks`).
    """
    return count(adjacency)


def bounded_norm_sum(levels: float, adjacency: Adjacency) -> float:
    """l2 sensitivity of a sum of integer vectors whose l2 norm the code holds to `levels` = B.

    Proof. |f(z) - f(w)| <= |f(z)| + |f(w)| <= 2B by the triangle inequality, reached at f(w) = -f(z) of norm B;
    zeroed: |f(z)| <= B. The bound needs the integer vector itself to have norm at most B, so it is truncated
    toward zero, which shrinks every entry, never rounded to nearest.
    """
    return (2 if _replaced(adjacency) else 1) * levels


def interval_sum(levels: float, adjacency: Adjacency) -> float:
    """Sensitivity of a sum of integers, each within [-l, h], where `half_width(l, h, adjacency)` <= `levels` = B.

    Proof. Replaced: two integers of the interval differ by at most l + h <= 2B, reached at its ends; a null record has
    0, which lies in it. Zeroed: by at most max(l, h) <= B. The code clips the integers themselves at the largest whole
    numbers of an interval, `vector_sums.interval_sums`.

    So a number that hardly goes below 0 needs half the noise of one that may be as far on either side. It is not moved
    to the middle of its interval, which would need the same noise: a mean is a sum over a number of responses that
    itself is known with noise, which a middle far from 0 would multiply.
    """
    return bounded_norm_sum(levels, adjacency)


def half_width(below: _Numbers, above: _Numbers, adjacency: Adjacency) -> _Numbers:
    """The norm bound whose noise a sum of numbers within [-below, above] needs.

    Examples
    --------
    >>> from dpsparse.privacy.sensitivity import half_width
    >>> float(half_width(1.0, 5.0, "replace-one")), float(half_width(1.0, 5.0, "zero-out-one"))
    (3.0, 5.0)
    """
    return (below + above) / 2 if _replaced(adjacency) else np.maximum(below, above)


def gram(levels: float, adjacency: Adjacency, dimension: int) -> float:
    """Frobenius sensitivity of a sum of z z', one integer vector z a record, with |z|_2 <= `levels` = B.

    Proof. |zz' - ww'|_F^2 = |z|^4 + |w|^4 - 2 (z'w)^2 <= 2 B^4 since (z'w)^2 >= 0: sqrt 2 B^2, reached at
    orthogonal z and w of norm B. That needs two dimensions: in one, both terms lie in [0, B^2] and differ by at
    most B^2. Zeroed: |zz'|_F = |z|^2 <= B^2.

    Of a person it is a sum of z z' over several integer vectors whose squared norms add up to at most B^2, which the
    code checks. S = sum z z' is positive semidefinite with a trace of at most B^2, so |S|_F <= tr S <= B^2. Of two
    such, |S - T|_F^2 = |S|_F^2 + |T|_F^2 - 2 tr(ST) <= 2 B^4, as tr(ST) >= 0 for positive semidefinite S and T: the
    same bound.
    """
    return (math.sqrt(2) if _replaced(adjacency) and dimension > 1 else 1) * levels**2
