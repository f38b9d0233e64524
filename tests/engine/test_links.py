"""Links: a public table of probabilities, residuals and slopes of a record by itself, and bounded sums of them.

The table is held against an exponential in exact arithmetic, sums against plain NumPy.
"""

import decimal

import dask.array as da
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.special import expit

from dpsparse import OnDisk
from dpsparse.data.as_table import as_table
from dpsparse.engine import queries, scores
from dpsparse.engine.config import configured
from dpsparse.engine.links import IDENTITY, LARGEST_PREDICTOR, LOGIT, PROBABILITY_LEVELS, STEPS, _table
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.queries import Column, Records, total
from dpsparse.engine.threads import threads
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS

HOSTILE = [0.0, -0.0, 1.0, -1.0, 0.5, 12.0, -12.0, 700.0, 5e-324, 1e160, 1e300, -1e300, np.inf, -np.inf, np.nan]
ANY = st.one_of(st.sampled_from(HOSTILE), st.floats())
EFFECTS, CENTER, ROW_BOUND, BOUND = np.array([0.7, -1.1]), 0.1, 1.3, 0.6
MATRIX = np.array([[1.3, -0.4], [0.2, 0.9]])
NORMS = np.append(np.geomspace(0.05, 30, 20), np.inf)


def probability(predictors):
    """What the link has for some linear predictors."""
    predictors = np.asarray(predictors, dtype=np.float64)
    return 1 - LOGIT.residuals(np.ones_like(predictors), 0.0, [predictors], [1.0])


class TestTable:
    def test_it_is_symmetric_rising_and_exact_at_even_odds(self):
        table, middle = _table(), LARGEST_PREDICTOR * STEPS
        assert len(table) == 2 * middle + 1
        np.testing.assert_array_equal(table + table[::-1], 1.0)
        assert (np.diff(table) > 0).all()
        assert table[middle] == 0.5
        assert 0 < table[0] < 6.2e-6

    def test_its_bits_are_those_of_exact_arithmetic_on_every_machine(self):
        """No entry lies so near half a level that an error of an exponential's last bits would round it elsewhere."""
        levels = _table() * PROBABILITY_LEVELS
        np.testing.assert_array_equal(levels, np.rint(levels))
        steps = range(0, LARGEST_PREDICTOR * STEPS + 1)
        with decimal.localcontext(prec=40):
            root = (decimal.Decimal(-1) / STEPS).exp()
            power, exact = decimal.Decimal(1), []
            for _ in steps:
                exact.append(PROBABILITY_LEVELS / (1 + power))
                power *= root
            rounded = [int(each.to_integral_value()) for each in exact]
            nearest = min(abs(each - int(each) - decimal.Decimal("0.5")) for each in exact)
        assert levels[LARGEST_PREDICTOR * STEPS :].astype(np.int64).tolist() == rounded
        assert float(nearest) / PROBABILITY_LEVELS > 16 * np.finfo(np.float64).eps

    @given(st.floats(allow_nan=False))
    @example(1 / 2048)
    @example(-1 / 2048)
    def test_it_is_as_near_as_is_said(self, predictor):
        assert abs(probability([predictor])[0] - expit(predictor)) <= 1.3e-4

    def test_errors_are_as_large_upward_as_downward(self):
        predictors = np.linspace(-4, 4, 400_001)
        errors = probability(predictors) - expit(predictors)
        assert np.abs(errors).max() <= 1.3e-4
        assert abs(errors.mean()) < 1e-7


