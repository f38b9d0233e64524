"""Predictions of a mean: turned about the constant by a released slope, the same on every table, and said."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dpsparse import PrivateSparseRegressor, evaluate, load_model, read_table, save_model, tune
from dpsparse.algorithms.pursuit import pursuit_constants
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.engine import regrets
from dpsparse.model.remarks import remarks

N = 40_000
RNG = np.random.default_rng(5)
X = RNG.standard_normal((N, 3))
# Its mean is exp(1 + .6 x + .32): the larger it is, the larger are its outliers.
COST = np.exp(1 + 0.6 * X[:, 0] + 0.8 * RNG.standard_normal(N))
BEST = np.polyfit(X[:, 0], COST, 1)


@pytest.fixture(scope="module", autouse=True)
def pursuit_alone():
    """No step to the estimand's estimator, after which nothing is left to calibrate."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pursuit_constants, "REFERENCE_FROM", np.inf)
        yield


@pytest.fixture(scope="module")
def fitted(pursuit_alone):
    model = PrivateSparseRegressor(sparsity=1, estimand="typical", epsilon=2.0, random_state=3, **STANDARDIZED)
    return model.fit(X, COST)


def line(model, rows):
    return rows @ model.coef_ + model.intercept_


def test_predictions_of_a_mean_have_the_slope_of_least_squares(fitted):
    # Robust effects are those of the bulk: a good part of the mean's slope is in the tail.
    assert fitted.coef_[0] < 0.85 * BEST[0]
    assert fitted.calibration_slope_ * fitted.coef_[0] == pytest.approx(BEST[0], rel=0.2)
    assert fitted.released_.constant == pytest.approx(COST.mean(), rel=0.1)
    error, without = (np.mean((COST - each) ** 2) for each in (fitted.predict(X), line(fitted, X)))
    assert error < 0.98 * without


def test_they_turn_about_the_constant_and_medians_by_a_slope_of_their_own(fitted):
    rows = X[np.abs(X[:, 0]) < 1][:200]
    slope, constant = fitted.calibration_slope_, fitted.released_.constant
    expected = constant + slope * (line(fitted, rows) - constant)
    np.testing.assert_allclose(fitted.predict(rows), expected, rtol=1e-12)
    medians = constant + fitted.median_slope_ * (line(fitted, rows) - constant) + fitted.median_shift_
    np.testing.assert_allclose(fitted.predict(rows, "median"), medians, rtol=1e-12)


def test_every_table_has_the_same_predictions(fitted, tmp_path):
    rows, names = X[:50], list("abc")
    expected = fitted.predict(rows)
    save_model(fitted, tmp_path / "model.json")
    for predictor in (fitted, fitted.released_, load_model(tmp_path / "model.json")):
        for table in (rows.astype(np.float32), sparse.csr_matrix(rows), da.from_array(rows, chunks=20)):
            np.testing.assert_allclose(np.asarray(predictor.predict(table)), expected, rtol=1e-5)
    frame = pd.DataFrame(rows, columns=names)[["a"]]
    named = PrivateSparseRegressor(sparsity=1, estimand="typical", epsilon=2.0, random_state=3, **STANDARDIZED)
    named.fit(pd.DataFrame(X, columns=names), COST)
    np.testing.assert_allclose(named.released_.predict(frame), expected, rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.floats(0, 50), st.floats(-1e6, 1e6), st.sampled_from([None, "median"]))
def test_a_statistic_of_a_statistic_is_itself(fitted, slope, constant, statistic):
    model = replace(fitted.released_, calibration_slope=slope, constant=constant, prediction_range=None)
    once = model.for_statistic(statistic)
    assert once.for_statistic() == once
    mean = replace(model, estimand="mean")
    assert mean.for_statistic("mean") == mean.for_statistic()
    turned = constant + slope * (line(model, X[:5]) - constant)
    size = (1 + slope) * (abs(constant) + np.abs(line(model, X[:5])).max())
    np.testing.assert_allclose(model.predict(X[:5]), turned, rtol=0, atol=1e-12 * size)


