"""Fits on tables with gaps: `missing="center"`."""

import numpy as np
import pytest
from sklearn.base import clone

from dpsparse import PrivateSparseRegressor, load_model, save_model
from dpsparse.engine.refusals import NOT_FINITE

N, D = 20_000, 12
EFFECTS = {1: 1.0, 4: -0.8, 7: 0.6}


def table(seed, share=0.2, spoiled=np.nan):
    """Features in rough units, a share of the cells missing at random, and responses with t3 noise."""
    rng = np.random.default_rng(seed)
    X = 50 + 10 * rng.standard_normal((N, D))
    y = 100 + sum(effect * (X[:, j] - 50) for j, effect in EFFECTS.items()) + 8 * rng.standard_t(3, size=N)
    X[rng.random((N, D)) < share] = spoiled
    return X, y


def fitted(X, y, **options):
    model = PrivateSparseRegressor(**{"sparsity": 3, "epsilon": 2.0, "missing": "center", "random_state": 0} | options)
    return model.fit(X, y)


@pytest.mark.filterwarnings("ignore:random_state")
@pytest.mark.parametrize("spoiled", [np.nan, np.inf, -np.inf])
def test_effects_are_found_and_a_gap_costs_little(spoiled):
    X, y = table(0, spoiled=spoiled)
    model = fitted(X, y)
    assert set(model.support_) == set(EFFECTS)
    # The gaps' share of a feature's variance is part of the noise; the effect on those who have a value stays.
    for j, effect in EFFECTS.items():
        assert model.coef_[j] == pytest.approx(effect, abs=0.1)
    assert model.missing_coef_.tolist() == [0.0] * D
    assert model.intercept_ + model.coef_ @ np.full(D, 50.0) == pytest.approx(100, abs=1.5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:random_state")
def test_a_gap_that_says_something_is_selected():
    X, y = table(1, share=0.0)
    rng = np.random.default_rng(2)
    gone = rng.random(N) < 0.3
    X[gone, 9] = np.nan
    model = fitted(X, y + 12 * gone, sparsity=4)
    assert set(model.support_) == {*EFFECTS, D + 9}
    assert model.missing_coef_[9] == pytest.approx(12, abs=1.5)
    assert "9 (gap)" in model.summary()
    predictions = model.predict(X)
    assert predictions[gone].mean() - predictions[~gone].mean() == pytest.approx(12, abs=2)


@pytest.mark.filterwarnings("ignore:random_state")
def test_records_without_a_response_add_nothing():
    X, y = table(3)
    rng = np.random.default_rng(4)
    blank = rng.random(N) < 0.4
    X[blank] = 1e6
    y = np.where(blank, np.nan, y)
    model = fitted(X, y)
    assert set(model.support_) == set(EFFECTS)
    for j, effect in EFFECTS.items():
        assert model.coef_[j] == pytest.approx(effect, abs=0.15)


@pytest.mark.filterwarnings("ignore:random_state")
def test_predictions_put_a_gap_at_the_centre():
    X, y = table(5)
    model = fitted(X, y)
    row = np.full((1, D), 50.0)
    filled = row.copy()
    row[0, 1], filled[0, 1] = np.nan, model.units_["1"][0]
    assert model.predict(row) == pytest.approx(model.predict(filled), abs=1e-9)


@pytest.mark.filterwarnings("ignore:random_state")
def test_a_model_file_keeps_gaps(tmp_path):
    X, y = table(1, share=0.0)
    gone = np.random.default_rng(2).random(N) < 0.3
    X[gone, 9] = np.nan
    model = fitted(X, y + 12 * gone, sparsity=4)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.missing_coef_, model.missing_coef_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_gaps_are_refused_unless_allowed():
    X, y = table(0)
    with pytest.raises(ValueError, match=r"missing=.center.") as caught:
        PrivateSparseRegressor().fit(X, y)
    assert str(caught.value) == NOT_FINITE


def test_the_parameter_is_checked_and_cloned():
    assert clone(PrivateSparseRegressor(missing="center")).missing == "center"
    with pytest.raises(ValueError, match="missing='mean' must be 'refuse' or 'center'"):
        PrivateSparseRegressor(missing="mean").fit(np.ones((100, 2)), np.ones(100))
