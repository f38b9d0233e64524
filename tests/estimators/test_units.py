"""Results in the caller's units: a fit reports per unit of each feature, learned or public."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from dpsparse import OnDisk, PrivateSparseRegressor, load_model, save_model
from dpsparse.algorithms.pursuit.result import NOTHING_LEARNED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.estimators import _pursuit
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Verdict

X, Y, _ = make_heavy_tailed(2_000, 6, 2, random_state=0)
NAMES = ["age", "income", "steps", "year", "size", "share"]
NAMED = pd.DataFrame(X, columns=NAMES)
CENTER, SCALE = np.array([50.0, -3.0, 1e6]), np.array([15.0, 1e-8, 2e8])
EFFECTS = np.array([4.0, -6.0, 0.5])
ONE_IN_DOUBT, ALL_IN_DOUBT = np.array(["", "few carriers", ""], dtype=object), np.full(3, "too noisy", dtype=object)


def changed(result, changes):
    """A result with other numbers, in whichever of its parts they stand; a scale is a feature's."""
    for part in ("features", "predictions", "response"):
        old = getattr(result, part)
        own = {name: changes.pop(name) for name in list(changes) if hasattr(old, name)}
        result = replace(result, **{part: replace(old, **own)})
    return replace(result, **changes)


@pytest.fixture
def fitted(monkeypatch):
    """A fit whose releases are replaced by made-up ones for the features 3, 0 and 5."""

    def run(X=NAMED, parameters=None, **changes):
        original = _pursuit.Pursuit.run

        def made_up(pursuit):
            result = {
                "support": np.array([3, 0, 5]),
                "effects": 1.1 * EFFECTS,
                "shrunk_effects": EFFECTS,
                "standard_errors": np.array([0.1, 0.2, 1.0]),
                "center": CENTER,
                "scale": SCALE,
                "learned": np.array([True, True, False]),
                "doubts": np.array(["", "", ""], dtype=object),
                "constant": 10.0,
                "mean": np.zeros(3),
                "calibration_slope": 1.0,
                "range": None,
                "explains": True,
                "scale_known": True,
                "reason": "",
                "cut": 2.5,
                "lumped": False,
                "left_out": {},
            }
            return changed(original(pursuit), result | changes)

        with monkeypatch.context() as patch:
            patch.setattr(_pursuit.Pursuit, "run", made_up)
            return PrivateSparseRegressor(**{"sparsity": 3, "epsilon": 2.0} | (parameters or {})).fit(X, Y)

    return run


def test_effects_and_errors_are_in_the_units_of_the_result(fitted):
    model = fitted(parameters={"feature_center": {"age": 7.0}})
    np.testing.assert_allclose(model.coef_[[3, 0, 5]], EFFECTS / SCALE)
    np.testing.assert_allclose(model.coef_se_[[3, 0, 5]], [0.1 / 15.0, 0.2 / 1e-8, 1.0 / 2e8])
    middle = model.conf_int(0.9)[[3, 0, 5]].mean(axis=1)
    np.testing.assert_allclose(middle, 1.1 * EFFECTS / SCALE)
    # At the centres all z are 0, and one scale above its centre a feature adds its effect.
    row = np.zeros(6)
    row[[3, 0, 5]] = CENTER
    assert model.predict(pd.DataFrame([row], columns=NAMES)) == pytest.approx(10.0, rel=1e-6)
    row[3] += 15.0
    assert model.predict(pd.DataFrame([row], columns=NAMES)) == pytest.approx(14.0, rel=1e-6)


def test_units_are_listed_and_learned_ones_are_releases(fitted):
    model = fitted(parameters={"feature_center": {"share": 1e6}, "feature_scale": {"share": 2e8}})
    assert model.units_ == {"year": (50.0, 15.0), "age": (-3.0, 1e-8), "share": (1e6, 2e8)}
    year, age, share = model.released_.effects
    assert [(year.center, year.scale), (age.center, age.scale)] == [(50.0, 15.0), (-3.0, 1e-8)]
    assert (share.center, share.scale) == (None, None)
    assert model.released_.features[5] == Feature("share", 1e6, 2e8)
    assert model.released_.features[0] == Feature("age", None, None)
    learned = model.summary().split("Units learned, released within the guarantee:")[1]
    assert learned.split() == ["feature", "centre", "scale", "year", "50", "15", "age", "-3", "1e-08"]
    assert "Learned units, released within the guarantee" in model._repr_html_()
    assert model.equation_ is not None


