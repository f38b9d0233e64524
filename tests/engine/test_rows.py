import numpy as np
import pytest
from scipy import sparse

from dpsparse.engine.fixed_point import FEATURE_LEVELS, WEIGHT_LEVELS, FeatureGrid, check_exact, weight_levels
from dpsparse.engine.kernels import numpy_sums, weighted_level_sums
from dpsparse.engine.rows import rows_of

RNG = np.random.default_rng(0)
CENTER, SCALE = RNG.normal(size=7), RNG.uniform(0.5, 3, size=7)


def sample(dtype=np.float64, n=53, d=7):
    X = RNG.standard_t(2, size=(n, d))
    X[RNG.random(X.shape) < 0.4] = 0
    return X.astype(dtype), RNG.normal(size=n)


def in_python_integers(X, weights, grid):
    """The definition, one cell at a time in X's own dtype, summed in Python's unbounded integers."""
    sums = [0] * X.shape[1]
    for i, row in enumerate(X):
        for j, value in enumerate(row):
            center = X.dtype.type(np.broadcast_to(grid.center, X.shape[1:])[j])
            scale = float(np.broadcast_to(grid.scale, X.shape[1:])[j])
            level = (value - center) * X.dtype.type(1.0 / (grid.clip_bound / 127 * scale))
            sums[j] += int(np.rint(min(max(level, -127), 127))) * int(weights[i])
    return sums


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("grid", [FeatureGrid(2.5), FeatureGrid(0.7, CENTER, SCALE), FeatureGrid(1.5, 0.3, 2.0)])
@pytest.mark.parametrize("block_cells", [1, 20, 2**18])
def test_every_storage_and_blocking_gives_the_same_integers(dtype, grid, block_cells):
    X, y = sample(dtype)
    weights = weight_levels(y, 1.0)
    expected = in_python_integers(X, weights, grid)
    wide = np.zeros((2 * len(X), 14), dtype=dtype)
    wide[::2, ::2] = X
    for stored in (X, np.asfortranarray(X), wide[::2, ::2], sparse.csr_matrix(X)):
        found = rows_of(stored, y, block_cells).weighted_sums(grid, weights)
        assert found.dtype == np.int64
        assert found.tolist() == expected
        prepared = rows_of(stored, y, block_cells).prepared(grid).weighted_sums(weights)
        assert prepared.dtype == np.int64
        assert prepared.tolist() == expected


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_parts_are_disjoint_and_complete(make):
    X, y = sample()
    grid = FeatureGrid(2.0)
    whole = rows_of(make(X), y)
    parts = [whole.part(t, 4) for t in range(4)]
    assert sum(p.n_records for p in parts) == len(y)
    np.testing.assert_array_equal(np.sort(np.concatenate([p.y for p in parts])), np.sort(y))
    total = sum(p.weighted_sums(grid, weight_levels(p.y, 1.0)) for p in parts)
    np.testing.assert_array_equal(total, whole.weighted_sums(grid, weight_levels(y, 1.0)))
    for t, part in enumerate(parts):
        np.testing.assert_array_equal(part.column(3), X[t::4, 3])


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_residuals_are_one_record_at_a_time(make):
    X, y = sample()
    coef, support = np.zeros(7), [5, 2]
    coef[support] = 1.7, -0.3
    residuals = rows_of(make(X), y).residuals(coef, support, lambda values, _: values)
    one_by_one = [(y[i] - X[i, 5] * 1.7) - X[i, 2] * -0.3 for i in range(len(y))]
    np.testing.assert_array_equal(residuals, one_by_one)


def test_levels_are_total():
    nasty = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0])
    for dtype in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            levels = FeatureGrid(1.0, center=1e30, scale=1e-3).levels(nasty.astype(dtype))
        assert np.isfinite(levels).all()
        assert np.abs(levels).max() <= FEATURE_LEVELS
    weights = weight_levels(nasty, 1e-300)
    assert np.isfinite(weights).all()
    assert np.abs(weights).max() <= WEIGHT_LEVELS


def test_compiled_sums_at_full_scale_do_not_overflow():
    # 10,001 rows of the largest terms: blocks of 128 in 32 bits, the rest in 64.
    X, weights = np.full((10_001, 3), 1e9), np.full(10_001, float(WEIGHT_LEVELS))
    sums = rows_of(X, weights).prepared(FeatureGrid(1.0)).weighted_sums(weights)
    assert sums.tolist() == [10_001 * 127 * 65536] * 3


def test_numpy_gives_the_bits_of_the_compiled_loops():
    assert weighted_level_sums is not numpy_sums
    for n in (1, 127, 128, 1_001):
        levels = RNG.integers(-127, 128, size=(n, 5)).astype(np.int8)
        weights = RNG.integers(-WEIGHT_LEVELS, WEIGHT_LEVELS + 1, size=n).astype(np.int32)
        for stored in (levels, np.asfortranarray(levels)):
            np.testing.assert_array_equal(numpy_sums(stored, weights), weighted_level_sums(stored, weights))


def test_the_grid_is_within_half_a_step():
    x = np.linspace(-3, 3, 2001)
    grid = FeatureGrid(2.0)
    assert np.abs(grid.levels(x) * grid.step - np.clip(x, -2, 2)).max() <= grid.step / 2 + 1e-12
    np.testing.assert_allclose(grid.clipped(x), np.clip(x, -2, 2), rtol=1e-12)


def test_sums_that_could_leave_the_integers_are_refused():
    check_exact(10**9)
    with pytest.raises(OverflowError, match="more than exact sums allow"):
        check_exact(2 * 10**9)
