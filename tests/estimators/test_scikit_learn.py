"""The estimators inside scikit-learn's own tools, and on their way to disk."""

import io
import pickle
import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from dpsparse import DPIHTH, DPIHTL, DPSLR, BudgetExceeded, PrivacyLedger, PrivateSparseRegressor, tune
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed

X, Y, _ = make_heavy_tailed(2_000, 6, 2, random_state=0)
PRIVATE = [PrivateSparseRegressor, DPIHTH, DPIHTL, DPSLR]


@pytest.mark.slow
def test_the_how_to_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "scikit-learn.md"
    examples = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    assert len(examples) == 7
    names = {}
    for example in examples:
        exec(compile(example, page.name, "exec"), names)
    assert "region_" in capsys.readouterr().out
    assert round(names["ledger"].balance("trial-7").epsilon_spent, 2) == 1.26
    assert names["tuned"].privacy.epsilon <= 1.0


def people(n=4_000):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"income": np.exp(rng.normal(10, 1, n)), "region": rng.choice(["east", "north", "west"], n)})
    y = 3 * np.log(table.income) + 5 * (table.region == "north") + rng.standard_t(3, n)
    return table, y


def public_features(handle_unknown="ignore"):
    """Fixed functions and given categories: nothing in it depends on a value."""
    regions = OneHotEncoder(categories=[["east", "north", "west"]], handle_unknown=handle_unknown, sparse_output=False)
    log = FunctionTransformer(np.log, feature_names_out="one-to-one")
    columns = ColumnTransformer([("log", log, ["income"]), ("region", regions, ["region"])])
    return columns.set_output(transform="pandas")


def test_a_pipeline_with_public_transformers_learns():
    table, y = people()
    names = ["log__income", "region__region_east", "region__region_north", "region__region_west"]
    model = PrivateSparseRegressor(
        sparsity=2,
        epsilon=2.0,
        random_state=0,
        feature_center=dict(zip(names, [10, 0.3, 0.3, 0.3], strict=True)),
        feature_scale=dict(zip(names, [1, 0.5, 0.5, 0.5], strict=True)),
    )
    pipeline = make_pipeline(public_features(), model).fit(table, y)
    fitted = pipeline[-1]
    assert fitted.feature_names_in_.tolist() == names
    assert {names[j] for j in fitted.support_} == {"log__income", "region__region_north"}
    assert fitted.coef_[0] == pytest.approx(3, abs=0.5)
    assert pipeline.score(*people(500)) > 0.5


def test_an_encoder_that_tells_of_an_unknown_category_is_refused_before_anything_is_spent(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("trial-7", epsilon=3, delta=1e-6)
    pipeline = make_pipeline(public_features("error"), PrivateSparseRegressor(ledger=ledger, dataset="trial-7"))
    with pytest.raises(ValueError, match=r"OneHotEncoder would say so .* give handle_unknown='ignore'"):
        pipeline.fit(*people())
    assert len(ledger.history()) == 1


@pytest.mark.slow
def test_a_grid_search_is_charged_for_every_fit_of_every_fold(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("trial-7", epsilon=3, delta=1e-6)
    model = PrivateSparseRegressor(epsilon=0.5, delta=1e-7, ledger=ledger, dataset="trial-7", **STANDARDIZED)
    search = GridSearchCV(model, {"sparsity": [1, 2]}, cv=3, error_score="raise").fit(X, Y)
    assert [event.kind for event in ledger.history()].count("charge") == 2 * 3 + 1
    assert search.best_estimator_.privacy_.epsilon <= 0.5 < 1.2 < ledger.balance("trial-7").epsilon_spent


def test_a_cross_validation_beyond_the_grant_stops(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("trial-7", epsilon=1, delta=1e-6)
    model = PrivateSparseRegressor(
        sparsity=2, epsilon=1.0, delta=1e-6, ledger=ledger, dataset="trial-7", **STANDARDIZED
    )
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, X, Y, cv=2, error_score="raise")
    assert [event.kind for event in ledger.history()].count("charge") == 1


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


def by_joblib(model):
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    return joblib.load(stream)


def by_skops(model):
    """Nothing but this package's own plain records needs to be trusted."""
    stored = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=stored)
    kind, release = type(model), "dpsparse.privacy.accounting.release"
    equation = "dpsparse.algorithms.pursuit.result.EstimatingEquation"
    pursuit = [equation, f"{release}.ExponentialMechanism", f"{release}.GaussianMechanism"]
    assert sorted(trusted) == sorted(
        [
            f"{kind.__module__}.{kind.__name__}",
            "dpsparse.model.context.FitContext",
            "dpsparse.model.effect.Effect",
            "dpsparse.model.released.LinearModel",
            "dpsparse.model.numeric_columns.NumericColumns",
            "dpsparse.privacy.guarantee.Guarantee",
            "dpsparse.privacy.accounting.record.PrivacyRecord",
            f"{release}.Release",
            *(pursuit if isinstance(model, PrivateSparseRegressor) else [f"{release}.LaplacePeeling"]),
        ]
    )
    return skops.io.loads(stored, trusted=trusted)


@pytest.mark.parametrize("way", [by_pickle, by_joblib, by_skops])
@pytest.mark.parametrize("estimator", PRIVATE)
def test_fitted_estimators_come_back_the_same(estimator, way, units_of):
    model = estimator(sparsity=2, epsilon=2.0, **units_of(estimator)).fit(X, Y)
    back = way(model)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.privacy_ == model.privacy_
    assert str(back.privacy_) == str(model.privacy_)
    assert back.released_ == model.released_
    assert back.get_params() == model.get_params()


@pytest.mark.slow
@pytest.mark.parametrize("way", [by_pickle, by_joblib, by_skops])
def test_a_tuned_model_comes_back_the_same(way):
    model = tune([PrivateSparseRegressor(sparsity=s, **STANDARDIZED) for s in (1, 2)], X, Y).estimator
    back = way(model)
    assert back.summary() == model.summary()
    assert back.privacy_ == model.privacy_
