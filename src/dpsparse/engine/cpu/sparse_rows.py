"""Rows of a sparse matrix in memory."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix

from dpsparse.engine import config
from dpsparse.engine.cpu import dispatch
from dpsparse.engine.cpu.dense_rows import at_most
from dpsparse.engine.cpu.local_rows import LocalRows, QuantizedFamilies, block_size, pair_differences, pair_slices
from dpsparse.engine.protocols import OnProgress
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.refusals import NOT_FINITE
from dpsparse.engine.threads import n_threads, parallel_map, slices


class SparseRows(LocalRows):
    """Rows of a canonical CSR matrix: time and memory in proportion to what is stored.

    Empty cells enter a sum as the level of zero times the sum of the weights.

    `data` and `indices` are the stored cells and their columns, which rise in each row; `starts` and `stops` say where
    each row's cells lie. `indicators` gives the indicators of gaps as rows; None for those of the stored cells.
    """

    def __init__(
        self,
        data: NDArray[Any],
        indices: NDArray[Any],
        starts: NDArray[Any],
        stops: NDArray[Any],
        n_features: int,
        y: NDArray[np.float64],
        indicators: Callable[[], "SparseRows"] | None = None,
    ) -> None:
        super().__init__(y, n_features)
        self.data, self.indices, self.starts, self.stops = data, indices, starts, stops
        self._make_indicators = indicators

    @classmethod
    def of(cls, X: Any, y: NDArray[np.float64], indicators: Callable[[], "SparseRows"] | None = None) -> "SparseRows":
        """The rows of a canonical CSR matrix."""
        return cls(X.data, X.indices, X.indptr[:-1], X.indptr[1:], X.shape[1], y, indicators)

    def take(self, rows: Any) -> "SparseRows":
        """Some of the rows."""
        starts, stops = self.starts[rows], self.stops[rows]
        made = (self.data, self.indices, starts, stops, self.n_features, self.y[rows])
        return SparseRows(*made, lambda: self._indicators.take(rows))

    @cached_property
    def _indicators(self) -> "SparseRows":
        """The indicators of gaps as rows of their own: their stored cells are the gaps alone."""
        return self._indicators_of_stored() if self._make_indicators is None else self._make_indicators()

    def _indicators_of_stored(self) -> "SparseRows":
        matrix = self._matrix()
        missing = ~np.isfinite(matrix.data)
        ends = np.concatenate([[0], np.cumsum(missing)])[matrix.indptr]
        cells = np.ones(ends[-1], dtype=matrix.dtype), matrix.indices[missing], ends
        return SparseRows.of(csr_matrix(cells, shape=matrix.shape), self.y)

    def differences(self) -> "SparseRows":
        """The differences of pairs of records, with cells stored where they are not 0; see `protocols.Rows`."""
        first, second = map(self.take, pair_slices(self.n_records))
        y = pair_differences(self.y)

        def indicators() -> SparseRows:
            return SparseRows.of(first._indicators._matrix() - second._indicators._matrix(), y)

        return SparseRows.of(first._matrix() - second._matrix(), y, indicators)

    def _matrix(self) -> Any:
        """These rows as a canonical CSR matrix; their cells are copied unless they adjoin."""
        lengths = self.stops - self.starts
        ends = np.concatenate([np.zeros(1, dtype=lengths.dtype), np.cumsum(lengths)])
        if (self.starts[1:] == self.stops[:-1]).all():
            cells: slice | NDArray[Any] = slice(self.starts[0], self.stops[-1]) if len(lengths) else slice(0)
        else:
            cells = np.repeat(self.starts - ends[:-1], lengths) + np.arange(ends[-1])
        shape = self.n_records, self.n_features
        return csr_matrix((self.data[cells], self.indices[cells], ends), shape=shape)

    def to_array(self) -> NDArray[Any]:
        """These rows as an array, the unstored cells as 0."""
        result: NDArray[Any] = self._matrix().toarray()
        return result

    def column(self, j: int) -> NDArray[Any]:
        """Raw values of a feature, the unstored ones as 0; or the indicators of its gaps: see `protocols.Rows`."""
        if j >= self.n_features:
            return self._indicators.column(j - self.n_features)
        values = np.zeros(self.n_records, dtype=self.data.dtype)
        dispatch.run("stored_column", self.data, self.indices, self.starts, self.stops, j, values)
        return values

    def quantized(self, quantizers: Sequence[Quantizer], check_finite: bool = True) -> QuantizedFamilies:
        """The stored cells as levels, two bytes each for each quantizer."""
        return QuantizedFamilies(self._levels(quantizer, check_finite) for quantizer in quantizers)

    def _levels(self, quantizer: Quantizer, check_finite: bool) -> "QuantizedSparse":
        if quantizer.of_gaps:
            if check_finite and self.has_nonfinite():
                raise ValueError(NOT_FINITE)
            return self._indicators._levels(quantizer.of_values(), check_finite)
        out = np.empty(len(self.data), dtype=np.int16)
        public = quantizer.per_feature(self.data.dtype, self.n_features)
        at_zero = level_of_zero(quantizer, self.data.dtype, self.n_features)
        blocks = slices(len(out), block_size(len(out), self.data.itemsize))

        def quantize(block: slice) -> int:
            cells = self.data[block], self.indices[block]
            return int(dispatch.run("round_stored", *cells, *public, at_zero, out[block]))

        nonfinite = list(parallel_map(quantize, blocks))
        if check_finite and any(nonfinite):
            raise ValueError(NOT_FINITE)
        return QuantizedSparse(out, self.indices, self.starts, self.stops, at_zero)

    def has_nonfinite(self) -> int:
        """1 if a stored cell between the first and the last of these rows is not finite, 0 otherwise."""
        cells = self.data[self.starts.min(initial=len(self.data)) : self.stops.max(initial=0)]
        return int(not np.isfinite(cells).all())

    def weighted_sums(self, quantizer: Quantizer, weights: NDArray[Any]) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        if quantizer.of_gaps:
            return self._indicators.weighted_sums(quantizer.of_values(), weights)
        weights = np.ascontiguousarray(weights, dtype=np.int32)
        at_zero = level_of_zero(quantizer, self.data.dtype, self.n_features)
        sums: NDArray[np.int64] = at_zero * weights.sum(dtype=np.int64)
        public = quantizer.per_feature(self.data.dtype, self.n_features)
        rows = (self.indices, self.starts, self.stops, weights)
        dispatch.run("add_stored_cells", self.data, *public, at_zero, *rows, sums)
        return sums

    def feature_counts(self, thresholds: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
        """For each feature how many values are at or below each of some rising thresholds.

        Gaps and blank records count nowhere.
        """
        thresholds, filled = np.asarray(thresholds, dtype=np.float64), ~np.isnan(self.y)
        counts = np.zeros((self.n_features, len(thresholds) + 1), dtype=np.int64)
        dispatch.run(
            "count_stored", self.data, self.indices, self.starts[filled], self.stops[filled], thresholds, counts
        )
        counts[:, np.searchsorted(thresholds, 0.0)] += filled.sum() - counts.sum(axis=1)
        return at_most(counts)


def level_of_zero(quantizer: Quantizer, dtype: DTypeLike, n_features: int) -> NDArray[np.int16]:
    """The level of an empty cell of each feature."""
    levels: NDArray[np.int16] = quantizer.levels(np.zeros((1, n_features), dtype=dtype))[0].astype(np.int16)
    return levels


class QuantizedSparse:
    """Levels of stored cells, less those of empty ones."""

    def __init__(
        self,
        levels: NDArray[np.int16],
        indices: NDArray[Any],
        starts: NDArray[Any],
        stops: NDArray[Any],
        at_zero: NDArray[np.int16],
    ) -> None:
        self._levels, self._indices, self._at_zero = levels, indices, at_zero
        self._starts, self._stops = starts, stops

    def weighted_sums(self, weights: NDArray[Any], on_progress: OnProgress = None) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        weights = np.ascontiguousarray(weights, dtype=np.int32)

        def add(rows: slice) -> NDArray[np.int64]:
            sums = np.zeros(len(self._at_zero), dtype=np.int64)
            places = (self._indices, self._starts[rows], self._stops[rows])
            dispatch.run("add_stored", self._levels, *places, weights[rows], sums)
            return sums

        # Each task has an array of sums of its own, which may be long: one task for each thread.
        rows = slices(len(weights), max(config.current.least_records, -(-len(weights) // n_threads())))
        return sum(parallel_map(add, rows), start=self._at_zero * weights.sum(dtype=np.int64))