def test_public_units_are_not_listed_as_learned(fitted):
    model = fitted(learned=np.zeros(3, dtype=bool))
    assert "Units learned" not in model.summary()
    assert "Learned units" not in model._repr_html_()


def test_an_error_that_cannot_be_trusted_is_not_shown(fitted):
    model = fitted(doubts=ONE_IN_DOUBT)
    assert np.isnan(model.coef_se_[0])
    assert np.isnan(model.conf_int()[0]).all()
    assert np.isfinite(model.conf_int()[[3, 5]]).all()
    assert model.clear_.tolist() == [False, False, False, True, False, False]
    assert model.coef_[0] == -6.0 / 1e-8
    effect = model.released_.effects[1]
    assert (effect.verdict, effect.interval) == (Verdict.NOT_TRUSTED, None)
    line = next(line for line in model.summary().splitlines() if line.startswith("age "))
    assert line.split()[-3:] == ["-", "-", "**"]
    assert "** Not reliable: 'age': too few records differ in it, so it has neither an interval" in model.summary()
    assert "age" not in [model.feature_names_in_[j] for j in np.flatnonzero(model.clear_)]


def test_auto_keeps_all_effects_unless_nothing_is_explained(fitted):
    auto = {"sparsity": "auto", "max_sparsity": 3}
    assert fitted(parameters=auto, doubts=ONE_IN_DOUBT).support_.tolist() == [3, 0, 5]
    assert fitted(parameters=auto, standard_errors=np.array([9.0, 9.0, 9.0])).support_.tolist() == [3, 0, 5]


@pytest.mark.parametrize("sparsity", [3, "auto"])
def test_features_that_were_left_out_are_named_and_have_no_effect(fitted, sparsity):
    left_out = {2: "hardly varies", 5: "unit wrong"}
    model = fitted(parameters={"sparsity": sparsity}, left_out=left_out, doubts=ALL_IN_DOUBT)
    assert model.support_.tolist() == [3, 0]
    assert model.coef_[5] == 0
    assert list(model.units_) == [effect.feature for effect in model.released_.effects] == ["year", "age"]
    assert model.released_.left_out == {"steps": "hardly varies", "share": "unit wrong"}


def test_no_trusted_error_leaves_no_noise_floor(fitted):
    model = fitted(doubts=ALL_IN_DOUBT)
    assert np.isnan(model.noise_floor_)
    assert model.released_.noise_floor is None
    assert not model.clear_.any()


def test_features_that_explain_nothing_predict_a_constant(fitted):
    nothing = {"explains": False, "shrunk_effects": np.zeros(3), "reason": "no effect exceeds its error"}
    model = fitted(**nothing)
    assert not model.explains_
    assert not model.clear_.any()
    assert (model.predict(NAMED) == 10.0).all()
    words = " ".join(model.summary().split())
    assert "no predictive value (no effect exceeds its error); predictions are the constant 10." in words
    assert "predictions are the constant 10." in model._repr_html_()


def test_nothing_learned_names_the_cause(fitted):
    doubts = np.array([NOTHING_LEARNED] * 3, dtype=object)
    model = fitted(scale_known=False, reason="All responses seem to be equal.", doubts=doubts)
    assert "Not sure: All responses seem to be equal. Effects and predictions are guesses" in model.summary()
    assert "Units learned" not in model.summary()
    assert not model.clear_.any()
    assert model.released_.reason == "All responses seem to be equal."


def test_a_lump_is_explained(fitted):
    words = " ".join(fitted(lumped=True).summary().split())
    assert "Lump: many values of y are equal, so its scale was learned from the others." in words
    assert "clipped at a distance of 2.5 from the prediction" in words
    assert "Lump" not in fitted().summary()


def tables(folder):
    """The same rows as every kind of table at hand."""
    np.save(folder / "rows.npy", X)
    return {
        "array": X,
        "float32": X.astype(np.float32),
        "CSR": sparse.csr_matrix(X),
        "memory map": np.load(folder / "rows.npy", mmap_mode="r"),
        "on disk": OnDisk(folder / "rows.npy"),
    }


