"""Each compiled kernel, called by itself, does what its description says: cell by cell in Python."""

import numpy as np
import pytest

from dpsparse.engine.cpu import dispatch, numba_kernels, numpy_kernels
from dpsparse.engine.quantize import rounded

# Three rows of cells, in columns that rise, with others before, between and after them.
STARTS, STOPS = np.array([1, 4, 6], dtype=np.int32), np.array([4, 4, 8], dtype=np.int32)
INDICES = np.array([3, 0, 2, 3, 1, 3, 1, 3, 2], dtype=np.int32)
CELLS = np.array([90.0, 1.5, np.nan, -2.0, 90.0, 90.0, 0.4, np.inf, 90.0])
CENTER, RATE, AT_ZERO = np.array([0.5, -0.5, 9.0, 1.0]), np.array([10.0, 20.0, 30.0, 40.0]), np.array([-5, 10, 0, -40])
# Of cells 1, 3 and 6: (1.5 - 0.5) * 10 + 5, (-2 - 1) * 40 + 40, (0.4 + 0.5) * 20 - 10; gaps are at level 0.
LEVELS_LESS_ZERO = {1: 15, 2: 0, 3: -80, 6: 8, 7: 40}
LARGEST = np.finfo(float).max


def apart(table, between):
    """A table whose rows have other cells between them."""
    wide = np.full((len(table), table.shape[1] + 2), between, dtype=table.dtype)
    wide[:, :-2] = table
    return wide[:, :-2]


SIZES = pytest.mark.parametrize(("n", "d"), [(1, 5), (3, 2), (8, 3), (21, 1), (261, 5)])
BY = pytest.mark.parametrize("by", ["rows", "columns"])


def table(n, d, by):
    """Cells as they are stored, centers and rates, and levels by hand in the same order."""
    X, public = np.random.default_rng(n).normal(size=(n, d)), (np.linspace(-1, 1, d), np.linspace(30, 70, d))
    levels = rounded(X, *public).astype(np.int8)
    return (X, public, levels) if by == "rows" else (X.T, public, levels.T)


@BY
@SIZES
def test_levels_are_of_each_row_and_nothing_between(n, d, by):
    stored, public, levels = table(n, d, by)
    out, sizes = apart(np.zeros_like(levels), 99), (n, d) if by == "rows" else (n,)
    line = dispatch.flat_view(apart(stored, np.nan))
    assert not getattr(numba_kernels, f"round_{by}")(*line, *sizes, *public, *dispatch.flat_view(out))
    assert out.tolist() == levels.tolist()
    assert (out.base[:, -2:] == 99).all()


@BY
@SIZES
@pytest.mark.parametrize("of", ["cells", "levels"])
def test_sums_are_of_each_row_and_nothing_between(n, d, by, of):
    stored, public, levels = table(n, d, by)
    weights, sums = np.arange(n, dtype=np.int32) * 100 - 77, np.arange(9)
    by_feature = (levels.T if by == "rows" else levels).tolist()
    expected = [j + sum(map(int.__mul__, weights.tolist(), column)) for j, column in enumerate(by_feature)]
    if of == "cells":
        getattr(numba_kernels, f"add_{by}")(*dispatch.flat_view(apart(stored, np.nan)), weights, *public, sums[:d])
    else:
        getattr(numba_kernels, f"add_level_{by}")(*dispatch.flat_view(apart(levels, 99)), weights, sums[:d])
    assert sums.tolist() == [*expected, *range(d, 9)]


@pytest.mark.parametrize("d", range(1, 7))
def test_sums_of_few_columns_leave_others_alone(d):
    center, rate, sums = np.zeros(9), np.full(9, 2.0), np.zeros(9, dtype=np.int64)
    numba_kernels.add_columns(np.ones(9 * 4), 4, np.full(4, 3, dtype=np.int32), center[:d], rate[:d], sums[:d])
    assert sums.tolist() == [4 * 3 * 2] * d + [0] * (9 - d)


def test_stored_cells_have_levels_less_that_of_an_empty_one():
    levels = np.zeros(9, dtype=np.int16)
    at_zero = AT_ZERO.astype(np.int16)
    assert numba_kernels.round_stored(CELLS, INDICES, CENTER, RATE, at_zero, levels)
    assert {k: levels[k] for k in LEVELS_LESS_ZERO} == LEVELS_LESS_ZERO
    for k, cell in enumerate(CELLS):
        found = numba_kernels.round_stored(CELLS[k : k + 1], INDICES[k : k + 1], CENTER, RATE, at_zero, levels[k:])
        assert bool(found) == (not np.isfinite(cell))


