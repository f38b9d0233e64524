"""What a fit read is freed when its last user lets go of it: no circle of references holds X until a collection."""

import gc
import weakref

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from dpsparse import (
    DPIHTH,
    DPIHTL,
    DPSLR,
    AdaHuber,
    AdaHuberCV,
    OnDisk,
    PrivateSparseRegressor,
    evaluate,
    fit_and_evaluate,
    tune,
)
from dpsparse.audit.harness.fits import YesNoPursuit
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine.cpu.local_rows import LocalRows

N, D = 300, 12
PRIVATE = {"epsilon": 1.0, "delta": 1e-5, "random_state": 0}


def dense(values):
    return values, values


def by_columns(values):
    return dense(np.asfortranarray(values))


def stored(values):
    X = sparse.csr_matrix(values)
    return X, X.data


def on_disk(values):
    X = OnDisk(values)
    return X, X.source


def partitions(values):
    X = da.from_array(values, chunks=(100, D))
    return X, values


def estimators():
    yield "given units", PrivateSparseRegressor(sparsity=2, **STANDARDIZED, **PRIVATE)
    yield "unknown units", PrivateSparseRegressor(sparsity=2, **PRIVATE)
    yield "all features", PrivateSparseRegressor(sparsity=D, **PRIVATE)
    yield "missing", PrivateSparseRegressor(sparsity=2, missing="center", **PRIVATE)
    yield "yes or no", YesNoPursuit(sparsity=2, **PRIVATE)
    yield "DPIHTH", DPIHTH(sparsity=2, **PRIVATE)
    yield "DPIHTL", DPIHTL(sparsity=2, **PRIVATE)
    yield "DPSLR", DPSLR(sparsity=2, **PRIVATE)


@pytest.fixture(autouse=True)
def no_collection():
    """Count references alone."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def rows_made(monkeypatch):
    """References to all rows that a fit makes: they may be of a copy of X."""
    made, plain = [], LocalRows.__init__

    def remembered(self, *arguments):
        made.append(weakref.ref(self))
        plain(self, *arguments)

    monkeypatch.setattr(LocalRows, "__init__", remembered)
    return made


def values(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    return X, X[:, 0] + rng.standard_t(3, N)


def is_freed(storage, work, rows_made, spoilt=False):
    """Whether X, and all rows of it, are freed after some work on it, whose result is kept."""
    array, y = values()
    if spoilt:
        array[7, 3] = np.inf
    X, held = storage(array)
    held = weakref.ref(held)
    del array
    result = work(X, y)
    del X
    assert result is not None
    return held() is None and not any(rows() for rows in rows_made)


STORAGES = [dense, by_columns, stored, on_disk, pytest.param(partitions, marks=pytest.mark.slow)]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("name", "estimator"), list(estimators()))
@pytest.mark.filterwarnings("ignore")
def test_a_fit_lets_go_of_x(storage, name, estimator, rows_made):
    assert is_freed(storage, estimator.fit, rows_made)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("name", "estimator"), [each for each in estimators() if each[0] != "missing"])
@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_fails_lets_go_of_x(storage, name, estimator, rows_made):
    def failing(X, y):
        try:
            estimator.fit(X, y)
        except ValueError as error:
            return str(error)

    assert is_freed(storage, failing, rows_made, spoilt=True)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.filterwarnings("ignore")
def test_prediction_and_evaluation_let_go_of_x(storage, rows_made):
    fitted = PrivateSparseRegressor(sparsity=2, **STANDARDIZED, **PRIVATE).fit(*values(1))
    assert is_freed(storage, lambda X, y: fitted.predict(X), rows_made)
    assert is_freed(storage, lambda X, y: evaluate(fitted, X, y, epsilon=1.0, random_state=0), rows_made)


@pytest.mark.slow
@pytest.mark.parametrize("storage", [dense, stored])
@pytest.mark.filterwarnings("ignore")
def test_several_fits_let_go_of_x(storage, rows_made):
    candidates = [PrivateSparseRegressor(sparsity=sparsity, **PRIVATE) for sparsity in (2, 3)]
    assert is_freed(storage, lambda X, y: tune(candidates, X, y), rows_made)
    assert is_freed(storage, lambda X, y: fit_and_evaluate(candidates[0], X, y), rows_made)


@pytest.mark.parametrize("estimator", [AdaHuber(), AdaHuberCV()])
@pytest.mark.filterwarnings("ignore")
def test_fits_without_privacy_let_go_of_x(estimator, rows_made):
    assert is_freed(dense, estimator.fit, rows_made)
