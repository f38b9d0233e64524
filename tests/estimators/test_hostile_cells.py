"""One cell does not decide whether a fit works: whatever it is, a fit ends in a model, and the ledger in one charge."""

import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.base import BaseEstimator

from dpsparse import PrivacyLedger, PrivateSparseRegressor, evaluate, read_table
from dpsparse.data.as_table import as_table
from dpsparse.engine.refusals import SENTENCES

sys.path.insert(0, str(Path(__file__).parents[1] / "io" / "cells"))
from all_types import OBJECTS, Hostile

N = 300
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 3)), RNG.normal(size=N)
# Each by its place: an object may refuse to be printed.
CELLS = {f"{place} {type(cell).__name__}": cell for place, cell in enumerate(OBJECTS)}
# One of each sort that raised, warned or quoted.
SOME = {
    "duration": np.timedelta64(36, "h"),
    "complex": np.complex128(1 + 2j),
    "NA": pd.NA,
    "bytes": b"\xff",
    "text": "a cell: 4711",
    "far": np.longdouble("1e4000"),
    "hostile": Hostile(),
}


def with_cell(values, cell):
    objects = values.astype(object)
    objects[(7, 1) if values.ndim == 2 else 7] = cell
    return objects


def model(tmp_path, **options):
    ledger = PrivacyLedger(tmp_path / "budget.db")
    ledger.grant("people", epsilon=9.0, delta=1e-3)
    public = {"sparsity": 1, "epsilon": 2.0, "delta": 1e-3, "feature_center": 0, "feature_scale": 1}
    return PrivateSparseRegressor(**public | options, ledger=ledger, dataset="people"), ledger


def kinds(ledger):
    return [event.kind for event in ledger.history("people")][1:]


def silently(function, *arguments):
    """Call a function; a warning that comes from public numbers is none of a cell's."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "(this fit|delta|at this size|about|a fit|with)", UserWarning)
        return function(*arguments)


@pytest.mark.parametrize("name", CELLS)
def test_an_object_is_a_number_or_a_gap_where_gaps_are_allowed(name):
    if isinstance(CELLS[name], np.ma.core.MaskedConstant):
        pytest.skip("masked arrays are refused by their type")
    objects, responses = with_cell(X, CELLS[name]), with_cell(Y, CELLS[name])
    made = ((objects, responses), (objects.tolist(), responses.tolist()), (pd.DataFrame(objects), pd.Series(responses)))
    for values, y in made:
        table = as_table(values)
        read = silently(partial(table.validate, BaseEstimator(), y, allow_missing=True))
        np.testing.assert_array_equal(np.delete(read, 7), np.delete(Y, 7))
        np.testing.assert_array_equal(np.delete(table.X, 7, axis=0), np.delete(X, 7, axis=0))


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("where", ["X", "y", "raw"])
def test_a_fit_with_gaps_takes_any_object(tmp_path, where, name):
    estimator, ledger = model(tmp_path, missing="center")
    if where == "raw":
        frame = pd.DataFrame({"a": with_cell(X[:, 0], SOME[name]), "b": X[:, 1], "y": Y})
        estimator, ledger = PrivateSparseRegressor(epsilon=2.0, delta=1e-3, ledger=ledger, dataset="people"), ledger
        silently(estimator.fit, read_table(frame, "y"))
    else:
        silently(
            estimator.fit,
            with_cell(X, SOME[name]) if where == "X" else X,
            with_cell(Y, SOME[name]) if where == "y" else Y,
        )
    assert kinds(ledger) == ["reserve", "charge"]


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("where", ["X", "y"])
def test_without_gaps_it_is_one_constant_sentence_and_a_refund(tmp_path, where, name):
    estimator, ledger = model(tmp_path)
    cells = (with_cell(X, SOME[name]), Y) if where == "X" else (X, with_cell(Y, SOME[name]))
    with pytest.raises((TypeError, ValueError)) as caught:
        silently(estimator.fit, *cells)
    assert str(caught.value) in SENTENCES.values()
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert kinds(ledger) == ["reserve", "refund"]


@pytest.mark.parametrize("name", SOME)
def test_an_evaluation_takes_any_response(tmp_path, name):
    estimator = PrivateSparseRegressor(sparsity=1, epsilon=2.0, delta=1e-3, feature_center=0, feature_scale=1)
    estimator.fit(X, Y)
    _, ledger = model(tmp_path)
    evaluate(estimator, X, with_cell(Y, SOME[name]), epsilon=1.0, ledger=ledger, dataset="people")
    assert kinds(ledger) == ["reserve", "charge"]


@pytest.mark.slow
def test_text_that_is_no_utf8_in_a_column_of_text(tmp_path):
    """The error had the cell in it, and the reservation stayed."""
    texts = pa.array([b"caf\xe9", *[b"tea"] * (N - 1)], pa.binary()).view(pa.string())
    table = pa.table({"drink": texts, "level": texts.dictionary_encode(), "x": X[:, 0], "y": Y})
    pa.parquet.write_table(table, tmp_path / "people.parquet")
    wide = pa.chunked_array([texts.cast(pa.large_string(), safe=False)])
    frame = pd.DataFrame({"x": X[:, 0], "y": Y, "drink": pd.arrays.ArrowStringArray(wide)})
    for place, data in enumerate((table, tmp_path / "people.parquet", frame)):
        estimator, ledger = PrivateSparseRegressor(epsilon=1.0, delta=1e-3), PrivacyLedger(tmp_path / f"{place}.db")
        ledger.grant("people", epsilon=2.0, delta=1e-3)
        estimator.set_params(ledger=ledger, dataset="people")
        silently(estimator.fit, read_table(data, "y"))
        assert kinds(ledger) == ["reserve", "charge"]


@pytest.mark.parametrize(
    "made",
    [
        lambda: pl.DataFrame({"a": pl.Series([Hostile(), *range(N - 1)], dtype=pl.Object), "b": X[:, 0]}),
        lambda: pl.DataFrame({"a": pl.Series([2**100, *range(N - 1)], dtype=pl.Int128), "b": X[:, 0]}),
        lambda: pd.DataFrame({"a": pd.Series([1.5, "x"] * (N // 2), dtype="category"), "b": X[:, 0]}),
    ],
    ids=["objects of polars", "128 bits", "categories"],
)
def test_frames_with_columns_of_objects(made):
    estimator = PrivateSparseRegressor(sparsity=1, epsilon=2.0, delta=1e-3, missing="center")
    silently(estimator.fit, made(), Y)
    assert estimator.released_.n_columns == 2
