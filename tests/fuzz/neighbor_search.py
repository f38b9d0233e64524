"""A search for neighbours that move a statistic by more than its declared sensitivity.

Every sum, count and utility that a mechanism perturbs is a `Statistic`: what it is of a table, in which norm it moves,
and what is declared. Hypothesis draws tables, a record in two versions and public numbers, and is told how far they
moved the statistic, as a share of what is declared: it searches for more.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from dpsparse.algorithms.evaluation_sums import sums_of
from dpsparse.algorithms.losses import Huber
from dpsparse.algorithms.pursuit.grids import Tally, center_window
from dpsparse.data.as_table import as_table
from dpsparse.data.within_person import deviations
from dpsparse.engine import queries, scores, two_part_sums
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.people_rows import PeopleRows
from dpsparse.engine.errors import Errors
from dpsparse.engine.links import IDENTITY, LOGIT, Link, Log
from dpsparse.engine.people import People
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer
from dpsparse.engine.regrets import absolute_errors, regret_sums
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.privacy import sensitivity

N_FEATURES = 3
FEATURES = range(N_FEATURES)
STORAGES = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sparse.csr_matrix, "float32": np.float32}
HOSTILE = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1e-300, 5e-324, 1e9, -1e9, 1e150, -1e308, np.inf, -np.inf, np.nan]


@dataclass(frozen=True)
class Public:
    """Numbers that are public, or released before."""

    center: float
    effects: np.ndarray
    bound: float
    clip: float
    level: float
    grid: np.ndarray


@dataclass(frozen=True)
class Statistic:
    """What a mechanism perturbs.

    Parameters
    ----------
    of : callable
        Of a `View` of a table: an array of integers.
    declared : callable
        Of the adjacency: the sensitivity.
    order : float
        The norm in which it is declared.
    """

    of: Callable
    declared: Callable
    order: float = np.inf
    of_people: bool = True  # Whether it is a query of a session, which people with several rows have too.


@dataclass(frozen=True)
class View:
    """A table as the algorithms see it: responses in column 0, features, or the differences of pairs of records."""

    table: np.ndarray
    storage: str
    of_pairs: bool
    public: Public
    quantizer: Quantizer = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "quantizer", Quantizer(self.public.clip, 0.3, 0.7))

    @property
    def records(self):
        """The rows of an engine."""
        return as_table(STORAGES[self.storage](self.table[:, 1:])).rows(self.table[:, 0].copy())

    link = IDENTITY

    @property
    def rows(self):
        """The same, or the differences of pairs of them."""
        return self.records.differences() if self.of_pairs and len(self.table) > 1 else self.records

    def session(self):
        """A session in which all features are selected."""
        session = self.rows.session((self.quantizer,), check_finite=False, link=self.link)
        for feature in FEATURES:
            session.add(feature)
        return session

    def ask(self, query, *numbers):
        """A query of the engine."""
        return self.session().evaluate(query, *numbers)

    def count(self, query, *numbers, sizes=False):
        """A function of thresholds, as a `Tally` wants it."""
        return lambda thresholds: self.ask(query, *numbers, thresholds, sizes)

    def errors(self):
        """Errors of a model and of a constant."""
        predictions = np.nan_to_num(self.table[:, 1], nan=0.0, posinf=1e9, neginf=-1e9)
        return Errors.of(self.table[:, 0], predictions, self.public.center)


@dataclass(frozen=True)
class PeopleView(View):
    """A table of people with several rows: the rows, differences of pairs, and deviations from a person's means."""

    ids: tuple = ()
    pairs: str = ""  # "people" or "own"
    within: bool = False
    link: Link = IDENTITY

    @property
    def rows(self):
        """The rows of people, or differences of them."""
        rows = DenseRows(np.ascontiguousarray(self.table[:, 1:]), self.table[:, 0].copy())
        people = People.of(np.array(self.ids))
        rows = PeopleRows(deviations(rows, people, fill=self.storage == "filled") if self.within else rows, people)
        differences = {"people": rows.differences, "own": rows.own_differences}.get(self.pairs, lambda: rows)()
        return differences if differences.n_records else rows


def _equation(view):
    public = view.public
    return public.center, public.effects, public.bound, [0, 2], public.clip, 50 * public.clip


def _residual_count(view, sizes=False):
    return view.count(queries.residual_counts, view.public.center, view.public.effects, sizes=sizes)


