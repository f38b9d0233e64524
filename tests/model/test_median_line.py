"""Predictions of a median along a released line: for typical effects, where spread grows with the prediction."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dpsparse import PrivateSparseRegressor, load_model, save_model
from dpsparse.algorithms.pursuit.steps.median import newton_step
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.model.remarks import remarks

N = 40_000
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 3))
# The larger x is, the longer is the tail above the median.
COST = np.exp(1 + 0.6 * X[:, 0] + 0.8 * RNG.standard_normal(N))
MADE = {"sparsity": 1, "epsilon": 1.0, "estimand": "typical", "random_state": 1, **STANDARDIZED}


@pytest.fixture(scope="module")
def fitted():
    return PrivateSparseRegressor(**MADE).fit(X, COST)


def moved(model, shift, slope):
    """The same model with another line of medians."""
    return replace(model.released_, median_shift=shift, median_slope=slope)


def test_it_turns_to_where_medians_are(fitted):
    assert 0.84 < fitted.median_slope_ < 0.94
    errors = {
        name: np.abs(COST - model.predict(X, "median")).mean()
        for name, model in (
            ("line", fitted),
            ("shift", moved(fitted, np.median(COST - X @ fitted.coef_ - fitted.intercept_), 1.0)),
        )
    }
    assert errors["line"] < errors["shift"]
    assert np.mean(fitted.predict(X, "median") > COST) == pytest.approx(0.5, abs=0.03)


def test_every_predictor_follows_it(fitted, tmp_path):
    rows, (low, high) = X[:200], fitted.prediction_range_
    constant = fitted.released_.constant
    line = constant + fitted.median_slope_ * (rows @ fitted.coef_ + fitted.intercept_ - constant)
    expected = np.clip(line + fitted.median_shift_, low, high)
    save_model(fitted, tmp_path / "model.json")
    for predictor in (fitted, fitted.released_, load_model(tmp_path / "model.json")):
        for table in (rows, sparse.csr_matrix(rows)):
            np.testing.assert_allclose(np.asarray(predictor.predict(table, statistic="median")), expected, rtol=1e-9)
    turned = fitted.released_.for_statistic("median")
    assert turned.for_statistic("median") == turned


def test_effects_and_calibrated_predictions_do_not_depend_on_it(fitted):
    assert fitted.median_slope_ != 1
    other = moved(fitted, 7.0, 0.5)
    np.testing.assert_array_equal(other.predict(X[:50]), fitted.released_.predict(X[:50]))
    assert other.effects == fitted.released_.effects


def test_effects_on_a_mean_have_a_shift_alone():
    mean = PrivateSparseRegressor(**MADE | {"estimand": "mean"}).fit(X, COST)
    assert mean.median_slope_ == 1
    assert "median line" not in {release.name for release in mean.privacy_.releases}


def test_its_price_is_a_part_of_the_calibrations():
    prices = {
        estimand: {
            release.name: release.rho
            for release in PrivateSparseRegressor(**MADE | {"estimand": estimand})
            .fit(X[:900], COST[:900])
            .privacy_.releases
        }
        for estimand in ("typical", "mean")
    }
    typical = prices["typical"]
    assert typical["median line"] == pytest.approx(typical["calibration"] / 3)
    assert list(typical)[-2:] == ["median line", "residual median"]


def test_noise_turns_it_hardly():
    slopes = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((400, 3))
        y = rows[:, 0] + rng.standard_normal(400)
        slopes.append(
            PrivateSparseRegressor(**MADE | {"random_state": seed, "epsilon": 0.3}).fit(rows, y).median_slope_
        )
    assert np.abs(np.array(slopes) - 1).max() < 0.3
    assert np.abs(np.array(slopes) - 1).mean() < 0.1


def test_what_noise_hides_is_not_learned():
    derivative = np.array([[0.26, 0.02], [0.02, 0.04]])
    line = np.array([0.3, -0.2])
    exact, error = newton_step(derivative @ line, 1e-9, derivative, 5.0)
    np.testing.assert_allclose(exact, line, rtol=1e-6)
    assert error < 1e-6
    hidden, error = newton_step(derivative @ line, 1e3, derivative, 5.0)
    np.testing.assert_allclose(hidden, 0, atol=1e-6)
    assert error == pytest.approx(1)


def test_the_remark_says_for_whom_the_shift_holds(fitted):
    model = moved(fitted, -2.0, 0.8)
    text = next(text for heading, text in remarks(model) if heading == "Median")
    assert "prediction of an average record less 2;" in text
