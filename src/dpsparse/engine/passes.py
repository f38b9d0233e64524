"""Passes over arrays: levels of features, and sums of levels times weights, in threads.

An array is divided along its memory: rows of one that runs along rows, columns of one that runs along columns.
"""

import numpy as np

from dpsparse.engine import kernels
from dpsparse.engine.sources import ALL, slices
from dpsparse.engine.threads import in_threads, share

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
    if kernels.by_columns(table):
        return [(ALL, columns) for columns in slices(d, block_size(d, n * table.itemsize))]
    return [(rows, ALL) for rows in slices(n, block_size(n, d * table.itemsize))]


def block_size(count, size):
    """How many of `count` rows or columns of a size make a block: whole units, if it has some."""
    block = share(count, max(1, BLOCK_BYTES // 8 // size), max(1, BLOCK_BYTES // size))
    unit = next((unit for unit in UNITS if 2 * unit <= block), 1)
    return -(-block // unit) * unit


def feature_sums(X, grid, weights):
    """Sums over the rows of an array of weight level times feature level, as int64."""
    weights = _one_each(weights, X)
    by_columns = kernels.by_columns(X)
    public = (public_numbers if by_columns else few_public_numbers)(grid, X.dtype, X.shape[1])

    def add(block):
        rows, columns = block
        cells = X[block]
        sums = np.zeros(cells.shape[1], dtype=np.int64)
        if by_columns:
            numbers = [each[columns] for each in public]
            kernels.run("add_columns", *kernels.in_line(cells.T), weights[rows], *numbers, sums)
        else:
            kernels.run("add_rows", *kernels.in_line(cells), weights[rows], *public, sums)
        return sums

    return _sums_of_blocks(add, X)


def subtract_features(residuals, X, columns, effects, grid):
    """Subtract some columns of an array times their effects; the grid, which clips, is that of these columns."""
    _require_as_many(residuals, X)
    public = [np.broadcast_to(each, len(columns)) for each in (*grid.center_and_scale(), effects)]
    columns = np.asarray(columns, dtype=np.int64)
    kernels.run("subtract_columns", *kernels.in_steps(X), columns, *public, float(grid.clip_bound), residuals)


def _one_each(weights, table):
    _require_as_many(weights, table)
    return np.ascontiguousarray(weights, dtype=np.int32)


def _require_as_many(values, table):
    # Compiled loops read as many rows as there are weights or residuals.
    if len(values) != len(table):
        raise ValueError("records and rows are not as many: X changed while it was read")


def _sums_of_blocks(add, table):
    sums, blocks = np.zeros(table.shape[1], dtype=np.int64), blocks_of(table)
    for (_, columns), found in zip(blocks, in_threads(add, blocks), strict=True):
        sums[columns] += found
    return sums


def empty_levels(X):
    """Room for the levels of an array, in its memory order."""
    return np.empty(X.shape, dtype=np.int8, order="F" if kernels.by_columns(X) else "C")


def round_features(X, grid, out):
    """Write the levels of an array; returns whether a cell is not finite."""
    n, d = X.shape
    if kernels.by_columns(X):
        public = public_numbers(grid, X.dtype, d)
        return kernels.run("round_columns", *kernels.in_line(X.T), n, *public, *kernels.in_line(out.T))
    public = few_public_numbers(grid, X.dtype, d)
    return kernels.run("round_rows", *kernels.in_line(X), n, d, *public, *kernels.in_line(out))


def public_numbers(grid, dtype, n_features):
    """Centres and rates for each feature."""
    return [np.ascontiguousarray(np.broadcast_to(each, n_features)) for each in grid.center_and_rate(dtype)]


def few_public_numbers(grid, dtype, n_features):
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
        weights = _one_each(weights, self._levels)

        def add(block):
            cells = self._levels[block]
            sums = np.zeros(cells.shape[1], dtype=np.int64)
            by_columns = kernels.by_columns(self._levels)
            name, table = ("add_level_columns", cells.T) if by_columns else ("add_level_rows", cells)
            kernels.run(name, *kernels.in_line(table), weights[block[0]], sums)
            return sums

        return _sums_of_blocks(add, self._levels)
