"""The base of all readers of tables: names and kinds of the columns, which are public, and their values.

Readers of other projects quote values in their errors. Whatever they raise is replaced by a text of ours, and their
warnings are left out.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.engine.disk.feature_sources import FeatureSource
from dpsparse.engine.refusals import NO_NAME, NOT_READABLE, SAME_NAME
from dpsparse.schema import FileError, is_name, quoted

ONLY_STORES_HAVE_A_RESPONSE = "only a store knows its response: take a column, as in y = table['cost']"

# The public categories of columns of text.
Categories = dict[str, list[str]]
# Numbers, a column for each that was asked for, and the codes of the categories by column.
Columns = tuple[NDArray[np.float64], dict[str, NDArray[np.int64]]]


class MissingPackage(FileError, ImportError):
    """A file whose format needs a package that is not installed."""


class TableReader:
    """The reader of a format. Subclasses read what a format offers; this class checks it and covers their errors.

    A format whose columns can be read as numbers and text implements `_read_names`, `_text_columns`, `_n_records`,
    `_read`, `_blocks` and `_texts`. A format that a fit can read without copying it into memory implements `_source`.

    The rows of the files are one below the other; it is the folder itself where a format has one.
    """

    # How messages name the format, and the package and the extra of ours that it needs.
    kind: str
    needs: str | None = None
    extra: str | None = None
    names: list[str]

    def __init__(self, path: Path, files: list[Path]) -> None:
        self.path, self.files = path, files
        with self._readable():
            self.names = self._read_names()

    def _read_names(self) -> list[str]:
        raise NotImplementedError

    def _text_columns(self) -> list[str]:
        raise NotImplementedError

    def _n_records(self) -> int:
        raise NotImplementedError

    def _read(self, numbers: list[str], categories: Categories) -> Columns:
        raise NotImplementedError

    def _blocks(self, numbers: list[str], categories: Categories, start: int) -> Iterator[Columns]:
        raise NotImplementedError

    def _texts(self, name: str) -> list[str]:
        raise NotImplementedError

    def _source(self) -> FeatureSource:
        raise NotImplementedError

    @contextmanager
    def _readable(self) -> Iterator[None]:
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

    def source(self) -> FeatureSource:
        """The numbers of all columns as a fit reads them, in blocks: a `FeatureSource` of the disk engine."""
        with self._readable():
            return self._source()

    @property
    def response(self) -> NDArray[np.float64]:
        """The responses, of a format that separates them from the features."""
        raise ValueError(ONLY_STORES_HAVE_A_RESPONSE)

    def check_names(self) -> None:
        """Raise FileError unless every column has a printable name of its own: our own files list the names."""
        if not all(map(is_name, self.names)):
            raise FileError(NO_NAME.format(path=self.path))
        if len(set(self.names)) < len(self.names):
            raise FileError(SAME_NAME.format(path=self.path))

    def require(self, names: Iterable[str]) -> None:
        """Raise FileError unless the table has these columns."""
        known = set(self.names)
        for name in names:
            if name not in known:
                raise FileError(f"{self.path} has no column {quoted(name)}")

    def text_columns(self) -> list[str]:
        """The names of the columns that hold text by the file's own schema; a CSV file has none, and says nothing."""
        with self._readable():
            return self._text_columns()

    def n_records(self) -> int:
        """The number of records."""
        with self._readable():
            return self._n_records()

    def fingerprint(self) -> str:
        """A digest that changes when a file does."""
        return fingerprint(self.kind, self.names, self.files)

    def read(self, numbers: list[str], categories: Categories) -> Columns:
        """Columns of numbers and columns of text.

        Missing numbers become NaN. Of each column of text there is the position of each record's category among the
        public ones, -1 for any other text and for none: an error would answer, for any list of categories, whether some
        record has another.
        """
        self.require([*numbers, *categories])
        with self._readable():
            return self._read(numbers, categories)

    def texts(self, name: str) -> list[str]:
        """The cells of one column as text, a missing one as "": to be handed on as they are, such as identifiers."""
        self.require([name])
        with self._readable():
            return self._texts(name)

    def blocks(self, numbers: list[str], categories: Categories, start: int = 0) -> Iterator[Columns]:
        """The values of `read`, a block of rows at a time, from row `start` on; only a few blocks are in memory."""
        self.require([*numbers, *categories])
        blocks = self._blocks(numbers, categories, start)
        while True:
            with self._readable():
                block = next(blocks, None)
            if block is None:
                return
            yield block


def fingerprint(kind: str, names: Sequence[str] | None, files: Sequence[Path]) -> str:
    """A digest that changes when a file does, by size and time, and does not depend on where it lies."""
    marks = [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(json.dumps([kind, names, marks]).encode()).hexdigest()


def block_rows(n_columns: int) -> int:
    """The rows of a block of a table with this number of columns."""
    return max(1, config.current.table_block_cells // max(1, n_columns))


def check_array(array: Any, path: str | os.PathLike[str]) -> Any:
    """The array, if it is a table of numbers; raises FileError otherwise."""
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        raise FileError(f"{path} must hold one array of real numbers with two dimensions, and not be empty")
    return array
