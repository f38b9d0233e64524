"""Adversarial neighbours: the actual change of every summed statistic against its declared sensitivity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dpsparse.algorithms.losses import Absolute, Huber, Squared
from dpsparse.algorithms.pursuit.grids import Tally
from dpsparse.data.as_table import as_table
from dpsparse.engine import queries
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer, weight_levels
from dpsparse.engine.vector_sums import VECTOR_LEVELS, counts_at_most, interval_sums
from dpsparse.privacy import sensitivity
from dpsparse.privacy.protection import ADJACENCIES

CLIP = 1.7
EDGE = [CLIP, np.nextafter(CLIP, 9), np.nextafter(CLIP, 0), CLIP / 127, CLIP / 254, 0.0]
HOSTILE = [*EDGE, 5e-324, 2.2e-308, 1e300, 1.7976931348623157e308, np.inf, np.nan]
value = st.one_of(
    st.sampled_from(HOSTILE + [-v for v in HOSTILE]),
    st.floats(allow_nan=True, allow_infinity=True, width=32),
    st.floats(-4, 4, width=32),
)
LOSSES = [Huber(0.3), Huber(1e300), Absolute(), Squared(2.5)]


@st.composite
def neighbors(draw, adjacency):
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    table = np.array(draw(st.lists(st.lists(value, min_size=d + 1, max_size=d + 1), min_size=n, max_size=n)))
    if draw(st.booleans()):
        table[:] = table[0]
    other = table.copy()
    i = draw(st.integers(0, n - 1))
    kind = draw(st.sampled_from(["new", "flip"]))
    if adjacency == "zero-out-one":
        other[i] = 0.0
    elif kind == "flip":
        other[i] = -other[i]
    else:
        other[i] = draw(st.lists(value, min_size=d + 1, max_size=d + 1))
    return table, other


def statistic(table, loss, coef, dtype, storage):
    with np.errstate(over="ignore"):
        X = table[:, 1:].astype(dtype)
    rows = as_table(sparse.csr_matrix(X) if storage == "csr" else np.asarray(X, order=storage)).rows(table[:, 0])
    grid = Quantizer(CLIP)
    with np.errstate(all="ignore"):
        psi = loss.psi(rows.residuals(coef, np.flatnonzero(coef), grid))
    return rows.weighted_sums(grid, weight_levels(psi, loss.bound))


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_clipped_sums_never_move_more_than_declared(adjacency, loss):
    bound = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)

    @settings(max_examples=150, deadline=None)
    @given(
        neighbors(adjacency),
        st.lists(value, min_size=4, max_size=4),
        st.sampled_from([np.float32, np.float64]),
        st.sampled_from(["C", "F", "csr"]),
    )
    def check(pair, coef, dtype, storage):
        coef = np.nan_to_num(np.array(coef[: pair[0].shape[1] - 1]), posinf=1e308, neginf=-1e308)
        change = statistic(pair[0], loss, coef, dtype, storage) - statistic(pair[1], loss, coef, dtype, storage)
        assert np.abs(change).max() <= bound
        # The absolute value of a coordinate shifted by a public number, as peeling sees it, moves no more.
        shifted = [np.abs(statistic(t, loss, coef, dtype, storage) + 10**6) for t in pair]
        assert np.abs(shifted[0] - shifted[1]).max() <= bound

    check()


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("loss", [Huber(0.3), Absolute(), Squared(2.5)], ids=repr)
def test_clipped_sums_reach_the_bound(adjacency, loss):
    table = np.array([[5.0, 9.0, -9.0], [1.0, 0.2, 0.1]])
    other = table.copy()
    other[0] = [-5.0, 9.0, -9.0] if adjacency == "replace-one" else 0.0
    change = statistic(table, loss, np.zeros(2), np.float64, "C") - statistic(other, loss, np.zeros(2), np.float64, "C")
    bound = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)
    np.testing.assert_array_equal(np.abs(change), [bound, bound])


def truncated(vector, norm_bound):
    """An integer vector within the bound: scaled into the ball, truncated toward zero."""
    vector = np.nan_to_num(np.clip(np.nan_to_num(vector, nan=0.0), -1e150, 1e150))
    norm = np.sqrt((vector**2).sum())
    return np.trunc(vector * min(1.0, norm_bound / norm) if norm > 0 else vector).astype(object)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_norm_bounded_sums_and_gram_matrices(adjacency, size):
    norm_bound = 1000.0

    @settings(max_examples=200, deadline=None)
    @given(
        *[
            st.lists(
                st.one_of(st.sampled_from([1e300, 999.999, 1000.0, 707.2]), value),
                min_size=size,
                max_size=size,
            )
        ]
        * 2
    )
    def check(first, second):
        z = truncated(np.array(first), norm_bound)
        w = truncated(np.array(second), norm_bound) * (adjacency == "replace-one")
        slack = 1 + 1e-12
        assert ((z - w) ** 2).sum() <= sensitivity.bounded_norm_sum(norm_bound, adjacency) ** 2 * slack
        change = np.outer(z, z) - np.outer(w, w)
        assert (change**2).sum() <= sensitivity.gram(norm_bound, adjacency, size) ** 2 * slack

    check()


@given(st.lists(value, min_size=1, max_size=4), value, st.integers(0, 3), *[st.floats(0, 1e160)] * 2)
def test_sums_of_numbers_in_an_interval_move_by_no_more_than_declared(values, replacement, i, below, above):
    for adjacency, other in (("replace-one", replacement), ("zero-out-one", np.nan)):
        first = np.clip(np.array(values), -below, above)
        second = first.copy()
        second[i % len(first)] = other
        unit = max(sensitivity.half_width(below, above, adjacency), 1e-300)
        (one,), (two,) = (interval_sums(each, below, above, unit) for each in (first, second))
        assert abs(int(one) - int(two)) <= sensitivity.interval_sum(VECTOR_LEVELS, adjacency)


def test_ends_of_an_interval_reach_the_bound():
    for below, above in ((0.0, 3.0), (1.0, 3.0), (7.0, 0.5)):
        for adjacency in ADJACENCIES:
            unit = sensitivity.half_width(below, above, adjacency)
            sums = [int(interval_sums(np.array([end]), below, above, unit)[0]) for end in (-9.0, 0.0, 9.0)]
            most = sums[2] - sums[0] if adjacency == "replace-one" else max(map(abs, sums))
            declared = sensitivity.interval_sum(VECTOR_LEVELS, adjacency)
            assert declared - 3 <= most <= declared


def test_norm_and_gram_bounds_are_reached():
    z, w = np.array([1000, 0]), np.array([0, 1000])
    assert np.linalg.norm(z + z) == sensitivity.bounded_norm_sum(1000, "replace-one")
    assert np.linalg.norm(z) == sensitivity.bounded_norm_sum(1000, "zero-out-one")
    replaced = np.linalg.norm(np.outer(z, z) - np.outer(w, w))
    assert replaced == pytest.approx(sensitivity.gram(1000, "replace-one", 2))
    assert np.linalg.norm(np.outer(z, z)) == sensitivity.gram(1000, "zero-out-one", 2)
    assert sensitivity.gram(1000, "replace-one", 1) == 1000**2


@given(st.lists(value, min_size=1, max_size=8), value, st.integers(0, 7), st.integers(0, 8))
def test_counts_and_quantile_utilities_move_by_at_most_one(responses, replacement, i, target):
    grid = np.array([-1e300, -1.0, 0.0, 0.5, CLIP, 1e300])
    y = np.array(responses)
    other = y.copy()
    other[i % len(y)] = replacement
    counts = [(t[:, None] <= grid).sum(axis=0) for t in (y, other)]
    utilities = [-np.abs(c - target) for c in counts]
    assert np.abs(counts[0] - counts[1]).max() <= sensitivity.count("replace-one")
    assert np.abs(utilities[0] - utilities[1]).max() <= sensitivity.quantile_utility("replace-one")


def test_unknown_relations_are_refused():
    with pytest.raises(ValueError, match="adjacency"):
        sensitivity.clipped_sum(1, 1, "add-or-remove")


GRID = np.array([0.25, 0.5, 1.0, CLIP, 4.0, 1e300])
UTILITIES = {
    "located": (lambda tally: tally.located(), sensitivity.located_utility),
    "median": (lambda tally: tally.balanced(), lambda adjacency: sensitivity.balanced_utility(2, adjacency)),
    "tail": (lambda tally: tally.balanced(7), lambda adjacency: sensitivity.balanced_utility(7, adjacency)),
    "near": (lambda tally: tally.near, sensitivity.count),
}


def tally(values, nonzero):
    return Tally.of(lambda points: counts_at_most(np.abs(values), points), GRID, (GRID / 3, 3 * GRID), nonzero)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@given(st.lists(value, min_size=1, max_size=8), value, st.integers(0, 7), st.booleans())
def test_utilities_of_points_move_by_no_more_than_declared(adjacency, values, replacement, i, nonzero):
    first = np.array(values)
    second = first.copy()
    # A null record is counted nowhere, as NaN is.
    second[i % len(first)] = np.nan if adjacency == "zero-out-one" else replacement
    tallies = [tally(values, nonzero) for values in (first, second)]
    for name, (utility, declared) in UTILITIES.items():
        assert np.abs(utility(tallies[0]) - utility(tallies[1])).max() <= declared(adjacency), name


def test_the_utility_of_a_located_point_reaches_its_bound():
    values = np.array([1.0, 50.0, 50.0])
    moved = np.array([50.0, 50.0, 50.0])
    change = tally(values, True).located() - tally(moved, True).located()
    assert np.abs(change).max() == sensitivity.located_utility("replace-one") == 4


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_bounds_of_whole_numbers_are_whole_numbers(adjacency):
    """Utilities are integers, so the largest difference of two is one: no rounding can make a bound too small."""
    bounds = [declared(adjacency) for _, declared in UTILITIES.values()]
    assert all(isinstance(bound, int) for bound in bounds), bounds


@given(st.lists(value, min_size=1, max_size=8), value, st.integers(0, 7))
def test_the_balance_of_a_split_moves_by_at_most_one(values, replacement, i):
    first = np.array(values)
    second = first.copy()
    second[i % len(first)] = replacement
    below = [counts_at_most(each, GRID) for each in (first, second)]
    utilities = [np.minimum(each, len(first) - each) for each in below]
    assert np.abs(utilities[0] - utilities[1]).max() <= sensitivity.split_utility("replace-one")


@st.composite
def tables(draw):
    n, d = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    return np.array(draw(st.lists(st.lists(value, min_size=d + 1, max_size=d + 1), min_size=n, max_size=n)))


@settings(deadline=None)
@given(tables(), st.integers(0, 8), st.lists(value, min_size=4, max_size=4), st.sampled_from(["C", "F", "csr"]))
def test_neighbors_have_neighboring_pairs(table, i, record, storage):
    other = table.copy()
    i %= len(table)
    other[i] = record[: table.shape[1]]
    pairs = []
    for each in (table, other):
        X = sparse.csr_matrix(each[:, 1:]) if storage == "csr" else np.asarray(each[:, 1:], order=storage)
        rows = as_table(X).rows(each[:, 0].copy()).differences()
        pairs.append(np.column_stack([rows.y, *[rows.column(j) for j in range(X.shape[1])]]))
    half = len(table) // 2
    assert len(pairs[0]) == len(pairs[1]) == half
    differ = [k for k in range(half) if pairs[0][k].tobytes() != pairs[1][k].tobytes()]
    assert set(differ) <= {min(i, len(table) - 1 - i)} & set(range(half))


SHIFTED = {
    "spread": lambda records: queries.spread_sums(records, 0, 0.5, 6.0),
    "mean": lambda records: queries.mean_sums(records, 0, 0.3, 0.7, 2.5),
    "gain": lambda records: queries.gain_sums(records, 0.1, [0.4], 4.0, 0.5),
}


@pytest.mark.parametrize("name", SHIFTED)
@given(value, value)
def test_shifted_vectors_keep_their_norm_and_a_null_record_adds_nothing(name, response, feature):
    def of(y, x):
        return SHIFTED[name](queries.Records(np.array([y]), None, (queries.Column.of(np.array([x])),)))

    term = of(response, feature)
    assert (term.astype(object) ** 2).sum() <= VECTOR_LEVELS**2
    assert not of(np.nan, np.nan).any()


def test_shifted_vectors_reach_their_norm():
    corner = queries.Records(np.array([9.0]), None, (queries.Column.of(np.array([1e9])),))
    for name in ("spread", "mean"):
        norm = np.linalg.norm(SHIFTED[name](corner).astype(float))
        assert VECTOR_LEVELS - 2 <= norm <= VECTOR_LEVELS, name


BOUNDS = {
    "clipped_sum": (3, 4),
    "count": (),
    "histograms": (3,),
    "distinct_counts": (3,),
    "regret": (3,),
    "nonnegative_sums": (3, 4),
    "quantile_utility": (),
    "balanced_utility": (3,),
    "located_utility": (),
    "split_utility": (),
    "bounded_norm_sum": (3.0,),
    "interval_sum": (3.0,),
    "half_width": (1.0, 3.0),
    "gram": (3.0,),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_no_bound_is_given_for_a_relation_without_a_proof(name):
    more = (2,) if name == "gram" else ()
    assert getattr(sensitivity, name)(*BOUNDS[name], "replace-one", *more) > 0
    with pytest.raises(ValueError, match="adjacency='add-or-remove'"):
        getattr(sensitivity, name)(*BOUNDS[name], "add-or-remove", *more)


def test_every_bound_is_asked():
    public = {
        name for name, each in vars(sensitivity).items() if getattr(each, "__module__", "") == sensitivity.__name__
    }
    assert {name for name in public if not name.startswith("_")} == set(BOUNDS)
