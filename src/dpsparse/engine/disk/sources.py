"""Where features that stay on a disk come from: .npy files and memory maps, Zarr; `parquet` has Parquet.

A source has `shape`, `names` or None, and `dtype`, in which a fit computes. It is read in pieces, pairs of slices, that
follow the order of the file, or in bands of whole rows. `ahead` says what will be read soon, `only` leaves columns out.
"""

import mmap
from contextlib import suppress

import numpy as np

# What is read at a time: large enough for a disk, small enough for a few to lie in memory.
PIECE_BYTES = 2**26
# Rows longer than this are read a page at a time where a single column is wanted.
LONG_ROW = 2**18

ALL = slice(None)

CHANGED = "X has another shape than when it was opened: it changed while it was read; fit a copy that nobody changes"


def slices(size, step, start=0):
    """Slices of at most `step`, or of 1, that divide a range."""
    step = max(1, step)
    return [slice(first, min(first + step, start + size)) for first in range(start, start + size, step)]


def arithmetic(dtypes):
    """The dtype of a fit: float32 where all columns are, float64 otherwise."""
    return np.dtype(np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64)


class Source:
    """Features in files. Subclasses read them."""

    names = None

    def bands(self):
        """Slices of whole rows."""
        return slices(self.shape[0], self._rows_at_a_time())

    def _rows_at_a_time(self):
        return max(1, PIECE_BYTES // (self.shape[1] * self.dtype.itemsize))

    def pieces(self):
        """Pairs of slices of rows and columns, in the order of the file."""
        return [(rows, ALL) for rows in self.bands()]

    def cells(self, piece):
        """The cells of a piece; raises OSError if they are not as many as the source declared."""
        found, (rows, columns) = self.read(piece), piece
        width = len(range(*columns.indices(self.shape[1]))) if isinstance(columns, slice) else len(columns)
        if found.shape != (rows.stop - rows.start, width):
            raise OSError(CHANGED)
        return found

    def ahead(self, piece):
        """Say that a piece will be read soon."""

    def columns(self, features, tell=None):
        """Values of some features, one column each; `tell` is given the share that is done."""
        out = np.empty((self.shape[0], len(features)), dtype=self.dtype, order="F")
        bands = self.bands()
        for k, rows in enumerate(bands):
            for soon in bands[k + 1 : k + 2]:
                self.ahead((soon, features))
            out[rows] = self.cells((rows, features))
            if tell:
                tell((k + 1) / len(bands))
        return out


class ArraySource(Source):
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

    def pieces(self):
        """Rows of a chunk, or columns where its memory runs along them."""
        found = []
        for chunk, start in zip(self.chunks, self._starts, strict=False):
            n, d, size = len(chunk), self.shape[1], self.dtype.itemsize
            if _by_columns(chunk):
                rows = slice(start, start + n)
                found += [(rows, columns) for columns in slices(d, PIECE_BYTES // (n * size))]
            else:
                found += [(rows, ALL) for rows in slices(n, PIECE_BYTES // (d * size), start)]
        return found

    def bands(self):
        """Slices of whole rows that do not cross chunks."""
        step = self._rows_at_a_time()
        sizes = zip(self._starts, map(len, self.chunks), strict=False)
        return [band for start, size in sizes for band in slices(size, step, start)]

    def read(self, piece):
        """The cells of a piece within one chunk; where possible the file's own memory."""
        chunk, rows, columns = self._within(piece)
        return np.asarray(chunk[rows][:, columns], dtype=self.dtype)

    def _within(self, piece):
        rows, columns = piece
        k = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        start = self._starts[k]
        selected = columns if self._selected is None else self._selected[columns]
        return self.chunks[k], slice(rows.start - start, rows.stop - start), selected

    def ahead(self, piece):
        """Let the system read a piece that lies in one stretch of a file."""
        chunk, rows, columns = self._within(piece)
        if isinstance(columns, slice):
            _advise(chunk, chunk[rows, columns], "MADV_WILLNEED")
        elif not _by_columns(chunk) and chunk.strides[0] < LONG_ROW:
            _advise(chunk, chunk[rows], "MADV_WILLNEED")

    def columns(self, features, tell=None):
        """Values of some features: single pages of long rows, or short rows one after another."""
        long_rows = [chunk for chunk in self.chunks if not _by_columns(chunk) and chunk.strides[0] >= LONG_ROW]
        try:
            for chunk in long_rows:
                _advise(chunk, chunk, "MADV_RANDOM")
            return super().columns(features, tell)
        finally:
            for chunk in long_rows:
                _advise(chunk, chunk, "MADV_NORMAL")


def _by_columns(chunk):
    return chunk.strides[0] < chunk.strides[1]


def _advise(chunk, cells, advice):
    """Tell the system about some cells of a memory map."""
    mapped = _map_of(chunk)
    if mapped is None or not hasattr(mmap, advice):
        return
    first, last = np.lib.array_utils.byte_bounds(cells)
    base = np.frombuffer(mapped, dtype=np.uint8).ctypes.data
    start = (first - base) // mmap.PAGESIZE * mmap.PAGESIZE
    # It is advice: a system that does not take it reads all the same.
    with suppress(OSError):
        mapped.madvise(getattr(mmap, advice), start, last - base - start)


def _map_of(array):
    while isinstance(array, np.ndarray):
        if getattr(array, "_mmap", None) is not None:
            return array._mmap
        array = array.base
    return None
