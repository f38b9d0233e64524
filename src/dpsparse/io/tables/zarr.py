"""Zarr arrays: a folder, or an array that the caller opened. A fit reads their chunks."""

import numpy as np

from dpsparse.engine.disk.sources import FeatureSource, arithmetic
from dpsparse.engine.threads import slices
from dpsparse.io.tables.reader import TableReader, check_array


class ZarrReader(TableReader):
    """A folder with a Zarr array, for `OnDisk`; its columns have no names."""

    kind, needs, extra = "Zarr", "zarr", "zarr"

    def _read_names(self):
        import zarr

        self._array = check_array(zarr.open_array(self.path, mode="r"), self.path)
        return [str(place) for place in range(self._array.shape[1])]

    def _source(self):
        return ZarrSource(self._array)


class ZarrSource(FeatureSource):
    """A Zarr array.

    Parameters
    ----------
    array : zarr.Array
        Two-dimensional.
    selected : ndarray of int or None
        The columns to read; None for all.
    """

    def __init__(self, array, selected=None):
        self._array = array
        self._selected = np.arange(array.shape[1]) if selected is None else selected
        self.shape, self.dtype = (array.shape[0], len(self._selected)), arithmetic([array.dtype])

    def only(self, places):
        """The same array with some of the columns."""
        return ZarrSource(self._array, self._selected[places])

    def row_blocks(self):
        """Whole chunks of rows."""
        rows = self._array.chunks[0]
        return slices(self.shape[0], max(1, self._rows_per_block() // rows) * rows)

    def read(self, block):
        """The cells of a block."""
        rows, columns = block[0], self._selected[block[1]]
        whole = len(columns) == self._array.shape[1]
        cells = self._array[rows, :] if whole else self._array.oindex[rows, columns]
        return np.asarray(cells, dtype=self.dtype)
