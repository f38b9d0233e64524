""".npy files: one array of real numbers with two dimensions; the columns are named by their numbers."""

import os

import numpy as np

from dpsparse.engine.disk.sources import ArraySource
from dpsparse.io.tables.reader import TableReader, block_rows, check_array
from dpsparse.schema import FileError


def memory_map(path):
    """The array of an .npy file, left on the disk. Pickled objects are never loaded.

    Parameters
    ----------
    path : str or path
        The file. NumPy's own errors are left to the caller, who knows what the file is for.
    """
    array = np.lib.format.open_memmap(path, mode="r")
    # NumPy reads what the header declares; a file of another length was cut, joined or is no array.
    if array.offset + array.nbytes != os.path.getsize(path):
        raise FileError(f"{path} is not as long as its header says")
    return array


class NpyReader(TableReader):
    """An .npy file."""

    kind = "npy"

    def _read_names(self):
        self._array = check_array(memory_map(self.path), self.path)
        return [str(place) for place in range(self._array.shape[1])]

    def _source(self):
        return ArraySource([self._array])

    def _text_columns(self):
        return []

    def _n_records(self):
        return len(self._array)

    def _read(self, numbers, categories):
        return self._values(slice(None), numbers, categories)

    def _texts(self, name):
        # Whole numbers, as most identifiers are, without the ".0" of floats.
        return [
            str(int(cell)) if float(cell).is_integer() else str(cell) for cell in self._array[:, int(name)].tolist()
        ]

    def _blocks(self, numbers, categories, start):
        step = block_rows(len(numbers))
        for first in range(start, len(self._array), step):
            yield self._values(slice(first, first + step), numbers, categories)

    def _values(self, rows, numbers, categories):
        if categories:
            raise FileError(f"{self.path}: an npy file has no columns of text; take their categories out of the bounds")
        return self._array[rows][:, [int(name) for name in numbers]], {}
