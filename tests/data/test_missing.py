"""Tables with missing cells and responses: how each kind of X and y gives its gaps, and how models predict for them."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import BaseEstimator

from dpsparse import OnDisk, PrivateSparseRegressor
from dpsparse.data.as_table import as_table
from dpsparse.data.predictions import linear_predictions
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine import queries
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.refusals import NOT_FINITE, NOT_NUMERIC, Y_NOT_NUMERIC
from dpsparse.io.bounds import Bounds
from dpsparse.io.convert import convert
from dpsparse.io.formats import open_table
from dpsparse.io.provenance import provenance_of

# Whole numbers, so that every kind of column can hold them.
RNG = np.random.default_rng(0)
X = RNG.integers(-3, 4, (40, 3)).astype(float)
X[RNG.random(X.shape) < 0.2] = np.nan
Y = RNG.integers(-9, 10, 40).astype(float)
Y[RNG.random(40) < 0.2] = np.nan
NAMES = list("abc")


def with_none(values):
    return [None if np.isnan(value) else int(value) for value in values]


def parquet(folder):
    import pyarrow.parquet as pq

    columns = [pa.array(with_none(column), pa.int32() if k == 1 else pa.float64()) for k, column in enumerate(X.T)]
    pq.write_table(pa.table(columns, names=NAMES), folder / "x.parquet")
    return OnDisk(folder / "x.parquet")


def npy(folder):
    np.save(folder / "x.npy", X)
    return OnDisk(folder / "x.npy")


def store(folder):
    np.save(folder / "data.npy", np.column_stack([X, Y]))
    table = open_table(folder / "data.npy")
    convert(table, provenance_of(table, Bounds(), "3"), folder / "store", "float64")
    return OnDisk(folder / "store")


def zarr_array(folder):
    array = zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(20, 2), dtype=X.dtype)
    array[:] = X
    return array


def frame(dtype):
    return pd.DataFrame(
        {name: pd.array(with_none(column), dtype=dtype) for name, column in zip(NAMES, X.T, strict=True)}
    )


def with_infinities(values):
    values = values.copy()
    places = np.flatnonzero(np.isnan(values.ravel()))
    values.ravel()[places[::2]], values.ravel()[places[1::4]] = np.inf, -np.inf
    return values


KINDS = {
    "array": lambda _: X,
    "infinities": lambda _: with_infinities(X),
    "Fortran order": lambda _: np.asfortranarray(X),
    "float32": lambda _: X.astype(np.float32),
    "list with None": lambda _: [with_none(row) for row in X],
    "objects": lambda _: np.array([with_none(row) for row in X], dtype=object),
    "objects with NA": lambda _: np.where(np.isnan(X), pd.NA, X.astype(object)),
    "CSR": lambda _: sparse.csr_matrix(X),
    "COO": lambda _: sparse.coo_array(X),
    "pandas": lambda _: pd.DataFrame(X, columns=NAMES),
    "pandas Int64": lambda _: frame("Int64"),
    "pandas Float32": lambda _: frame("Float32"),
    "pandas arrow": lambda _: frame("int64[pyarrow]"),
    "pandas objects": lambda _: pd.DataFrame(np.where(np.isnan(X), pd.NA, X.astype(object)), columns=NAMES),
    "pandas mixed": lambda _: frame("Int64").assign(
        b=np.where(np.isnan(X[:, 1]), pd.NA, X[:, 1].astype(object)), c=X[:, 2].astype(np.float32)
    ),
    "polars": lambda _: pl.DataFrame({name: with_none(column) for name, column in zip(NAMES, X.T, strict=True)}),
    "polars floats": lambda _: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda _: pa.table([pa.array(with_none(column)) for column in X.T], names=NAMES),
    "memory map": lambda folder: np.load(npy(folder) and folder / "x.npy", mmap_mode="r"),
    "npy": npy,
    "Parquet": parquet,
    "Zarr": zarr_array,
    "store": store,
    "dask array": lambda _: da.from_array(X, chunks=(17, 2)),
    "dask frame": lambda _: dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3),
    "dask Int64": lambda _: dd.from_pandas(frame("Int64"), npartitions=3),
}  # fmt: skip


def fitted(values, y=Y, **options):
    """A session's sums on a validated table: scores of features and of gaps, a column, an indicator, pairs."""
    table, estimator = as_table(values), BaseEstimator()
    y = table.validate(estimator, y, allow_missing=True, **options)
    rows = table.rows(y)
    session = rows.session((Quantizer(2.0), Quantizer(1.0, of_gaps=True)), constant=True, check_finite=False)
    session.add(1)
    session.add(4)
    effects, points = [0.3, 0.2, -1.0], np.linspace(-4, 4, 9)
    pairs = rows.differences().session((Quantizer(1e-30), Quantizer(1.0, of_gaps=True)), check_finite=False)
    return [
        session.scores(0.1, effects, 3.0, 0.2),
        *(session.evaluate(queries.column_counts, k, points) for k in range(3)),
        session.evaluate(queries.residual_counts, 0.1, effects, points),
        session.evaluate(queries.gram_sums, np.arange(3), 2.0, 3.0),
        pairs.scores(0.0, [], 2.0),
        rows.evaluate(queries.feature_counts, points),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_sums(kind, tmp_path):
    expected = fitted(X)
    for one, other in zip(fitted(KINDS[kind](tmp_path)), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    counts = (~np.isnan(X) & ~np.isnan(Y)[:, None]).sum(axis=0)
    assert expected[-1][:, -1].tolist() == counts.tolist()


RESPONSES = {
    "array": Y,
    "infinities": with_infinities(Y),
    "list with None": with_none(Y),
    "objects with NA": np.where(np.isnan(Y), pd.NA, Y.astype(object)),
    "series": pd.Series(Y),
    "Int64": pd.Series(with_none(Y), dtype="Int64"),
    "series of objects": pd.Series(np.where(np.isnan(Y), pd.NA, Y.astype(object))),
    "polars": pl.Series(with_none(Y)),
    "arrow": pa.array(with_none(Y)),
    "chunked": pa.chunked_array([with_none(Y)[:7], with_none(Y)[7:]]),
}


@pytest.mark.parametrize("kind", RESPONSES)
@pytest.mark.parametrize("elsewhere", ["array", "npy", "dask array"])
def test_every_kind_of_response(kind, elsewhere, tmp_path):
    for one, other in zip(fitted(KINDS[elsewhere](tmp_path), RESPONSES[kind]), fitted(X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("y", [Y, with_infinities(Y), pd.Series(with_none(Y), dtype="Int64")], ids=["NaN", "inf", "NA"])
def test_responses_on_a_cluster(y):
    lazy = dd.from_pandas(y, npartitions=2) if isinstance(y, pd.Series) else da.from_array(y, chunks=11)
    for one, other in zip(fitted(da.from_array(X, chunks=(17, 3)), lazy), fitted(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_store_keeps_missing_responses(tmp_path):
    table = store(tmp_path)
    for one, other in zip(fitted(table, table.response), fitted(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_callers_keep_what_they_passed():
    frame, y, objects = pd.DataFrame(X.astype(object), columns=NAMES), Y.copy(), np.array(with_none(Y), dtype=object)
    before = frame.copy(deep=True), objects.copy()
    fitted(frame, y)
    fitted(X, objects)
    pd.testing.assert_frame_equal(frame, before[0])
    np.testing.assert_array_equal(y, Y)
    assert objects.tolist() == before[1].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_refuses_and_names_the_option(kind, tmp_path):
    assert 'missing="center"' in NOT_FINITE
    has_na = kind in ("objects with NA", "pandas objects", "pandas mixed")
    refused = (TypeError, "every entry, as float") if has_na else (ValueError, NOT_FINITE)
    with pytest.raises(refused[0], match=refused[1]):
        PrivateSparseRegressor(sparsity=1, **STANDARDIZED).fit(KINDS[kind](tmp_path), np.nan_to_num(Y))
    with pytest.raises(ValueError, match=NOT_FINITE):
        PrivateSparseRegressor(sparsity=1, **STANDARDIZED).fit(np.nan_to_num(X), Y)


@pytest.mark.parametrize(
    ("values", "y", "message"),
    [
        (pd.DataFrame({"a": ["x"] * 40}), Y, NOT_NUMERIC),
        (pl.DataFrame({"a": ["x"] * 40}), Y, NOT_NUMERIC),
        (pa.table({"a": ["x"] * 40}), Y, NOT_NUMERIC),
        (np.array([["1"]] * 40), Y, NOT_NUMERIC),
        (X, pd.Series(["x"] * 40), Y_NOT_NUMERIC),
        (X, np.array(["1"] * 40), Y_NOT_NUMERIC),
        (X, Y + 0j, "Complex data not supported"),
        (X, Y[1:], "inconsistent numbers of samples"),
        (X, X, "y should be a 1d array"),
    ],
)
def test_what_is_no_number_by_its_type_is_refused_all_the_same(values, y, message):
    with pytest.raises((ValueError, TypeError)) as refused:
        fitted(values, y)
    assert str(refused.value).startswith(message) or message in str(refused.value)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical, lambda y: np.array(y, dtype=object)])
def test_labels_are_refused_by_a_sentence_about_y(kind):
    with pytest.raises(ValueError, match=r"^y could not be .* PrivateSparseClassifier\(positive='yes'\)"):
        PrivateSparseRegressor(sparsity=1).fit(X, kind(["yes", "no"] * 20))


class Model(BaseEstimator):
    """A fitted model with gaps."""

    coef_, intercept_, n_features_in_ = np.array([0.5, 0.0, -2.0]), 1.0, 3
    center_, missing_coef_ = np.array([1.0, 7.0, -0.5]), np.array([0.0, 3.0, 0.25])
    prediction_range_ = (-9.0, 9.0)

    def __sklearn_is_fitted__(self):
        return True


def predicted(model, X):
    """By definition: a gap counts as the centre, plus its own coefficient."""
    missing = ~np.isfinite(X)
    values = np.where(missing, model.center_, np.where(missing, 0.0, X))
    return np.clip(values @ model.coef_ + missing @ model.missing_coef_ + model.intercept_, *model.prediction_range_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_predictions_for_gaps(kind, tmp_path):
    np.testing.assert_allclose(as_table(KINDS[kind](tmp_path)).predict(Model()), predicted(Model(), X), rtol=1e-6)


@pytest.mark.parametrize("kind", ["array", "CSR", "npy", "dask array"])
def test_a_model_without_centres_refuses_gaps(kind, tmp_path):
    model = Model()
    model.missing_coef_ = None
    with pytest.raises(ValueError, match=NOT_FINITE):
        np.asarray(as_table(KINDS[kind](tmp_path)).predict(model))


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.float64, (5, 3), elements=st.sampled_from([0.0, 1.0, -2.5, np.nan, np.inf, -np.inf])))
def test_predictions_by_definition(X):
    model = Model()
    public = (model.coef_, model.intercept_, model.prediction_range_, model.center_, model.missing_coef_)
    for storage in (np.asarray, np.asfortranarray, sparse.csr_matrix):
        np.testing.assert_allclose(linear_predictions(storage(X), *public), predicted(model, X), rtol=1e-12, atol=1e-12)


def test_predictions_without_gaps_have_the_same_bits():
    model, X = Model(), RNG.normal(size=(50, 3))
    plain = linear_predictions(X, model.coef_, model.intercept_)
    assert (
        linear_predictions(X, model.coef_, model.intercept_, None, model.center_, model.missing_coef_) == plain
    ).all()
