"""Yes/no responses of every type: each is read by itself, none raises, and no type changes what a label is."""

import datetime
import decimal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsparse import PrivateSparseClassifier
from dpsparse.data.labels import as_labels, label_of
from dpsparse.engine.refusals import MASKED, NOT_LABELS

# That so few records show large effects alone.
pytestmark = pytest.mark.filterwarnings("ignore:With n=")

NAN = float("nan")
YES_NO = ["yes", "no", "no", "yes"]
TRUTHS = [True, False, False, True]
NUMBERS = [1, 0, 0, 1]
EXPECTED = [1.0, 0.0, 0.0, 1.0]

TYPES = {
    "bool": (np.array(TRUTHS), None),
    "bool, said": (np.array(TRUTHS), True),
    "int8": (np.array(NUMBERS, dtype=np.int8), None),
    "uint64": (np.array(NUMBERS, dtype=np.uint64), 1),
    "float32": (np.array(NUMBERS, dtype=np.float32), None),
    "list of bool": (TRUTHS, None),
    "list of int": (NUMBERS, 1.0),
    "tuple of str": (tuple(YES_NO), "yes"),
    "str": (np.array(YES_NO), "yes"),
    "bytes": (np.array(YES_NO, dtype="S3"), "yes"),
    "object": (np.array(YES_NO, dtype=object), "yes"),
    "object of bool": (np.array([True, np.False_, False, np.True_], dtype=object), None),
    "object of all sorts": (np.array([1, False, decimal.Decimal(0), "1"], dtype=object), None),
    "column": (np.array(NUMBERS)[:, None], None),
    "other numbers": (np.array([7, 3, 0, 7]), 7),
    "text of numbers": (["1", "0", "0.0", "1.0"], None),
    "text of truths": (["True", "false", "FALSE", "true"], None),
    "pandas bool": (pd.Series(TRUTHS), None),
    "pandas boolean": (pd.Series(TRUTHS, dtype="boolean"), None),
    "pandas Int64": (pd.Series(NUMBERS, dtype="Int64"), None),
    "pandas string": (pd.Series(YES_NO, dtype="string"), "yes"),
    "pandas object": (pd.Series(YES_NO, dtype=object), "yes"),
    "pandas category": (pd.Series(YES_NO, dtype="category"), "yes"),
    "pandas category of int": (pd.Series(NUMBERS, dtype="category"), None),
    "pandas arrow": (pd.Series(TRUTHS, dtype="bool[pyarrow]"), None),
    "polars": (pl.Series(TRUTHS), None),
    "polars str": (pl.Series(YES_NO), "yes"),
    "polars categorical": (pl.Series(YES_NO, dtype=pl.Categorical), "yes"),
    "pyarrow": (pa.array(TRUTHS), None),
    "pyarrow chunked": (pa.chunked_array([YES_NO[:1], YES_NO[1:]]), "yes"),
    "pyarrow dictionary": (pa.array(YES_NO).dictionary_encode(), "yes"),
}
WITH_GAPS = {
    "list": ([True, None, False, NAN], None),
    "pandas boolean": (pd.Series([True, None, False, None], dtype="boolean"), None),
    "pandas Int64": (pd.Series([1, None, 0, None], dtype="Int64"), None),
    "pandas string": (pd.Series(["yes", None, "no", None], dtype="string"), "yes"),
    "pandas category": (pd.Series(["yes", None, "no", None], dtype="category"), "yes"),
    "polars": (pl.Series([True, None, False, None]), None),
    "polars str": (pl.Series(["yes", None, "no", None]), "yes"),
    "pyarrow": (pa.array([True, None, False, None]), None),
    "pyarrow int": (pa.array([1, None, 0, None]), None),
    "infinite": (np.array([1.0, np.inf, 0.0, -np.inf]), 1),
    "neither": (np.array([1.0, 0.5, 0.0, 1e300]), None),
    "objects": (np.array([1, pd.NaT, 0, pd.NA], dtype=object), 1),
}


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_the_same_labels(name):
    assert np.ravel(as_labels(*TYPES[name])).tolist() == EXPECTED


@pytest.mark.parametrize("name", WITH_GAPS)
def test_what_is_no_label_is_missing(name):
    np.testing.assert_array_equal(as_labels(*WITH_GAPS[name]), [1.0, NAN, 0.0, NAN])


@pytest.mark.parametrize("lazy", [lambda y: da.from_array(y, chunks=3), lambda y: dd.from_pandas(pd.Series(y), 2)])
@pytest.mark.parametrize(("y", "positive"), [(np.array(TRUTHS), None), (np.array(YES_NO, dtype=object), "yes")])
def test_dask_stays_dask(lazy, y, positive):
    labels = as_labels(lazy(y), positive)
    assert labels.dtype == np.float64
    assert np.asarray(labels.compute()).tolist() == EXPECTED


