"""A column of every type that Arrow, pandas, polars and NumPy know, with cells that are hard to read.

Each has the cells that people write, the ends of its range, a gap, and the bytes that its type does not forbid.
"""

import datetime
import decimal
import fractions
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

MOMENT = datetime.datetime(2024, 1, 31, 12)
BYTES = [b"caf\xe9", b"\xff\xfe", b"1.5"]


def _viewed(numbers, width, arrow_type):
    """Numbers as moments: the ends of a range are no moments of Python's."""
    return pa.array([*numbers, None], width).view(arrow_type)


def _text(arrow_type, binary):
    """Texts, among them some that are no UTF-8; Arrow takes any bytes for text that it is told to."""
    cells = pa.array([*BYTES, b"1,5", b" north ", b"", None], binary)
    return cells.view(arrow_type)


FAR, FAR_32 = [0, 2**63 - 1, -(2**63), -(2**62), 86_400], [0, 2**31 - 1, -(2**31), 3]
UNITS = ("s", "ms", "us", "ns")
_TEXTS = pa.array(["x", "1.5", None])


def arrow_columns():
    """Arrow arrays by the name of their type."""
    columns = [
        pa.nulls(3),
        pa.array([True, False, None]),
        *(
            pa.array([0, 1, None], whole)
            for whole in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32())
        ),
        pa.array([0, 2**63 - 1, -(2**63), None], pa.int64()),
        pa.array([0, 2**64 - 1, None], pa.uint64()),
        pa.array([np.float16(1.5), np.float16("inf"), None], pa.float16()),
        *(pa.array([1.5, float("inf"), float("nan"), -0.0, 3e38, None], real) for real in (pa.float32(), pa.float64())),
        *(
            pa.array([decimal.Decimal("1.25"), decimal.Decimal("-" + "9" * digits + ".99"), None], exact)
            for exact, digits in (
                (pa.decimal32(9, 2), 7),
                (pa.decimal64(18, 2), 16),
                (pa.decimal128(38, 2), 36),
                (pa.decimal256(76, 2), 74),
            )
        ),
        _viewed(FAR_32, pa.int32(), pa.date32()),
        _viewed(FAR, pa.int64(), pa.date64()),
        *(_viewed(FAR, pa.int64(), pa.timestamp(unit, zone)) for unit in UNITS for zone in (None, "Europe/Berlin")),
        *(_viewed(FAR, pa.int64(), pa.duration(unit)) for unit in UNITS),
        *(_viewed([0, 5], pa.int32(), pa.time32(unit)) for unit in ("s", "ms")),
        *(_viewed([0, 5], pa.int64(), pa.time64(unit)) for unit in ("us", "ns")),
        pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
        _text(pa.string(), pa.binary()),
        _text(pa.large_string(), pa.large_binary()),
        _text(pa.string_view(), pa.binary_view()),
        *(pa.array([*BYTES, None], binary) for binary in (pa.binary(), pa.large_binary(), pa.binary_view())),
        pa.array([b"ab", b"\xff\xfe", None], pa.binary(2)),
        *(
            pa.array([[1], [], None], nested(pa.int64()))
            for nested in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)
        ),
        pa.array([[1, 2], None], pa.list_(pa.int64(), 2)),
        pa.array([{"a": 1}, None], pa.struct([("a", pa.int64())])),
        pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        pa.UnionArray.from_dense(pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), _TEXTS]),
        pa.UnionArray.from_sparse(pa.array([0, 1, 1], pa.int8()), [pa.array([1, 2, 3]), _TEXTS]),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array(["x", None])),
        pa.array([uuid.UUID(int=7).bytes, None], pa.uuid()),
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None])),
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8())),
        pa.ExtensionArray.from_storage(pa.opaque(pa.binary(), "t", "v"), pa.array([b"\xff", None])),
        pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int64(), [2]), pa.array([[1, 2], None], pa.list_(pa.int64(), 2))
        ),
    ]
    known = {str(column.type): column for column in columns}
    for name, column in list(known.items()):
        indices = pa.array([len(column) - 1, 0, None], pa.int8())
        known[f"dictionary of {name}"] = pa.DictionaryArray.from_arrays(indices, column)
    return known