def test_predictions_stay_in_the_released_range_on_every_table(fitted, tmp_path):
    changes = {"scale": np.ones(3), "center": np.zeros(3), "range": (7.0, 12.5)}
    model, unlimited = fitted(X, **changes), fitted(X, **changes | {"range": None})
    assert model.prediction_range_ == (7.0, 12.5)
    assert unlimited.prediction_range_ is None
    free = unlimited.predict(X)
    assert free.min() < 7.0
    assert free.max() > 12.5
    save_model(model, tmp_path / "model.json")
    for name, table in tables(tmp_path).items():
        for predictor in (model, model.released_, load_model(tmp_path / "model.json")):
            predictions = predictor.predict(table)
            assert (predictions.min(), predictions.max()) == (7.0, 12.5), name
            np.testing.assert_allclose(predictions, free.clip(7.0, 12.5), rtol=1e-4)
    assert "Predictions: clipped to [7, 12.5], a released range of y." in model.summary()


def test_dask_predictions_stay_in_the_range_too(fitted):
    dask_array = pytest.importorskip("dask.array")
    model = fitted(X, scale=np.ones(3), center=np.zeros(3), range=(7.0, 12.5))
    lazy = model.predict(dask_array.from_array(X, chunks=(700, 6)))
    np.testing.assert_array_equal(lazy.compute(scheduler="sync"), model.predict(X))


def test_the_model_of_a_file_in_raw_units(fitted):
    """A store is fitted on (x - center) / scale where these are public, and on x elsewhere."""
    model = fitted(X).released_
    public = [Feature(name) for name in NAMES]
    public[3], public[0] = Feature("year", 1900.0, 40.0), Feature("age", None, 4.0)
    raw = model.on_columns(public, "cost").in_raw_units()
    year, age, share = raw.effects
    assert (year.center, year.scale) == (1900.0 + 40.0 * 50.0, 40.0 * 15.0)
    assert (age.center, age.scale) == (4.0 * -3.0, 4.0 * 1e-8)
    assert (share.center, share.scale) == (None, None)
    in_raw = X.copy()
    in_raw[:, 3], in_raw[:, 0] = 1900.0 + 40.0 * X[:, 3], 4.0 * X[:, 0]
    np.testing.assert_allclose(raw.predict(pd.DataFrame(in_raw, columns=NAMES)), model.predict(X), rtol=1e-9)


@pytest.mark.slow
def test_units_that_are_given_reach_the_method(monkeypatch):
    reached = []
    original = _pursuit.Pursuit.__init__

    def noted(self, *arguments, units, **options):
        reached.append(units)
        original(self, *arguments, units=units, **options)

    monkeypatch.setattr(_pursuit.Pursuit, "__init__", noted)
    PrivateSparseRegressor().fit(X, Y)
    PrivateSparseRegressor(feature_center=0, feature_scale=1).fit(X, Y)
    PrivateSparseRegressor(feature_scale={"year": 2.0}).fit(NAMED, Y)
    assert [units.known() for units in reached] == ["none", "all", "some"]
    np.testing.assert_array_equal(reached[2].of(3), (np.nan, 2.0))


def test_the_schedule_knows_what_is_known_before_anything_is_read(monkeypatch):
    told = []
    original = _pursuit.schedule_for

    def noted(*arguments, units_known, **options):
        told.append(units_known)
        return original(*arguments, units_known=units_known, **options)

    monkeypatch.setattr(_pursuit, "schedule_for", noted)
    PrivateSparseRegressor(feature_center=dict.fromkeys(NAMES, 0.0), feature_scale=1.0).fit(NAMED, Y)
    PrivateSparseRegressor(feature_center=dict.fromkeys(NAMES[:5], 0.0), feature_scale=1.0).fit(NAMED, Y)
    assert told == ["all", "some"]


def test_wrong_names_and_shapes_leave_no_fit():
    for parameters in ({"feature_center": {"agee": 1.0}}, {"feature_scale": [1.0]}):
        model = PrivateSparseRegressor(**parameters)
        with pytest.raises(ValueError, match="feature_"):
            model.fit(NAMED, Y)
        with pytest.raises(NotFittedError):
            model.predict(NAMED)
