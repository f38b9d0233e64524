"""Zarr arrays: a folder, or an array that the caller opened. A fit reads their chunks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.disk.feature_sources import Block, FeatureSource, arithmetic
from dpsparse.engine.threads import slices
from dpsparse.io.tables.table_reader import TableReader, check_array


class ZarrReader(TableReader):
    """A folder with a Zarr array, for `OnDisk`; its columns have no names."""

    kind, needs, extra = "Zarr", "zarr", "zarr"

    def _read_names(self) -> Any:
        import zarr

        self._array = check_array(zarr.open_array(self.path, mode="r"), self.path)
        return [str(place) for place in range(self._array.shape[1])]

    def _source(self) -> "ZarrSource":
        return ZarrSource(self._array)


class ZarrSource(FeatureSource):
    """A Zarr array."""

    def __init__(self, array: Any, selected: NDArray[np.intp] | None = None) -> None:
        self._array = array
        self._selected = np.arange(array.shape[1]) if selected is None else selected
        self.shape, self.dtype = (array.shape[0], len(self._selected)), arithmetic([array.dtype])

    def only(self, places: Sequence[int]) -> "ZarrSource":
        """The same array with some of the columns."""
        return ZarrSource(self._array, self._selected[places])

    def row_blocks(self) -> list[slice]:
        """Whole chunks of rows."""
        rows = self._array.chunks[0]
        return slices(self.shape[0], max(1, self._rows_per_block() // rows) * rows)

    def read(self, block: Block) -> NDArray[Any]:
        """The cells of a block."""
        rows, columns = block[0], self._selected[block[1]]
        whole = len(columns) == self._array.shape[1]
        cells = self._array[rows, :] if whole else self._array.oindex[rows, columns]
        return np.asarray(cells, dtype=self.dtype)