class Hostile:
    """An object that refuses whatever it is asked."""

    def __float__(self, *_):
        raise RuntimeError("a cell: 4711")

    __int__ = __str__ = __eq__ = __hash__ = __bool__ = __len__ = __array__ = __float__


class HostileNumber(float):
    """A number that is none."""

    def __float__(self):
        raise RuntimeError("a cell: 4711")

    is_integer = __float__


OBJECTS = [
    *(None, pd.NA, pd.NaT, float("nan"), 1, -1.5, 10**400, True, np.bool_(False), 1j, fractions.Fraction(1, 3)),
    *(decimal.Decimal("1.25"), decimal.Decimal("sNaN"), decimal.Decimal("1e999999")),
    *("1,5", "north", "", "\ud800", "\x00", "x" * 100_000, b"1.5", b"\xff", bytearray(b"1"), memoryview(b"1")),
    *(MOMENT, MOMENT.date(), MOMENT.time(), MOMENT.replace(tzinfo=datetime.timezone(datetime.timedelta(seconds=77)))),
    *(datetime.datetime.min, datetime.datetime.max, datetime.timedelta.max, datetime.timedelta(hours=36)),
    *(pd.Timestamp(MOMENT, tz="Asia/Tokyo"), pd.Timedelta(days=2), pd.Period("2024-01"), pd.Interval(0, 1)),
    *(pd.DateOffset(months=1), pd.Series([1.0]), pd.DataFrame({"a": [1]}), pd.Categorical(["a"]), pl.Series([1])),
    *(pa.scalar(1), pa.array([1]), [1], (1,), {1}, {"a": 1}, range(3), slice(3), object(), Hostile(), HostileNumber(1)),
    *(np.array(1.5), np.array([1.5]), np.array([]), np.ma.masked, np.datetime64("NaT"), np.timedelta64("NaT")),
    *(np.datetime64(2**62, unit) for unit in ("Y", "D", "s", "ns")),
    *(np.timedelta64(2**62, unit) for unit in ("Y", "M", "W", "D", "h", "s", "ns", "as")),
    *(np.timedelta64(7), np.timedelta64(36, "h"), np.datetime64("2024-01-31"), np.datetime64("2024")),
    *(
        kind(1)
        for kind in sorted(set(np.sctypeDict.values()), key=str)
        if kind not in (np.datetime64, np.timedelta64, np.void)
    ),
    *(
        np.longdouble("1e4000"),
        np.complex128(1 + 2j),
        np.clongdouble(1j),
        np.void(b"\xff"),
        np.str_("x"),
        np.bytes_(b"x"),
    ),
    *(uuid.UUID(int=7), Exception("a cell"), type, len, lambda: 1, Ellipsis, NotImplemented),
]


def _objects():
    cells = np.empty(len(OBJECTS), dtype=object)
    for place, each in enumerate(OBJECTS):
        cells[place] = each
    return cells


