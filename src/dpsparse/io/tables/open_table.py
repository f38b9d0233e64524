"""Tables of people: CSV, Parquet and npy files, read strictly into floats."""

import os

import numpy as np

from dpsparse.io.tables.arrow import CsvTable, ParquetTable
from dpsparse.io.tables.base import Table, block_rows
from dpsparse.schema import FileError, checked_path, existing_path


def open_table(path):
    """The table in a file, by its ending; only names are read.

    Parameters
    ----------
    path : str or path
        A .csv file with a line of column names, a .parquet file, a folder of .parquet files with the same columns, in
        the order of their names, or an .npy file with one array of two dimensions, whose columns are named by their
        numbers from 0.

    Returns
    -------
    Table
        Its `names` are those of the columns.
    """
    path = existing_path(path)
    if os.path.isdir(path):
        files = sorted(path.glob("*.parquet"))
        if not files:
            raise FileError(f"{path} is not a file, nor a folder of .parquet files")
        return ParquetTable(path, [checked_path(file) for file in files])
    reader = {".csv": CsvTable, ".parquet": ParquetTable, ".npy": NpyTable}.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"{path}: the file's name must end in .csv, .parquet or .npy")
    return reader(checked_path(path))


class NpyTable(Table):
    """One array of real numbers with two dimensions; the columns are named by their numbers."""

    kind = "npy"

    def _read_names(self):
        array = np.lib.format.open_memmap(self.path, mode="r")
        # numpy reads what the header declares; a file of another length was cut, joined or is no array.
        if array.offset + array.nbytes != os.path.getsize(self.path):
            raise FileError(f"{self.path} is not as long as its header says")
        if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "biuf":
            raise FileError(f"{self.path} must hold one array of real numbers with two dimensions, and not be empty")
        self._array = array
        return [str(place) for place in range(array.shape[1])]

    def _text_columns(self):
        return []

    def _n_records(self):
        return len(self._array)

    def _read(self, numbers, categories):
        return self._taken(slice(None), numbers, categories)

    def _blocks(self, numbers, categories, start):
        step = block_rows(len(numbers))
        for first in range(start, len(self._array), step):
            yield self._taken(slice(first, first + step), numbers, categories)

    def _taken(self, rows, numbers, categories):
        if categories:
            raise FileError(f"{self.path}: an npy file has no columns of text; take their categories out of the bounds")
        return self._array[rows][:, [int(name) for name in numbers]], {}
