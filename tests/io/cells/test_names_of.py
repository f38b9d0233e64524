"""Ids in raw tables: whatever a person's id looks like, all their rows have the same, or the table is refused."""

import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsparse import read_table
from dpsparse.engine import config
from dpsparse.engine.refusals import UNREAD_IDS
from dpsparse.schema import FileError

# Digits and an e, as many hashes are, make a number that is too large to be read.
NAMES = ["12e345", "9" * 400, "1E999", "7", "north", "true", "2020-01-31", "é", " 7 "]
EXPECTED = [name.strip() for name in NAMES]
ANY_ID = uuid.UUID(int=7)


def of_frame(ids):
    """What a frame of pandas with these objects has for ids."""
    column = pd.Series([None] * len(ids), dtype=object)
    for place, each in enumerate(ids):
        column.iat[place] = each
    return read_table(pd.DataFrame({"id": column, "y": np.arange(float(len(ids)))}), "y", person="id").table


@pytest.mark.parametrize("compiled", [True, False])
def test_names_that_look_like_numbers_too_large_are_names(tmp_path, compiled):
    path = tmp_path / "people.csv"
    path.write_text("id,y\n" + "".join(f"{name},1\n" for name in NAMES) + ",1\nNA,1\nx,1,1\n")
    with config.configured(compiled=compiled):
        table = read_table(path, "y", person="id")
        assert table.table.names_of("id") == [*EXPECTED, None, None, None]
        assert table.n_people == len(set(EXPECTED)) + 3
    frames = pd.DataFrame({"id": NAMES, "y": 1.0}), pl.DataFrame({"id": NAMES, "y": 1.0})
    for frame in (*frames, pa.table({"id": pa.array(NAMES).dictionary_encode(), "y": np.ones(len(NAMES))})):
        assert read_table(frame, "y", person="id").table.names_of("id") == EXPECTED


@pytest.mark.parametrize(
    "ids", [[7, "007"], [b"a", b"a"], [ANY_ID, ANY_ID], [np.array([1])] * 2, [1, True], [10**400] * 2, [None, None]]
)
def test_objects_that_are_not_read_or_mixed_are_refused(ids):
    with pytest.raises(FileError) as refused:
        of_frame(ids).names_of("id")
    assert str(refused.value) == UNREAD_IDS


def test_a_mix_is_seen_across_blocks_of_rows():
    ids = [*range(2**16), *map(str, range(10))]
    with pytest.raises(FileError, match="texts beside"):
        of_frame(ids).names_of("id")
    assert of_frame([3, None, 3.0, float("nan")]).names_of("id") == ["3", None, "3", None]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"ab", b"ab"], pa.binary(2)),
        pa.array([b"a", b"a"]).dictionary_encode(),
        pa.array([{"a": 1}] * 2),
        pa.StringArray.from_buffers(2, *pa.array([b"\xff", b"a"]).buffers()[1:]),
        pa.nulls(2),
    ],
    ids=["bytes", "categories of bytes", "records", "not UTF-8", "nothing"],
)
def test_types_that_are_not_read_are_refused(tmp_path, column):
    table = pa.table({"id": column, "y": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "people.parquet")
    for data in (table, tmp_path / "people.parquet"):
        with pytest.raises(FileError) as refused:
            read_table(data, "y", person="id").table.names_of("id")
        assert str(refused.value) == UNREAD_IDS


def test_a_part_may_lack_what_the_table_has():
    table = of_frame(["a", None, "b", None])
    assert table.part(2, [1]).names_of("id") == [None, None]
