"""Fits on tables as they are, with nothing known of the features: what must hold whatever the columns are."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpsparse import PrivateSparseRegressor

N = 6_000
RNG = np.random.default_rng(0)
EFFECTS = {"year": 0.5, "tiny": -0.8, "huge": 1.0, "smoker": 1.5, "count": 0.4}


def people(n=N, seed=0):
    """Columns of all sorts, and a response with one effect on each of some, in units of its noise."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "year": 2011 + 2 * rng.standard_normal(n),
            "tiny": 1e-8 * rng.standard_normal(n) + 3e-8,
            "huge": 1e8 * rng.standard_normal(n),
            "smoker": (rng.random(n) < 0.25).astype(float),
            "count": rng.poisson(2, n).astype(float),
            "constant": np.full(n, 7.0),
            "zero": np.zeros(n),
            "nearly": np.where(rng.random(n) < 0.001, 8.0, 7.0),
            **{f"noise{j}": np.exp(rng.standard_normal(n)) for j in range(8)},
        }
    )
    z = {name: (table[name] - table[name].mean()) / table[name].std() for name in EFFECTS}
    y = sum(effect * z[name] for name, effect in EFFECTS.items()) + rng.standard_t(3, n)
    return table, (500 + 20 * y).to_numpy()


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrivateSparseRegressor(**{"sparsity": 5, "epsilon": 2.0, "random_state": 0, **options}).fit(X, y)


TABLE, Y = people()


def errors_of(model, X, y):
    """Mean squared error over the mean's, and mean absolute error over the median's."""
    residuals = y - model.predict(X)
    return (residuals**2).mean() / y.var(), np.abs(residuals).mean() / np.abs(y - np.median(y)).mean()


def test_effects_are_found_in_every_unit():
    model = fitted(TABLE, Y)
    assert {TABLE.columns[j] for j in model.support_} == set(EFFECTS)
    scales = TABLE[list(EFFECTS)].std()
    for name, effect in EFFECTS.items():
        # Four standard errors of this noise: 20 * 1.3 / sqrt(6,000), with as much again for privacy and robustness.
        assert model.coef_[TABLE.columns.get_loc(name)] * scales[name] == pytest.approx(20 * effect, abs=3.0)
    fresh, response = people(seed=1)
    squared, absolute = errors_of(model, fresh, response)
    # The effects explain half of the variance: (.25 + .64 + 1 + 2.25 + .16) / (4.3 + 3).
    assert squared < 0.6
    assert absolute < 0.8
    assert set(model.units_) == set(EFFECTS)
    for name in ("year", "tiny", "huge"):
        center, scale = model.units_[name]
        assert 0.6 < scale / scales[name] < 1.6
        assert center == pytest.approx(TABLE[name].mean(), abs=0.3 * scales[name])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_constant_column_is_no_proxy_for_the_intercept(seed):
    model = fitted(TABLE, Y + 1e4, random_state=seed)
    chosen = {TABLE.columns[j] for j in model.support_}
    assert not chosen & {"constant", "zero", "nearly"}
    assert errors_of(model, TABLE, Y + 1e4)[0] < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("columns", [1, 3, 5, 6])
def test_as_many_features_as_there_are(columns, fit_intercept):
    X = TABLE.iloc[:, :columns]
    model = fitted(X, Y - 500, sparsity=5, fit_intercept=fit_intercept)
    assert len(model.support_) == min(columns, 5)
    assert np.isfinite(model.coef_).all()
    assert fit_intercept or model.intercept_ == 0


@pytest.mark.slow
@pytest.mark.parametrize("units", [{}, {"feature_center": 0.0, "feature_scale": 1.0}])
@pytest.mark.parametrize("n", [20, 59, 200])
def test_tiny_tables_give_finite_models_and_claim_nothing(n, units):
    for seed in range(3):
        model = fitted(TABLE[:n], Y[:n], epsilon=1.0, random_state=seed, **units)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict(TABLE)).all()
        assert not model.clear_.any()


@pytest.mark.slow
@pytest.mark.parametrize("units", [{}, {"feature_center": 0.0, "feature_scale": 1.0}])
def test_a_constant_response(units):
    for seed in range(4):
        model = fitted(TABLE, np.full(N, 42.0), random_state=seed, **units)
        predictions = model.predict(TABLE)
        assert np.isfinite(predictions).all()
        assert not model.clear_.any()
        if "nearly all responses are equal" in model.summary():
            assert not model.explains_
            assert np.ptp(predictions) == 0
            # The released centre, which lies where the responses are: in the released range.
            assert model.prediction_range_[0] <= predictions[0] <= model.prediction_range_[1]


