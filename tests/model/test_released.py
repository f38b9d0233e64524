"""The released model: one object that every private estimator makes, and what it publishes."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest

from dpsparse import DPIHTH, DPIHTL, DPSLR, PrivateSparseRegressor, tune
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect, Verdict
from dpsparse.model.numeric_columns import NumericColumns

X, Y, _ = make_heavy_tailed(1_000, 8, 3, random_state=0)
NAMED = pd.DataFrame(X, columns=list("abcdefgh"))


@pytest.mark.parametrize("estimator", [PrivateSparseRegressor, DPIHTH, DPIHTL, DPSLR])
def test_every_private_estimator_makes_one(estimator, units_of):
    fitted = estimator(sparsity=2, epsilon=2.0, **units_of(estimator)).fit(NAMED, Y)
    model = fitted.released_
    assert model.estimator == estimator.__name__
    assert model.privacy is fitted.privacy_
    assert [effect.feature for effect in model.effects] == [NAMED.columns[j] for j in fitted.support_]
    np.testing.assert_array_equal(model.coef, fitted.coef_)
    np.testing.assert_array_equal(model.predict(NAMED), fitted.predict(NAMED))
    with pytest.raises(FrozenInstanceError):
        model.intercept = 1.0
    known = {effect.verdict for effect in model.effects} - {Verdict.NOT_AVAILABLE}
    assert bool(known) == (estimator is PrivateSparseRegressor)


def test_the_fitted_attributes_say_the_same():
    fitted = PrivateSparseRegressor(sparsity=3, epsilon=2.0, feature_center=0.5, feature_scale=2.0).fit(X, Y)
    model = fitted.released_
    assert [effect.clear for effect in model.effects] == fitted.clear_[fitted.support_].tolist()
    errors = np.array([effect.standard_error for effect in model.effects], dtype=float)
    np.testing.assert_array_equal(errors, fitted.coef_se_[fitted.support_])
    assert [effect.trusted for effect in model.effects] == np.isfinite(errors).tolist()
    np.testing.assert_array_equal(model.conf_int(0.8), fitted.conf_int(0.8))
    assert model.summary() == fitted.summary()
    np.testing.assert_array_equal(np.array(model.noise_floor, dtype=float), fitted.noise_floor_)
    assert model.features[3] == Feature("3", 0.5, 2.0)


def test_a_tuned_model_holds_the_record_of_the_whole():
    tuned = tune([PrivateSparseRegressor(sparsity=s, epsilon=2.0, **STANDARDIZED) for s in (1, 2)], X, Y)
    assert tuned.estimator.released_.privacy == tuned.privacy


def test_it_is_short_in_a_shell_and_complete_in_a_summary():
    model = DPIHTH(sparsity=2, epsilon=2.0, delta=1e-5).fit(NAMED, Y).released_
    assert repr(model) == f"<LinearModel of y by DPIHTH: 2 of 8 features, ({model.privacy.epsilon:.4g}, 1e-05)-DP>"
    for effect in model.effects:
        assert f"{effect.feature:<24}" in model.summary()
    assert "differentially private" in model.summary()
    seeded = replace(model, privacy=replace(model.privacy, private=False))
    assert "NOT PRIVATE" in repr(seeded)


def test_levels_outside_of_0_and_1_are_refused():
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        DPIHTH(sparsity=2).fit(X, Y).released_.conf_int(90)


def test_numeric_columns_are_a_sequence_of_features():
    columns = NumericColumns(3, np.array(["a", "b", "c"], dtype=object), np.array(0.5), np.array([1.0, 2.0, 3.0]))
    features = (Feature("a", 0.5, 1.0), Feature("b", 0.5, 2.0), Feature("c", 0.5, 3.0))
    assert columns == features
    assert features == columns
    assert hash(columns) == hash(features)
    assert columns[-1] == features[-1]
    assert columns[1:] == features[1:]
    assert columns.place_of("b") == 1
    assert columns != features[:2]
    assert columns != "abc"
    with pytest.raises(IndexError):
        columns[3]
    assert pickle.loads(pickle.dumps(columns)) == columns
    unknown = NumericColumns(2, None, np.array(np.nan), np.array([np.nan, 2.0]))
    assert unknown == (Feature("0"), Feature("1", None, 2.0))


def test_the_file_s_columns_and_units():
    fitted = PrivateSparseRegressor(sparsity=2, epsilon=2.0, **STANDARDIZED).fit(X, Y)
    features = [Feature(name, 10.0, 4.0) for name in NAMED]
    out = next(j for j in range(8) if j not in fitted.support_)
    model = replace(fitted.released_, left_out={str(out): "unit wrong"}).on_columns(features, "cost")
    assert model.left_out == {NAMED.columns[out]: "unit wrong"}
    assert model.target == "cost"
    assert [effect.feature for effect in model.effects] == [NAMED.columns[j] for j in fitted.support_]
    raw = model.in_raw_units()
    np.testing.assert_allclose(raw.predict(10.0 + 4.0 * NAMED), fitted.predict(X), rtol=1e-9)
    assert [effect.verdict for effect in raw.effects] == [effect.verdict for effect in model.effects]


def test_a_fit_makes_only_the_features_it_names(monkeypatch):
    made, get = [], NumericColumns.__getitem__
    monkeypatch.setattr(NumericColumns, "__getitem__", lambda self, place: made.append(place) or get(self, place))
    X, y = make_heavy_tailed(2_000, 300, 2, random_state=0)[:2]
    model = PrivateSparseRegressor(sparsity=2, epsilon=5.0, random_state=0, **STANDARDIZED).fit(X, y)
    assert model.explains_
    assert len(made) < 50


def test_a_long_name_leaves_the_columns_of_a_summary_where_they_are(region):
    def columns(*names):
        features = tuple(Feature(name, 0.0, 1.0) for name in names)
        effects = tuple(Effect(name, 1.0, 1.0, 0.1, clear=True, center=0.0, scale=1.0) for name in names)
        model = replace(region, features=features, effects=effects, correlations=None, response_scale_known=True)
        lines = model.summary().splitlines()
        return [line.index("[0.804") for line in lines if "[0.804" in line], lines

    (short, middle), _ = columns("age", "a" * 30)
    assert short == middle
    (short, above), lines = columns("age", "a" * 90)
    assert short == above
    assert lines.count("a" * 90) == 2
