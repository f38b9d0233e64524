"""Rows of an array in memory, and passes over it: levels of features, and sums of levels times weights, in threads.

A row-major array is divided into blocks of rows, a column-major one into blocks of columns.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.cpu import dispatch
from dpsparse.engine.cpu.local_rows import LocalRows, QuantizedFamilies, block_size, pair_differences, pair_slices
from dpsparse.engine.protocols import OnProgress, Query
from dpsparse.engine.quantize import Quantizer, feature_of, indicators
from dpsparse.engine.refusals import NOT_FINITE, ROWS_CHANGED
from dpsparse.engine.threads import ALL, parallel_map, slices

Block: TypeAlias = tuple[slice, slice]

# Bytes of features that are subtracted at a time, so that the differences are read from the cache.
_CACHED_BYTES = 2**21


class DenseRows(LocalRows):
    """Rows of an ndarray in either memory order, never copied."""

    def __init__(self, X: NDArray[Any], y: NDArray[np.float64]) -> None:
        super().__init__(y, X.shape[1])
        self.X = X

    def take(self, rows: Any) -> "DenseRows":
        """Some of the rows."""
        return DenseRows(self.X[rows], self.y[rows])

    def differences(self) -> "DenseDifferences":
        """The differences of pairs of records; see `protocols.Rows`."""
        first, second = pair_slices(self.n_records)
        return DenseDifferences(self.X[first], self.X[second], pair_differences(self.y))

    def column(self, j: int) -> NDArray[Any]:
        """Raw values of a feature, or the indicators of its gaps; see `protocols.Rows`."""
        # Its cells may lie a page apart: they are gathered once.
        return np.ascontiguousarray(feature_of(self.X, j))

    def residuals(
        self, coef: NDArray[np.float64], support: Sequence[int] | NDArray[np.int64], quantizer: Quantizer
    ) -> NDArray[np.float64]:
        """Responses minus predictions; all features are read together, so that each page is visited once."""
        residuals: NDArray[np.float64] = self.y.copy()
        support = np.asarray(support, dtype=np.int64)
        subtract_features(residuals, self.X, support, coef[support], quantizer.of(support))
        return residuals

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives; a column-major array is divided by the pass over it."""
        return query(self, *public) if dispatch.by_columns(self.X) else super().evaluate(query, *public)

    def quantized(self, quantizers: Sequence[Quantizer], check_finite: bool = True) -> QuantizedFamilies:
        """The features in int8, a byte a cell and quantizer, for several sums with the same quantizers."""

        def rounded(block: Block, quantizer: Quantizer, out: NDArray[np.int8]) -> int:
            write = round_indicators if quantizer.of_gaps else round_features
            return write(self.X[block], quantizer, out)

        return quantized_in_blocks(rounded, self.X, quantizers, check_finite)

    def has_nonfinite(self) -> int:
        """1 if a feature is not finite, 0 otherwise."""
        return has_nonfinite(self.X)

    def weighted_sums(self, quantizer: Quantizer, weights: NDArray[Any]) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        cells = indicators(self.X) if quantizer.of_gaps else self.X
        return feature_sums(cells, quantizer.of_values(), weights)

    def feature_counts(self, thresholds: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
        """For each feature how many values are at or below each of some rising thresholds.

        Gaps and blank records count nowhere.
        """
        counts = np.zeros((self.n_features, len(thresholds) + 1), dtype=np.int64)
        thresholds, blank = np.asarray(thresholds, dtype=np.float64), np.isnan(self.y)

        def count(columns: slice) -> None:
            cells = self.X[:, columns]
            dispatch.run("count_cells", *dispatch.strided_view(cells), self.n_records, thresholds, counts[columns])
            if blank.any():
                # Blank records are few, so they are counted again and taken off.
                off = np.zeros_like(counts[columns])
                cells = cells[blank]
                dispatch.run("count_cells", *dispatch.strided_view(cells), len(cells), thresholds, off)
                counts[columns] -= off

        blocks = slices(self.n_features, block_size(self.n_features, self.n_records * self.X.itemsize or 1))
        list(parallel_map(count, blocks))
        return at_most(counts)


class DenseDifferences(LocalRows):
    """Rows of one array less those of another, subtracted in small blocks: no array of all differences is made."""

    def __init__(self, first: NDArray[Any], second: NDArray[Any], y: NDArray[np.float64]) -> None:
        super().__init__(y, first.shape[1])
        self._first, self._second = first, second

    def take(self, rows: Any) -> "DenseDifferences":
        """Some of the rows."""
        return DenseDifferences(self._first[rows], self._second[rows], self.y[rows])

    @np.errstate(all="ignore")
    def column(self, j: int) -> NDArray[Any]:
        """Raw values of a feature, or differences of the indicators of its gaps."""
        values: NDArray[Any] = feature_of(self._first, j) - feature_of(self._second, j)
        return values

    def quantized(self, quantizers: Sequence[Quantizer], check_finite: bool = True) -> QuantizedFamilies:
        """The differences in int8, a byte a cell and quantizer."""

        def rounded(block: Block, quantizer: Quantizer, out: NDArray[np.int8]) -> int:
            return max(
                round_features(differences, quantizer.of(cells[1]).of_values(), out[cells])
                for cells, differences in self._blocks(block, quantizer.of_gaps)
            )

        return quantized_in_blocks(rounded, self._first, quantizers, check_finite)

    def _blocks(self, block: Block = (ALL, ALL), of_gaps: bool = False) -> Iterator[tuple[Block, NDArray[Any]]]:
        """Small blocks within a block, each with its differences, which are valid until the next.

        `of_gaps` subtracts the indicators of gaps.
        """
        first, second = self._first[block], self._second[block]
        order: Literal["F", "C"] = "F" if dispatch.by_columns(first) else "C"
        # One buffer for all: new memory for each would take longer than the differences.
        buffer = None
        for cells in cached_blocks(first):
            one, other = first[cells], second[cells]
            if of_gaps:
                one, other = indicators(one), indicators(other)
            buffer = np.empty(one.size, dtype=one.dtype) if buffer is None else buffer
            with np.errstate(all="ignore"):
                yield cells, np.subtract(one, other, out=buffer[: one.size].reshape(one.shape, order=order))

    def has_nonfinite(self) -> int:
        """1 if a difference is not finite, 0 otherwise."""
        return max((has_nonfinite(differences) for _, differences in self._blocks()), default=0)

    def weighted_sums(self, quantizer: Quantizer, weights: NDArray[Any]) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        check_same_length(weights, self._first)
        sums = np.zeros(self.n_features, dtype=np.int64)
        for (rows, columns), differences in self._blocks(of_gaps=quantizer.of_gaps):
            sums[columns] += feature_sums(differences, quantizer.of(columns).of_values(), weights[rows])
        return sums


def quantized_in_blocks(
    rounded: Callable[[Block, Quantizer, NDArray[np.int8]], int],
    table: NDArray[Any],
    quantizers: Sequence[Quantizer],
    check_finite: bool,
) -> QuantizedFamilies:
    """Levels of a table of cells, or of others of its shape and memory order.

    `rounded` writes the levels of a block, given the quantizer of its columns and where to write; it says whether a
    cell is not finite. `table` has the shape and the memory order. `check_finite` raises ValueError, with a constant
    text, if a cell is not finite.
    """
    families = []
    for quantizer in quantizers:
        levels = empty_levels(table)

        def of_block(block: Block, quantizer: Quantizer = quantizer, levels: NDArray[np.int8] = levels) -> int:
            return rounded(block, quantizer.of(block[1]), levels[block])

        nonfinite = list(parallel_map(of_block, blocks_of(table)))
        if check_finite and any(nonfinite):
            raise ValueError(NOT_FINITE)
        families.append(QuantizedDense(levels))
    return QuantizedFamilies(families)


def empty_levels(X: NDArray[Any]) -> NDArray[np.int8]:
    """Room for the levels of an array, in its memory order."""
    return np.empty(X.shape, dtype=np.int8, order="F" if dispatch.by_columns(X) else "C")


class QuantizedDense:
    """Feature levels kept for the length of a fit. They depend on the budget's clip, so they are never a file."""

    def __init__(self, levels: NDArray[np.int8]) -> None:
        self.levels = levels

    def take(self, rows: Any) -> "QuantizedDense":
        """The levels of some rows."""
        return QuantizedDense(self.levels[rows])

    def weighted_sums(self, weights: NDArray[Any], on_progress: OnProgress = None) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        weights = as_weights(weights, self.levels)

        def add(block: Block) -> NDArray[np.int64]:
            cells = self.levels[block]
            sums = np.zeros(cells.shape[1], dtype=np.int64)
            by_columns = dispatch.by_columns(self.levels)
            name, table = ("add_level_columns", cells.T) if by_columns else ("add_level_rows", cells)
            dispatch.run(name, *dispatch.flat_view(table), weights[block[0]], sums)
            return sums

        return sums_of_blocks(add, self.levels)


def at_most(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts at or below each threshold from counts between them; beyond the last are large values and NaN."""
    return np.cumsum(counts, axis=1, out=counts)[:, :-1]


def has_nonfinite(X: NDArray[Any]) -> int:
    """1 if a cell of an array is not finite, 0 otherwise."""
    # The sum is finite where all cells are, unless it overflows: then each is checked.
    with np.errstate(all="ignore"):
        return int(not np.isfinite(X.sum()) and not np.isfinite(X).all())


def blocks_of(table: NDArray[Any]) -> list[Block]:
    """Pairs of slices that divide an array among threads, along its memory."""
    n, d = table.shape
    if dispatch.by_columns(table):
        return [(ALL, columns) for columns in slices(d, block_size(d, n * table.itemsize))]
    return [(rows, ALL) for rows in slices(n, block_size(n, d * table.itemsize))]


def cached_blocks(table: NDArray[Any]) -> Iterator[Block]:
    """Pairs of slices that divide an array into blocks for the cache, along its memory."""
    n, d = table.shape
    cells = _CACHED_BYTES // table.itemsize
    if dispatch.by_columns(table):
        return itertools.product(slices(n, cells), slices(d, cells // max(1, n)))
    return itertools.product(slices(n, cells // max(1, d)), slices(d, cells))


def feature_sums(X: NDArray[Any], quantizer: Quantizer, weights: NDArray[Any]) -> NDArray[np.int64]:
    """Sums over the rows of an array of weight level times feature level, as int64."""
    weights = as_weights(weights, X)
    by_columns = dispatch.by_columns(X)
    public = quantizer.per_feature(X.dtype, X.shape[1]) if by_columns else quantizer.compact(X.dtype, X.shape[1])

    def add(block: Block) -> NDArray[np.int64]:
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


def subtract_features(
    residuals: NDArray[np.float64],
    X: NDArray[Any],
    columns: NDArray[np.int64],
    effects: NDArray[np.float64],
    quantizer: Quantizer,
) -> None:
    """Subtract some columns of an array times their effects; the quantizer, which clips, is that of these columns.

    Column d + j of d columns holds the indicators of column j.
    """
    check_same_length(residuals, X)
    public = [np.broadcast_to(each, len(columns)) for each in (*quantizer.center_and_scale(), effects)]
    columns, bound = np.asarray(columns, dtype=np.int64), float(quantizer.clip_bound)
    dispatch.run("subtract_columns", *dispatch.strided_view(X), X.shape[1], columns, *public, bound, residuals)


def as_weights(weights: NDArray[Any], table: NDArray[Any]) -> NDArray[np.int32]:
    """Weights as int32, one for each row of the table."""
    check_same_length(weights, table)
    return np.ascontiguousarray(weights, dtype=np.int32)


def check_same_length(values: NDArray[Any], table: NDArray[Any]) -> None:
    """Raise ValueError unless there is one value for each row."""
    # Compiled kernels read a row for each weight or residual.
    if len(values) != len(table):
        raise ValueError(ROWS_CHANGED)


def sums_of_blocks(add: Callable[[Block], NDArray[np.int64]], table: NDArray[Any]) -> NDArray[np.int64]:
    """Sums of what `add` gives for each block of an array."""
    sums, blocks = np.zeros(table.shape[1], dtype=np.int64), blocks_of(table)
    for (_, columns), block_sums in zip(blocks, parallel_map(add, blocks), strict=True):
        sums[columns] += block_sums
    return sums


def round_features(X: NDArray[Any], quantizer: Quantizer, out: NDArray[np.int8]) -> int:
    """Write the levels of an array, in the memory order of `out`; returns whether a cell is not finite."""
    n, d = X.shape
    if dispatch.by_columns(out):
        public: Sequence[Any] = quantizer.per_feature(X.dtype, d)
        return int(dispatch.run("round_columns", *dispatch.flat_view(X.T), n, *public, *dispatch.flat_view(out.T)))
    public = quantizer.compact(X.dtype, d)
    return int(dispatch.run("round_rows", *dispatch.flat_view(X), n, d, *public, *dispatch.flat_view(out)))


def round_indicators(X: NDArray[Any], quantizer: Quantizer, out: NDArray[np.int8]) -> int:
    """Write the levels of the indicators of an array's gaps; returns whether there is a gap."""
    found = 0
    for block in cached_blocks(X):
        cells = indicators(X[block])
        round_features(cells, quantizer.of(block[1]).of_values(), out[block])
        found |= int(cells.any())
    return found
