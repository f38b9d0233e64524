import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dpsparse.algorithms.adaptive_huber import (
    StandardizedDesign,
    adaptive_huber_lasso,
    hard_threshold,
    lambda_grid,
    largest_coefficients,
    tau_by_bisection,
    tau_from_residuals,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "adahuber.json").read_text())


def make_data(seed, n, d, nonzero, t_df, intercept):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    coef = np.zeros(d)
    coef[:nonzero] = 1.5
    return X, intercept + X @ coef + rng.standard_t(t_df, size=n), coef


def golden_data(case):
    c = GOLDEN["data"][case]
    return make_data(c["seed"], c["n"], c["d"], c["first_nonzero"], c["t_df"], c["intercept"])[:2]


def run_name(run):
    return f"{run['case']}-lam{run['lambda_']}-tau{run['tau_given']}"


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("run", GOLDEN["runs"], ids=run_name)
def test_every_run_of_the_r_package(run, layout):
    X, y = golden_data(run["case"])
    # With tau given the rule plays no part; the default must meet the package too.
    rule = "adahuber-1.1" if run["tau_given"] is None else "residual"
    fit = adaptive_huber_lasso(layout(X), y, run["lambda_"], tau=run["tau_given"], tau_rule=rule)
    coefficients = np.concatenate(([fit.intercept], fit.coef))
    assert fit.n_iter == run["iterations"]
    assert fit.converged
    np.testing.assert_allclose(fit.tau, run["tau"], rtol=1e-6)
    np.testing.assert_array_equal(np.flatnonzero(coefficients), run["nonzero_index"])
    np.testing.assert_allclose(coefficients[run["nonzero_index"]], run["nonzero_coef"], rtol=1e-6)


