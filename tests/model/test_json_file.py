import json
from dataclasses import asdict, replace

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from dpsparse import DPIHTH, AdaHuber, PrivateSparseRegressor, load_model, save_model
from dpsparse.algorithms.estimates import Estimate
from dpsparse.algorithms.evaluation_sums import Scores
from dpsparse.algorithms.pursuit.result import ResponseCount
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.io.table_features import Feature
from dpsparse.model.context import Budget, FitContext
from dpsparse.model.effect import Effect
from dpsparse.schema import FileError

X, Y, _ = make_heavy_tailed(1_000, 8, 3, random_state=0)
NAMED = pd.DataFrame(X, columns=list("abcdefgh"))
MODEL = PrivateSparseRegressor(sparsity=3, epsilon=2.0, feature_center=0.1, feature_scale=np.arange(1.0, 9.0)).fit(
    NAMED, Y
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def changed(path, change):
    """A model file with one thing changed."""
    save_model(MODEL, path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


def test_a_model_comes_back_whole(path):
    save_model(MODEL, path)
    again = load_model(path)
    for statistic in ("mean", "median"):
        np.testing.assert_array_equal(again.predict(NAMED, statistic), MODEL.predict(NAMED, statistic))
    np.testing.assert_array_equal(again.coef, MODEL.coef_)
    assert again.feature_names == list("abcdefgh")
    assert [effect.feature for effect in again.effects] == [again.feature_names[j] for j in MODEL.support_]
    assert [effect.clear for effect in again.effects] == MODEL.clear_[MODEL.support_].tolist()
    intervals = np.array([effect.interval or (np.nan, np.nan) for effect in again.effects])
    np.testing.assert_allclose(intervals, MODEL.conf_int()[MODEL.support_], rtol=1e-12)
    assert [(f.center, f.scale) for f in again.features] == [(0.1, 1.0 + j) for j in range(8)]
    assert again.privacy == MODEL.privacy_
    assert again.privacy.statement() == MODEL.privacy_.statement()
    # None stands for NaN, where no error can be trusted.
    np.testing.assert_array_equal(np.array(again.noise_floor, dtype=float), MODEL.noise_floor_)
    save_model(again, path)
    assert load_model(path) == again


@pytest.mark.parametrize(
    "model",
    [
        PrivateSparseRegressor(sparsity=2, epsilon=1.0, **STANDARDIZED),
        PrivateSparseRegressor(sparsity="auto", epsilon=0.1, max_sparsity=3, fit_intercept=False, **STANDARDIZED),
        DPIHTH(sparsity=2, epsilon=1.0, delta=1e-4),
        PrivateSparseRegressor(
            sparsity=2, random_state=0, records_per_person=2, adjacency="zero-out-one", **STANDARDIZED
        ),
    ],
)
def test_every_private_estimator_can_be_saved(path, model):
    save_model(model.fit(X, Y), path)
    again = load_model(path)
    assert again.privacy == model.privacy_
    for rows in (X, sparse.csr_matrix(X), X.tolist()):
        np.testing.assert_allclose(again.predict(rows), model.predict(rows), rtol=1e-12)


def test_what_has_no_guarantee_is_not_saved(path):
    for model in (AdaHuber(lam=0.1).fit(X, Y), PrivateSparseRegressor()):
        with pytest.raises(ValueError, match="only a fitted private estimator"):
            save_model(model, path)
    assert not path.exists()


def test_predictions_find_the_selected_columns_by_name(path):
    save_model(MODEL, path)
    again = load_model(path)
    needed = again.columns_needed
    expected = again.predict(NAMED)
    for frame in (NAMED[needed], NAMED[NAMED.columns[::-1]].assign(note="text"), pl.from_pandas(NAMED[needed])):
        np.testing.assert_allclose(again.predict(frame), expected, rtol=1e-12)
    np.testing.assert_allclose(again.predict(pa.Table.from_pandas(NAMED)), expected, rtol=1e-12)
    lazy = again.predict(dd.from_pandas(NAMED[needed[::-1]], npartitions=2))
    np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12)
    with pytest.raises(
        ValueError, match=f"X has no column '{needed[0]}', which the model needs; it needs '{needed[0]}'"
    ):
        again.predict(NAMED.rename(columns={needed[0]: "z"}))
    nothing = replace(again, effects=())
    for frame in (NAMED[["d"]].assign(d="text"), pl.DataFrame({"z": ["text"] * len(NAMED)})):
        assert set(nothing.predict(frame)) == {again.intercept}


MADE_UP = replace(
    MODEL.released_,
    features=(Feature("a"), Feature("b", 1.0), Feature("c", None, 2.0), Feature("d", 0.0, 1.0)),
    effects=(
        Effect("c", 0.0, 2.0, 1.0, center=-3.5, scale=1e-8),
        Effect("a", 0.0, trusted=False, doubt="moved far", center=1900.0, scale=7.0),
        Effect("b", 0.0, 0.1, 0.2),
    ),
    noise_floor=None,
    prediction_range=(-1.5, 2.5e8),
    explains=False,
    reason="the effects are not larger than their errors",
    nearly_exact=True,
    cut=3.25,
    lumped=True,
    context=FitContext(
        "2026-01-31",
        Budget("budget.db", "trial-7", 3.0, 1e-6, 1.5, 2.25, 2, (("2026-01-30", 0.0), ("2026-01-31", 1.5))),
    ),
    constant=-7.5,
    response_scale=0.125,
    spread_explained=0.25,
    scores=Scores(
        n_records=500,
        n_responses=432.25,
        cut=8.5,
        bound=2.5,
        model=Estimate(1.5, 0.25, 1.0, 2.0, 0.03125),
        constant=Estimate(2.5, 0.25, 2.0, 3.0, 0.0625),
        improvement=Estimate(-0.5, 0.25, -1.0, 0.0, 0.0),
        r2=Estimate(-0.25, 0.125, -0.5, 0.0, 0.0625),
        level=0.75,
    ),
    median_shift=-0.375,
    median_slope=0.875,
    calibration_slope=1.625,
    left_out={"d": "hardly varies"},
    responses=ResponseCount(940.5, 20.25, 1_000),
    text_unused={"note": "many values"},
    correlations=((), (-0.125,)),
)


def test_learned_units_and_facts_about_the_response_come_back(path):
    save_model(MADE_UP, path)
    first = json.loads(path.read_text())
    again = load_model(path)
    assert again == MADE_UP
    assert again.context == MADE_UP.context
    save_model(again, path)
    assert json.loads(path.read_text()) == first


def test_scores_say_the_level_of_their_intervals():
    assert "75 % interval" in MADE_UP.summary()


def scores_with(**wrong):
    """Scores as in a file, with something wrong about the improvement."""
    scores = asdict(MADE_UP.scores)
    return scores | {"improvement": scores["improvement"] | wrong}


def entries(content):
    """Every entry of a document, as the dict or list that holds it and its key."""
    for key in content if isinstance(content, dict) else range(len(content)):
        yield content, key
        if isinstance(content[key], dict | list):
            yield from entries(content[key])


@pytest.mark.slow
@pytest.mark.parametrize("model", [MODEL, MADE_UP], ids=["fitted", "made up"])
def test_no_entry_can_be_of_another_type_or_left_out(path, model):
    save_model(model, path)
    content = json.loads(path.read_text())
    optional = {"noise_floor", "estimate", "standard_error", "category", "part", "pure_epsilon", "mu"}
    optional |= {"center", "scale", "reason", "prediction_range", "cut", "context", "budget"}
    optional |= {"constant", "response_scale", "spread_explained", "scores", "target_kind", "baselines", "median_shift"}
    # Any feature may have been left out.
    optional |= {
        "left_out",
        "d",
        "doubt",
        "responses",
        "text_unused",
        "note",
        "estimand",
        "r2",
        "squared_error",
        "classes",
        "correlations",
        "exposure",
        "formula",
        "parts",
        "rows",
    }
    tried = 0

    def is_refused():
        path.write_text(json.dumps(content))
        with pytest.raises(FileError) as caught:
            load_model(path)
        assert "\n" not in str(caught.value)

    # One release is checked as another.
    twins = content["privacy"]["releases"][2:]
    for holder, key in [(holder, key) for holder, key in entries(content) if holder not in twins]:
        good = holder[key]
        for wrong in ("\x1b", {"a": 1}, -1.5 if isinstance(good, bool | str) else True):
            holder[key] = wrong
            is_refused()
            tried += 1
        if isinstance(holder, dict) and key not in optional:
            del holder[key]
            is_refused()
        holder[key] = good
    path.write_text(json.dumps(content))
    load_model(path)
    assert tried > 250


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(version=4), "another version"),
        (lambda content: content.update(format="x"), "not a model file"),
        (lambda content: content.update(spread_explained=1.25), "'spread_explained' must be a share"),
        (lambda content: content.update(scores=scores_with(low=9.0)), "'value' must lie from 'low' to 'high'"),
        (lambda content: content.update(scores=scores_with(cut=1.5)), "'cut' be a share"),
        (lambda content: content.update(scores=asdict(MADE_UP.scores) | {"level": 1.5}), "'level' must lie between"),
        (lambda content: content.update(added=1), "unknown entry 'added'"),
        (lambda content: content.update(left_out={"z": "unit wrong"}), "'left_out' must give .* for features listed"),
        (lambda content: content.update(left_out={"a": "lazy"}), "must give 'hardly varies' or 'unit wrong'"),
        (lambda content: content.update(text_unused={"a": "x"}), "must give 'many values' or 'none common'"),
        (lambda content: (content["features"].clear(), content["effects"].clear()), "features must be there"),
        (lambda content: content["features"].append(content["features"][0]), "name of its own"),
        (lambda content: content["effects"].append(content["effects"][0]), "name of its own"),
        (lambda content: content["effects"][0].update(feature="z"), "none of the features"),
        (lambda content: content["effects"][0].update(coef=10**400), "'coef' must be a finite number"),
        (lambda content: content["effects"][0].update(estimate=None, standard_error=1.0), "belong together"),
        (lambda content: content["effects"][0].update(center=1.0), "belong together"),
        (lambda content: content.update(prediction_range={"low": 1.0, "high": 0.0}), "must not be above"),
        (lambda content: content["context"].update(date="today"), "'date' must be a day"),
        (lambda content: content["privacy"].update(epsilon=0.1), "does not follow"),
        (lambda content: content["privacy"].update(mu=None), "does not follow"),
        (lambda content: content["privacy"]["releases"].pop(), "does not follow"),
        (lambda content: content["privacy"]["releases"][5].update(rho=1e-9), "does not follow"),
        (lambda content: content["privacy"]["asked"].update(epsilon=0.1), "does not follow"),
        (lambda content: content["privacy"]["asked"].update(adjacency="add-one"), "must be one of replace-one"),
        (lambda content: content["privacy"]["asked"].update(delta=2.0), "delta"),
    ],
)
def test_files_that_were_changed_are_refused(path, change, message):
    with pytest.raises(ValueError, match=message):
        load_model(changed(path, change))


@pytest.mark.parametrize(
    "text", ["", "[]", "nul", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "9" * 10_000, "\x00"]
)
def test_what_is_not_our_json(path, text):
    path.write_text(text)
    with pytest.raises(FileError, match=r"not valid JSON|must be a table|not a model file"):
        load_model(path)


def test_a_pickle_is_text_that_makes_no_sense(path):
    path.write_bytes(b"\x80\x04cos\nsystem\n(S'echo hello'\ntR.")
    with pytest.raises(FileError, match=r"not valid JSON: .*; is it a model file\?$"):
        load_model(path)
