"""Raw tables with declared types: Parquet files, and frames in memory (pandas, polars, pyarrow)."""

from functools import cached_property

import numpy as np

from dpsparse.engine.threads import slices
from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.columns import EmptyCells, NumberCells, TextCells, object_cells
from dpsparse.io.cells.grammar import MICROSECONDS_A_DAY, Kind
from dpsparse.io.cells.selection import Rows
from dpsparse.io.formats import open_table
from dpsparse.io.tables.parquet import ParquetReader
from dpsparse.schema import FileError, is_name, quoted

_FRAME_ROWS = 2**16


class ParquetTable(BlockTable):
    """A Parquet file, or a folder of them with the same columns. Its schema declares the kinds.

    Parameters
    ----------
    path : str or path
        The file or the folder.
    """

    def __init__(self, path):
        self._reader = open_table(path)
        if not isinstance(self._reader, ParquetReader):
            raise FileError(f"{path} is no Parquet file: only CSV and Parquet files are read cell by cell")
        self.path, self.names = self._reader.path, self._reader.names
        schemas = self._reader.schemas()
        kinds = {name: {_arrow_kind(schema.field(name).type, Kind.text) for schema in schemas} for name in self.names}
        self.declared = {name: each for name, (each, *others) in kinds.items() if each is not None and not others}
        self._mixed = [name for name, each in kinds.items() if len(each) > 1]

    @cached_property
    def blocks(self):
        """Row groups."""
        blocks, first = [], 0
        for *group, n_rows in self._reader.row_groups():
            blocks.append(Rows(first, n_rows, tuple(group)))
            first += n_rows
        return blocks

    # A Parquet file says by itself how it is read.
    dialect = ()

    def fingerprint(self):
        """A digest that changes when a file does; see `tables.reader.fingerprint`."""
        return self._reader.fingerprint()

    def cell_blocks(self, columns, start=0):
        """The cells of some columns in blocks, smaller than large row groups; see `CsvTable.cell_blocks`."""
        mixed = [column for column in columns if column in self._mixed]
        if mixed:
            raise FileError(f"{self.path}: column {quoted(mixed[0])} has other types in other files; give it one type")
        for table in self._reader.batches(columns, start):
            yield [_arrow_cells(table[column]) for column in columns]

    def cells(self, block, columns):
        """The cells of some columns in a block."""
        table = self._reader.read_row_group(*block.where, columns)
        return [_arrow_cells(table[column]) for column in columns]


class FrameTable(BlockTable):
    """A frame of pandas or polars, or a table of pyarrow. Types of numbers, booleans and dates declare kinds.

    Kinds of texts and objects are learned: what made the frame inferred them from the data. Levels of categorical
    columns are not read.

    Parameters
    ----------
    frame : DataFrame or pyarrow.Table
        The table; it is not copied.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse.io.cells.typed_tables import FrameTable
    >>> table = FrameTable(pd.DataFrame({"age": [31.5, None], "region": ["north", None]}))
    >>> {name: kind.value for name, kind in table.declared.items()}
    {'age': 'number'}
    >>> table.class_counts(["region"])[0].tolist()
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """

    def __init__(self, frame):
        self.names = [str(name) for name in getattr(frame, "column_names", frame.columns)]
        if len(set(self.names)) < len(self.names) or not all(map(is_name, self.names)):
            raise ValueError("every column of a frame needs a printable name of its own")
        if hasattr(frame, "to_arrow"):
            # polars
            frame = frame.to_arrow()
        self._frame, self._is_arrow = frame, hasattr(frame, "column_names")
        self.declared = {}
        for place, name in enumerate(self.names):
            kind = _arrow_kind(frame.schema.types[place]) if self._is_arrow else _pandas_kind(frame.dtypes.iloc[place])
            if kind is not None:
                self.declared[name] = kind

    @cached_property
    def blocks(self):
        """Some rows at a time."""
        rows = slices(len(self._frame), _FRAME_ROWS)
        return [Rows(block.start, block.stop - block.start) for block in rows]

    def cells(self, block, columns):
        """The cells of some columns in a block."""
        return [self._column(block, self._places[column]) for column in columns]

    def _column(self, block, place):
        if self._is_arrow:
            return _arrow_cells(self._frame.column(place).slice(block.first, block.n_records))
        column = self._frame.iloc[block.first : block.first + block.n_records, place]
        kind = _pandas_kind(column.dtype)
        if kind is None:
            return object_cells(column.astype(object).tolist())
        if kind != Kind.date_ymd:
            return NumberCells(column.to_numpy(dtype=np.float64, na_value=np.nan), kind)
        if column.dt.tz is not None:
            column = column.dt.tz_convert(None)
        return NumberCells(_days(column.to_numpy(dtype="datetime64[us]")), kind)


def _days(moments):
    """Days since 1970 of moments in microseconds."""
    days = moments.astype(np.int64) / MICROSECONDS_A_DAY
    return np.where(np.isnat(moments), np.nan, days)


def _pandas_kind(dtype):
    """The kind that a type of pandas declares; None for texts, objects and categories."""
    from pandas.api import types

    if types.is_bool_dtype(dtype):
        return Kind.boolean
    if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
        return Kind.number
    return Kind.date_ymd if types.is_datetime64_any_dtype(dtype) else None


def _arrow_kind(arrow_type, of_text=None):
    """The kind that a type of Arrow declares; `of_text` for text."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return of_text
    if types.is_boolean(arrow_type):
        return Kind.boolean
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return Kind.number
    if types.is_date(arrow_type) or types.is_timestamp(arrow_type):
        return Kind.date_ymd
    return of_text if _is_text(arrow_type) else None


def _is_text(arrow_type):
    from pyarrow import types

    return any(test(arrow_type) for test in (types.is_string, types.is_large_string, types.is_string_view))


def _arrow_cells(column):
    """The cells of a chunked array."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = _arrow_kind(column.type)
    if _is_text(column.type):
        column = column.dictionary_encode().unify_dictionaries()
        codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
        texts = column.chunk(0).dictionary.to_pylist() if codes else []
        return TextCells.encoded(np.concatenate([np.empty(0, dtype=np.int64), *codes]), texts)
    if kind is None:
        return EmptyCells(len(column))
    if kind != Kind.date_ymd:
        return NumberCells(column.cast(pyarrow.float64(), safe=False).to_numpy(), kind)
    return NumberCells(_days(column.cast(pyarrow.timestamp("us"), safe=False).to_numpy()), kind)
