"""Rows of a sparse matrix in memory."""

import numpy as np

from dpsparse.engine import config
from dpsparse.engine.cpu import dispatch
from dpsparse.engine.cpu.rows import LocalRows, block_size
from dpsparse.engine.protocols import NOT_FINITE
from dpsparse.engine.threads import n_threads, parallel_map, slices


class SparseRows(LocalRows):
    """Rows of a canonical CSR matrix: time and memory in proportion to what is stored.

    Empty cells enter a sum as the level of zero times the sum of the weights.

    Parameters
    ----------
    data, indices : ndarray
        Stored cells and their columns, which rise in each row.
    starts, stops : ndarray
        Where each row's cells lie.
    n_features : int
        Columns.
    y : ndarray
        Responses in float64.
    """

    def __init__(self, data, indices, starts, stops, n_features, y):
        super().__init__(y, n_features)
        self.data, self.indices, self.starts, self.stops = data, indices, starts, stops

    @classmethod
    def of(cls, X, y):
        """The rows of a canonical CSR matrix."""
        return cls(X.data, X.indices, X.indptr[:-1], X.indptr[1:], X.shape[1], y)

    def take(self, rows):
        """Some of the rows."""
        starts, stops = self.starts[rows], self.stops[rows]
        return SparseRows(self.data, self.indices, starts, stops, self.n_features, self.y[rows])

    def column(self, j):
        """Raw values of a feature, the unstored ones as 0."""
        values = np.zeros(self.n_records, dtype=self.data.dtype)
        dispatch.run("stored_column", self.data, self.indices, self.starts, self.stops, j, values)
        return values

    def quantized(self, quantizer, check_finite=True):
        """The stored cells as levels, two bytes each."""
        out = np.empty(len(self.data), dtype=np.int16)
        public = quantizer.per_feature(self.data.dtype, self.n_features)
        at_zero = level_of_zero(quantizer, self.data.dtype, self.n_features)
        blocks = slices(len(out), block_size(len(out), self.data.itemsize))

        def quantize(block):
            return dispatch.run("round_stored", self.data[block], self.indices[block], *public, at_zero, out[block])

        nonfinite = list(parallel_map(quantize, blocks))
        if check_finite and any(nonfinite):
            raise ValueError(NOT_FINITE)
        return QuantizedSparse(out, self.indices, self.starts, self.stops, at_zero)

    def has_nonfinite(self):
        """1 if a stored cell between the first and the last of these rows is not finite, 0 otherwise."""
        cells = self.data[self.starts.min(initial=0) : self.stops.max(initial=0)]
        return int(not np.isfinite(cells).all())

    def weighted_sums(self, quantizer, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        weights = np.ascontiguousarray(weights, dtype=np.int32)
        at_zero = level_of_zero(quantizer, self.data.dtype, self.n_features)
        sums = at_zero * weights.sum(dtype=np.int64)
        public = quantizer.per_feature(self.data.dtype, self.n_features)
        rows = (self.indices, self.starts, self.stops, weights)
        dispatch.run("add_stored_cells", self.data, *public, at_zero, *rows, sums)
        return sums


def level_of_zero(quantizer, dtype, n_features):
    """The level of an empty cell of each feature."""
    return quantizer.levels(np.zeros((1, n_features), dtype=dtype))[0].astype(np.int16)


class QuantizedSparse:
    """Levels of stored cells, less those of empty ones."""

    def __init__(self, levels, indices, starts, stops, at_zero):
        self._levels, self._indices, self._at_zero = levels, indices, at_zero
        self._starts, self._stops = starts, stops

    def weighted_sums(self, weights, on_progress=None):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        weights = np.ascontiguousarray(weights, dtype=np.int32)

        def add(rows):
            sums = np.zeros(len(self._at_zero), dtype=np.int64)
            places = (self._indices, self._starts[rows], self._stops[rows])
            dispatch.run("add_stored", self._levels, *places, weights[rows], sums)
            return sums

        # Each task has an array of sums of its own, which may be long: one task for each thread.
        rows = slices(len(weights), max(config.current.least_records, -(-len(weights) // n_threads())))
        return sum(parallel_map(add, rows), start=self._at_zero * weights.sum(dtype=np.int64))
