"""Rows of an array in memory."""

import numpy as np

from dpsparse.engine.cpu import dispatch
from dpsparse.engine.cpu.passes import (
    as_weights,
    blocks_of,
    feature_sums,
    has_nonfinite,
    round_features,
    subtract_features,
    sums_of_blocks,
)
from dpsparse.engine.cpu.rows import LocalRows
from dpsparse.engine.protocols import NOT_FINITE
from dpsparse.engine.threads import parallel_map


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
        """Sum what a query gives; an array that runs along columns is divided by the pass over it."""
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
