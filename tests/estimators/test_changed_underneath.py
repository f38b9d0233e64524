"""Features that change while a fit reads them, and fits that are refused or interrupted."""

import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dpsparse import DPIHTH, PrivateSparseRegressor, tune
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine.cpu.dense_rows import DenseRows, QuantizedDense, feature_sums
from dpsparse.engine.cpu.sparse_rows import QuantizedSparse
from dpsparse.engine.disk import feature_sources
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("change", [lambda X: X.indices.fill(2**31 - 1), lambda X: X.indptr.fill(2**30)])
def test_places_of_sparse_cells_may_change(change):
    X = sparse.random(2_000, 50, 0.1, format="csr", rng=RNG)
    y = RNG.standard_normal(2_000)
    expected = PrivateSparseRegressor(sparsity=2, random_state=0, **STANDARDIZED).fit(X, y).coef_
    model = PrivateSparseRegressor(sparsity=2, random_state=0, **STANDARDIZED)
    model.fit(X, y, progress=lambda done, _: change(X) if done == 1 else None)
    np.testing.assert_array_equal(model.coef_, expected)


def test_no_record_gains_influence_by_a_change_of_places(monkeypatch):
    n, d = 300, 400
    X = sparse.csr_matrix((np.ones(d), np.arange(d), np.r_[0, np.full(n, d)]), shape=(n, d))
    seen = []
    add_up = QuantizedSparse.weighted_sums
    monkeypatch.setattr(QuantizedSparse, "weighted_sums", lambda *given: seen.append(add_up(*given)) or seen[-1])
    model = PrivateSparseRegressor(sparsity=1, random_state=0, response_center=0.0, response_scale=1e-9, **STANDARDIZED)
    model.fit(X, np.ones(n), progress=lambda done, _: X.indices.fill(0) if done == 1 else None)
    # Only the first record has features, so that each sum is its term.
    assert max(np.abs(sums).max() for sums in seen) <= FEATURE_LEVELS * WEIGHT_LEVELS


@pytest.mark.parametrize("kept", [0.5, 0.0])
@pytest.mark.parametrize("rows_left", [1, 2])
def test_a_file_that_shrinks_is_refused(rows_left, kept, tmp_path, configure):
    configure(disk_memory_share=kept)
    array = zarr.create_array(tmp_path / "z.zarr", shape=(500, 4), chunks=(500, 4), dtype="f8")
    array[:] = RNG.standard_normal((500, 4))
    model = PrivateSparseRegressor(sparsity=1, random_state=0, **STANDARDIZED)

    def shrink(done, _):
        if done == 1:
            array.resize((rows_left, 4))

    with pytest.raises(OSError, match=feature_sources.CHANGED):
        model.fit(array, RNG.standard_normal(500), progress=shrink)
    assert not hasattr(model, "coef_")


def test_loops_are_given_a_row_for_each_record():
    for order in "CF":
        X = np.zeros((3, 2), order=order)
        for read in (
            lambda X: feature_sums(X, Quantizer(1.0), np.ones(1_000)),
            lambda X: QuantizedDense(X.astype(np.int8)).weighted_sums(np.ones(1_000)),
            lambda X: DenseRows(X, np.zeros(1_000)).residuals(np.ones(2), [1, 0], Quantizer(1.0)),
        ):
            with pytest.raises(ValueError, match="records and rows differ in number"):
                read(X)


@pytest.mark.parametrize("make", [PrivateSparseRegressor, DPIHTH])
def test_a_refused_fit_leaves_the_names_of_the_last(make, units_of):
    people = pd.DataFrame(RNG.standard_normal((300, 4)), columns=list("abcd"))
    y = 3 * people.a + RNG.standard_normal(300)
    model = make(sparsity=1, epsilon=9.0, delta=1e-3, **units_of(make)).fit(people, y)
    expected = model.predict(people)
    broken = people[list("dcba")].copy()
    broken.iloc[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.fit(broken, y)
    np.testing.assert_array_equal(model.predict(people), expected)


def test_an_interrupted_fit_is_not_fitted():
    X, y = RNG.standard_normal((300, 4)), RNG.standard_normal(300)
    model = PrivateSparseRegressor(sparsity=1, **STANDARDIZED).fit(X, y)

    def interrupt(done, _):
        if done > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, progress=interrupt)
    for use in (check_is_fitted, lambda model: model.predict(X), lambda model: model.summary()):
        with pytest.raises(NotFittedError):
            use(model)


def test_tune_takes_integers():
    X, y = RNG.integers(0, 3, (400, 5)), RNG.standard_normal(400)
    assert tune([PrivateSparseRegressor(sparsity=1, random_state=0, **STANDARDIZED)], X, y).index == 0
