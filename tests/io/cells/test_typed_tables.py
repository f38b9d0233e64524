import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.raw_table import FrameTable, ParquetTable, as_raw_table
from dpsparse.schema import FileError

MOMENTS = [datetime.datetime(1970, 1, 2, 12), None, datetime.datetime(1969, 12, 31)]
ARROW = pa.table(
    {
        "whole": pa.array([1, None, 3], pa.int32()),
        "real": pa.array([1.5, float("nan"), float("inf")]),
        "exact": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("2.00")]),
        "yes": pa.array([True, None, False]),
        "when": pa.array(MOMENTS, pa.timestamp("ns")),
        "zone": pa.array(MOMENTS, pa.timestamp("ms", tz="Europe/Berlin")),
        "day": pa.array([datetime.date(1970, 1, 3), None, None]),
        "text": pa.array(["1,5", None, " north "]),
        "level": pa.array(["b", None, "b"]).dictionary_encode(),
        "none": pa.nulls(3),
        "list": pa.array([[1], None, []]),
    }
)
NAN = np.nan
VALUES = {
    "whole": [1, NAN, 3],
    "real": [1.5, NAN, NAN],
    "exact": [1.25, NAN, 2],
    "yes": [1, NAN, 0],
    "when": [1.5, NAN, -1],
    "zone": [1.5, NAN, -1],
    "day": [2, NAN, NAN],
}
DECLARED = {name: Kind.number for name in ("whole", "real", "exact")} | {"yes": Kind.boolean}
DECLARED |= {name: Kind.date_ymd for name in ("when", "zone", "day")}


def check(table, declared):
    assert table.declared == declared
    columns = [name for name in VALUES if name in table.names]
    read = table.numbers(columns, [table.declared[name] for name in columns])
    assert read.flags.f_contiguous
    for name, column in zip(columns, read.T, strict=True):
        np.testing.assert_array_equal(column, VALUES[name], err_msg=name)
    np.testing.assert_array_equal(table.numbers(["text"], [Kind.number_comma])[:, 0], [1.5, NAN, NAN])
    assert table.value_counts("text", int(table.buckets("text")[2])) == {"north": 1}
    assert table.buckets("level")[1] == -1
    assert table.value_counts("level", int(table.buckets("level")[0])) == {"b": 2}
    assert table.distinct_counts(["text", "level", "yes"]).tolist() == [2, 1, 2]


def test_parquet_declares_texts_too(tmp_path):
    pa.parquet.write_table(ARROW, tmp_path / "a.parquet", row_group_size=2)
    table = as_raw_table(tmp_path / "a.parquet")
    check(table, DECLARED | {"text": Kind.text, "level": Kind.text})
    assert table.n_records == 3
    np.testing.assert_array_equal(table.part(2, [0]).numbers(["whole"], [Kind.number])[:, 0], [1, 3])
    assert np.isnan(table.numbers(["none", "list", "text"], [Kind.number] * 3)).all()


def test_files_of_a_folder_may_differ_in_types(tmp_path):
    pa.parquet.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"a": [2.5], "b": [7]}), tmp_path / "2.parquet")
    table = ParquetTable(tmp_path)
    assert table.declared == {"a": Kind.number}
    np.testing.assert_array_equal(table.numbers(["a", "b"], [Kind.number] * 2), [[1, NAN], [2.5, 7]])


@pytest.mark.parametrize("convert", [lambda table: table, pl.from_arrow], ids=["arrow", "polars"])
def test_frames_do_not_declare_texts(convert):
    check(FrameTable(convert(ARROW.drop(["none", "list"]))), DECLARED)


def test_pandas():
    frame = ARROW.drop(["none", "list", "exact", "yes", "day"]).to_pandas()
    frame["yes"] = pd.array([True, None, False], dtype="boolean")
    check(FrameTable(frame), {name: DECLARED[name] for name in ("whole", "real", "when", "zone", "yes")})


def test_texts_in_chunks_are_stripped_and_may_be_the_same():
    column = pa.chunked_array([["x", None], [" x", "y "], pa.array([], pa.string())])
    table = FrameTable(pa.table({"a": column}))
    assert table.distinct_counts(["a"]).tolist() == [2]
    assert table.value_counts("a", int(table.buckets("a")[0])) == {"x": 2}
    assert table.buckets("a").tolist().index(-1) == 1
    empty = FrameTable(pa.table({"a": pa.chunked_array([], pa.string())}))
    assert (empty.n_records, empty.class_counts(["a"]).sum(), len(empty.buckets("a"))) == (0, 0, 0)


def test_objects_are_read_by_their_own_types():
    cells = [
        1,
        2.0,
        "1,5",
        True,
        "yes",
        None,
        NAN,
        pd.NA,
        pd.NaT,
        datetime.date(1970, 1, 2),
        np.int8(3),
        object(),
        b"x",
    ]
    table = FrameTable(pd.DataFrame({"a": pd.Series(cells, dtype=object)}))
    assert table.declared == {}
    for kind, values in (
        (Kind.number, {0: 1, 1: 2, 10: 3}),
        (Kind.number_comma, {0: 1, 1: 2, 2: 1.5, 10: 3}),
        (Kind.boolean, {3: 1, 4: 1}),
        (Kind.date_ymd, {9: 1}),
    ):
        column = table.numbers(["a"], [kind])[:, 0]
        assert {int(place): column[place] for place in np.flatnonzero(~np.isnan(column))} == values


def test_a_gap_changes_the_type_of_a_column_and_nothing_else():
    """Pandas makes floats of whole numbers with a gap: their texts stay the same."""
    whole, gap = (FrameTable(pd.DataFrame({"zip": cells})) for cells in ([1234, 99, 5], [1234, None, 5]))
    np.testing.assert_array_equal(whole.buckets("zip")[[0, 2]], gap.buckets("zip")[[0, 2]])
    assert gap.value_counts("zip", int(gap.buckets("zip")[0])) == {"1234": 1}


def test_names():
    for frame in (pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame([[1]], columns=[""])):
        with pytest.raises(ValueError, match="printable name of its own"):
            FrameTable(frame)
    table = FrameTable(pd.DataFrame([[1, 2]]))
    assert table.names == ["0", "1"]
    with pytest.raises(FileError, match="there is no column 'b'"):
        table.buckets("b")
    with pytest.raises(ValueError, match="one kind for each column"):
        table.numbers(["0"], [Kind.text])
