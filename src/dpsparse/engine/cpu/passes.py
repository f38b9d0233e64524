"""Passes over arrays: levels of features, and sums of levels times weights, in threads.

An array is divided along its memory: rows of one that runs along rows, columns of one that runs along columns.
"""

import numpy as np

from dpsparse.engine.cpu import dispatch
from dpsparse.engine.disk.sources import ALL, slices
from dpsparse.engine.threads import parallel_map, share

# What a thread reads at a time, so that one that is held up is overtaken; an eighth of it is worth a thread.
BLOCK_BYTES = 2**26
# Rows that loops add up before they spill their sums, and rows that they read at a time.
UNITS = (256, 16)


def not_finite(X):
    """1 if a cell of an array is not finite, 0 otherwise."""
    # The sum is finite where all cells are, unless it overflows: then each is looked at.
    with np.errstate(all="ignore"):
        return int(not np.isfinite(X.sum()) and not np.isfinite(X).all())


def blocks_of(table):
    """Pairs of slices that divide an array among threads, along its memory."""
    n, d = table.shape
    if dispatch.by_columns(table):
        return [(ALL, columns) for columns in slices(d, block_size(d, n * table.itemsize))]
    return [(rows, ALL) for rows in slices(n, block_size(n, d * table.itemsize))]


def block_size(count, size):
    """How many of `count` rows or columns of a size make a block: whole units, if it has some."""
    block = share(count, max(1, BLOCK_BYTES // 8 // size), max(1, BLOCK_BYTES // size))
    unit = next((unit for unit in UNITS if 2 * unit <= block), 1)
    return -(-block // unit) * unit


def feature_sums(X, grid, weights):
    """Sums over the rows of an array of weight level times feature level, as int64."""
    weights = as_weights(weights, X)
    by_columns = dispatch.by_columns(X)
    public = (public_numbers if by_columns else scalar_params)(grid, X.dtype, X.shape[1])

    def add(block):
        rows, columns = block
        cells = X[block]
        sums = np.zeros(cells.shape[1], dtype=np.int64)
        if by_columns:
            numbers = [each[columns] for each in public]
            dispatch.run("add_columns", *dispatch.flat_view(cells.T), weights[rows], *numbers, sums)
        else:
            dispatch.run("add_rows", *dispatch.flat_view(cells), weights[rows], *public, sums)
        return sums

    return _sums_of_blocks(add, X)


def subtract_features(residuals, X, columns, effects, grid):
    """Subtract some columns of an array times their effects; the grid, which clips, is that of these columns."""
    check_same_length(residuals, X)
    public = [np.broadcast_to(each, len(columns)) for each in (*grid.center_and_scale(), effects)]
    columns = np.asarray(columns, dtype=np.int64)
    dispatch.run("subtract_columns", *dispatch.strided_view(X), columns, *public, float(grid.clip_bound), residuals)


def as_weights(weights, table):
    """Weights as int32, one for each row of the table."""
    check_same_length(weights, table)
    return np.ascontiguousarray(weights, dtype=np.int32)


def check_same_length(values, table):
    """Raise ValueError unless there is one value for each row."""
    # Compiled loops read as many rows as there are weights or residuals.
    if len(values) != len(table):
        raise ValueError("records and rows are not as many: X changed while it was read")


def _sums_of_blocks(add, table):
    sums, blocks = np.zeros(table.shape[1], dtype=np.int64), blocks_of(table)
    for (_, columns), found in zip(blocks, parallel_map(add, blocks), strict=True):
        sums[columns] += found
    return sums


def empty_levels(X):
    """Room for the levels of an array, in its memory order."""
    return np.empty(X.shape, dtype=np.int8, order="F" if dispatch.by_columns(X) else "C")


def round_features(X, grid, out):
    """Write the levels of an array; returns whether a cell is not finite."""
    n, d = X.shape
    if dispatch.by_columns(X):
        public = public_numbers(grid, X.dtype, d)
        return dispatch.run("round_columns", *dispatch.flat_view(X.T), n, *public, *dispatch.flat_view(out.T))
    public = scalar_params(grid, X.dtype, d)
    return dispatch.run("round_rows", *dispatch.flat_view(X), n, d, *public, *dispatch.flat_view(out))


def public_numbers(grid, dtype, n_features):
    """Centres and rates for each feature."""
    return [np.ascontiguousarray(np.broadcast_to(each, n_features)) for each in grid.center_and_rate(dtype)]


def scalar_params(grid, dtype, n_features):
    """One centre and one rate where they are the same for all features: they are not read again with every row."""
    center, rate = grid.center_and_rate(dtype)
    return public_numbers(grid, dtype, n_features) if center.ndim or rate.ndim else (center[()], rate[()])


class DenseLevels:
    """Feature levels kept for the length of a fit. They depend on the budget's clip, so they are never a file."""

    def __init__(self, levels):
        self._levels = levels

    def take(self, rows):
        """The levels of some rows."""
        return DenseLevels(self._levels[rows])

    def weighted_sums(self, weights, tell=None):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        weights = as_weights(weights, self._levels)

        def add(block):
            cells = self._levels[block]
            sums = np.zeros(cells.shape[1], dtype=np.int64)
            by_columns = dispatch.by_columns(self._levels)
            name, table = ("add_level_columns", cells.T) if by_columns else ("add_level_rows", cells)
            dispatch.run(name, *dispatch.flat_view(table), weights[block[0]], sums)
            return sums

        return _sums_of_blocks(add, self._levels)