def cost_with_zeros():
    rng = np.random.default_rng(2)
    return np.where(rng.random(N) < 0.7, 0.0, np.exp(1 + 0.02 * (Y - 500) + 0.3 * rng.standard_normal(N)))


@pytest.mark.parametrize("seed", range(3))
def test_a_response_with_many_zeros(seed):
    cost = cost_with_zeros()
    model = fitted(TABLE, cost, random_state=seed)
    assert np.isfinite(model.coef_).all()
    low, high = model.prediction_range_
    assert low <= model.predict(TABLE).min()
    assert model.predict(TABLE).max() <= high
    squared, absolute = errors_of(model, TABLE, cost)
    assert squared < 1.2
    assert absolute < 2.0
    assert not model.clear_[[TABLE.columns.get_loc(name) for name in ("constant", "zero")]].any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_response_with_many_zeros_is_predicted_no_worse_than_by_its_mean(seed):
    cost = cost_with_zeros()
    model = fitted(TABLE, cost, random_state=seed)
    assert errors_of(model, TABLE, cost)[0] < 1.02
    # Where the features explain nothing, chance selects them, and all effects are 0.
    assert not set(TABLE.columns[model.coef_ != 0]) & {"constant", "zero", "nearly"}


def test_predictions_are_cut_to_the_released_range():
    model = fitted(TABLE, Y)
    low, high = model.prediction_range_
    far = TABLE[:50] * 100
    predictions = model.predict(far)
    linear = far.to_numpy() @ model.coef_ + model.intercept_
    assert ((linear < low) | (linear > high)).any()
    np.testing.assert_allclose(predictions, linear.clip(low, high))


@pytest.mark.slow
def test_what_is_significant_among_those_that_auto_selects_has_an_effect():
    model = fitted(TABLE, Y, sparsity="auto", max_sparsity=8, epsilon=4.0)
    assert {"huge", "smoker"} <= {TABLE.columns[j] for j in np.flatnonzero(model.clear_)} <= set(EFFECTS)


def test_a_gap_in_the_given_units_is_learned():
    given = {"feature_center": {"year": 2011.0}, "feature_scale": {"year": 2.0, "huge": 1e8}}
    model = fitted(TABLE, Y, **given)
    assert {TABLE.columns[j] for j in model.support_} == set(EFFECTS)


@pytest.mark.slow
def test_storage_changes_no_bit():
    X = TABLE.to_numpy()
    expected = fitted(X, Y)
    for same in (np.asfortranarray(X), sparse.csr_matrix(X), TABLE.rename(columns=str)):
        model = fitted(same, Y)
        assert model.coef_.tobytes() == expected.coef_.tobytes()
        assert model.coef_se_.tobytes() == expected.coef_se_.tobytes()
        assert model.intercept_ == expected.intercept_


@pytest.mark.slow
def test_where_nothing_is_there_it_is_not_worse_than_a_constant():
    rng = np.random.default_rng(3)
    for seed in range(4):
        y = 10 + rng.standard_t(3, N)
        model = fitted(TABLE, y, random_state=seed)
        squared, absolute = errors_of(model, TABLE, y)
        assert squared < 1.02
        assert absolute < 1.02


@pytest.mark.slow
def test_one_center_that_is_not_found_does_not_spoil_the_others():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((4000, 6))
    response = features @ [1, 1, -1, 1, 0.5, -1] + 0.5 * rng.standard_normal(4000)
    # Like a density, or a year: hundreds of scales from 0, where a median is hard to find at this epsilon.
    features[:, 2] = 0.9967 + 0.0019 * features[:, 2]
    features[:, 4] = 2000 + 3 * features[:, 4]
    for seed in range(20):
        model = PrivateSparseRegressor(sparsity=6, epsilon=0.5, delta=1e-6, random_state=seed)
        model.fit(features[:2000], response[:2000])
        errors = response[2000:] - model.predict(features[2000:])
        assert np.mean(errors**2) < 0.5 * response[2000:].var()


def test_rows_that_repeat_in_the_same_order_hide_no_column():
    """Two years, two waves of the same people, two levels of the last factor: rows half a table apart agree."""
    rng = np.random.default_rng(0)
    n = 8_000
    month, wave = np.arange(n) * 24 // n % 12, np.tile(rng.normal(10, 3, n // 2), 2)
    X = np.column_stack([month, wave, np.arange(n) >= n // 2]).astype(float)
    y = month + 2 * wave + 3 * X[:, 2] + rng.normal(size=n)
    model = PrivateSparseRegressor(sparsity=3, epsilon=1.0, random_state=0).fit(X, y)
    assert sorted(model.support_.tolist()) == [0, 1, 2]
    assert model.effects_["conf_low"].notna().all()
    np.testing.assert_allclose(model.coef_, [1, 2, 3], atol=0.3)
