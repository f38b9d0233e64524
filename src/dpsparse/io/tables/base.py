"""A table of people in files: names, number and kinds of the columns are public; values are not.

Readers of other projects quote values in their errors, so whatever they raise is replaced by a text of ours, and their
warnings are left out.
"""

import hashlib
import json
import warnings
from contextlib import contextmanager

from dpsparse.schema import FileError, is_name, quoted

# What a block of rows holds: 32 MB in float64.
BLOCK_CELLS = 2**22


class Table:
    """The columns of a file. Subclasses read the names, and the values when asked.

    Parameters
    ----------
    path : Path
        The file, or the folder of files, for messages.
    files : list of Path or None
        The files, their rows one below the other; None for `path` alone.
    """

    def __init__(self, path, files=None):
        self.path, self.files = path, [path] if files is None else files
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
            raise FileError("reading CSV and Parquet needs pyarrow: pip install 'dpsparse[data]'") from None
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

    def n_records(self):
        """The number of records, or None where only reading them all would tell."""
        with self._readable():
            return self._n_records()

    def fingerprint(self):
        """A digest that changes when a file does, by size and time, and does not depend on where it lies."""
        marks = [(file.stat().st_size, file.stat().st_mtime_ns) for file in self.files]
        return hashlib.sha256(json.dumps([self.kind, self.names, marks]).encode()).hexdigest()

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

    def blocks(self, numbers, categories, start=0):
        """What `read` gives, a block of rows at a time, from row `start` on; only a few blocks are in memory."""
        self.require([*numbers, *categories])
        blocks = self._blocks(numbers, categories, start)
        while True:
            with self._readable():
                block = next(blocks, None)
            if block is None:
                return
            yield block


def block_rows(n_columns):
    """The rows of a block of so many columns."""
    return max(1, BLOCK_CELLS // max(1, n_columns))