class TestResiduals:
    @given(ANY, ANY, st.lists(st.tuples(ANY, ANY), max_size=3), st.sampled_from([0.25, 0.5, 0.9, 1.0, np.inf]))
    def test_they_are_total_and_within_their_bound(self, y, center, terms, bound):
        columns, effects = [np.array([x]) for x, _ in terms], [effect for _, effect in terms]
        with np.errstate(all="ignore"):
            (residual,) = LOGIT.residuals(np.array([y]), center, columns, effects, bound)
            (root,) = LOGIT.slope_roots(np.array([y]), center, columns, effects, bound)
        assert np.isnan(residual) == np.isnan(y)
        assert 0 <= root <= 0.5
        if y in (0, 1):
            assert abs(residual) <= min(1.0, bound) * (1 + 1e-15)
            assert residual * (y - 0.5) > 0

    @given(hnp.arrays(np.float64, (3, 7), elements=ANY), st.permutations(range(7)), st.integers(0, 6))
    def test_a_record_is_read_by_itself(self, values, order, alone):
        def of(y, *columns):
            with np.errstate(all="ignore"):
                found = [
                    each(y, 0.3, [Column.of(column).sanitized for column in columns], EFFECTS, 0.5)
                    for link in (LOGIT, IDENTITY)
                    for each in (link.residuals, link.slope_roots)
                ]
            return np.array(found)

        together = of(*values)
        np.testing.assert_array_equal(of(*values[:, order]), together[:, order])
        np.testing.assert_array_equal(of(*values[:, [alone]]), together[:, [alone]])

    @pytest.mark.parametrize("bound", [0.5, 0.8, np.inf])
    def test_where_the_model_is_right_their_mean_is_0_at_any_bound(self, bound):
        predictors = np.linspace(-14, 14, 999)
        p = probability(predictors)
        yes, no = (LOGIT.residuals(np.full(999, y), 0.0, [predictors], [1.0], bound) for y in (1.0, 0.0))
        np.testing.assert_allclose(p * yes + (1 - p) * no, 0.0, atol=1e-16)
        if bound == 0.5:
            np.testing.assert_allclose(np.maximum(np.abs(yes), np.abs(no)), 0.5, rtol=1e-15)

    def test_slopes_are_their_derivatives(self):
        """Of the table, whose steps are 2^-10: a difference over 64 of them."""
        x, h = np.arange(-9, 9, 0.125), 2.0**-5
        up, down = (LOGIT.residuals(np.zeros_like(x), 0.0, [x + shift], [1.0]) for shift in (h, -h))
        slopes = LOGIT.slope_roots(np.zeros_like(x), 0.0, [x], [1.0]) ** 2
        np.testing.assert_allclose(slopes, (down - up) / (2 * h), atol=3e-5)

    def test_bounded_slopes_are_weighted_as_residuals_are(self):
        x, zeros = np.linspace(-9, 9, 99), np.zeros(99)
        roots, residuals = (
            getattr(LOGIT, name)(zeros, 0.0, [x], [1.0], 0.5) / getattr(LOGIT, name)(zeros, 0.0, [x], [1.0])
            for name in ("slope_roots", "residuals")
        )
        np.testing.assert_allclose(roots**2, residuals, rtol=1e-12)


def terms_of(factor, tau=np.inf, row_bound=np.inf):
    return scores.Terms(factor, MATRIX, (0, 1), CENTER, EFFECTS, tau, row_bound)


QUERIES = {
    "share of yes": (queries.gradient_sums, 0.0, [0.0, 0.0], 0.5, [0], 1.0, 1.0),
    "level": (queries.gradient_sums, CENTER, EFFECTS, 0.5, [0], 1.0, 1.0),
    "responses": (queries.residual_counts, CENTER, EFFECTS, np.array([np.inf])),
    "row norms": (scores.norm_counts, terms_of("row"), NORMS),
    "rough slope moments": (scores.second_moment_sums, terms_of("slope"), 1.5),
    "slope moments": (scores.second_moment_sums, terms_of("slope", 0.5, ROW_BOUND), ROW_BOUND / 2),
    "score moments": (scores.second_moment_sums, terms_of("score", np.inf, ROW_BOUND), ROW_BOUND),
    "mean score": (scores.clipped_sums, terms_of("score", 0.5, ROW_BOUND), ROW_BOUND / 2, np.inf, 0.0),
    "last mean score": (scores.clipped_sums, terms_of("score", np.inf, ROW_BOUND), ROW_BOUND, np.inf, 0.0),
}
# What a record adds at most: the norm that the sensitivity of each release rests on.
BOUNDS = {
    **dict.fromkeys(["share of yes", "level", "mean score", "last mean score"], VECTOR_LEVELS),
    **dict.fromkeys(["rough slope moments", "slope moments", "score moments"], GRAM_LEVELS**2),
    "responses": 1,
}


