"""Columns with declared types: which kind a type declares, and its cells, for all of Arrow, pandas and polars.

Whatever a type is for, a cell of it is a number, a text or a gap, and none raises or warns: numbers, truth values and
dates by their type, durations as days, texts and objects by the grammar, all others as gaps. So is a text that is not
valid UTF-8.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsparse.io.cells.column_cells import Cells, EmptyCells, NumberCells, TextCells, days
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.object_cells import object_cells

# Kinds of types that are numbers as they are.
NUMERIC_KINDS = (Kind.number, Kind.boolean)


def frame_columns(frame: Any) -> list[Any]:
    """The columns of a frame in memory, each with its `kind` and `cells(rows)`."""
    if hasattr(frame, "iloc"):
        return [PandasColumn(frame.iloc[:, place]) for place in range(frame.shape[1])]
    if hasattr(frame, "get_columns"):
        return [PolarsColumn(column) for column in frame.get_columns()]
    return [ArrowColumn(column) for column in frame.columns]


def as_column(values: Any) -> "PandasColumn | PolarsColumn | ArrowColumn":
    """A series of pandas or polars, an array of pyarrow's, or an array of NumPy's."""
    if hasattr(values, "iloc"):
        return PandasColumn(values)
    if hasattr(values, "to_arrow"):
        return PolarsColumn(values)
    if hasattr(values, "to_pylist"):
        return ArrowColumn(values)
    from pandas import Series

    values = np.asarray(values)
    # Of objects pandas would infer a type.
    return PandasColumn(Series(values, dtype=object if values.dtype.kind == "O" else None, copy=False))


@dataclass(frozen=True)
class ArrowColumn:
    """A column of pyarrow's."""

    column: Any

    @property
    def kind(self) -> Kind | None:
        """The kind that its type declares; None for texts and for whatever no kind is for."""
        return arrow_kind(self.column.type)

    @property
    def is_categorical(self) -> bool:
        """Whether its type is one of categories."""
        from pyarrow import types

        return bool(types.is_dictionary(self.column.type))

    def cells(self, rows: slice) -> Cells:
        """The cells of some rows."""
        return arrow_cells(self.column[rows])

    def objects(self) -> list[Any]:
        """Python's objects, where cells are such."""
        return []


@dataclass(frozen=True)
class PolarsColumn:
    """A series of polars."""

    column: Any

    @property
    def kind(self) -> Kind | None:
        """The kind that its type declares."""
        return None if self._type == "Object" else arrow_kind(self._arrow(slice(0)).type)

    @property
    def is_categorical(self) -> bool:
        """Whether its type is one of categories."""
        return self._type.startswith(("Categorical", "Enum"))

    def cells(self, rows: slice) -> Cells:
        """The cells of some rows."""
        return object_cells(self.column[rows].to_list()) if self._type == "Object" else arrow_cells(self._arrow(rows))

    def objects(self) -> list[Any]:
        """Python's objects, where cells are such."""
        return list(self.column.to_list()) if self._type == "Object" else []

    @property
    def _type(self) -> str:
        return str(self.column.dtype)

    def _arrow(self, rows: slice) -> Any:
        # Arrow has no integers of 128 bits.
        column = self.column[rows]
        return (column.cast(float) if self._type in ("Int128", "UInt128") else column).to_arrow()


@dataclass(frozen=True)
class PandasColumn:
    """A series of pandas."""

    column: Any

    @property
    def kind(self) -> Kind | None:
        """The kind that its type declares; None for texts, objects and categories."""
        return _pandas_kind(self.column.dtype)

    @property
    def is_categorical(self) -> bool:
        """Whether its type is one of categories."""
        return bool(self.column.dtype.name == "category")

    def cells(self, rows: slice) -> Cells:
        """The cells of some rows."""
        return _pandas_cells(self.column.iloc[rows])

    def objects(self) -> list[Any]:
        """Python's objects, where cells are such; of categories, these."""
        dtype = self.column.dtype
        values = self.column.cat.categories if dtype.name == "category" else self.column
        return values.tolist() if values.dtype.kind == "O" and _pandas_kind(values.dtype) is None else []


