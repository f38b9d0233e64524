"""Ids of people, of any type: equal or not, exactly."""

import io
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from dpsparse.data.person_ids import people_of, people_rows, without_ids
from dpsparse.data.streamed import Streamed
from dpsparse.engine import config
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.people_rows import PeopleRows
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.disk.disk_people import DiskPeopleRows
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.engine.refusals import MIXED_IDS, NOT_IDS

LARGE = 2**53
SAME = [0, 1, 0, 2, 3, 1]
IDS = [
    ["b", "a", "b", None, None, "a"],
    np.array([5.0, 2.0, 5.0, np.nan, np.nan, 2.0]),
    np.array([5, 2, 5, 7, 1, 2], dtype=np.uint8),
    np.array([True, False, True, None, None, False], dtype=object),
    pd.Series([LARGE + 1, LARGE, LARGE + 1, None, None, LARGE], dtype="Int64"),
    pd.Series(["b", "a", "b", None, None, "a"], dtype="category"),
    pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02", None, None, "2020-01-01"])),
    pl.Series([LARGE + 1, LARGE, LARGE + 1, None, None, LARGE]),
    [1, 2.5, 1.0, None, float("nan"), 2.5],
    np.ma.array([5, 2, 5, 0, 0, 2], mask=[0, 0, 0, 1, 1, 0]),
    np.array([b"b", b"a", b"b", b"c", b"d", b"a"]),
    [(1, 2), (1, 3), (1, 2), None, None, (1, 3)],
]


@pytest.mark.parametrize("ids", IDS, ids=lambda ids: type(ids).__name__)
def test_ids_of_any_type_divide_the_rows(ids):
    assert people_of(ids, 6).number.tolist() == SAME


def test_ids_that_hash_alike_are_different():
    class Alike:
        def __init__(self, name):
            self.name = name

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return self.name == other.name

        def __ne__(self, other):
            return self.name != other.name

    assert people_of([Alike("a"), Alike("b"), Alike("a")], 3).n_people == 2
    assert people_of([-1, -2, -1], 3).n_people == 2  # Python's hash is the same for both


@pytest.mark.parametrize("ids", [[1, 2], [[1, 2], [3, 4], [5, 6]], np.zeros((3, 2))])
def test_other_shapes_are_refused(ids):
    with pytest.raises((ValueError, TypeError)) as refused:
        people_of(ids, 3)
    assert "person" in str(refused.value)


def test_ids_that_cannot_be_compared_are_refused_by_a_constant_sentence():
    for values in ([["secret"], ["other"]], [np.array([7]), np.array([7])], [Decimal("sNaN"), Decimal(1)]):
        ids = np.empty(2, dtype=object)
        ids[:] = values
        with pytest.raises(TypeError) as refused:
            people_of(ids, 2)
        assert str(refused.value) == NOT_IDS


@pytest.mark.parametrize("ids", [[7, "7"], ["7", None, 7.0], [b"a", "a"], [True, "True"]])
def test_texts_beside_other_ids_are_refused_by_a_constant_sentence(ids):
    for values in (ids, pd.Series(ids, dtype=object), np.array(ids, dtype=object)):
        with pytest.raises(TypeError) as refused:
            people_of(values, len(ids))
        assert str(refused.value) == MIXED_IDS


def test_what_a_file_read_in_pieces_leaves_of_ids_makes_no_person_two():
    pieces = [pd.read_csv(io.StringIO(text)) for text in ("id\n7\n8\n", "id\n7\nA1\n")]
    with pytest.raises(TypeError, match="two: 7 and '7'"):
        people_of(pd.concat(pieces)["id"], 4)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_ids_is_no_feature(frame):
    X, ids = without_ids(frame({"id": ["x", "y"], "age": [1.0, 2.0]}), "id")
    assert (list(X.columns), list(ids)) == (["age"], ["x", "y"])
    with pytest.raises(ValueError, match="one column of X"):
        without_ids(frame({"age": [1.0]}), "id")


def test_a_name_needs_a_frame():
    with pytest.raises(TypeError, match="no data frame"):
        without_ids(np.zeros((2, 2)), "id")


def test_features_that_a_gpu_would_read_are_brought_to_the_host():
    X = np.arange(6.0).reshape(3, 2)

    class OnCard:
        __cuda_array_interface__ = property(lambda self: {})

        def get(self):
            return X

    for given in (OnCard(), Streamed(X)):
        brought, ids = without_ids(given, [1, 1, 2])
        assert (brought is X, ids) == (True, [1, 1, 2])
        assert without_ids(given, None)[0] is given


def test_where_rows_are_brought_together_follows_from_where_they_lie():
    X, y, people = np.zeros((4, 2)), np.zeros(4), people_of([1, 1, 2, 2], 4)
    assert type(people_rows(DenseRows(X, y), people)) is PeopleRows
    assert type(people_rows(DiskRows(ArraySource([X]), y), people)) is DiskPeopleRows
    with config.configured(disk_memory_share=0.0):
        assert type(people_rows(DenseRows(X, y), people)) is DiskPeopleRows
        with pytest.raises(ValueError, match="brought together by person"):
            people_rows(SparseRows.of(sparse.csr_matrix(X), y), people)