def test_design_products_are_those_of_standardized_columns():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2500, 30)) * 10.0 ** rng.integers(-3, 4, 30) + 5.0
    Z = np.column_stack((np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)))
    few, many, r = np.zeros(31), rng.standard_normal(31), rng.standard_normal(len(X))
    few[[0, 4]] = 1.0, -2.0
    for layout in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_matrix(X)):
        design = StandardizedDesign.of(layout)
        np.testing.assert_allclose(design.product(few), Z @ few, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(design.product(many), Z @ many, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(design.transposed_product(r), Z.T @ r, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("tau", [None, 1.0])
@pytest.mark.parametrize("lam", [0.0, 0.05, 0.3])
def test_optimality_at_a_tight_tolerance(lam, tau):
    X, y, _ = make_data(5, 300, 40, 3, 1.5, 1.0)
    fit = adaptive_huber_lasso(X, y, lam, tau=tau, tol=1e-12, max_iter=5000)
    assert fit.converged
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    clipped = np.clip(y - X @ fit.coef - fit.intercept, -fit.tau, fit.tau)
    slope = Z.T @ clipped / len(y)
    active = fit.coef != 0
    assert abs(clipped.mean()) < 1e-10
    np.testing.assert_allclose(slope[active], lam * np.sign(fit.coef[active]), atol=1e-10)
    assert np.all(np.abs(slope[~active]) <= lam + 1e-10)


def test_squared_loss_without_penalty_is_least_squares():
    X, y, _ = make_data(2, 200, 10, 3, 3.0, 1.0)
    fit = adaptive_huber_lasso(X, y, 0.0, tau=1e6, tol=1e-12, max_iter=5000)
    expected = np.linalg.lstsq(np.column_stack((np.ones(200), X)), y, rcond=None)[0]
    np.testing.assert_allclose(np.append(fit.intercept, fit.coef), expected, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_tau_solves_its_equation_at_any_scale(scale):
    values = scale * np.random.default_rng(0).standard_t(1.5, size=200)
    log_candidates = np.log(200 * 500)
    tau = tau_from_residuals(values, log_candidates, fallback=None)
    assert np.mean(np.minimum((values / tau) ** 2, 1)) == pytest.approx(log_candidates / 200, rel=1e-12)
    if scale >= 1:
        assert tau_by_bisection(values, log_candidates) == pytest.approx(tau, rel=1e-4)


@pytest.mark.parametrize("log_candidates", [0.5, 1.0, 2.0, 2.7, 5.0])
def test_tau_where_few_values_are_clipped(log_candidates):
    values = np.array([0.0, 1.0, -1.0, 2.0, 2.0, -3.0, 1e200, 4.0])
    tau = tau_from_residuals(values, log_candidates, fallback=None)
    ratios = np.minimum(np.abs(values / tau), 1) ** 2
    # The one value above 1e100 units is cut there, which matters only where it alone sets tau.
    expected = log_candidates / 8
    assert np.mean(ratios) == pytest.approx(expected, rel=1e-12) or (log_candidates <= 1 and tau > 1e90)


def test_tau_keeps_the_fallback_where_the_equation_has_no_root():
    assert tau_from_residuals(np.array([0.0] * 20 + [1.0]), np.log(40), fallback=7.0) == 7.0
    assert tau_from_residuals(np.array([1.0, 2.0, 3.0]), 3.5, fallback=7.0) == 7.0


def test_residual_tau_beats_the_shipped_rule_under_heavy_tails():
    errors = {"residual": [], "adahuber-1.1": []}
    for seed in range(15):
        X, y, coef = make_data(seed, 150, 200, 5, 1.5, 1.0)
        for rule, of_rule in errors.items():
            of_rule.append(np.linalg.norm(adaptive_huber_lasso(X, y, 0.3, tau_rule=rule).coef - coef))
    assert np.median(errors["residual"]) < 0.9 * np.median(errors["adahuber-1.1"])


def test_a_huge_value_is_data():
    X, y, _ = make_data(0, 300, 50, 2, 1.5, 1.0)
    X[5, 7], y[9] = 1e300, -1e300
    for layout in (np.asarray, sparse.csr_array):
        for tau in (None, 1.0):
            fit = adaptive_huber_lasso(layout(X), y, 0.1, tau=tau)
            assert fit.converged
            assert np.all(np.abs(fit.coef[:2] - 1.5) < 0.5)
            assert abs(fit.intercept - 1) < 0.5


def test_constant_columns_get_nothing():
    X, y, _ = make_data(1, 100, 10, 2, 3.0, 1.0)
    X[:, 4], X[:, 5], X[:, 6] = 0.1, 7e8, 0.0
    for layout in (np.asarray, np.asfortranarray, sparse.csc_array):
        coef = adaptive_huber_lasso(layout(X), y, 0.01).coef
        assert not coef[4:7].any()
        assert np.all(coef[:2] > 1)


def test_degenerate_responses():
    X, _, _ = make_data(1, 100, 10, 2, 3.0, 1.0)
    constant = adaptive_huber_lasso(X, np.full(100, 3.0), 0.1)
    assert not constant.coef.any()
    assert constant.intercept == 3.0
    mostly_zero = np.where(X[:, 0] > 1, 5.0, 0.0)
    assert adaptive_huber_lasso(X, mostly_zero, 0.01).coef[0] > 0.5


def test_a_warm_start_ends_at_the_same_place():
    X, y, _ = make_data(5, 300, 40, 3, 1.5, 1.0)
    near = adaptive_huber_lasso(X, y, 0.2)
    cold = adaptive_huber_lasso(X, y, 0.15, tol=1e-10, max_iter=5000)
    warm = adaptive_huber_lasso(X, y, 0.15, tol=1e-10, max_iter=5000, start=near)
    np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-8)
    assert warm.n_iter <= cold.n_iter
    assert warm.tau == pytest.approx(cold.tau, rel=1e-8)


def test_hard_threshold_refits_the_largest_standardized_coefficients():
    X, y, _ = make_data(4, 300, 60, 5, 3.0, 1.0)
    X[:, 0] *= 1e4  # small units make a small coefficient, not a small effect
    lasso = adaptive_huber_lasso(X, y, 0.05)
    fit = hard_threshold(X, y, lasso, 5)
    kept = np.flatnonzero(fit.coef)
    np.testing.assert_array_equal(kept, np.arange(5))
    alone = adaptive_huber_lasso(X[:, kept], y, 0.0, n_candidates=60)
    np.testing.assert_array_equal(fit.coef[kept], alone.coef)
    assert fit.n_iter == lasso.n_iter + alone.n_iter


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_hard_threshold_of_an_empty_fit_is_an_intercept(layout):
    X, y, _ = make_data(4, 100, 20, 2, 3.0, 1.0)
    X = layout(X)
    fit = hard_threshold(X, y, adaptive_huber_lasso(X, y, 1e3), 5)
    assert not fit.coef.any()
    assert fit.converged
    assert abs(fit.intercept - np.median(y)) < 1


def test_largest_coefficients_are_sorted_and_nonzero():
    values = np.array([0.0, -3.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(largest_coefficients(values, 2), [1, 2])
    np.testing.assert_array_equal(largest_coefficients(values, 5), [1, 2, 3])


def test_lambda_grid_spans_two_decades_from_the_largest_slope():
    X, y, _ = make_data(4, 100, 20, 2, 3.0, 1.0)
    lams = lambda_grid(X, y, 50)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    assert lams[0] == pytest.approx(np.max(np.abs(Z.T @ (y - y.mean()))) / 100)
    assert lams[-1] == pytest.approx(0.01 * lams[0])
    np.testing.assert_allclose(np.diff(np.log(lams)), np.log(0.01) / 49)
    assert np.all(np.isfinite(lambda_grid(X, np.ones(100), 5)))
