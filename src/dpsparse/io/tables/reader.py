"""The base of all readers of tables: names and kinds of the columns, which are public, and their values.

Readers of other projects quote values in their errors. Whatever they raise is replaced by a text of ours, and their
warnings are left out.
"""

import hashlib
import json
import warnings
from contextlib import contextmanager

from dpsparse.engine import config
from dpsparse.engine.refusals import NO_NAME, NOT_READABLE, SAME_NAME
from dpsparse.schema import FileError, is_name, quoted

ONLY_STORES_HAVE_A_RESPONSE = "only a store knows its response: take a column, as in y = table['cost']"


class MissingPackage(FileError, ImportError):
    """A file whose format needs a package that is not installed."""


class TableReader:
    """The reader of a format. Subclasses read what a format offers; this class checks it and covers their errors.

    A format whose columns can be read as numbers and text implements `_read_names`, `_text_columns`, `_n_records`,
    `_read`, `_blocks` and `_texts`. A format that a fit can read without copying it into memory implements `_source`.

    Parameters
    ----------
    path : Path
        The file, or the folder of files, for messages.
    files : list of Path
        The files, their rows one below the other; the folder itself where a format has one.
    """

    # How messages name the format, and the package and the extra of ours that it needs.
    kind: str
    needs: str | None = None
    extra: str | None = None

    def __init__(self, path, files):
        self.path, self.files = path, files
        with self._readable():
            self.names = self._read_names()

    @contextmanager
    def _readable(self):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except (FileError, MemoryError):
            raise
        except ImportError:
            raise MissingPackage(f"{self.path} needs {self.needs}: pip install 'dpsparse[{self.extra}]'") from None
        except Exception:
            raise FileError(NOT_READABLE.format(path=self.path, kind=self.kind)) from None

    def source(self):
        """The numbers of all columns as a fit reads them, in blocks: a `FeatureSource` of the disk engine."""
        with self._readable():
            return self._source()

    @property
    def response(self):
        """The responses, of a format that separates them from the features."""
        raise ValueError(ONLY_STORES_HAVE_A_RESPONSE)

    def check_names(self):
        """Raise FileError unless every column has a printable name of its own: our own files list the names."""
        if not all(map(is_name, self.names)):
            raise FileError(NO_NAME.format(path=self.path))
        if len(set(self.names)) < len(self.names):
            raise FileError(SAME_NAME.format(path=self.path))

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
        """The number of records."""
        with self._readable():
            return self._n_records()

    def fingerprint(self):
        """A digest that changes when a file does."""
        return fingerprint(self.kind, self.names, self.files)

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

    def texts(self, name):
        """The cells of one column as text, a missing one as "": to be handed on as they are, such as identifiers."""
        self.require([name])
        with self._readable():
            return self._texts(name)

    def blocks(self, numbers, categories, start=0):
        """The values of `read`, a block of rows at a time, from row `start` on; only a few blocks are in memory."""
        self.require([*numbers, *categories])
        blocks = self._blocks(numbers, categories, start)
        while True:
            with self._readable():
                block = next(blocks, None)
            if block is None:
                return
            yield block


def fingerprint(kind, names, files):
    """A digest that changes when a file does, by size and time, and does not depend on where it lies.

    Parameters
    ----------
    kind : str
        How messages name the format.
    names : list of str
        The columns.
    files : list of Path
        The files.
    """
    marks = [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(json.dumps([kind, names, marks]).encode()).hexdigest()


def block_rows(n_columns):
    """The rows of a block of a table with this number of columns."""
    return max(1, config.current.table_block_cells // max(1, n_columns))


def check_array(array, path):
    """The array, if it is a table of numbers; raises FileError otherwise."""
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        raise FileError(f"{path} must hold one array of real numbers with two dimensions, and not be empty")
    return array
