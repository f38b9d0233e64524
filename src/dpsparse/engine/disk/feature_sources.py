"""Sources of features that stay on a disk: .npy files, memory maps and others.

A source has `shape`, `names` or None, and `dtype`, in which a fit computes. It is read in blocks, pairs of slices that
follow the order of the file, or in blocks of whole rows; some rows of a block may be read by themselves. `prefetch`
announces a block, `only` leaves columns out.
"""

import mmap
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpsparse.engine import config, quantize
from dpsparse.engine.cpu.local_rows import pair_blocks, pair_differences
from dpsparse.engine.protocols import OnProgress
from dpsparse.engine.refusals import CHANGED
from dpsparse.engine.threads import ALL, slices

Places: TypeAlias = Sequence[int] | NDArray[np.intp]
# Rows, and columns as a slice or by their `Places`.
Block: TypeAlias = tuple[slice, Any]


def arithmetic(dtypes: Iterable[DTypeLike]) -> np.dtype[Any]:
    """The dtype of a fit: float32 where all columns are, float64 otherwise."""
    return np.dtype(np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64)


class FeatureSource:
    """Features in files. Subclasses read them."""

    names: Sequence[str] | None = None
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def row_blocks(self) -> list[slice]:
        """Slices of whole rows."""
        return slices(self.shape[0], self._rows_per_block())

    def _rows_per_block(self) -> int:
        return max(1, config.current.disk_block_bytes // (self.shape[1] * self.dtype.itemsize))

    def blocks(self) -> list[Block]:
        """Pairs of slices of rows and columns, in the order of the file."""
        return [(rows, ALL) for rows in self.row_blocks()]

    def cells(self, block: Block) -> NDArray[Any]:
        """The cells of a block; raises OSError if their shape is not the declared one."""
        cells, (rows, columns) = self.read(block), block
        width = len(range(*columns.indices(self.shape[1]))) if isinstance(columns, slice) else len(columns)
        if cells.shape != (rows.stop - rows.start, width):
            raise OSError(CHANGED)
        return cells

    def read(self, block: Block) -> NDArray[Any]:
        """The cells of a block, as they are in the file."""
        raise NotImplementedError

    def only(self, places: Sequence[int]) -> "FeatureSource":
        """The same with some of the columns."""
        raise NotImplementedError

    def indicators(self, block: Block, cells: NDArray[Any]) -> NDArray[Any]:
        """Indicators of the gaps of a block, whose cells have been read."""
        result: NDArray[Any] = quantize.indicators(cells)
        return result

    def prefetch(self, block: Block) -> None:
        """Announce that a block will be read soon."""

    def column(self, feature: int, on_progress: OnProgress = None) -> NDArray[Any]:
        """The values of a feature; of feature d + j of d features the indicators of feature j."""
        values = self.columns([feature % self.shape[1]], on_progress)[:, 0]
        return values if feature < self.shape[1] else quantize.indicators(values)

    def columns(self, features: Places, on_progress: OnProgress = None) -> NDArray[Any]:
        """Values of some features, one column each; `on_progress` is given the share that is done."""
        out = np.empty((self.shape[0], len(features)), dtype=self.dtype, order="F")
        blocks = self.row_blocks()
        for k, rows in enumerate(blocks):
            for soon in blocks[k + 1 : k + 2]:
                self.prefetch((soon, features))
            out[rows] = self.cells((rows, features))
            if on_progress:
                on_progress((k + 1) / len(blocks))
        return out


class DifferenceSource(FeatureSource):
    """The differences of pairs of records of a source; see `protocols.Rows.differences`.

    A block is made of two blocks of the source, neither of which crosses a boundary of the source's own.

    The records are every `step`-th row of the source from row `first` on.
    """

    def __init__(self, source: FeatureSource, first: int, step: int) -> None:
        self._source, self._rows = source, range(first, source.shape[0], step)
        self.shape, self.dtype = (len(self._rows) // 2, source.shape[1]), source.dtype

    def row_blocks(self) -> list[slice]:
        """Slices of pairs whose records lie in one block of rows each."""
        return self._between({rows.start for rows in self._source.row_blocks()})

    def blocks(self) -> list[Block]:
        """Blocks of pairs whose records lie in one block each."""
        cuts: dict[int, set[int]] = {}
        for rows, columns in self._source.blocks():
            cuts.setdefault(rows.start, set()).add(columns.indices(self.shape[1])[0])
        starts = sorted(cuts)
        blocks: list[Block] = []
        for pairs in self._between(cuts):
            places = [bisect_right(starts, rows.start) - 1 for rows in self._records(pairs)]
            firsts = sorted(set.union(*(cuts[starts[place]] for place in places)))
            ends = [*firsts[1:], self.shape[1]]
            blocks += [(pairs, slice(*each)) for each in zip(firsts, ends, strict=True)]
        return blocks

    def _between(self, starts: Iterable[int]) -> list[slice]:
        """Slices of pairs that are cut where either record reaches one of some rows."""
        records = self._rows
        result: list[slice] = pair_blocks(
            [-((records.start - start) // records.step) for start in starts], len(records)
        )
        return result

    def _records(self, pairs: slice) -> list[slice]:
        """The source's rows from the first to the last of both records of some pairs, of which the second run back."""
        n = len(self._rows)
        both = self._rows[pairs], self._rows[n - pairs.stop : n - pairs.start]
        return [slice(records[0], records[-1] + 1) for records in both]

    @np.errstate(all="ignore")
    def read(self, block: Block) -> NDArray[Any]:
        """The differences of a block."""
        first, second = self._both(block)
        result: NDArray[Any] = first - second
        return result

    def indicators(self, block: Block, cells: NDArray[Any]) -> NDArray[Any]:
        """Differences of the indicators of both records' gaps; these are read again."""
        first, second = map(quantize.indicators, self._both(block))
        result: NDArray[Any] = first - second
        return result

    def _both(self, block: Block) -> list[NDArray[Any]]:
        """The cells of the first and of the second records of a block of pairs."""
        first, second = (self._source.cells((rows, block[1])) for rows in self._records(block[0]))
        return [first[:: self._rows.step], second[:: self._rows.step][::-1]]

    def prefetch(self, block: Block) -> None:
        """Announce both blocks of records."""
        for rows in self._records(block[0]):
            self._source.prefetch((rows, block[1]))

    def column(self, feature: int, on_progress: OnProgress = None) -> NDArray[Any]:
        """The differences of a feature, or of the indicators of its gaps."""
        result: NDArray[Any] = pair_differences(
            self._source.column(feature, on_progress)[self._rows.start :: self._rows.step]
        )
        return result


class ArraySource(FeatureSource):
    """Arrays or memory maps, one below the other, each in either memory order.

    The arrays have the same columns; `selected` are those to read, None for all.
    """

    def __init__(
        self,
        chunks: Sequence[NDArray[Any]],
        names: Sequence[str] | None = None,
        selected: NDArray[np.intp] | None = None,
    ) -> None:
        self.chunks, self.names = chunks, names
        self._selected = selected
        self._starts = np.cumsum([0, *map(len, chunks)]).tolist()
        self.shape = self._starts[-1], chunks[0].shape[1] if selected is None else len(selected)
        self.dtype = arithmetic([chunk.dtype for chunk in chunks])

    def only(self, places: Sequence[int]) -> "ArraySource":
        """The same arrays with some of the columns."""
        names = None if self.names is None else [self.names[place] for place in places]
        selected = np.asarray(places)
        if self._selected is None and (np.diff(selected) == 1).all():
            return ArraySource([chunk[:, places[0] : places[-1] + 1] for chunk in self.chunks], names)
        return ArraySource(self.chunks, names, selected if self._selected is None else self._selected[selected])

    def blocks(self) -> list[Block]:
        """Rows of a chunk, or columns where its memory runs along them."""
        blocks: list[Block] = []
        block_bytes = config.current.disk_block_bytes
        for chunk, start in zip(self.chunks, self._starts, strict=False):
            n, d, size = len(chunk), self.shape[1], self.dtype.itemsize
            if _by_columns(chunk):
                rows = slice(start, start + n)
                blocks += [(rows, columns) for columns in slices(d, block_bytes // (n * size))]
            else:
                blocks += [(rows, ALL) for rows in slices(n, block_bytes // (d * size), start)]
        return blocks

    def row_blocks(self) -> list[slice]:
        """Slices of whole rows that do not cross chunks."""
        step = self._rows_per_block()
        sizes = zip(self._starts, map(len, self.chunks), strict=False)
        return [block for start, size in sizes for block in slices(size, step, start)]

    def read(self, block: Block) -> NDArray[Any]:
        """The cells of a block within one chunk; where possible the file's own memory."""
        chunk, rows, columns = self._in_chunk(block)
        return np.asarray(chunk[rows][:, columns], dtype=self.dtype)

    def _in_chunk(self, block: Block) -> tuple[NDArray[Any], slice, Any]:
        rows, columns = block
        k = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        start = self._starts[k]
        selected = columns if self._selected is None else self._selected[columns]
        return self.chunks[k], slice(rows.start - start, rows.stop - start), selected

    def prefetch(self, block: Block) -> None:
        """Let the system read a block that lies in one stretch of a file."""
        chunk, rows, columns = self._in_chunk(block)
        if isinstance(columns, slice):
            _advise(chunk, chunk[rows, columns], "MADV_WILLNEED")
        elif not _by_columns(chunk) and chunk.strides[0] < config.current.disk_long_row_bytes:
            _advise(chunk, chunk[rows], "MADV_WILLNEED")

    def columns(self, features: Places, on_progress: OnProgress = None) -> NDArray[Any]:
        """Values of some features: single pages of long rows, or short rows one after another."""
        long_rows = [
            chunk
            for chunk in self.chunks
            if not _by_columns(chunk) and chunk.strides[0] >= config.current.disk_long_row_bytes
        ]
        try:
            for chunk in long_rows:
                _advise(chunk, chunk, "MADV_RANDOM")
            return super().columns(features, on_progress)
        finally:
            for chunk in long_rows:
                _advise(chunk, chunk, "MADV_NORMAL")


def _by_columns(chunk: NDArray[Any]) -> bool:
    return chunk.strides[0] < chunk.strides[1]


def _advise(chunk: NDArray[Any], cells: NDArray[Any], advice: str) -> None:
    """Advise the system about some cells of a memory map."""
    mapped = _map_of(chunk)
    if mapped is None or not hasattr(mmap, advice):
        return
    first, last = np.lib.array_utils.byte_bounds(cells)
    base = np.frombuffer(mapped, dtype=np.uint8).ctypes.data
    start = (first - base) // mmap.PAGESIZE * mmap.PAGESIZE
    # Advice only: a system that ignores it reads all the same.
    with suppress(OSError):
        mapped.madvise(getattr(mmap, advice), start, last - base - start)


def _map_of(array: Any) -> mmap.mmap | None:
    while isinstance(array, np.ndarray):
        mapped: mmap.mmap | None = getattr(array, "_mmap", None)
        if mapped is not None:
            return mapped
        array = array.base
    return None