def pandas_columns():
    """Series of pandas by a name, those of Arrow's types among them."""
    moments = pd.Series([MOMENT, None])
    columns = {
        f"arrow {name}": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column])))
        for name, column in arrow_columns().items()
    }
    for dtype in (
        "int8",
        "uint64",
        "float16",
        "float32",
        "float64",
        "longdouble",
        "complex64",
        "complex128",
        "clongdouble",
        "bool",
    ):
        columns[dtype] = pd.Series(np.array([0, 1], dtype=dtype))
    columns["far longdouble"] = pd.Series(np.array(["1e4000", "1"], dtype=np.longdouble))
    for dtype in (
        "Int8",
        "Int16",
        "Int32",
        "Int64",
        "UInt8",
        "UInt16",
        "UInt32",
        "UInt64",
        "Float32",
        "Float64",
        "boolean",
    ):
        columns[dtype] = pd.Series([1, None], dtype=dtype)
    for unit in UNITS:
        ticks = np.array([*FAR], dtype=np.int64)
        columns[f"datetime64[{unit}]"] = pd.Series(ticks.view(f"datetime64[{unit}]"))
        columns[f"timedelta64[{unit}]"] = pd.Series(ticks.view(f"timedelta64[{unit}]"))
        columns[f"datetime64[{unit}, Tokyo]"] = (
            columns[f"datetime64[{unit}]"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
        )
    columns |= {
        "period": pd.Series(pd.PeriodIndex(["2024-01", None], freq="M")),
        "interval": pd.Series(pd.IntervalIndex.from_tuples([(0, 1), None])),
        "object": pd.Series(_objects()),
        "string": pd.Series(["x", "1,5", None, "\ud800"], dtype=pd.StringDtype("python")),
        "string of arrow": pd.Series(["x", None], dtype=pd.StringDtype("pyarrow")),
        "string of bytes": pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array([arrow_columns()["large_string"]]))),
        "sparse": pd.Series(pd.arrays.SparseArray([0.0, 1.0, np.nan])),
        "sparse complex": pd.Series(pd.arrays.SparseArray(np.array([0, 1j]))),
        "sparse bool": pd.Series(pd.arrays.SparseArray([True, False])),
        "sparse dates": pd.Series(pd.arrays.SparseArray(moments.to_numpy())),
    }
    for name in ("int8", "datetime64[s]", "timedelta64[s]", "interval", "period", "string of arrow"):
        levels = columns[name].dropna().drop_duplicates()
        columns[f"category of {name}"] = pd.Series(pd.Categorical.from_codes([0, -1, 0], levels))
    columns["category of text"] = pd.Series(["b", None, "1,5"], dtype="category")
    return columns


def polars_columns():
    """Series of polars by the name of their type."""
    columns = [
        *(
            pl.Series([0, 1, None], dtype=dtype)
            for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
        ),
        pl.Series([2**100, -(2**126), None], dtype=pl.Int128),
        pl.Series([2**127, None], dtype=pl.UInt128),
        *(pl.Series([1.5, float("inf"), None], dtype=dtype) for dtype in (pl.Float16, pl.Float32, pl.Float64)),
        pl.Series([decimal.Decimal("1.25"), None], dtype=pl.Decimal(38, 2)),
        pl.Series([2**31 - 1, -(2**31), None], dtype=pl.Int32).cast(pl.Date),
        *(pl.Series(FAR).cast(pl.Datetime(unit, zone)) for unit in UNITS[1:] for zone in (None, "Asia/Tokyo")),
        *(pl.Series(FAR).cast(pl.Duration(unit)) for unit in UNITS[1:]),
        pl.Series([MOMENT.time(), None], dtype=pl.Time),
        pl.Series([[1], [], None], dtype=pl.List(pl.Int64)),
        pl.Series([[1, 2], None], dtype=pl.Array(pl.Int64, 2)),
        pl.Series([{"a": 1}, None], dtype=pl.Struct({"a": pl.Int64})),
        pl.Series(OBJECTS, dtype=pl.Object),
        pl.Series([True, None], dtype=pl.Boolean),
        pl.Series(["x", "1,5", None], dtype=pl.String),
        pl.Series([b"x", b"\xff", None], dtype=pl.Binary),
        pl.Series(["x", None], dtype=pl.Categorical),
        pl.Series(["x", None], dtype=pl.Enum(["x", "y"])),
        pl.Series([None, None], dtype=pl.Null),
    ]
    # Of the newest polars.
    if hasattr(pl, "Map"):
        columns.append(pl.Series([[{"key": "a", "value": 1}], None], dtype=pl.Map(pl.String, pl.Int64)))
    if hasattr(pl, "Extension"):
        columns.append(pl.Series([1, None]).ext.to(pl.Extension("x", pl.Int64)))
    return {str(column.dtype): column for column in columns}
