"""Sources of features that stay on a disk: .npy files, memory maps and others.

A source has `shape`, `names` or None, and `dtype`, in which a fit computes. It is read in blocks, pairs of slices that
follow the order of the file, or in blocks of whole rows; some rows of a block may be read by themselves. `prefetch`
announces a block, `only` leaves columns out.
"""

import mmap
from bisect import bisect_right
from contextlib import suppress

import numpy as np

from dpsparse.engine import config, gaps
from dpsparse.engine.cpu.rows import pair_blocks, pair_differences
from dpsparse.engine.refusals import CHANGED
from dpsparse.engine.threads import ALL, slices


def arithmetic(dtypes):
    """The dtype of a fit: float32 where all columns are, float64 otherwise."""
    return np.dtype(np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64)


class FeatureSource:
    """Features in files. Subclasses read them."""

    names = None

    def row_blocks(self):
        """Slices of whole rows."""
        return slices(self.shape[0], self._rows_per_block())

    def _rows_per_block(self):
        return max(1, config.current.disk_block_bytes // (self.shape[1] * self.dtype.itemsize))

    def blocks(self):
        """Pairs of slices of rows and columns, in the order of the file."""
        return [(rows, ALL) for rows in self.row_blocks()]

    def cells(self, block):
        """The cells of a block; raises OSError if their shape is not the declared one."""
        cells, (rows, columns) = self.read(block), block
        width = len(range(*columns.indices(self.shape[1]))) if isinstance(columns, slice) else len(columns)
        if cells.shape != (rows.stop - rows.start, width):
            raise OSError(CHANGED)
        return cells

    def indicators(self, block, cells):
        """Indicators of the gaps of a block, whose cells have been read."""
        return gaps.indicators(cells)

    def prefetch(self, block):
        """Announce that a block will be read soon."""

    def column(self, feature, on_progress=None):
        """The values of a feature; of feature d + j of d features the indicators of feature j."""
        values = self.columns([feature % self.shape[1]], on_progress)[:, 0]
        return values if feature < self.shape[1] else gaps.indicators(values)

    def columns(self, features, on_progress=None):
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

    Parameters
    ----------
    source : FeatureSource
        The features.
    first, step : int
        Which of its rows are the records.
    """

    def __init__(self, source, first, step):
        self._source, self._rows = source, range(first, source.shape[0], step)
        self.shape, self.dtype = (len(self._rows) // 2, source.shape[1]), source.dtype

    def row_blocks(self):
        """Slices of pairs whose records lie in one block of rows each."""
        return self._between({rows.start for rows in self._source.row_blocks()})

    def blocks(self):
        """Blocks of pairs whose records lie in one block each."""
        cuts = {}
        for rows, columns in self._source.blocks():
            cuts.setdefault(rows.start, set()).add(columns.indices(self.shape[1])[0])
        starts, blocks = sorted(cuts), []
        for pairs in self._between(cuts):
            places = [bisect_right(starts, rows.start) - 1 for rows in self._records(pairs)]
            columns = sorted(set.union(*(cuts[starts[place]] for place in places)))
            ends = [*columns[1:], self.shape[1]]
            blocks += [(pairs, slice(*each)) for each in zip(columns, ends, strict=True)]
        return blocks

    def _between(self, starts):
        """Slices of pairs that are cut where either record reaches one of some rows."""
        records = self._rows
        return pair_blocks([-((records.start - start) // records.step) for start in starts], self.shape[0])

    def _records(self, pairs):
        """The source's rows from the first to the last of both records of some pairs."""
        half = self.shape[0]
        both = (self._rows[pairs.start + offset : pairs.stop + offset] for offset in (0, half))
        return [slice(records[0], records[-1] + 1) for records in both]

    @np.errstate(all="ignore")
    def read(self, block):
        """The differences of a block."""
        first, second = self._both(block)
        return first - second

    def indicators(self, block, cells):
        """Differences of the indicators of both records' gaps; these are read again."""
        first, second = map(gaps.indicators, self._both(block))
        return first - second

    def _both(self, block):
        """The cells of the first and of the second records of a block of pairs."""
        return [self._source.cells((rows, block[1]))[:: self._rows.step] for rows in self._records(block[0])]

    def prefetch(self, block):
        """Announce both blocks of records."""
        for rows in self._records(block[0]):
            self._source.prefetch((rows, block[1]))

    def column(self, feature, on_progress=None):
        """The differences of a feature, or of the indicators of its gaps."""
        return pair_differences(self._source.column(feature, on_progress)[self._rows.start :: self._rows.step])


class ArraySource(FeatureSource):
    """Arrays or memory maps, one below the other, each in either memory order.

    Parameters
    ----------
    chunks : list of ndarray
        Two-dimensional, with the same columns.
    names : list of str or None
        Names of the columns.
    selected : ndarray of int or None
        The columns to read; None for all.
    """

    def __init__(self, chunks, names=None, selected=None):
        self.chunks, self.names = chunks, names
        self._selected = selected
        self._starts = np.cumsum([0, *map(len, chunks)]).tolist()
        self.shape = self._starts[-1], chunks[0].shape[1] if selected is None else len(selected)
        self.dtype = arithmetic([chunk.dtype for chunk in chunks])

    def only(self, places):
        """The same arrays with some of the columns."""
        names = None if self.names is None else [self.names[place] for place in places]
        places = np.asarray(places)
        if self._selected is None and (np.diff(places) == 1).all():
            return ArraySource([chunk[:, places[0] : places[-1] + 1] for chunk in self.chunks], names)
        return ArraySource(self.chunks, names, places if self._selected is None else self._selected[places])

    def blocks(self):
        """Rows of a chunk, or columns where its memory runs along them."""
        blocks, block_bytes = [], config.current.disk_block_bytes
        for chunk, start in zip(self.chunks, self._starts, strict=False):
            n, d, size = len(chunk), self.shape[1], self.dtype.itemsize
            if _by_columns(chunk):
                rows = slice(start, start + n)
                blocks += [(rows, columns) for columns in slices(d, block_bytes // (n * size))]
            else:
                blocks += [(rows, ALL) for rows in slices(n, block_bytes // (d * size), start)]
        return blocks

    def row_blocks(self):
        """Slices of whole rows that do not cross chunks."""
        step = self._rows_per_block()
        sizes = zip(self._starts, map(len, self.chunks), strict=False)
        return [block for start, size in sizes for block in slices(size, step, start)]

    def read(self, block):
        """The cells of a block within one chunk; where possible the file's own memory."""
        chunk, rows, columns = self._in_chunk(block)
        return np.asarray(chunk[rows][:, columns], dtype=self.dtype)

    def _in_chunk(self, block):
        rows, columns = block
        k = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        start = self._starts[k]
        selected = columns if self._selected is None else self._selected[columns]
        return self.chunks[k], slice(rows.start - start, rows.stop - start), selected

    def prefetch(self, block):
        """Let the system read a block that lies in one stretch of a file."""
        chunk, rows, columns = self._in_chunk(block)
        if isinstance(columns, slice):
            _advise(chunk, chunk[rows, columns], "MADV_WILLNEED")
        elif not _by_columns(chunk) and chunk.strides[0] < config.current.disk_long_row_bytes:
            _advise(chunk, chunk[rows], "MADV_WILLNEED")

    def columns(self, features, on_progress=None):
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


def _by_columns(chunk):
    return chunk.strides[0] < chunk.strides[1]


def _advise(chunk, cells, advice):
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


def _map_of(array):
    while isinstance(array, np.ndarray):
        if getattr(array, "_mmap", None) is not None:
            return array._mmap
        array = array.base
    return None