def _pandas_kind(dtype: Any) -> Kind | None:
    from pandas import ArrowDtype, SparseDtype
    from pandas.api import types

    if isinstance(dtype, ArrowDtype):
        return arrow_kind(dtype.pyarrow_dtype)
    if isinstance(dtype, SparseDtype):
        return _pandas_kind(dtype.subtype)
    if types.is_bool_dtype(dtype):
        return Kind.boolean
    if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
        return Kind.number
    return Kind.date_ymd if types.is_datetime64_any_dtype(dtype) else None


def _pandas_cells(column: Any) -> TextCells | NumberCells:
    from pandas import ArrowDtype, CategoricalDtype, Series, SparseDtype, StringDtype

    dtype, kind = column.dtype, _pandas_kind(column.dtype)
    if isinstance(dtype, ArrowDtype) or (isinstance(dtype, StringDtype) and dtype.storage == "pyarrow"):
        return arrow_cells(column.array.__arrow_array__())
    if isinstance(dtype, SparseDtype):
        return _pandas_cells(Series(np.asarray(column.array)))
    if isinstance(dtype, CategoricalDtype):
        # Levels are not read by themselves: a level that no record has says nothing.
        codes, texts = _pandas_cells(column.cat.categories.to_series()).texts()
        return TextCells.encoded(np.append(codes, -1)[column.cat.codes.to_numpy()], texts)
    if kind == Kind.date_ymd:
        moments = column if getattr(dtype, "tz", None) is None else column.dt.tz_convert(None)
        return NumberCells(days(moments.to_numpy()), kind)
    if kind is not None:
        with np.errstate(all="ignore"):
            return NumberCells(column.to_numpy(dtype=np.float64, na_value=np.nan), kind)
    if dtype.kind == "m":
        return NumberCells(days(column.to_numpy()), Kind.number)
    return object_cells(column.astype(object).tolist())


def arrow_kind(arrow_type: Any, of_text: Kind | None = None) -> Kind | None:
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


def _is_text(arrow_type: Any) -> bool:
    from pyarrow import types

    return any(test(arrow_type) for test in (types.is_string, types.is_large_string, types.is_string_view))


def arrow_cells(column: Any) -> TextCells | NumberCells:
    """The cells of an array of Arrow, or of a chunked one."""
    import pyarrow
    from pyarrow import types

    column = column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column])
    if types.is_dictionary(column.type):
        return _dictionary_cells(column)
    kind = arrow_kind(column.type)
    if _is_text(column.type):
        return _dictionary_cells(column.dictionary_encode())
    if kind == Kind.date_ymd or types.is_duration(column.type):
        return NumberCells(days(column.to_numpy()), kind or Kind.number)
    if kind is not None:
        return NumberCells(column.cast(pyarrow.float64(), safe=False).to_numpy(), kind)
    return EmptyCells(len(column))


def _dictionary_cells(column: Any) -> TextCells:
    """Cells that are places in lists of values, which may differ from chunk to chunk."""
    places, codes, known, unread = {"": 0}, [np.empty(0, dtype=np.int64)], None, False
    numbers = codes[0]
    for chunk in column.chunks:
        if known is None or not chunk.dictionary.equals(known):
            known = chunk.dictionary
            texts = _value_texts(known)
            unread |= None in texts
            known_places = [places.setdefault((text or "").strip(), len(places)) for text in texts]
            # The last place is for gaps.
            numbers = np.array([*known_places, 0], dtype=np.int64)
        codes.append(numbers[chunk.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)])
    return TextCells(np.concatenate(codes), list(places), unread)


def _value_texts(values: Any) -> list[str | None]:
    """The text of each value of a dictionary; "" for a gap, and None where there is something that is not read."""
    if not _is_text(values.type):
        cells = arrow_cells(values)
        codes, texts = cells.texts()
        return [None if cells.unread else texts[code] for code in codes.tolist()]
    return [_decoded(each) for each in values.cast("binary").to_pylist()]


def _decoded(text: bytes | None) -> str | None:
    """A text from its bytes, None where they are not UTF-8; nothing checks that on the way from a file."""
    try:
        return "" if text is None else text.decode()
    except UnicodeDecodeError:
        return None
