"""Raw tables: text cells (CSV, stores) or declared types (Parquet, frames), read by maps of single records."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.csv_table import CsvTable
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.typed_tables import FrameTable, ParquetTable
from dpsparse.io.store.manifest import is_store
from dpsparse.io.store.store_table import StoreTable
from dpsparse.schema import FileError

__all__ = ["CsvTable", "FrameTable", "ParquetTable", "RawTable", "StoreTable", "as_raw_table"]


class RawTable(Protocol):
    """What a fit on raw data reads."""

    names: list[str]
    declared: dict[str, Kind]

    @property
    def n_records(self) -> int:
        """The number of records, which is public."""

    def class_counts(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """How many cells of each column have each class."""

    def numbers(self, columns: Sequence[str], kinds: Sequence[Kind]) -> NDArray[np.float64]:
        """Columns as numbers, by their kinds."""

    def buckets(self, column: str) -> NDArray[np.int16]:
        """The bucket of each record's text."""

    def category_codes(self, column: str, categories: Sequence[str]) -> NDArray[np.int64]:
        """The place of each record's text in a list of public categories."""

    def distinct_counts(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """How many different texts each column holds."""

    def value_counts(self, column: str, bucket: int) -> dict[str, int]:
        """How often each text of a bucket occurs."""

    def part(self, modulus: int, residues: Iterable[int]) -> "RawTable":
        """Some of the records, by position."""


def as_raw_table(data: Any, *, separator: str | None = None, encoding: str = "utf-8") -> Any:
    """The raw table in a file or a frame.

    `data` is a .csv file, a .parquet file, a folder of .parquet files, a store of cells, a frame of pandas or polars, a
    pyarrow.Table, or a raw table. The separator and the encoding are those of a CSV file, whose first line tells a
    separator of None. Of a file only names are read.
    """
    if isinstance(data, BlockTable):
        return data
    if not isinstance(data, (str, os.PathLike)):
        if not hasattr(data, "columns"):
            raise FileError(
                "a table of cells must be a data frame of pandas, polars or pyarrow, or a file: columns go by name"
            )
        return FrameTable(data)
    if str(data).lower().endswith(".csv"):
        return CsvTable(data, separator=separator, encoding=encoding)
    if is_store(data):
        return StoreTable(data)
    return ParquetTable(data)