class Hostile:
    """Answers nothing."""

    def __eq__(self, other):
        raise RuntimeError

    __hash__ = None

    def __float__(self):
        raise RuntimeError

    def __bool__(self):
        raise RuntimeError


class HostileText(str):
    def strip(self, *_):
        raise RuntimeError


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.sampled_from(
        [
            *("yes", "no", "1", "0", "true", " 1 ", "nan", "inf", "1e400", "1_0", "", b"\xff"),
            *(10**400, 2**63, -(2**70), 1j, decimal.Decimal("NaN"), decimal.Decimal("sNaN"), datetime.date(2024, 1, 1)),
            *(np.datetime64("NaT"), np.timedelta64(1, "s"), np.float32(1), np.int8(1), np.bool_(True), pd.NA, pd.NaT),
            *((), (1,), {}, Hostile(), HostileText("yes"), object()),
        ]
    ),
)
LABELS = st.sampled_from([None, 1, 0, 1.0, True, False, "yes", "1", "true", 7, "7.0"])


@given(st.lists(CELLS, min_size=1, max_size=6), LABELS)
@example([1, 0, 1, "x"], None)
@example([1, 0, "x"], 1)
@example([1.0, 0.0, "x"], 1)
@example([True, "x"], True)
@example(["1", 0.5], 1)
@example([[1], 1], 1)
def test_a_response_is_read_by_itself(cells, positive):
    """What another record holds changes no label, nor whether labels can be had: NumPy gives a list one type."""
    together = as_labels(cells, positive)
    assert together.shape == (len(cells),)
    alone = [as_labels(_object_array(cell), positive)[0] for cell in cells]
    np.testing.assert_array_equal(together, alone)
    assert np.isin(together, [0.0, 1.0]).sum() + np.isnan(together).sum() == len(cells)


def _object_array(cell):
    array = np.empty(1, dtype=object)
    array[0] = cell
    return array


@given(st.lists(st.one_of(st.booleans(), st.integers(-3, 3), st.floats(-3, 3)), min_size=1, max_size=6), LABELS)
def test_a_type_changes_no_label(cells, positive):
    """A reader of files infers types from all cells: numbers, objects and texts of the same cells are the same."""
    expected = as_labels(np.array(cells, dtype=np.float64), positive)
    for y in (
        np.array(cells, dtype=object),
        cells,
        pd.Series(cells),
        pd.Series(cells, dtype=object),
        list(map(str, cells)),
        np.array(list(map(str, cells))),
    ):
        np.testing.assert_array_equal(as_labels(y, positive), expected)


def test_labels_are_total():
    assert [label_of(cell) for cell in (Hostile(), HostileText("a"), None, pd.NA, 1j, b"\xff")] == [
        "", "a", None, None, "", "",
    ]  # fmt: skip


def test_complex_labels_are_refused_by_their_type():
    with pytest.raises(ValueError, match="Complex data not supported"):
        as_labels(np.array([1, 0], dtype=complex), 1)


def test_masked_responses_are_refused():
    with pytest.raises(TypeError, match=f"^{MASKED[:30]}"):
        as_labels(np.ma.array([1, 0], mask=[0, 1]))


@pytest.mark.parametrize("y", [["yes", "no"], [0, 2], [0.5, 1], [None, 1], [2, 1], ["Lovelace", 0]])
def test_other_labels_are_refused_by_one_sentence(y):
    X = np.arange(40.0)[:, None]
    with pytest.raises(ValueError) as refusal:  # noqa: PT011
        PrivateSparseClassifier(sparsity=1).fit(X, y * 20)
    assert str(refusal.value) == NOT_LABELS


@pytest.mark.parametrize("positive", ["", np.nan, np.inf, None, object(), [1]])
def test_yes_must_be_a_label(positive):
    model = PrivateSparseClassifier(sparsity=1, positive=positive, random_state=0)
    if positive is None:
        model.fit(np.arange(40.0)[:, None], NUMBERS * 10)
        return
    with pytest.raises(ValueError, match="must be the label of yes"):
        model.fit(np.arange(40.0)[:, None], NUMBERS * 10)


@pytest.mark.parametrize(
    ("positive", "classes"),
    [(None, [0, 1]), (1, [0, 1]), (True, [False, True]), (False, [True, False]), ("yes", ["not yes", "yes"])],
)
def test_classes_follow_from_the_parameter_alone(positive, classes):
    """A type that a reader inferred depends on the records: one that is not true or false makes objects of all."""
    X = np.arange(40.0)[:, None]
    for y in (np.array(TRUTHS * 10), pd.Series(TRUTHS * 10).astype(object), NUMBERS * 10):
        model = PrivateSparseClassifier(sparsity=1, positive=positive, random_state=0).fit(X, y)
        assert model.classes_.tolist() == classes
