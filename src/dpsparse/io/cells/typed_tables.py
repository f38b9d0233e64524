"""Raw tables with declared types: Parquet files, and frames in memory (pandas, polars, pyarrow)."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from dpsparse.engine.refusals import UNREAD_IDS
from dpsparse.engine.threads import slices
from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.column_cells import Cells
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.object_cells import can_be_ids
from dpsparse.io.cells.row_selection import Rows, TableBlock
from dpsparse.io.cells.typed_cells import arrow_cells, arrow_kind, as_column, frame_columns
from dpsparse.io.formats import open_table
from dpsparse.io.tables.parquet_reader import ParquetReader
from dpsparse.schema import FileError, is_name, quoted

_FRAME_ROWS = 2**16


class ParquetTable(BlockTable):
    """A Parquet file, or a folder of them with the same columns. Its schema declares the kinds."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        reader = open_table(path)
        if not isinstance(reader, ParquetReader):
            raise FileError(f"{path} is no Parquet file: only CSV and Parquet files are read cell by cell")
        self._reader = reader
        self.path, self.names = self._reader.path, self._reader.names
        schemas = self._reader.schemas()
        kinds = {name: {arrow_kind(schema.field(name).type, Kind.text) for schema in schemas} for name in self.names}
        self.declared = {name: each for name, (each, *others) in kinds.items() if each is not None and not others}
        self._mixed = [name for name, each in kinds.items() if len(each) > 1]
        # The types as the file names them, for people.
        types = {name: schemas[0].field(name).type for name in self.declared}
        self.types = {name: str(getattr(each, "value_type", each)) for name, each in types.items()}

    @cached_property
    def blocks(self) -> list[Rows]:
        """Row groups."""
        blocks, first = [], 0
        for *group, n_rows in self._reader.row_groups():
            blocks.append(Rows(first, n_rows, tuple(group)))
            first += n_rows
        return blocks

    # A Parquet file says by itself how it is read.
    dialect = ()

    def fingerprint(self) -> str:
        """A digest that changes when a file does; see `tables.reader.fingerprint`."""
        return self._reader.fingerprint()

    def cell_blocks(self, columns: Sequence[str], start: int = 0) -> Iterator[list[Cells]]:
        """The cells of some columns in blocks, smaller than large row groups; see `CsvTable.cell_blocks`."""
        mixed = [column for column in columns if column in self._mixed]
        if mixed:
            raise FileError(f"{self.path}: column {quoted(mixed[0])} has other types in other files; give it one type")
        for table in self._reader.batches(list(columns), start):
            yield [arrow_cells(table[column]) for column in columns]

    def cells(self, block: TableBlock, columns: Sequence[str]) -> list[Cells]:
        """The cells of some columns in a block."""
        path, metadata, group = block.where
        table = self._reader.read_row_group(path, metadata, group, list(columns))
        return [arrow_cells(table[column]) for column in columns]


class FrameTable(BlockTable):
    """A frame of pandas or polars, or a table of pyarrow. Types of numbers, booleans and dates declare kinds.

    Kinds of texts and objects are learned: what made the frame inferred them from the data. Levels of categorical
    columns are not read.

    The frame is not copied. `further` columns of any library, such as the response, each with its name, stand behind
    its own.

    Examples
    --------
    >>> import pandas as pd
    >>> table = FrameTable(pd.DataFrame({"age": [31.5, None], "region": ["north", None]}))
    >>> {name: kind.value for name, kind in table.declared.items()}
    {'age': 'number'}
    >>> table.class_counts(["region"])[0].tolist()
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """

    def __init__(self, frame: Any, *further: tuple[str, Any]) -> None:
        self.names = [str(name) for name in getattr(frame, "column_names", frame.columns)]
        columns = frame_columns(frame)
        for name, values in further:
            # By position: labels of rows are not looked at.
            self.names.append(name)
            columns.append(as_column(values))
        if len(set(self.names)) < len(self.names) or not all(map(is_name, self.names)):
            raise ValueError("every column of a frame needs a printable name of its own")
        self._columns, self._n_rows = columns, len(frame)
        kinds = {name: column.kind for name, column in zip(self.names, self._columns, strict=True)}
        self.declared = {name: kind for name, kind in kinds.items() if kind is not None}
        # The columns that are categories by their type; their levels are not read.
        self.categorical = [name for name, column in zip(self.names, columns, strict=True) if column.is_categorical]

    @cached_property
    def blocks(self) -> list[Rows]:
        """Some rows at a time."""
        rows = slices(self._n_rows, _FRAME_ROWS)
        return [Rows(block.start, block.stop - block.start) for block in rows]

    def names_of(self, column: str) -> list[str | None]:
        """See `BlockTable.names_of`."""
        (known,) = self._known([column])
        if not can_be_ids(self._columns[self._places[known]].objects()):
            raise FileError(UNREAD_IDS)
        return super().names_of(column)

    def cells(self, block: TableBlock, columns: Sequence[str]) -> list[Cells]:
        """The cells of some columns in a block."""
        rows = slice(block.first, block.first + block.n_records)
        return [self._columns[self._places[column]].cells(rows) for column in columns]