def test_the_largest_stored_cells_are_finite():
    cells, levels = np.array([LARGEST, -LARGEST]), np.zeros(2, dtype=np.int16)
    assert not numba_kernels.round_stored(cells, INDICES[:2], CENTER, RATE, AT_ZERO.astype(np.int16), levels)
    assert levels.tolist() == [127 + 40, -127 + 5]


def test_sums_of_stored_cells_are_of_each_row_alone():
    """Weights of 3, 5 and -7, added to what is there."""
    weights, at_zero = np.array([3, 5, -7], dtype=np.int32), AT_ZERO.astype(np.int16)
    expected = [100 + 3 * 15, 200 - 7 * 8, 300, 400 + 3 * -80 - 7 * 40]
    levels = np.zeros(9, dtype=np.int16)
    numba_kernels.round_stored(CELLS, INDICES, CENTER, RATE, at_zero, levels)
    kept, read = np.arange(100, 500, 100), np.arange(100, 500, 100)
    numba_kernels.add_stored(levels, INDICES, STARTS, STOPS, weights, kept)
    numba_kernels.add_stored_cells(CELLS, CENTER, RATE, at_zero, INDICES, STARTS, STOPS, weights, read)
    assert kept.tolist() == read.tolist() == expected


def test_sums_of_stored_cells_do_not_end_at_32_bits():
    many = np.zeros(300, dtype=np.int32)
    sums, weights = np.zeros(1, dtype=np.int64), np.full(300, 65536, dtype=np.int32)
    levels = np.full(1, 127, dtype=np.int16)
    numba_kernels.add_stored(levels, many[:1], many, many + np.int32(1), weights, sums)
    assert sums.tolist() == [300 * 127 * 65536]


def test_a_stored_column_is_found_among_the_cells_of_each_row():
    for feature, expected in enumerate([[1.5, 7, 7], [7, 7, 0.4], [np.nan, 7, 7], [-2.0, 7, np.inf]]):
        column = np.full(3, 7.0)
        numba_kernels.stored_column(CELLS, INDICES, STARTS, STOPS, feature, column)
        np.testing.assert_array_equal(column, expected)