def _sum_of(name):
    return lambda adjacency: sums_of(name, adjacency)[1] / (VECTOR_LEVELS if name in ("responses", "shares cut") else 1)


def _terms(view, factor, size=2, tau=np.inf):
    """Scores, or slopes, on some of the features, mixed by a matrix of public numbers."""
    public, k = view.public, min(size, N_FEATURES)
    matrix = np.eye(k) / public.clip + public.level * np.linspace(-0.5, 0.5, k * k).reshape(k, k)
    return scores.Terms(factor, matrix, range(k), public.center, public.effects, tau)


def _norms(factor):
    """A histogram of norms, as `steps.reference` asks for it: the last bin is open."""

    def histogram(view):
        terms = _terms(view, factor, tau=20 * view.public.bound)
        return np.diff(
            view.ask(scores.norm_counts, terms, np.append(np.unique(abs(view.public.grid)), np.inf)), prepend=0
        )

    return Statistic(histogram, lambda adjacency: sensitivity.histograms(1, adjacency), 2)


def _mean_score(view, rise=0.0, size=2, weighted=False):
    bound, terms = view.public.bound, _terms(view, "score", size)
    if weighted:
        terms = replace(terms, long_rows=scores.LongRows(terms.matrix.T, bound))
    return view.ask(scores.clipped_sums, terms, bound, bound / 2 if rise else np.inf, rise)


def _signed_scores(view):
    """A histogram of both signs, as `steps.mean_residual` asks for it."""
    terms = _terms(view, "score", 1)
    return np.diff(view.ask(scores.score_counts, terms, np.append(view.public.grid, np.inf)), prepend=0)


def _mean_residual(adjacency, rise=0.0):
    """Of one column, clipped apart on either side; the unit is that of the relation."""

    def of(view):
        below, above = view.public.clip, view.public.bound
        width = float(sensitivity.half_width(below, above * (1 + rise / 2), adjacency))
        sides = (below, np.inf, 0.0), (above, above / 2, rise)
        return view.ask(scores.ranged_sums, _terms(view, "score", 1), *sides, width)

    # Of the other relation it says nothing.
    declared = {adjacency: sensitivity.interval_sum(VECTOR_LEVELS, adjacency)}
    return Statistic(of, lambda asked: declared.get(asked, 2 * VECTOR_LEVELS * 2))


def _moments(factor, size):
    def of(view):
        return view.ask(
            scores.second_moment_sums, _terms(view, factor, size, 20 * view.public.bound), view.public.bound
        )

    return Statistic(of, _gram(size), 2)


def _candidates(view):
    public = view.public
    coefs = [np.zeros(N_FEATURES), public.effects, -public.effects]
    return regret_sums(absolute_errors(view.rows, coefs, [0.0, public.center, 0.0]), public.bound)


def _lines(view):
    public, effects = view.public, tuple(view.public.effects)
    range_of_amounts = -public.bound, 5 * public.bound
    return two_part_sums.Lines(public.center, effects, 3 * public.center, effects[::-1], *range_of_amounts, effects)


def _feature_counts(view):
    return view.records.feature_counts(np.append(view.public.grid, np.inf))


def _splits(view):
    counts = _feature_counts(view)
    return np.minimum(counts[:, -1:] - counts[:, :-1], counts[:, :-1])


def _vector(adjacency):
    return sensitivity.bounded_norm_sum(VECTOR_LEVELS, adjacency)


def _gram(dimension):
    return lambda adjacency: sensitivity.gram(GRAM_LEVELS, adjacency, dimension)


def _clipped(adjacency):
    return sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)