def records_of(y, *columns, link=LOGIT):
    columns = tuple(Column.of(np.asarray(each, dtype=np.float64)) for each in columns)
    return Records(np.asarray(y, dtype=np.float64), None, columns, link)


def evaluated(name, records):
    query, *public = QUERIES[name]
    value = query(records, *public)
    return value[0] if isinstance(value, tuple) else value


class TestSums:
    @pytest.mark.parametrize("name", BOUNDS)
    @settings(max_examples=100, deadline=None)
    @given(values=hnp.arrays(np.float64, (3, 1), elements=ANY))
    def test_a_record_adds_no_more_than_its_bound_whatever_it_holds(self, name, values):
        """Responses too: none of these sums rests on their being 0 or 1."""
        sums = evaluated(name, records_of(*values)).astype(object)
        assert sum(int(each) ** 2 for each in np.ravel(sums)) <= BOUNDS[name] ** 2

    @pytest.mark.parametrize("name", QUERIES)
    @settings(max_examples=40, deadline=None)
    @given(values=hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(1, 9)), elements=ANY), at=st.integers(0, 9))
    def test_blocks_add_up_to_the_last_bit(self, name, values, at):
        records, at = records_of(*values), min(at, values.shape[1])
        parts = [evaluated(name, records.take(part)) for part in (slice(0, at), slice(at, None))]
        np.testing.assert_array_equal(total(parts), evaluated(name, records))

    @pytest.mark.parametrize("name", QUERIES)
    def test_a_blank_record_adds_nothing_whatever_its_features_are(self, name):
        for features in ((1.0, 2.0), (0.0, 0.0), (1e300, -1e300), (np.nan, np.inf)):
            assert not evaluated(name, records_of([np.nan], *([x] for x in features))).any()

    @given(values=hnp.arrays(np.float64, (3, 5), elements=ANY))
    def test_every_record_with_a_response_is_in_one_bin(self, values):
        bins = np.diff(evaluated("row norms", records_of(*values)), prepend=0)
        assert bins.min() >= 0
        assert bins.sum() == np.count_nonzero(~np.isnan(values[0]))

    @pytest.mark.parametrize("level", [0.0, 0.4, -0.9])
    @given(y=ANY, x=ANY)
    def test_weights_of_a_pick_have_the_levels_that_are_charged(self, level, y, x):
        (weight,) = queries.pick_weights(records_of([y], [x], [1.0]), CENTER, EFFECTS, 0.5, level)
        assert weight == np.rint(weight)
        assert abs(weight) <= 2**16
        if np.isnan(y):
            assert weight == 0


@pytest.fixture
def plain():
    rng = np.random.default_rng(0)
    x = rng.standard_t(3, 3_000)
    return (rng.random(3_000) < expit(x)).astype(float), np.ones(3_000), x


