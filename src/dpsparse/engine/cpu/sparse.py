"""Rows of a sparse matrix in memory."""

import numpy as np
from scipy.sparse import csr_matrix

from dpsparse.engine import config
from dpsparse.engine.cpu import dispatch
from dpsparse.engine.cpu.dense import at_most
from dpsparse.engine.cpu.rows import LocalRows, QuantizedFamilies, block_size, pair_differences, pair_slices
from dpsparse.engine.refusals import NOT_FINITE
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

    def differences(self):
        """The differences of pairs of records, with cells stored where they are not 0; see `protocols.Rows`."""
        first, second = (self.take(pairs)._matrix() for pairs in pair_slices(self.n_records))
        return SparseRows.of(first - second, pair_differences(self.y))

    def _matrix(self):
        """These rows as a canonical CSR matrix; their cells are copied unless they adjoin."""
        lengths = self.stops - self.starts
        ends = np.concatenate([np.zeros(1, dtype=lengths.dtype), np.cumsum(lengths)])
        if (self.starts[1:] == self.stops[:-1]).all():
            cells = slice(self.starts[0], self.stops[-1]) if len(lengths) else slice(0)
        else:
            cells = np.repeat(self.starts - ends[:-1], lengths) + np.arange(ends[-1])
        shape = self.n_records, self.n_features
        return csr_matrix((self.data[cells], self.indices[cells], ends), shape=shape)

    def column(self, j):
        """Raw values of a feature, the unstored ones as 0."""
        values = np.zeros(self.n_records, dtype=self.data.dtype)
        dispatch.run("stored_column", self.data, self.indices, self.starts, self.stops, j, values)
        return values

    def quantized(self, quantizers, check_finite=True):
        """The stored cells as levels, two bytes each for each quantizer."""
        return QuantizedFamilies(self._levels(quantizer, check_finite) for quantizer in quantizers)

    def _levels(self, quantizer, check_finite):
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

    def feature_counts(self, thresholds):
        """For each feature how many values are at or below each of some rising thresholds; NaN counts nowhere."""
        thresholds = np.asarray(thresholds, dtype=np.float64)
        counts = np.zeros((self.n_features, len(thresholds) + 1), dtype=np.int64)
        dispatch.run("count_stored", self.data, self.indices, self.starts, self.stops, thresholds, counts)
        counts[:, np.searchsorted(thresholds, 0.0)] += self.n_records - counts.sum(axis=1)
        return at_most(counts)


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
