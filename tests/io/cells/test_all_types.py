"""Every cell of every type is a number, a text or a gap: reading is total and silent, whatever a cell is."""

import io
import math
import warnings

import all_types
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from pandas.core.dtypes.base import _registry

from dpsparse.data.inputs import open_for_store
from dpsparse.io.cells.grammar import CellClass, Kind
from dpsparse.io.cells.raw_table import FrameTable, ParquetTable, as_raw_table

NUMERIC = [kind for kind in Kind if kind != Kind.text]
ARROW, PANDAS, POLARS = all_types.arrow_columns(), all_types.pandas_columns(), all_types.polars_columns()


def read(table):
    """For each cell its number by every kind, and its text's bucket."""
    return np.column_stack([table.numbers(["a"] * len(NUMERIC), NUMERIC), table.buckets("a")])


def everything(table):
    """Whatever a fit reads of a column, without a warning; what `read` gives of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cells = read(table)
        counts, numbers, buckets = table.class_counts(["a"])[0], cells[:, :-1], cells[:, -1]
        table.distinct_counts(["a"])
        table.texts("a")
        table.category_codes("a", ["north", "True"])
        table.value_counts("a", int(buckets[0]))
        table.faults(["a"], [Kind.number])
        for column in table.cells(table.blocks[0], ["a"]):
            column.places()
    assert counts.sum() == table.n_records == len(buckets)
    assert not np.isinf(numbers).any()
    # What has no text is a gap, and a gap has no number.
    assert (buckets < 0).sum() == counts[CellClass.EMPTY]
    assert np.isnan(numbers[buckets < 0]).all()
    return cells


def alone(column, make):
    """What each cell gives as the only one of its table."""
    return np.vstack([read(make(column, place, 1)) for place in range(len(column))])


def arrow_table(column, first=0, count=None):
    return FrameTable(pa.table({"a": column.slice(first, count)}))


def pandas_table(column, first=0, count=None):
    return FrameTable(pd.DataFrame({"a": column.iloc[first : None if count is None else first + count]}))


def polars_table(column, first=0, count=None):
    return FrameTable(pl.DataFrame({"a": column.slice(first, count)}))


@pytest.mark.parametrize("name", ARROW)
def test_arrow(name):
    np.testing.assert_array_equal(everything(arrow_table(ARROW[name])), alone(ARROW[name], arrow_table))


@pytest.mark.parametrize("name", PANDAS)
def test_pandas(name):
    np.testing.assert_array_equal(everything(pandas_table(PANDAS[name])), alone(PANDAS[name], pandas_table))


@pytest.mark.parametrize("name", POLARS)
def test_polars(name):
    np.testing.assert_array_equal(everything(polars_table(POLARS[name])), alone(POLARS[name], polars_table))


def is_of_parquet(column):
    """Whether Parquet has the type, and Arrow reads what it wrote."""
    try:
        pa.parquet.write_table(pa.table({"a": column}), file := io.BytesIO())
        pa.parquet.read_table(file)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


OF_PARQUET = [name for name, column in ARROW.items() if is_of_parquet(column)]


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_PARQUET)
def test_parquet(name, tmp_path):
    pa.parquet.write_table(pa.table({"a": ARROW[name]}), tmp_path / "a.parquet")
    table = ParquetTable(tmp_path / "a.parquet")
    if table.declared.get("a") != Kind.date_ymd:
        # Parquet keeps dates in coarser or finer units, in which far ones may be others.
        np.testing.assert_array_equal(everything(table), everything(arrow_table(ARROW[name])))
    everything(table)
    assert sum(len(cells[0]) for cells in table.cell_blocks(["a"])) == len(ARROW[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_PARQUET)
def test_a_store_holds_what_a_file_holds(name, tmp_path):
    table = pa.table({"a": ARROW[name], "b": ["x"] * len(ARROW[name]), "y": np.ones(len(ARROW[name]))})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    open_for_store(tmp_path / "a.parquet", "y").convert(tmp_path / "store", "float64")
    file, store = as_raw_table(tmp_path / "a.parquet"), as_raw_table(tmp_path / "store")
    kinds = [kind for kind in NUMERIC if file.declared.get("a", kind) == kind]
    np.testing.assert_array_equal(store.buckets("a"), file.buckets("a"))
    np.testing.assert_array_equal(store.numbers(["a"] * len(kinds), kinds), file.numbers(["a"] * len(kinds), kinds))


def test_no_type_is_left_out():
    ids = {column.type.id for column in ARROW.values()} | {
        column.type.storage_type.id for column in ARROW.values() if isinstance(column.type, pa.BaseExtensionType)
    }
    names = {name for name in dir(pa.lib) if name.startswith("Type_") and getattr(pa.lib, name) not in ids}
    # Arrow's Python makes no array of these.
    assert names == {"Type_INTERVAL_MONTHS", "Type_INTERVAL_DAY_TIME"}
    of_pandas = {type(column.dtype) for column in PANDAS.values()}
    assert set(_registry.dtypes) - of_pandas == set()
    of_polars = {column.dtype.base_type() for column in POLARS.values()}
    # Of this no series can be made.
    assert set(_leaves(pl.DataType)) - of_polars <= {pl.Unknown, getattr(pl, "BaseExtension", pl.Unknown)}


def _leaves(of):
    below = [leaf for each in of.__subclasses__() for leaf in _leaves(each)]
    return below or [of]


@pytest.mark.parametrize("name", ["string", "large_string", "string_view", "dictionary of string"])
def test_text_that_is_no_utf8_is_a_gap(name):
    texts = arrow_table(ARROW[name]).texts("a")
    assert texts == (["", "", ""] if name.startswith("dictionary") else ["", "", "1.5", "1,5", "north", "", ""])


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (np.timedelta64(36, "h"), 1.5),
        (np.timedelta64(2, "W"), 14.0),
        (pd.Timedelta(days=2), 2.0),
        (np.timedelta64(1, "Y"), math.nan),
        (np.complex128(1 + 2j), math.nan),
        (np.complex128(1), math.nan),
        (np.float16(1.5), 1.5),
        (10**400, math.nan),
    ],
)
def test_numbers_of_objects(cell, number):
    cells = pd.Series([None, cell], dtype=object)
    np.testing.assert_array_equal(pandas_table(cells).numbers(["a"], [Kind.number])[:, 0], [math.nan, number])


def test_dates_that_python_does_not_know_are_no_numbers():
    column = pandas_table(pd.Series([np.datetime64(2**40, "s"), np.datetime64("1970-01-03")], dtype=object))
    assert np.isnan(column.numbers(["a"], [Kind.number])).all()
    np.testing.assert_array_equal(column.numbers(["a"], [Kind.date_ymd])[:, 0], [math.nan, 2.0])


def test_durations_are_days():
    ticks = np.array([36, 12, 2**62], dtype="timedelta64[h]")
    for table in (
        FrameTable(pa.table({"a": pa.array([129_600, 43_200, None], pa.duration("s"))})),
        FrameTable(pd.DataFrame({"a": pd.to_timedelta([36, 12, None], unit="h")})),
        FrameTable(pl.DataFrame({"a": pl.Series([129_600_000, 43_200_000, None]).cast(pl.Duration("ms"))})),
        FrameTable(pd.DataFrame({"a": pd.Series([*ticks[:2], None], dtype=object)})),
    ):
        np.testing.assert_array_equal(table.numbers(["a"], [Kind.number])[:, 0], [1.5, 0.5, math.nan])