class TestAgainstNumPy:
    def test_the_share_of_yes(self, plain):
        sums = evaluated("share of yes", records_of(*plain))
        # An even score is 1 or -1, each a little less than its levels.
        assert sums / VECTOR_LEVELS / len(plain[0]) == pytest.approx(2 * plain[0].mean() - 1, abs=2e-6)

    @pytest.mark.parametrize("tau", [0.5, np.inf])
    @pytest.mark.parametrize("row_bound", [ROW_BOUND, np.inf])
    def test_scores_slopes_and_rows(self, plain, tau, row_bound):
        """By their definition, with scipy's exponential: apart by what the table is off, and by levels."""
        y, *columns = plain
        p = expit(CENTER + EFFECTS @ np.stack(columns))
        weight = np.minimum(1, tau / np.maximum(p, 1 - p))
        rows = (MATRIX @ np.stack(columns)).T
        of_row = np.minimum(1, row_bound / np.linalg.norm(rows, axis=1))
        records, n, most = records_of(*plain), len(y), 40.0
        score = rows * ((y - p) * weight * of_row)[:, None]
        found = (
            scores.clipped_sums(records, terms_of("score", tau, row_bound), most, np.inf, 0.0) * most / VECTOR_LEVELS
        )
        near = n * most / VECTOR_LEVELS + 1.3e-4 * np.abs(rows).sum(axis=0)
        assert (np.abs(found - score.sum(axis=0)) <= near).all()
        slopes = rows.T @ (rows * (p * (1 - p) * weight * of_row)[:, None])
        for factor, exact in (
            ("slope", slopes),
            ("score", score.T @ score),
            ("row", (rows * of_row[:, None] ** 2).T @ rows),
        ):
            found = (
                scores.second_moment_sums(records, terms_of(factor, tau, row_bound), most) * (most / GRAM_LEVELS) ** 2
            )
            np.testing.assert_allclose(found / n, exact / n, atol=0.05)

    def test_a_row_bound_holds_norms(self, plain):
        y, ones, x = plain
        far = records_of(y, 100 * ones, 1e6 * x)
        norms = np.linalg.norm(scores._vectors(far, terms_of("row", row_bound=ROW_BOUND))[0], axis=0)
        np.testing.assert_allclose(norms, ROW_BOUND, rtol=1e-12)
        for tau in (0.5, 1.0):
            vectors, _ = scores._vectors(far, terms_of("score", tau, ROW_BOUND))
            assert np.linalg.norm(vectors, axis=0).max() <= ROW_BOUND * tau * (1 + 1e-12)
            slopes, _ = scores._vectors(far, terms_of("slope", tau, ROW_BOUND))
            norms = np.linalg.norm(scores._vectors(far, terms_of("row"))[0], axis=0)
            assert (np.linalg.norm(slopes, axis=0) <= np.sqrt(ROW_BOUND * norms) / 2 * (1 + 1e-12)).all()


def answers(rows, **options):
    session = rows.session((Quantizer(0.7), Quantizer(1e-30, 0.1)), constant=True, link=LOGIT, **options)
    try:
        session.add(1)
        session.rescale(0.2, 1.7)
        found = [session.evaluate(query, *public) for query, *public in QUERIES.values()]
        found = [each[0] if isinstance(each, tuple) else each for each in found]
        return [*found, session.scores(CENTER, EFFECTS, 0.5), session.scores(CENTER, EFFECTS, 0.5, 0.3)]
    finally:
        session.close()


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "with gaps"])
def test_every_engine_gives_the_same_bits(missing, tmp_path):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((1_501, 3)) < 0.3, 0.0, rng.standard_t(2, (1_501, 3)))
    y = (rng.random(1_501) < expit(X[:, 1])).astype(float)
    options = {"check_finite": not missing}
    if missing:
        X[::13, 1], X[::17, 2], y[::19] = np.nan, np.inf, np.nan
    np.save(tmp_path / "x.npy", X)
    with configured(compiled=False), threads(1):
        expected = answers(as_table(X).rows(y.copy()), **options)
    stores = {
        "compiled": X,
        "Fortran": np.asfortranarray(X),
        "CSR": sparse.csr_matrix(X),
        "disk": OnDisk(tmp_path / "x.npy"),
        "dask": da.from_array(X, chunks=(400, 3)),
    }
    for name, store in stores.items():
        with configured(least_records=97, least_query_records=97, disk_block_bytes=7_001), threads(2):
            table = as_table(store)
            responses = da.from_array(y, chunks=400) if name == "dask" else y.copy()
            found = answers(table.rows(responses), **options)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
            assert np.any(one)
