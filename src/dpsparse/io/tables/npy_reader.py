""".npy files: one array of real numbers with two dimensions; the columns are named by their numbers."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.io.tables.table_reader import Categories, Columns, TableReader, block_rows, check_array
from dpsparse.schema import FileError


def memory_map(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array of an .npy file, left on the disk. Pickled objects are never loaded.

    NumPy's own errors are left to the caller, who knows what the file is for.
    """
    array = np.lib.format.open_memmap(path, mode="r")
    # NumPy reads what the header declares; a file of another length was cut, joined or is no array.
    if array.offset + array.nbytes != os.path.getsize(path):
        raise FileError(f"{path} is not as long as its header says")
    return array


class NpyReader(TableReader):
    """An .npy file."""

    kind = "npy"

    def _read_names(self) -> list[str]:
        self._array = check_array(memory_map(self.path), self.path)
        return [str(place) for place in range(self._array.shape[1])]

    def _source(self) -> ArraySource:
        return ArraySource([self._array])

    def _text_columns(self) -> list[str]:
        return []

    def _n_records(self) -> int:
        return len(self._array)

    def _read(self, numbers: list[str], categories: Categories) -> Columns:
        return self._values(slice(None), numbers, categories)

    def _texts(self, name: str) -> list[str]:
        # Whole numbers, as most identifiers are, without the ".0" of floats.
        return [
            str(int(cell)) if float(cell).is_integer() else str(cell) for cell in self._array[:, int(name)].tolist()
        ]

    def _blocks(self, numbers: list[str], categories: Categories, start: int) -> Iterator[Columns]:
        step = block_rows(len(numbers))
        for first in range(start, len(self._array), step):
            yield self._values(slice(first, first + step), numbers, categories)

    def _values(self, rows: slice, numbers: list[str], categories: Categories) -> Columns:
        if categories:
            raise FileError(f"{self.path}: an npy file has no columns of text; take their categories out of the bounds")
        return self._array[rows][:, [int(name) for name in numbers]], {}
