"""Tables of people: CSV, Parquet and npy files, read strictly into floats.

Names, number and kinds of the columns are public; values are not. Readers of other projects quote values in their
errors, so whatever they raise is replaced by a text of ours, and their warnings are left out.
"""

import os
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from dpsparse.files.strict import FileError, checked_path, is_name, quoted

_NO_ARROW = "reading CSV and Parquet needs pyarrow: pip install 'dpsparse[data]'"


def open_table(path):
    """The table in a file, by its ending; only names are read.

    Parameters
    ----------
    path : str or path
        A .csv file with a line of column names, a .parquet file, or an .npy file with one array of two dimensions,
        whose columns are named by their numbers from 0.

    Returns
    -------
    Table
        Its `names` are those of the columns.
    """
    path = Path(path)
    reader = {".csv": CsvTable, ".parquet": ParquetTable, ".npy": NpyTable}.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"{path}: the file's name must end in .csv, .parquet or .npy")
    return reader(checked_path(path))


class Table:
    """The columns of a file. Subclasses read the names, and the values when asked.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path):
        self.path = path
        with self._readable():
            self.names = self._read_names()
        if not all(map(is_name, self.names)):
            raise FileError(f"{path}: every column needs a printable name; an index without one is better left out")
        if len(set(self.names)) < len(self.names):
            raise FileError(f"{path}: two columns have the same name")

    @contextmanager
    def _readable(self):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except (FileError, MemoryError):
            raise
        except ImportError:
            raise FileError(_NO_ARROW) from None
        except Exception:
            raise FileError(f"{self.path} is not a readable {self.kind} file") from None

    def require(self, names):
        """Raise FileError unless the table has these columns."""
        known = set(self.names)
        for name in names:
            if name not in known:
                raise FileError(f"{self.path} has no column {quoted(name)}")

    def text_columns(self):
        """The names of the columns that hold text by the file's own schema; a CSV file has none, and says nothing."""
        with self._readable():
            return self._text_columns()

    def read(self, numbers, categories):
        """Columns of numbers and columns of text.

        Parameters
        ----------
        numbers : list of str
            Columns to read as floats; missing values become NaN.
        categories : dict of str to list of str
            Columns to read as text, and the public categories of each.

        Returns
        -------
        ndarray of shape (n_records, len(numbers))
            The numbers, in the order asked for.
        dict of str to ndarray
            For each column of text the position of each record's category, -1 for any other text and for none. An error
            would answer, for any list of categories, whether some record has another.
        """
        self.require([*numbers, *categories])
        with self._readable():
            return self._read(numbers, categories)


class ArrowTable(Table):
    """What CSV and Parquet share once they are Arrow columns."""

    def _text_columns(self):
        return [field.name for field in self._schema() if not _is_number(field.type)]

    def _read(self, numbers, categories):
        import pyarrow
        from pyarrow import compute, float64, string

        columns = self._arrow(numbers, categories)
        matrix = np.empty((columns.num_rows, len(numbers)), order="F")
        for place, name in enumerate(numbers):
            if not _is_number(columns[name].type):
                raise self.not_numbers(name)
            matrix[:, place] = columns[name].cast(float64(), safe=False).to_numpy()
        codes = {}
        for name, public in categories.items():
            found = compute.index_in(columns[name].cast(string()), value_set=pyarrow.array(public, string()))
            codes[name] = found.fill_null(-1).to_numpy()
        return matrix, codes

    def not_numbers(self, name):
        """The error for text in a column of numbers."""
        return FileError(
            f"{self.path}: column {quoted(name)} holds text; in the bounds file list its public categories, or drop it"
        )


def _is_number(arrow_type):
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(arrow_type) for test in tests)


class CsvTable(ArrowTable):
    """A CSV file: commas, UTF-8, the first line names the columns, a dot in decimals."""

    kind = "CSV"

    def _text_columns(self):
        return []

    def _schema(self):
        from pyarrow import csv

        with csv.open_csv(self.path, parse_options=csv.ParseOptions(newlines_in_values=True)) as reader:
            return reader.schema

    def _read_names(self):
        names = self._schema().names
        # A first record taken for names would be printed.
        if any(_parses(name) for name in names):
            raise FileError(f"{self.path}: the first line must name the columns, and a number is no name")
        return names

    def _arrow(self, numbers, categories):
        import pyarrow

        text = dict.fromkeys(categories, pyarrow.string())
        try:
            return self._converted(dict.fromkeys(numbers, pyarrow.float64()) | text)
        except pyarrow.ArrowInvalid as error:
            if "CSV conversion error" not in str(error):
                raise
        # Some cell is no number. It becomes NaN, which a fit refuses with one constant text whatever the column.
        columns = self._converted(dict.fromkeys(numbers, pyarrow.string()) | text)
        for name in numbers:
            values = pyarrow.array([_number(cell) for cell in columns[name].to_pylist()], pyarrow.float64())
            columns = columns.set_column(columns.schema.get_field_index(name), name, values)
        return columns

    def _converted(self, types):
        from pyarrow import csv

        return csv.read_csv(
            self.path,
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=list(types)),
        )


def _number(text):
    try:
        return float("" if text is None or "_" in text else text)
    except ValueError:
        return float("nan")


def _parses(text):
    try:
        float(text)
    except ValueError:
        return False
    return any(map(str.isdigit, text))


class ParquetTable(ArrowTable):
    """A Parquet file with flat columns."""

    kind = "Parquet"

    def _schema(self):
        from pyarrow import parquet

        return parquet.read_schema(self.path)

    def _read_names(self):
        return self._schema().names

    def _arrow(self, numbers, categories):
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:
            return file.read(columns=[*numbers, *categories])


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

    def _read(self, numbers, categories):
        if categories:
            raise FileError(f"{self.path}: an npy file has no columns of text; take their categories out of the bounds")
        return self._array[:, [int(name) for name in numbers]], {}
