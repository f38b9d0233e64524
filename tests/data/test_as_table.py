"""What X is, is asked once: which table each kind of X becomes, and what every table offers."""

import inspect

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
import zarr
from scipy import sparse
from sklearn.base import BaseEstimator

from dpsparse import DPIHTH, AdaHuber, OnDisk, PrivacyLedger, PrivateSparseRegressor, Streamed, tune
from dpsparse.data.as_table import MemoryTable, as_table, in_memory
from dpsparse.data.dask_table import DaskTable
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.data.remote_table import CudaTable, DiskTable
from dpsparse.engine.protocols import Table

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((60, 4)).astype(np.float32), RNG.standard_normal(60)


class OnCard:
    """An array that says it lies on a card."""

    shape, dtype, ndim, is_cuda = (60, 4), np.dtype(np.float32), 2, True


def saved(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def zarr_array(folder):
    array = zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(20, 2), dtype=X.dtype)
    array[:] = X
    return array


KINDS = {
    "array": (lambda _: X, MemoryTable),
    "list": (lambda _: X.tolist(), MemoryTable),
    "CSR": (lambda _: sparse.csr_matrix(X), MemoryTable),
    "COO": (lambda _: sparse.coo_array(X), MemoryTable),
    "pandas": (lambda _: pd.DataFrame(X, columns=list("abcd")), MemoryTable),
    "polars": (lambda _: pl.DataFrame(X, schema=list("abcd")), MemoryTable),
    "integers": (lambda _: X.astype(np.int8), DiskTable),
    "memory map": (lambda folder: np.load(saved(folder), mmap_mode="r"), DiskTable),
    "OnDisk": (lambda folder: OnDisk(saved(folder)), DiskTable),
    "Zarr": (zarr_array, DiskTable),
    "dask array": (lambda _: da.from_array(X, chunks=20), DaskTable),
    "dask frame": (lambda _: dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=2), DaskTable),
    "Streamed": (lambda _: Streamed(X), CudaTable),
    "GPU array": (lambda _: OnCard(), CudaTable),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_has_its_class_and_a_public_shape(kind, tmp_path):
    make, expected = KINDS[kind]
    table = as_table(make(tmp_path))
    assert type(table) is expected
    assert table.shape == (60, 4)


@pytest.mark.parametrize("kind", [kind for kind, (_, table) in KINDS.items() if table is not CudaTable])
def test_a_validated_table_has_dtype_names_and_rows(kind, tmp_path):
    table, estimator = as_table(KINDS[kind][0](tmp_path)), BaseEstimator()
    y = table.validate(estimator, Y.tolist())
    assert estimator.n_features_in_ == 4
    assert table.dtype == (np.float64 if kind in ("list", "integers", "polars") else np.float32)
    named = kind in ("pandas", "polars", "dask frame")
    assert table.names is None if not named else list(table.names) == list("abcd")
    rows = table.rows(y, check_before_release=True)
    assert (rows.n_records, rows.n_features) == (60, 4)


@pytest.mark.parametrize("cls", [MemoryTable, DiskTable, CudaTable, DaskTable])
def test_tables_implement_the_protocol(cls):
    for name in ("validate", "rows", "predict"):
        theirs, ours = (inspect.signature(getattr(each, name)).parameters for each in (Table, cls))
        assert list(ours)[: len(theirs)] == list(theirs)


def test_shapes_of_other_dimensions_are_refused_in_any_table(tmp_path):
    np.save(tmp_path / "line.npy", X[0])
    for line in (X[0], X[0].tolist(), np.load(tmp_path / "line.npy", mmap_mode="r"), Streamed(X[0]), da.zeros(4)):
        with pytest.raises(ValueError, match="X must be a 2D array"):
            _ = as_table(line).shape


@pytest.mark.parametrize("kind", ["memory map", "integers", "Zarr", "array", "CSR", "pandas"])
def test_what_can_be_converted_is_read_in_memory(kind, tmp_path):
    given = KINDS[kind][0](tmp_path)
    table = in_memory(given, "AdaHuber")
    table.validate(BaseEstimator(), Y)
    assert table.take(np.arange(7)).shape == (7, 4)
    assert AdaHuber().fit(given, Y).predict(given).shape == (60,)
    assert tune([PrivateSparseRegressor(sparsity=1, random_state=0, **STANDARDIZED)], given, Y).index == 0


@pytest.mark.parametrize("kind", ["OnDisk", "dask array", "Streamed", "GPU array"])
def test_what_is_elsewhere_is_refused_by_who_reads_in_memory(kind, tmp_path):
    given = KINDS[kind][0](tmp_path)
    for name, read in (("AdaHuber", AdaHuber().fit), ("tune", lambda X, y: tune([PrivateSparseRegressor()], X, y))):
        with pytest.raises(TypeError, match=f"^{name} reads X in (host )?memory; pass "):
            read(given, Y)


MASKED = {
    "array": lambda X: X,
    "integers": lambda X: X.astype(np.int8),
    "rows": lambda X: list(X),
    "entries": lambda X: [[*row[:-1], np.ma.masked] for row in X.data.tolist()],
    "chunks": lambda X: da.from_array(X, chunks=20),
}


@pytest.mark.parametrize("masked_cells", [0, 1])
@pytest.mark.parametrize("kind", MASKED)
def test_masked_arrays_are_refused_by_type(kind, masked_cells, tmp_path):
    mask = np.zeros(X.shape, dtype=bool)
    mask.flat[:masked_cells] = True
    given = MASKED[kind](np.ma.array(X, mask=mask))
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("people", epsilon=3, delta=1e-6)
    for estimator in (
        PrivateSparseRegressor(sparsity=1, epsilon=1.0, delta=1e-7, ledger=ledger, dataset="people", **STANDARDIZED),
        DPIHTH(sparsity=1, epsilon=1.0, delta=1e-7, ledger=ledger, dataset="people"),
    ):
        with pytest.raises(TypeError, match=r"masked arrays.*filled"):
            estimator.fit(given, Y)
    assert len(ledger.history()) == 1
    with pytest.raises(TypeError, match="masked arrays"):
        PrivateSparseRegressor(sparsity=1, epsilon=1.0, **STANDARDIZED).fit(X, Y).predict(given)


@pytest.mark.parametrize("response", [lambda y: y, list, lambda y: da.from_array(y, chunks=20)])
def test_masked_responses_are_refused_by_type(response):
    y = response(np.ma.array(Y, mask=Y > 1))
    features = da.from_array(X, chunks=20) if hasattr(y, "dask") else X
    with pytest.raises(TypeError, match="masked arrays"):
        PrivateSparseRegressor(sparsity=1, epsilon=1.0, **STANDARDIZED).fit(features, y)


def test_wrappers_and_sparse_matrices_refuse_masked_arrays():
    for wrapper in (OnDisk, Streamed):
        with pytest.raises(TypeError, match="masked arrays"):
            wrapper(np.ma.array(X))
    matrix = sparse.csr_matrix(X)
    matrix.data = np.ma.array(matrix.data)
    with pytest.raises(TypeError, match="masked arrays"):
        PrivateSparseRegressor(sparsity=1, epsilon=1.0, **STANDARDIZED).fit(matrix, Y)


def test_a_masked_chunk_that_the_array_does_not_declare_is_refused():
    hidden = da.from_array(X, chunks=20).map_blocks(np.ma.masked_array, dtype=X.dtype, meta=np.empty((0, 0), X.dtype))
    with pytest.raises(ValueError, match="declares"):
        PrivateSparseRegressor(sparsity=1, epsilon=1.0, **STANDARDIZED).fit(hidden, da.from_array(Y, chunks=20))