def test_what_is_missing_turns_too():
    gaps = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    model = PrivateSparseRegressor(sparsity=2, epsilon=3.0, missing="center", random_state=1, **STANDARDIZED)
    model.fit(gaps, COST)
    assert model.calibration_slope_ > 1.1
    np.testing.assert_allclose(model.predict(gaps[:99]), model.released_.predict(gaps[:99]), rtol=1e-9)


def test_evaluations_and_tuning_judge_what_predict_gives(fitted, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "dpsparse.evaluation.evaluate_records", lambda model, n, records, **_: seen.append(records()[1])
    )
    evaluate(fitted, X[:500], COST[:500], epsilon=1.0)
    np.testing.assert_array_equal(seen[0], fitted.predict(X[:500]))
    original, judged = regrets.absolute_errors, []
    monkeypatch.setattr(
        "dpsparse.engine.regrets.absolute_errors",
        lambda rows, coefs, intercepts: judged.append((coefs, intercepts)) or original(rows, coefs, intercepts),
    )
    found = tune(
        [PrivateSparseRegressor(sparsity=s, epsilon=3.0, random_state=2, **STANDARDIZED) for s in (1, 2)], X, COST
    )
    for model, coef, intercept in zip(found.candidates, *judged[0], strict=True):
        inside = np.abs(X[:, 0]) < 0.5
        np.testing.assert_allclose(X[inside] @ coef + intercept, model.predict(X[inside]), rtol=1e-9)


def test_raw_tables_have_it_too():
    table = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0, "big", "small"), "cost": COST})
    model = PrivateSparseRegressor(sparsity=1, epsilon=3.0, random_state=0).fit(read_table(table, target="cost"))
    assert model.calibration_slope_ > 1.1
    low, high = model.predict(pd.DataFrame({"size": [-0.5, 0.5]}))
    assert high - low == pytest.approx(BEST[0], rel=0.3)


@pytest.mark.slow
def test_where_nothing_is_skewed_there_is_little_to_turn():
    slopes = []
    for seed in range(10):
        rows, y, _ = make_heavy_tailed(20_000, 5, 2, random_state=seed)
        model = PrivateSparseRegressor(sparsity=2, random_state=seed, **STANDARDIZED).fit(rows, y)
        slopes.append(model.calibration_slope_)
    # The noise of the release alone turns no line by more; most are not turned at all.
    assert max(np.abs(np.array(slopes) - 1)) < 0.35
    assert sum(slope == 1 for slope in slopes) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out-one"])
@pytest.mark.parametrize("units", [{}, STANDARDIZED])
def test_one_feature_keeps_to_its_commitment(adjacency, units):
    model = PrivateSparseRegressor(sparsity=1, epsilon=0.3, adjacency=adjacency, random_state=0, **units)
    names = {release.name for release in model.fit(X[:, :1], COST).privacy_.releases}
    assert "calibration" in names


def test_small_tables_and_fits_without_an_intercept_are_not_turned():
    small = PrivateSparseRegressor(sparsity=1, epsilon=1.0, random_state=0, **STANDARDIZED).fit(X[:900], COST[:900])
    without = PrivateSparseRegressor(sparsity=1, fit_intercept=False, random_state=0, **STANDARDIZED).fit(X, COST)
    assert small.calibration_slope_ == without.calibration_slope_ == 1.0


def test_a_turn_is_said(fitted):
    said = dict(remarks(fitted.released_))
    start = f"predictions of a mean are {fitted.calibration_slope_:.2f} times as far from "
    assert said["Calibration"].startswith(start)
    assert said["Calibration"].endswith("outliers, which effects discount, are correlated with the features")
    assert "of an average record less" in said["Median"]
    for quiet in ({"calibration_slope": 1.09}, {"effects": ()}, {"explains": False}):
        assert "Calibration" not in dict(remarks(replace(fitted.released_, **quiet)))
    little = dict(remarks(replace(fitted.released_, calibration_slope=0.8)))["Calibration"]
    assert little.endswith("effects overstate how the mean changes")
