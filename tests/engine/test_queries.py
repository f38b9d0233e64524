"""The queries of a pursuit, against plain NumPy, on hostile values, and however the records are divided."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dpsparse.data.as_table import as_table
from dpsparse.engine import queries, scores
from dpsparse.engine.config import configured
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.queries import Column, Records, total
from dpsparse.engine.threads import threads
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS

EFFECTS, CENTER, TAU, INNER, OUTER = [0.7, -1.1], 0.1, 0.8, 1.2, 1.9
THRESHOLDS = np.array([-np.inf, -2.0, -0.5, 0.0, 0.5, 1.0, 3.0, 1e9, np.inf])
TERMS = {
    name: scores.Terms(factor, np.array([[1.3, -0.4], [0.2, 0.9]]), [0, 1], CENTER, EFFECTS, tau)
    for name, factor, tau in (("score", "score", np.inf), ("cut", "score", TAU), ("slope", "slope", TAU))
}
TERMS["one"] = scores.Terms("score", np.eye(1), [0], CENTER, EFFECTS)
TERMS["weighted"] = replace(TERMS["score"], long_rows=scores.LongRows(TERMS["cut"].matrix.T, 0.8))
HOSTILE = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -7.0, 5e-324, 1e-300, 1e160, 1e300, -1e300, np.inf, -np.inf, np.nan]

QUERIES = {
    "column_counts": (queries.column_counts, 1, THRESHOLDS),
    "sizes": (queries.column_counts, 1, THRESHOLDS, True),
    "slope_counts": (queries.slope_counts, EFFECTS, 1, THRESHOLDS),
    "product_sums": (queries.product_sums, [0, 0, 1], 1.7),
    "spread_sums": (queries.spread_sums, 1, 0.7, 6.0),
    "mean_sums": (queries.mean_sums, 1, 0.3, 0.7, 2.5),
    "gain_sums": (queries.gain_sums, CENTER, EFFECTS, 4.0, 0.3),
    "calibration_sums": (queries.calibration_sums, CENTER, EFFECTS, -0.2, 1.5, 2.0),
    "median_line_sums": (queries.median_line_sums, CENTER, EFFECTS, -0.2, 1.5, 0.5),
    "gradient_sums": (queries.gradient_sums, CENTER, EFFECTS, TAU, [0, 1], INNER, OUTER),
    "gram_sums": (queries.gram_sums, [0, 1], INNER, OUTER),
    "jacobian_sums": (queries.jacobian_sums, CENTER, EFFECTS, TAU, [0, 1], INNER, OUTER),
    "variance_sums": (queries.variance_sums, CENTER, EFFECTS, TAU, [0, 1], INNER, OUTER),
    "norm_counts": (scores.norm_counts, TERMS["score"], THRESHOLDS),
    "clipped_sums": (scores.clipped_sums, TERMS["cut"], INNER, np.inf, 0.0),
    "weighted_norm_counts": (scores.norm_counts, TERMS["weighted"], THRESHOLDS),
    "weighted_sums": (scores.clipped_sums, TERMS["weighted"], OUTER, np.inf, 0.0),
    "rising_sums": (scores.clipped_sums, TERMS["score"], OUTER, OUTER / 2, 2.0),
    "score_counts": (scores.score_counts, TERMS["one"], THRESHOLDS),
    "ranged_sums": (scores.ranged_sums, TERMS["one"], (INNER, np.inf, 0.0), (OUTER, OUTER / 2, 2.0), 2 * OUTER),
    "score_moments": (scores.second_moment_sums, TERMS["score"], OUTER),
    "slope_moments": (scores.second_moment_sums, TERMS["slope"], INNER),
}
# What a record may add at most, in the integers' own units, by the norm that the sensitivity rests on.
BOUNDS = {
    **dict.fromkeys(["product_sums", "spread_sums", "mean_sums", "gain_sums"], VECTOR_LEVELS),
    **dict.fromkeys(["calibration_sums", "median_line_sums", "gradient_sums"], VECTOR_LEVELS),
    **dict.fromkeys(["clipped_sums", "rising_sums", "ranged_sums"], VECTOR_LEVELS),
    **dict.fromkeys(["gram_sums", "jacobian_sums", "variance_sums"], GRAM_LEVELS**2),
    **dict.fromkeys(["score_moments", "slope_moments"], GRAM_LEVELS**2),
}


def records_of(y, *columns):
    return Records(
        np.asarray(y, dtype=float), None, tuple(Column.of(np.asarray(each, dtype=float)) for each in columns)
    )


def evaluated(name, records):
    query, *public = QUERIES[name]
    with np.errstate(all="ignore"):
        return query(records, *public)


def flat(value):
    return np.hstack([np.ravel(each) for each in value]) if isinstance(value, tuple) else np.ravel(value)


hostile_records = hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(1, 12)), elements=st.sampled_from(HOSTILE))


@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=60, deadline=None)
@given(values=hostile_records, at=st.integers(0, 12))
def test_blocks_add_up_to_the_last_bit(name, values, at):
    records, at = records_of(*values), min(at, values.shape[1])
    parts = [evaluated(name, records.take(part)) for part in (slice(0, at), slice(at, None))]
    np.testing.assert_array_equal(flat(total(parts)), flat(evaluated(name, records)))


@pytest.mark.parametrize("name", BOUNDS)
@settings(max_examples=100, deadline=None)
@given(values=hnp.arrays(np.float64, (3, 1), elements=st.one_of(st.sampled_from(HOSTILE), st.floats())))
def test_a_record_adds_no_more_than_its_bound(name, values):
    value = evaluated(name, records_of(*values))
    sums = (value[0] if isinstance(value, tuple) else value).astype(object)
    # Python's integers: exact.
    assert sum(int(each) ** 2 for each in np.ravel(sums)) <= BOUNDS[name] ** 2
    if isinstance(value, tuple):
        assert value[1] in (0, 1)


@pytest.fixture
def plain():
    """Records without NaN or infinities, as arrays."""
    rng = np.random.default_rng(0)
    return rng.standard_t(3, 3000), np.ones(3000), np.round(2 * rng.standard_normal(3000), 1)


def naive(plain):
    """Residuals, rows, and the weight of each row."""
    y, *columns = plain
    z = np.stack(columns)
    norm = np.linalg.norm(z, axis=0)
    return y - CENTER - EFFECTS @ z, z, np.minimum(1, INNER / norm) * np.minimum(1, OUTER / norm)


def test_counts_are_numpys(plain):
    records, (residuals, z, _) = records_of(*plain), naive(plain)
    assert evaluated("column_counts", records).tolist() == [(z[1] <= each).sum() for each in THRESHOLDS]
    assert evaluated("sizes", records).tolist() == [(np.abs(z[1]) <= each).sum() for each in THRESHOLDS]
    steep = np.abs(z[1]) >= 1
    slopes = (residuals + CENTER)[steep] / z[1][steep]
    assert evaluated("slope_counts", records).tolist() == [(slopes <= each).sum() for each in THRESHOLDS]


def test_sums_are_numpys_up_to_a_level_a_record(plain):
    records, (residuals, z, v) = records_of(*plain), naive(plain)
    psi, n = np.clip(residuals / TAU, -1, 1), len(residuals)
    a, size = np.clip((z[1] - 0.3) / 0.7, -2.5, 2.5) / 2.5, np.minimum(np.abs(z[1]) / 0.7, 6) / 6
    u, q = (np.clip(each, -4, 4) / 4 for each in (plain[0] - CENTER, plain[0] - CENTER - residuals))
    w, p = np.clip(residuals, -2, 2) / 2, np.clip(plain[0] - CENTER - residuals + 0.2, -1.5, 1.5) / 1.5
    line = [w.sum(), (p * w).sum(), p.sum() / 2, (p**2 / 2 - 0.25).sum()]
    s, i = np.clip(residuals, -0.5, 0.5) / 0.5, np.abs(residuals) < 0.5
    medians = [s.sum(), (p * s).sum(), (i / 2 - 0.25).sum(), (p * i / 2).sum(), (p**2 * i / 2 - 0.25).sum()]
    near = (np.abs(plain[0] - CENTER) <= 0.3) - 0.5
    products = z[[0, 0, 1]] * z[1]
    products *= np.minimum(1, 1.7 / np.maximum(np.linalg.norm(products, axis=0), 1e-9))
    for name, exact, bound in (
        ("product_sums", products.sum(axis=1), 1.7),
        ("spread_sums", [((z[1] != 0) - 0.5).sum(), (size - 0.5).sum()], math.sqrt(0.5)),
        ("mean_sums", [a.sum(), (a**2 - 0.5).sum()], math.sqrt(1.25)),
        ("gain_sums", [(q * u).sum(), (q**2 - 0.5).sum(), near.sum()], math.sqrt(1.5)),
        ("calibration_sums", line, math.sqrt(37) / 4),
        ("median_line_sums", medians, math.sqrt(19 / 8)),
        ("gradient_sums", (psi * v * z).sum(axis=1), INNER),
    ):
        value = evaluated(name, records)
        sums = value[0] if isinstance(value, tuple) else value
        np.testing.assert_allclose(sums * bound / VECTOR_LEVELS, exact, atol=n * bound / VECTOR_LEVELS + 1e-9 * n)
    assert evaluated("gradient_sums", records)[1] == (np.abs(residuals) <= TAU).sum()


@pytest.mark.parametrize("level", [0.0, 0.5, -0.25])
def test_weights_of_a_pick_are_residuals_less_a_level(level):
    records = replace(records_of([-9.0, -1.0, 0.5, 1.5, np.nan]), quantized=SimpleNamespace(weighted_sums=np.asarray))
    # Level and bound have 2^16 levels together.
    most = {0.0: 2**16, 0.5: 43_690, -0.25: 52_428}[level]
    expected = [round(each * most) - round(level * most) for each in (-1.0, -0.75, 0.0, 0.5)]
    how = (records, 0.5, [], 2.0)
    for query in (queries.pick_weights, queries.pick_sums):
        assert query(*how, level).tolist() == [*expected, 0]
        assert query(*how).tolist() == query(*how, 0.0).tolist()


def test_what_is_as_far_as_a_threshold_is_within_it():
    records = records_of([1.5, -0.5], [1.0, 1.0])
    assert queries.gain_sums(records, 0.5, [0.0], 4.0, 1.0)[2] > 0
    for query in (queries.gradient_sums, queries.jacobian_sums):
        value = query(records, 0.5, [0.0], 1.0, [0], INNER, OUTER)
        assert value[1] == 2 if isinstance(value, tuple) else value > 0


def test_second_moments_are_numpys(plain):
    records, (residuals, z, v) = records_of(*plain), naive(plain)
    psi, within = np.clip(residuals / TAU, -1, 1), np.abs(residuals) <= TAU
    for name, weight, bound in (
        ("gram_sums", v, INNER * OUTER),
        ("jacobian_sums", v * within, INNER * OUTER),
        ("variance_sums", (psi * v) ** 2, INNER**2),
    ):
        exact = (z * weight) @ z.T
        # Each factor is truncated by less than a level in 2^11.
        np.testing.assert_allclose(
            evaluated(name, records) * bound / GRAM_LEVELS**2, exact, atol=3 * len(v) * bound / GRAM_LEVELS
        )


def test_the_jacobian_is_the_derivative_of_the_gradient(plain):
    step, size = 1e-4, len(plain[0])
    bound = INNER / VECTOR_LEVELS

    def gradient(effects):
        sums, _ = queries.gradient_sums(records_of(*plain), CENTER, effects, TAU, [0, 1], INNER, OUTER)
        return TAU * sums * bound

    jacobian = evaluated("jacobian_sums", records_of(*plain)) * INNER * OUTER / GRAM_LEVELS**2
    for k in range(2):
        move = step * np.eye(2)[k]
        slope = (gradient(EFFECTS - move) - gradient(EFFECTS + move)) / (2 * step)
        # Few residuals are so near tau that the step carries them over it.
        np.testing.assert_allclose(slope / size, jacobian[k] / size, atol=5e-3)


def test_nothing_is_learned_of_a_missing_value():
    nothing = records_of([np.nan], [np.nan], [np.nan])
    assert not evaluated("column_counts", nothing).any()
    assert not evaluated("slope_counts", nothing).any()
    assert not evaluated("gain_sums", nothing).any()
    assert not evaluated("calibration_sums", nothing).any()
    assert not evaluated("median_line_sums", nothing).any()
    assert not flat(evaluated("gradient_sums", nothing)).any()
    assert not evaluated("jacobian_sums", nothing).any()
    for name in (
        *("norm_counts", "score_counts", "clipped_sums", "rising_sums", "ranged_sums"),
        *("score_moments", "slope_moments"),
    ):
        assert not evaluated(name, nothing).any()
        # A blank record, whatever its features are.
        assert not evaluated(name, records_of([np.nan], [1.0], [2.0])).any()


tables = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 40), st.integers(1, 6)), elements=st.sampled_from([*HOSTILE, 0.0, 0.0, 0.0])
)
some_thresholds = st.lists(st.sampled_from([-np.inf, -1e300, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 2.5, 1e300, np.inf]))


class TestFeatureCounts:
    @pytest.mark.slow
    @settings(max_examples=200, deadline=None)
    @given(tables, some_thresholds, st.sampled_from([np.float32, np.float64]), st.booleans(), st.sampled_from([1, 2]))
    def test_they_are_numpys_in_every_storage(self, X, thresholds, dtype, compiled, step):
        with np.errstate(all="ignore"):
            X, thresholds = X.astype(dtype), np.unique(thresholds)
        y = np.zeros(len(X))
        mine = X[::step].astype(np.float64)
        known = np.where(np.isfinite(mine), mine, np.nan)
        expected = [[int((column <= threshold).sum()) for threshold in thresholds] for column in known.T]
        csr = sparse.csr_matrix(X)
        storages = [DenseRows(X, y), DenseRows(np.asfortranarray(X), y), SparseRows.of(csr, y)]
        with configured(compiled=compiled, least_records=7, block_bytes=50), threads(2):
            for rows in storages:
                counts = rows.part(0, step).evaluate(queries.feature_counts, thresholds)
                assert counts.shape == (X.shape[1], len(thresholds))
                assert counts.tolist() == expected

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("compiled", [True, False])
    def test_every_size_of_a_float_finds_its_place(self, dtype, compiled):
        rng = np.random.default_rng(0)
        with np.errstate(all="ignore"):
            bits = rng.integers(0, 2**63, 4000).astype(np.int64) * rng.choice([-1, 1], 4000)
            values = bits.view(np.float64).astype(dtype)[:, None]
        thresholds = np.unique(np.concatenate([values[::10, 0], np.geomspace(1e-9, 1e9, 100), [0.0]]).astype(float))
        thresholds = thresholds[np.isfinite(thresholds)]
        with configured(compiled=compiled):
            counts = DenseRows(values, np.zeros(4000)).feature_counts(thresholds)[0]
        sorted_values = np.sort(values[np.isfinite(values)].astype(float))
        np.testing.assert_array_equal(counts, np.searchsorted(sorted_values, thresholds, side="right"))

    def test_takes_of_sparse_rows(self):
        X = sparse.random(200, 9, 0.2, format="csr", random_state=0)
        rows, dense = SparseRows.of(X, np.zeros(200)), X.toarray()
        for take in (slice(30, 90), slice(3, None, 7), slice(0, 0)):
            counts = rows.take(take).feature_counts([-1.0, 0.0, 0.3])
            assert counts.tolist() == [[(x <= t).sum() for t in (-1.0, 0.0, 0.3)] for x in dense[take].T]

    def test_a_disk_and_partitions_count_the_same(self, tmp_path):
        X = np.random.default_rng(1).standard_normal((300, 5)).astype(np.float32)
        np.save(tmp_path / "x.npy", X)
        y, thresholds = np.zeros(300), [-1.0, 0.0, 0.2]
        expected = as_table(X).rows(y).evaluate(queries.feature_counts, thresholds)
        on_disk = as_table(np.load(tmp_path / "x.npy", mmap_mode="r")).rows(y)
        with configured(disk_block_bytes=700):
            for rows, same in (
                (on_disk, expected),
                (on_disk.part(1, 3), DenseRows(X[1::3], y[1::3]).feature_counts(thresholds)),
            ):
                np.testing.assert_array_equal(rows.evaluate(queries.feature_counts, thresholds), same)
