"""Raw tables: text cells (CSV, stores) or declared types (Parquet, frames), read by maps of single records."""

import os
from typing import Protocol

from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.csv_table import CsvTable
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.typed_tables import FrameTable, ParquetTable
from dpsparse.io.store.manifest import is_store
from dpsparse.io.store.table import StoreTable

__all__ = ["CsvTable", "FrameTable", "ParquetTable", "RawTable", "StoreTable", "as_raw_table"]


class RawTable(Protocol):
    """What a fit on raw data reads."""

    names: list[str]
    declared: dict[str, Kind]

    @property
    def n_records(self) -> int:
        """The number of records, which is public."""

    def class_counts(self, columns):
        """How many cells of each column have each class."""

    def numbers(self, columns, kinds):
        """Columns as numbers, by their kinds."""

    def buckets(self, column):
        """The bucket of each record's text."""

    def category_codes(self, column, categories):
        """The place of each record's text in a list of public categories."""

    def distinct_counts(self, columns):
        """How many different texts each column holds."""

    def value_counts(self, column, bucket):
        """How often each text of a bucket occurs."""

    def part(self, modulus, residues):
        """Some of the records, by position."""


def as_raw_table(data, *, separator=None, encoding="utf-8"):
    """The raw table in a file or a frame.

    Parameters
    ----------
    data : str, path, DataFrame, pyarrow.Table or raw table
        A .csv file, a .parquet file, a folder of .parquet files, a store of cells, or a frame of pandas or polars.
    separator : str or None
        Of a CSV file; None to take it from the first line.
    encoding : {"utf-8", "latin-1", "cp1252"}
        Of a CSV file.

    Returns
    -------
    RawTable
        The table; of a file only names are read.
    """
    if isinstance(data, BlockTable):
        return data
    if not isinstance(data, (str, os.PathLike)):
        return FrameTable(data)
    if str(data).lower().endswith(".csv"):
        return CsvTable(data, separator=separator, encoding=encoding)
    if is_store(data):
        return StoreTable(data)
    return ParquetTable(data)