STATISTICS = {
    "scores of features": Statistic(
        lambda v: v.session().scores(v.public.center, v.public.effects, v.public.bound, v.public.level)[0], _clipped
    ),
    "sums of a loss": Statistic(
        lambda v: queries.loss_sums(v.rows, v.quantizer, Huber(v.public.bound), v.public.effects, FEATURES, True),
        _clipped,
        of_people=False,
    ),
    "counts of residuals": Statistic(lambda v: _residual_count(v)(v.public.grid), sensitivity.count),
    "counts of sizes": Statistic(lambda v: _residual_count(v, sizes=True)(v.public.grid), sensitivity.count),
    "counts of a column": Statistic(lambda v: v.ask(queries.column_counts, 1, v.public.grid), sensitivity.count),
    "counts of slopes": Statistic(
        lambda v: v.ask(queries.slope_counts, v.public.effects, 1, v.public.grid), sensitivity.count
    ),
    "counts of features": Statistic(_feature_counts, sensitivity.count, of_people=False),
    "a located median": Statistic(
        lambda v: Tally.of(_residual_count(v), v.public.grid, center_window(v.public.grid, v.public.bound)).located(),
        sensitivity.located_utility,
    ),
    "a balanced quantile": Statistic(
        lambda v: Tally.of(_residual_count(v, sizes=True), v.public.grid, nonzero=True).balanced(20),
        lambda adjacency: sensitivity.balanced_utility(20, adjacency),
    ),
    "the densest window": Statistic(
        lambda v: Tally.of(_residual_count(v), v.public.grid, center_window(v.public.grid, v.public.bound)).near,
        sensitivity.count,
    ),
    "a quantile of counts": Statistic(
        lambda v: -np.abs(_residual_count(v)(v.public.grid) - len(v.table) // 2), sensitivity.quantile_utility
    ),
    "splits": Statistic(_splits, sensitivity.split_utility, of_people=False),
    "a spread": Statistic(lambda v: v.ask(queries.spread_sums, 0, v.public.bound, 6.0), _vector, 2),
    "a mean": Statistic(lambda v: v.ask(queries.mean_sums, 1, v.public.center, v.public.bound, 2.5), _vector, 2),
    "a gain": Statistic(
        lambda v: v.ask(queries.gain_sums, v.public.center, v.public.effects, 4 * v.public.bound, v.public.bound),
        _vector,
        2,
    ),
    "a calibration": Statistic(
        lambda v: v.ask(
            queries.calibration_sums, v.public.center, v.public.effects, v.public.level, v.public.clip, v.public.bound
        ),
        _vector,
        2,
    ),
    "a median line": Statistic(
        lambda v: v.ask(
            queries.median_line_sums, v.public.center, v.public.effects, v.public.level, v.public.clip, v.public.bound
        ),
        _vector,
        2,
    ),
    "products": Statistic(lambda v: v.ask(queries.product_sums, FEATURES, v.public.bound), _vector, 2),
    "a gradient": Statistic(lambda v: v.ask(queries.gradient_sums, *_equation(v))[0], _vector, 2),
    "residuals within tau": Statistic(
        lambda v: np.array([v.ask(queries.gradient_sums, *_equation(v))[1]]), sensitivity.count
    ),
    "a Gram matrix": Statistic(lambda v: v.ask(queries.gram_sums, *_equation(v)[3:]), _gram(2), 2),
    "a Jacobian": Statistic(lambda v: v.ask(queries.jacobian_sums, *_equation(v)), _gram(2), 2),
    "a score variance": Statistic(lambda v: v.ask(queries.variance_sums, *_equation(v)), _gram(2), 2),
    "norms of scores": _norms("score"),
    "norms of slopes": _norms("slope"),
    "norms of rows": _norms("row"),
    "a mean score": Statistic(_mean_score, _vector, 2),
    "a mean score of which long rows weigh less": Statistic(lambda v: _mean_score(v, weighted=True), _vector, 2),
    "a mean score that rises": Statistic(lambda v: _mean_score(v, rise=2.0), _vector, 2),
    "a mean of one column": Statistic(lambda v: _mean_score(v, rise=0.7, size=1), _vector, 2),
    "scores with their signs": Statistic(_signed_scores, lambda adjacency: sensitivity.histograms(1, adjacency), 2),
    "a mean residual": _mean_residual("replace-one"),
    "a mean residual that rises": _mean_residual("replace-one", rise=2.0),
    "a mean residual, blanked": _mean_residual("zero-out-one", rise=0.7),
    "second moments of scores": _moments("score", 2),
    "second moments of rows": _moments("slope", 2),
    "a second moment of one column": _moments("slope", 1),
    "clipped responses": Statistic(
        lambda v: v.ask(queries.response_sums, v.public.bound, v.public.bound / 2, 1 + v.public.level), _vector, 2
    ),
    "amounts": Statistic(
        lambda v: np.diff(v.ask(two_part_sums.amount_counts, np.append(v.public.grid, np.inf)), prepend=0),
        lambda adjacency: sensitivity.histograms(1, adjacency),
        2,
    ),
    "a mean response in two parts": Statistic(
        lambda v: v.ask(two_part_sums.amount_sums, v.public.bound, v.public.bound / 2, 1 + v.public.level), _vector, 2
    ),
    "five means in two parts": Statistic(
        lambda v: v.ask(two_part_sums.mean_sums, _lines(v), v.public.clip, v.public.bound), _vector, 2
    ),
    "a mean prediction in two parts": Statistic(
        lambda v: v.ask(two_part_sums.prediction_sums, _lines(v), v.public.bound), _vector, 2
    ),
    "regrets": Statistic(_candidates, lambda adjacency: sensitivity.regret(WEIGHT_LEVELS, adjacency), of_people=False),
    "responses of an evaluation": Statistic(lambda v: v.errors().count(), _sum_of("responses"), 2, of_people=False),
    "errors of an evaluation": Statistic(
        lambda v: v.errors().error_sums(v.public.bound), _sum_of("errors"), 2, of_people=False
    ),
    "improvements": Statistic(
        lambda v: v.errors().improvement_sums(v.public.bound), _sum_of("improvement"), 2, of_people=False
    ),
    "squares of errors": Statistic(
        lambda v: v.errors().square_sums(v.public.bound, v.public.clip), _sum_of("squares"), 2, of_people=False
    ),
    "errors cut": Statistic(
        lambda v: v.errors().cut_counts(v.public.bound, v.public.clip), _sum_of("shares cut"), 2, of_people=False
    ),
    "a quantile of errors": Statistic(
        lambda v: Tally.of(v.errors().size_counts, np.abs(v.public.grid)).balanced(20),
        lambda adjacency: sensitivity.balanced_utility(20, adjacency),
        of_people=False,
    ),
}

_cells = st.one_of(st.sampled_from(HOSTILE), st.floats(-4, 4), st.floats())
_records = st.lists(_cells, min_size=1 + N_FEATURES, max_size=1 + N_FEATURES)
_sizes = st.one_of(st.sampled_from([0.5, 1.0, 2.0]), st.floats(0.01, 100))
_publics = st.builds(
    Public,
    center=st.floats(-3, 3),
    effects=st.lists(st.floats(-3, 3), min_size=N_FEATURES, max_size=N_FEATURES).map(np.array),
    bound=_sizes,
    clip=_sizes,
    level=st.floats(-1, 1),
    grid=st.lists(st.floats(-50, 50), min_size=2, max_size=6, unique=True).map(lambda points: np.sort(points)),
)


@st.composite
def neighbors(draw, adjacency):
    """Two views of neighbouring tables: of the same size, with one record replaced or, all of it missing, blank."""
    first = np.array(draw(st.lists(_records, min_size=1, max_size=5)))
    second, place = first.copy(), draw(st.integers(0, len(first) - 1))
    second[place] = np.nan if adjacency == "zero-out-one" else draw(_records)
    how = draw(st.sampled_from(sorted(STORAGES))), draw(st.booleans()), draw(_publics)
    return View(first, *how), View(second, *how)


@st.composite
def neighboring_people(draw, adjacency):
    """The same of people with one to four rows each: all rows of one person are replaced or blank."""
    ids = [
        person
        for person, size in enumerate(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
        for _ in range(size)
    ]
    ids = draw(st.permutations(ids))
    first = np.array(draw(st.lists(_records, min_size=len(ids), max_size=len(ids))))
    second, mine = first.copy(), np.array(ids) == draw(st.sampled_from(ids))
    size = int(mine.sum())
    blank = adjacency == "zero-out-one"
    second[mine] = np.nan if blank else draw(st.lists(_records, min_size=size, max_size=size))
    storage, pairs, within = (
        draw(st.sampled_from(["C", "filled"])),
        draw(st.sampled_from(["", "people", "own"])),
        draw(st.booleans()),
    )
    link = IDENTITY if pairs else draw(st.sampled_from([IDENTITY, LOGIT, Log()]))
    how = storage, False, draw(_publics), tuple(ids), pairs, within, link
    return PeopleView(first, *how), PeopleView(second, *how)


@np.errstate(all="ignore")
def movement(statistic, pair, adjacency):
    """How far a pair moves a statistic, as a share of what is declared."""
    first, second = (np.asarray(statistic.of(view)).astype(object).ravel() for view in pair)
    change = np.abs(first - second)
    moved = float(max(change)) if statistic.order == np.inf else float(sum(change**2)) ** 0.5
    return moved / statistic.declared(adjacency)
