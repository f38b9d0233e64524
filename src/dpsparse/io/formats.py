"""The formats of tables: which reader opens what is at a path. `OnDisk`, `fit`, `convert` and `predict` all ask here.

A new format is a module with a `TableReader`, and a line in `FORMATS`. Modules are imported when a path needs them.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsparse.io.store.manifest import STORE_MARKS
from dpsparse.schema import FileError, checked_path, existing_path

if TYPE_CHECKING:
    from dpsparse.io.tables.table_reader import TableReader


@dataclass(frozen=True)
class Format:
    """A format: its reader, and how it is recognized on a disk."""

    reader: str  # The reader's class, with its module in this package.
    ending: str | None = None  # Of the names of its files; None where a table is a folder with files of several kinds.
    in_folders: bool = False  # Whether a folder of such files, with the same columns, is a table.
    marks: tuple[str, ...] = ()  # Names of files; a folder with one of them has this format.
    # Whether its columns can be read by name, in their own units: for `fit`, `convert` and `predict`.
    as_table: bool = True
    on_disk: bool = True  # Whether a fit can read it in blocks and leave it where it is: for `OnDisk`.

    def open(self, path: Path, files: list[Path]) -> Any:
        """The reader of these files."""
        module, _, name = self.reader.rpartition(".")
        return getattr(import_module(f"dpsparse.io.{module}"), name)(path, files)


FORMATS = (
    Format("store.store_reader.StoreReader", marks=STORE_MARKS, as_table=False),
    Format("tables.zarr_reader.ZarrReader", marks=("zarr.json", ".zarray"), as_table=False),
    Format("tables.csv_reader.CsvReader", ending=".csv", on_disk=False),
    Format("tables.parquet_reader.ParquetReader", ending=".parquet", in_folders=True),
    Format("tables.npy_reader.NpyReader", ending=".npy"),
)


# Files of other programs, which these can save as CSV.
OTHER_PROGRAMS = (".xlsx", ".xls", ".ods", ".sav", ".dta", ".sas7bdat", ".rds")
# Tables in text under another name, and compressed files.
TEXT_TABLES = (".tsv", ".tab", ".txt", ".dat")
PACKED = (".gz", ".zip", ".bz2", ".xz", ".zst", ".7z")


def open_table(path: str | os.PathLike[str]) -> "TableReader":
    """The table in a file, by its ending; only names are read.

    It is a .csv file with a line of column names, a .parquet file, a folder of .parquet files with the same columns, in
    the order of their names, or an .npy file with one array of two dimensions, whose columns are named by their numbers
    from 0.
    """
    table_format, files = require_format(path)
    table: TableReader = table_format.open(Path(path), files)
    table.check_names()
    return table


def require_format(path: str | os.PathLike[str]) -> tuple[Format, list[Path]]:
    """The format of a table in a file, by its ending, and its files; nothing is read.

    FileError where nothing is there, or something that is no table.
    """
    path, formats = existing_path(path), [known for known in FORMATS if known.as_table]
    table_format, files = _recognized(path, formats)
    if table_format is None:
        if os.path.isdir(path):
            raise FileError(f"{path} is not a file, nor a folder of {_folder_endings(formats)} files")
        if path.suffix.lower() in OTHER_PROGRAMS:
            raise FileError(f"{path.name}: save the table as CSV in the program that made it, then give that file")
        raise FileError(f"{path}: the file's name must end in {_endings(formats)}{_remedy(path.suffix.lower())}")
    return table_format, files


def open_on_disk(path: str | os.PathLike[str]) -> "TableReader":
    """The reader of what a fit can read in blocks, without a copy in memory.

    It is a .parquet or .npy file, a folder of .parquet files, a Zarr array or a store.
    """
    path, formats = Path(path), [known for known in FORMATS if known.on_disk]
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    table_format, files = _recognized(path, formats)
    if table_format is None:
        raise ValueError(
            f"{path} must be a {_endings(formats)} file, a folder of {_folder_endings(formats)} files, a Zarr array "
            "or a store; a store is made with: dpsparse convert"
        )
    result: TableReader = table_format.open(path, files)
    return result


def _recognized(path: Path, formats: Sequence[Format]) -> tuple[Format | None, list[Path]]:
    """The format of what is at a path, and its files; None and no files where it is none of these."""
    if not os.path.isdir(path):
        for known in formats:
            if known.ending == path.suffix.lower():
                return known, [checked_path(path)]
        return None, []
    for known in formats:
        if any(os.path.exists(path / mark) for mark in known.marks):
            return known, [path]
    for known in formats:
        files = sorted(path.glob(f"*{known.ending}")) if known.in_folders else []
        if files:
            return known, [checked_path(file) for file in files]
    return None, []


def _remedy(ending: str) -> str:
    """What makes a table of a file with another ending, where that is known."""
    if ending in TEXT_TABLES:
        return "; rename it to .csv if its cells are separated by tabs, semicolons, commas or bars"
    return "; unpack it first" if ending in PACKED else ""


def _endings(formats: Sequence[Format]) -> str:
    *others, last = [known.ending for known in formats if known.ending]
    return f"{', '.join(others)} or {last}"


def _folder_endings(formats: Sequence[Format]) -> str:
    return " or ".join(known.ending for known in formats if known.in_folders and known.ending)