def test_a_stored_column_is_found_in_rows_of_any_length():
    for length in range(8):
        for feature in range(16):
            column, cells = np.zeros(1), np.arange(1.0, 10.0)
            indices, ends = np.arange(0, 18, 2, dtype=np.int32), np.array([[0], [length]], dtype=np.int32)
            numba_kernels.stored_column(cells, indices, *ends, feature, column)
            assert column[0] == (feature // 2 + 1 if feature % 2 == 0 and feature < 2 * length else 0)


@np.errstate(all="ignore")
def test_residuals_are_of_each_row_and_gaps_are_at_zero():
    """131 rows are more than twice those that are read at a time; columns 3 and 4 say where 0 and 1 are missing."""
    X = np.random.default_rng(0).normal(scale=3, size=(131, 3))
    X[::7, 1], X[1::7, 2], X[2::7, 0] = np.nan, -np.inf, np.inf
    X[3, 0], X[4, 2] = LARGEST, -LARGEST
    columns, center, scale = np.array([2, 3, 0, 4]), np.array([0.5, 0.25, -1.0, 0.5]), np.array([0.5, 0.3, 2.0, 1.0])
    effects, expected = np.array([1.25, -3.0, 0.7, 5.0]), []
    for row in X:
        residual, missing = 10.0, (~np.isfinite(row)).astype(float)
        for value, c, s, effect in zip((row[2], missing[0], row[0], missing[1]), center, scale, effects, strict=True):
            units = (value - c) / s if np.isfinite(value) else 0.0
            residual -= min(max(units, -2.0), 2.0) * effect
        expected.append(residual)
    for table in (X, np.asfortranarray(X), apart(X, 99.0)):
        residuals = np.full(131, 10.0)
        view = dispatch.strided_view(table)
        numba_kernels.subtract_columns(*view, 3, columns, center, scale, effects, 2.0, residuals)
        assert residuals.tolist() == expected


# Several in one bin, at both sides of 0, at the ends of bins, and beyond the largest of floats.
THRESHOLDS = np.array(
    [-np.inf, -1e300, -1.26, -1.25, -1.2, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.01, 1.02, 1.25, 7e8, 1e308]
)
VALUES = [nearby for t in THRESHOLDS for nearby in (np.nextafter(t, -np.inf), t, np.nextafter(t, np.inf))]
VALUES = np.array([*VALUES, -0.0, np.nan, -np.nan, np.inf, LARGEST, -LARGEST, 1.1, -1.1, 3e5])


def places(values, thresholds):
    """For each value how many thresholds are below it; all of them for a gap."""
    return [sum(t < v for t in thresholds) if np.isfinite(v) else len(thresholds) for v in values.tolist()]


# The last float of a bin and the one before, the bins of the largest floats, and those next to 0.
LAST = np.nextafter(1.25, 0)
ALONE = [[-LAST], [np.nextafter(LAST, 0)], [1.6e308, 1.7e308], [-1.7e308, -1.6e308], [-5e-324], [0.0], []]


@pytest.mark.parametrize("thresholds", [THRESHOLDS, THRESHOLDS[3:6], *map(np.array, ALONE)])
def test_cells_are_counted_between_thresholds(thresholds):
    """In 67 columns, more than are counted at a time, each of which starts elsewhere among the values."""
    X = np.stack([np.roll(VALUES, j)[:5] for j in range(67)], axis=1)
    expected = np.stack([np.bincount(places(column, thresholds), minlength=len(thresholds) + 1) for column in X.T])
    for table in (X, np.asfortranarray(X), apart(X, 0.5)):
        counts = np.ones((67, len(thresholds) + 1), dtype=np.int64)
        numba_kernels.count_cells(*dispatch.strided_view(table), len(table), thresholds, counts)
        np.testing.assert_array_equal(counts, 1 + expected)
    counts, n = np.ones((2, len(thresholds) + 1), dtype=np.int64), len(VALUES)
    indices, starts = np.arange(n, dtype=np.int32) % np.int32(2), np.arange(0, n, 2, dtype=np.int32)
    numba_kernels.count_stored(VALUES, indices, starts, np.minimum(starts + 2, n).astype(np.int32), thresholds, counts)
    for j in range(2):
        by_hand = np.bincount(places(VALUES[j::2], thresholds), minlength=len(thresholds) + 1)
        np.testing.assert_array_equal(counts[j], 1 + by_hand)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 5, 8, 11])
def test_sums_of_long_columns_are_those_of_each(dtype, d):
    """Columns read four at a time, and what is left of them two at a time."""
    n = numba_kernels.LONG_COLUMN
    X = (np.arange(n * d).reshape(d, n) % 251 - 125 + np.arange(d)[:, None]).astype(dtype)
    weights = (np.arange(n) % 1009 - 400).astype(np.int32)
    center, rate = np.arange(d).astype(dtype), (1 + np.arange(d) % 2).astype(dtype)
    expected = [
        5 + int(np.clip((X[j] - j) * (1 + j % 2), -127, 127).astype(int) @ weights.astype(int)) for j in range(d)
    ]
    sums = np.full(d + 4, 5)
    numba_kernels.add_columns(*dispatch.flat_view(apart(X, np.nan)), weights, center, rate, sums[:d])
    assert sums.tolist() == [*expected, 5, 5, 5, 5]


@pytest.mark.parametrize("n_thresholds", [0, 1, 7, 400])
def test_values_are_counted_between_thresholds(n_thresholds):
    rng = np.random.default_rng(n_thresholds)
    special = [0.0, -0.0, np.inf, -np.inf, LARGEST, -LARGEST, 5e-324, -5e-324, 1.0, np.nextafter(1.0, 0.0)]
    thresholds = np.sort(np.append(special, rng.standard_t(1, 400))[:n_thresholds])
    beside, gaps = np.nextafter(thresholds, 0.0), [np.nan, -np.nan]
    values = np.concatenate([special, thresholds, beside, rng.standard_t(1, 500), gaps])
    counts = np.full(n_thresholds + 1, 10, dtype=np.int64)
    numba_kernels.count_values(values, thresholds, counts)
    below = [sum(threshold < value for threshold in thresholds) if value == value else n_thresholds for value in values]
    assert counts.tolist() == [10 + below.count(k) for k in range(n_thresholds + 1)]
    again = np.full(n_thresholds + 1, 10, dtype=np.int64)
    numpy_kernels.count_values(values, thresholds, again)
    assert again.tolist() == counts.tolist()
