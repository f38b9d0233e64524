import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import AdaHuber, AdaHuberCV


@parametrize_with_checks([AdaHuber()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([AdaHuber(sparsity=1), AdaHuberCV(n_lambdas=10)])
def test_scikit_learn_conventions_of_options(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((200, 60)) * (rng.random((200, 60)) < 0.5)
    coef = np.zeros(60)
    coef[[3, 17, 40]] = 2.0, -3.0, 2.5
    return X, 1.0 + X @ coef + 0.5 * rng.standard_t(1.5, size=200), coef


@pytest.mark.parametrize("model", [AdaHuber(), AdaHuber(sparsity=3), AdaHuberCV(n_lambdas=8, random_state=0)])
@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_equals_dense(data, model, layout):
    X, y, _ = data
    dense = clone(model).fit(X, y)
    fitted = clone(model).fit(layout(X), y)
    np.testing.assert_allclose(fitted.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.intercept_, dense.intercept_)
    np.testing.assert_allclose(fitted.predict(layout(X)), dense.predict(X))
    assert fitted.tau_ == pytest.approx(dense.tau_)
    assert fitted.n_iter_ == dense.n_iter_


def test_duplicate_entries_of_a_sparse_matrix_are_summed_in_a_copy(data):
    X, y, _ = data
    once = sparse.csr_array(X)
    half = once.data / 2
    twice = sparse.csr_array((np.repeat(half, 2), np.repeat(once.indices, 2), 2 * once.indptr), shape=once.shape)
    np.testing.assert_allclose(AdaHuber().fit(twice, y).coef_, AdaHuber().fit(X, y).coef_, rtol=1e-9)
    assert twice.nnz == 2 * once.nnz


@pytest.mark.parametrize("model", [AdaHuber(), AdaHuber(sparsity=3), AdaHuberCV(n_lambdas=5, random_state=0)])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_float32_is_kept(data, model, layout):
    X, y, _ = data
    wide = clone(model).fit(layout(X), y)
    narrow = clone(model).fit(layout(X.astype(np.float32)), y)
    assert wide.coef_.dtype == wide.predict(X).dtype == np.float64
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    assert narrow.predict(layout(X.astype(np.float32))).dtype == np.float32
    np.testing.assert_allclose(narrow.coef_, wide.coef_, atol=1e-4)


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])
def test_no_copy_of_a_large_table_is_made(layout, dtype):
    rng = np.random.default_rng(0)
    X = layout(rng.standard_normal((40_000, 100), dtype=np.float32).astype(dtype))
    y = X[:, [0]] @ np.ones(1) + rng.standard_t(2.0, size=40_000)
    size = X.data.nbytes if sparse.issparse(X) else X.nbytes
    tracemalloc.start()
    AdaHuber(lam=0.3).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Where sparse cells lie is copied, and checked.
    places = X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else 0
    assert peak < size / 2 + places


def test_data_frames_give_names(data):
    X, y, _ = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(60)])
    model = AdaHuber().fit(frame, y)
    assert model.n_features_in_ == 60
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(model.coef_, AdaHuber().fit(X, y).coef_, rtol=1e-9)


@pytest.mark.parametrize("sparsity", [1, 3, 10])
def test_hard_threshold_size(data, sparsity):
    X, y, coef = data
    model = AdaHuber(lam=0.01, sparsity=sparsity).fit(X, y)
    assert model.support_.size == sparsity
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.coef_))
    if sparsity == 3:
        np.testing.assert_array_equal(model.support_, np.flatnonzero(coef))
        lasso = AdaHuber(lam=0.2).fit(X, y)
        assert np.linalg.norm(model.coef_ - coef) < np.linalg.norm(lasso.coef_ - coef)


def test_sparsity_beyond_the_features_is_capped(data):
    X, y, _ = data
    with pytest.warns(UserWarning, match="sparsity=99 is more than the 60 features"):
        capped = AdaHuber(sparsity=99).fit(X, y)
    np.testing.assert_array_equal(capped.coef_, AdaHuber(sparsity=60).fit(X, y).coef_)


def test_given_tau_is_used(data):
    X, y, _ = data
    assert AdaHuber(tau=1.25).fit(X, y).tau_ == 1.25


def test_cross_validation_picks_a_sensible_penalty(data):
    X, y, coef = data
    rng = np.random.default_rng(12)
    X_new = rng.standard_normal((1000, 60))
    model = AdaHuberCV(random_state=0).fit(X, y)
    assert model.lams_.shape == model.cv_error_.shape == (50,)
    assert model.lam_ == model.lams_[np.argmin(model.cv_error_)]
    assert model.lams_[-1] < model.lam_ < model.lams_[0]
    assert set(np.flatnonzero(coef)) <= set(model.support_)

    def risk(coefficients):
        return np.mean((X_new @ (coefficients - coef)) ** 2)

    along_the_path = [risk(AdaHuber(lam=lam).fit(X, y).coef_) for lam in model.lams_[::5]]
    assert risk(model.coef_) < 2 * min(along_the_path)
    assert risk(model.coef_) < 0.5 * max(along_the_path)


@pytest.mark.parametrize("sparsity", [None, 3])
def test_cross_validation_ends_in_the_plain_fit(data, sparsity):
    X, y, coef = data
    model = AdaHuberCV(n_lambdas=12, sparsity=sparsity, random_state=0).fit(X, y)
    plain = AdaHuber(lam=model.lam_, sparsity=sparsity).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert (model.intercept_, model.tau_, model.n_iter_) == (plain.intercept_, plain.tau_, plain.n_iter_)
    again = AdaHuberCV(n_lambdas=12, sparsity=sparsity, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.cv_error_, again.cv_error_)
    if sparsity:
        np.testing.assert_array_equal(model.support_, np.flatnonzero(coef))


def test_warns_when_the_steps_run_out(data):
    X, y, _ = data
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        assert AdaHuber(max_iter=2).fit(X, y).n_iter_ == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lam", -1.0),
        ("lam", np.nan),
        ("lam", "0.1"),
        ("tau", 0.0),
        ("tau", np.inf),
        ("tau", True),
        ("tau_rule", "huber"),
        ("sparsity", 0),
        ("sparsity", 2.0),
        ("tol", 0.0),
        ("max_iter", 0),
        ("n_lambdas", 0),
        ("cv", 1),
        ("cv", 201),
    ],
)
def test_parameter_errors_name_the_parameter_and_the_remedy(data, name, value):
    X, y, _ = data
    estimator = AdaHuberCV if name in ("n_lambdas", "cv") else AdaHuber
    with pytest.raises(ValueError, match=f"^{name}=.* must be ") as caught:
        estimator(**{name: value}).fit(X, y)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("estimator", [AdaHuber, AdaHuberCV])
def test_the_documentation_says_it_is_not_private(estimator):
    assert "not private" in estimator.__doc__
