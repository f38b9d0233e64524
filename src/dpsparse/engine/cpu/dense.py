"""Rows of an array in memory, and passes over it: levels of features, and sums of levels times weights, in threads.

A row-major array is divided into blocks of rows, a column-major one into blocks of columns.
"""

import numpy as np

from dpsparse.engine.cpu import dispatch
from dpsparse.engine.cpu.rows import LocalRows, block_size
from dpsparse.engine.refusals import NOT_FINITE, ROWS_CHANGED
from dpsparse.engine.threads import ALL, parallel_map, slices
from dpsparse.engine.vector_sums import counts_at_most


class DenseRows(LocalRows):
    """Rows of an ndarray in either memory order, never copied."""

    def __init__(self, X, y):
        super().__init__(y, X.shape[1])
        self.X = X

    def take(self, rows):
        """Some of the rows."""
        return DenseRows(self.X[rows], self.y[rows])

    def column(self, j):
        """Raw values of a feature."""
        return self.X[:, j]

    def residuals(self, coef, support, quantizer):
        """Responses minus predictions; all features are read together, so that each page is visited once."""
        residuals, support = self.y.copy(), np.asarray(support, dtype=np.int64)
        subtract_features(residuals, self.X, support, coef[support], quantizer.of(support))
        return residuals

    def evaluate(self, query, *public):
        """Sum what a query gives; a column-major array is divided by the pass over it."""
        return query(self, *public) if dispatch.by_columns(self.X) else super().evaluate(query, *public)

    def quantized(self, quantizer, check_finite=True):
        """The features in int8, a byte a cell, for several sums with the same quantizer."""
        out = empty_levels(self.X)
        blocks = blocks_of(self.X)

        def quantize(block):
            return round_features(self.X[block], quantizer.of(block[1]), out[block])

        nonfinite = list(parallel_map(quantize, blocks))
        if check_finite and any(nonfinite):
            raise ValueError(NOT_FINITE)
        return QuantizedDense(out)

    def has_nonfinite(self):
        """1 if a feature is not finite, 0 otherwise."""
        return has_nonfinite(self.X)

    def weighted_sums(self, quantizer, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        return feature_sums(self.X, quantizer, weights)

    def feature_counts(self, thresholds):
        """For each feature how many values are at or below each of some rising thresholds; NaN counts nowhere."""
        return np.array([counts_at_most(np.asarray(column, dtype=np.float64), thresholds) for column in self.X.T])


def empty_levels(X):
    """Room for the levels of an array, in its memory order."""
    return np.empty(X.shape, dtype=np.int8, order="F" if dispatch.by_columns(X) else "C")


class QuantizedDense:
    """Feature levels kept for the length of a fit. They depend on the budget's clip, so they are never a file."""

    def __init__(self, levels):
        self._levels = levels

    def take(self, rows):
        """The levels of some rows."""
        return QuantizedDense(self._levels[rows])

    def weighted_sums(self, weights, on_progress=None):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        weights = as_weights(weights, self._levels)

        def add(block):
            cells = self._levels[block]
            sums = np.zeros(cells.shape[1], dtype=np.int64)
            by_columns = dispatch.by_columns(self._levels)
            name, table = ("add_level_columns", cells.T) if by_columns else ("add_level_rows", cells)
            dispatch.run(name, *dispatch.flat_view(table), weights[block[0]], sums)
            return sums

        return sums_of_blocks(add, self._levels)


def has_nonfinite(X):
    """1 if a cell of an array is not finite, 0 otherwise."""
    # The sum is finite where all cells are, unless it overflows: then each is checked.
    with np.errstate(all="ignore"):
        return int(not np.isfinite(X.sum()) and not np.isfinite(X).all())


def blocks_of(table):
    """Pairs of slices that divide an array among threads, along its memory."""
    n, d = table.shape
    if dispatch.by_columns(table):
        return [(ALL, columns) for columns in slices(d, block_size(d, n * table.itemsize))]
    return [(rows, ALL) for rows in slices(n, block_size(n, d * table.itemsize))]


def feature_sums(X, quantizer, weights):
    """Sums over the rows of an array of weight level times feature level, as int64."""
    weights = as_weights(weights, X)
    by_columns = dispatch.by_columns(X)
    public = quantizer.per_feature(X.dtype, X.shape[1]) if by_columns else quantizer.compact(X.dtype, X.shape[1])

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

    return sums_of_blocks(add, X)


def subtract_features(residuals, X, columns, effects, quantizer):
    """Subtract some columns of an array times their effects; the quantizer, which clips, is that of these columns."""
    check_same_length(residuals, X)
    public = [np.broadcast_to(each, len(columns)) for each in (*quantizer.center_and_scale(), effects)]
    columns = np.asarray(columns, dtype=np.int64)
    dispatch.run(
        "subtract_columns", *dispatch.strided_view(X), columns, *public, float(quantizer.clip_bound), residuals
    )


def as_weights(weights, table):
    """Weights as int32, one for each row of the table."""
    check_same_length(weights, table)
    return np.ascontiguousarray(weights, dtype=np.int32)


def check_same_length(values, table):
    """Raise ValueError unless there is one value for each row."""
    # Compiled kernels read a row for each weight or residual.
    if len(values) != len(table):
        raise ValueError(ROWS_CHANGED)


def sums_of_blocks(add, table):
    """Sums of what `add` gives for each block of an array."""
    sums, blocks = np.zeros(table.shape[1], dtype=np.int64), blocks_of(table)
    for (_, columns), block_sums in zip(blocks, parallel_map(add, blocks), strict=True):
        sums[columns] += block_sums
    return sums


def round_features(X, quantizer, out):
    """Write the levels of an array; returns whether a cell is not finite."""
    n, d = X.shape
    if dispatch.by_columns(X):
        public = quantizer.per_feature(X.dtype, d)
        return dispatch.run("round_columns", *dispatch.flat_view(X.T), n, *public, *dispatch.flat_view(out.T))
    public = quantizer.compact(X.dtype, d)
    return dispatch.run("round_rows", *dispatch.flat_view(X), n, d, *public, *dispatch.flat_view(out))
