"""Rows whose features are read from a disk block by block.

The responses and the few selected columns are held in memory. The features are read once, and kept as levels of a byte
each as far as memory allows; the other blocks are read again in each pass. While threads work on some blocks
the system reads the next.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.cpu.dense_rows import (
    DenseRows,
    QuantizedDense,
    empty_levels,
    feature_sums,
    has_nonfinite,
    round_features,
)
from dpsparse.engine.cpu.local_rows import LocalRows, LocalSession, QuantizedFamilies, pair_differences
from dpsparse.engine.disk.feature_sources import Block, DifferenceSource, FeatureSource
from dpsparse.engine.disk.memory import room
from dpsparse.engine.links import Link
from dpsparse.engine.protocols import OnProgress, Query
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.queries import total
from dpsparse.engine.refusals import NOT_FINITE
from dpsparse.engine.threads import ALL, n_threads, parallel_map


class DiskRows(LocalRows):
    """Rows of a source, from row `first` on, `step` apart.

    `y` are the responses to all rows of the source, in float64.
    """

    def __init__(self, source: FeatureSource, y: NDArray[np.float64], first: int = 0, step: int = 1) -> None:
        super().__init__(y[first::step], source.shape[1])
        self.source = source
        self._all_y, self._first, self._step = y, first, step

    def part(self, index: int, of: int) -> "DiskRows":
        """Every `of`-th row from row `index` on."""
        return DiskRows(self.source, self._all_y, self._first + index * self._step, self._step * of)

    def differences(self) -> "DiskRows":
        """The differences of pairs of records; see `protocols.Rows`."""
        return DiskRows(DifferenceSource(self.source, self._first, self._step), pair_differences(self.y))

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over the rows; every row of the file is read."""

        def evaluate_block(k: int) -> Any:
            rows = blocks[k][0]
            mine = slice((self._first - rows.start) % self._step, None, self._step)
            return query(DenseRows(self.source.cells(blocks[k])[mine], self._all_y[rows][mine]), *public)

        blocks = [(rows, ALL) for rows in self.source.row_blocks() if self._has(rows)]
        return total(each_block(self.source, blocks, evaluate_block))

    def _has(self, rows: slice) -> bool:
        result: bool = rows.start + (self._first - rows.start) % self._step < rows.stop
        return result

    def column(self, j: int, on_progress: OnProgress = None) -> NDArray[Any]:
        """Raw values of a feature, or the indicators of its gaps; see `protocols.Rows`."""
        return self.source.column(j, on_progress)

    def _levels_for(self, quantizers: tuple[Quantizer, ...], check_finite: bool, on_progress: OnProgress) -> Any:
        return QuantizedDisk(self.source, quantizers, check_finite, on_progress)

    def _session(self, constant: bool, levels: Any, link: Link) -> "DiskSession":
        return DiskSession(self, constant, levels, link)


class DiskSession(LocalSession):
    """A session that reports its progress."""

    def add(self, feature: int, on_progress: OnProgress = None) -> None:
        """Read one more feature."""
        self._append(self._rows.column(feature, on_progress))


class QuantizedDisk:
    """Feature levels of the blocks for which there is memory; the others are computed again in each pass.

    Raises ValueError, with a constant text, if the features are not all finite and `check_finite` is set.
    """

    def __init__(
        self, source: FeatureSource, quantizers: tuple[Quantizer, ...], check_finite: bool, on_progress: OnProgress
    ) -> None:
        self._source, self._quantizers, self._blocks = source, quantizers, source.blocks()
        sizes = np.cumsum([len(quantizers) * _n_cells(block, source.shape) for block in self._blocks])
        most = np.searchsorted(sizes, room(), side="right")
        kept = most if quantizers else 0

        def quantize(k: int) -> tuple[QuantizedFamilies | None, int]:
            block = self._blocks[k]
            if k < kept:
                return levels_of(BlockCells(source, block), [quantizer.of(block[1]) for quantizer in quantizers])
            return None, check_finite and has_nonfinite(source.cells(block))

        results = list(each_block(source, self._blocks, quantize, on_progress))
        self._kept = [levels for levels, _ in results]
        if check_finite and any(nonfinite for _, nonfinite in results):
            raise ValueError(NOT_FINITE)

    def weighted_sums(self, weights: NDArray[np.float64], on_progress: OnProgress = None) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64: a row for each quantizer."""

        def add(k: int) -> Any:
            rows, columns = self._blocks[k]
            if self._kept[k] is not None:
                return self._kept[k].weighted_sums(weights[rows])
            cells = BlockCells(self._source, self._blocks[k])
            return [
                feature_sums(cells.of(quantizer), quantizer.of(columns).of_values(), weights[rows])
                for quantizer in self._quantizers
            ]

        sums = np.zeros((len(self._quantizers), self._source.shape[1]), dtype=np.int64)
        for k, block_sums in enumerate(each_block(self._source, self._blocks, add, on_progress, self._kept)):
            sums[:, self._blocks[k][1]] += block_sums
        return sums


class BlockCells:
    """The cells of a block of a source, and the indicators of their gaps, each read at most once."""

    def __init__(self, source: FeatureSource, block: Block) -> None:
        self._source, self._block = source, block

    @cached_property
    def values(self) -> NDArray[Any]:
        """The cells."""
        return self._source.cells(self._block)

    @cached_property
    def indicators(self) -> NDArray[Any]:
        """The indicators of their gaps."""
        return self._source.indicators(self._block, self.values)

    def of(self, quantizer: Quantizer) -> NDArray[Any]:
        """What a quantizer makes integers of."""
        return self.indicators if quantizer.of_gaps else self.values


def levels_of(cells: BlockCells, quantizers: Sequence[Quantizer]) -> tuple[QuantizedFamilies, int]:
    """The levels of a block of cells, and whether one of these is not finite."""
    families, nonfinite = [empty_levels(cells.values) for _ in quantizers], 0
    for quantizer, levels in zip(quantizers, families, strict=True):
        nonfinite |= round_features(cells.of(quantizer), quantizer.of_values(), levels)
    return QuantizedFamilies(map(QuantizedDense, families)), nonfinite


def each_block(
    source: FeatureSource,
    blocks: Sequence[Block],
    function: Callable[[int], Any],
    on_progress: OnProgress = None,
    kept: Sequence[Any] = (),
) -> Iterator[Any]:
    """Yield the results of a function of each block's number, in order; later blocks are prefetched unless kept."""
    reach = 2 * n_threads()

    def run(k: int) -> Any:
        soon = k + reach
        if soon < len(blocks) and not any(kept[soon : soon + 1]):
            source.prefetch(blocks[soon])
        return function(k)

    for k, result in enumerate(parallel_map(run, range(len(blocks)))):
        if on_progress:
            on_progress((k + 1) / len(blocks))
        yield result


def _n_cells(block: Block, shape: tuple[int, int]) -> int:
    sizes: list[int] = [len(range(*part.indices(size))) for part, size in zip(block, shape, strict=True)]
    return math.prod(sizes)
