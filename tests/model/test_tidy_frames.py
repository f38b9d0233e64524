"""Frames of a released model: the same from a fit and from its file, and nothing but what was released."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from dpsparse import PrivateSparseClassifier, PrivateSparseRegressor, compare_models, load_model, save_model
from dpsparse.algorithms.pursuit.result import FEW_CARRIERS
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.estimators._results import _correlations
from dpsparse.model.doubts import DOUBTS
from dpsparse.model.effect import Effect
from dpsparse.schema import FileError

X, Y, _ = make_heavy_tailed(2_000, 6, 3, random_state=0)
NAMED = pd.DataFrame(X, columns=list("abcdef"))
COLUMNS = [
    *("term", "variable", "level", "estimate", "std_error", "statistic", "p_value"),
    *("conf_low", "conf_high", "reliable", "reason"),
]


def test_effects_are_tidy_and_the_numbers_of_the_effects(fitted):
    frame = fitted.effects_
    assert list(frame.columns) == COLUMNS
    assert frame.term.tolist() == [effect.feature for effect in fitted.released_.effects]
    assert frame.level.tolist() == [None] * 3
    np.testing.assert_array_equal(frame.std_error, fitted.coef_se_[fitted.support_])
    np.testing.assert_array_equal(frame[["conf_low", "conf_high"]], fitted.conf_int()[fitted.support_])
    np.testing.assert_array_equal(frame.p_value, fitted.pvalues_[fitted.support_])
    np.testing.assert_allclose(frame.p_value, 2 * norm.sf(np.abs(frame.statistic)), rtol=1e-9, atol=1e-300)


def test_levels_and_reasons_stand_beside_their_effects(region):
    frame = region.effects_
    assert frame.variable.tolist() == ["age", "region", "region"]
    assert frame.level.tolist() == [None, "north", "east"]
    assert frame.reliable.tolist() == [True, True, False]
    assert frame.reason.tolist() == ["", "", DOUBTS[FEW_CARRIERS].reason]
    last = frame.iloc[2]
    assert last.estimate == 1.0
    assert last[["std_error", "statistic", "p_value", "conf_low", "conf_high"]].isna().all()


def test_a_model_without_effects_has_frames_of_the_same_columns_and_types(fitted):
    empty = replace(fitted.released_, effects=(), correlations=())
    assert list(empty.effects_.columns) == COLUMNS
    assert len(empty.effects_) == 0
    assert (empty.effects_.dtypes == fitted.released_.effects_.dtypes).all()
    assert empty.glance().n_selected.item() == 0


def test_a_file_gives_the_same_frames(tmp_path, fitted):
    save_model(fitted, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    pd.testing.assert_frame_equal(again.effects_, fitted.effects_)
    pd.testing.assert_frame_equal(again.glance(), fitted.glance())
    pd.testing.assert_frame_equal(again.vcov(), fitted.vcov())
    assert again.to_latex() == fitted.to_latex()


def test_a_glance_has_the_guarantee(fitted):
    row = fitted.glance().iloc[0]
    assert (row.nobs, row.epsilon, row.n_selected, row.n_features) == (2_000, fitted.privacy_.epsilon, 3, 6)
    assert (row.target, row.estimand, row.private, row.people) == ("y", "typical", True, 2_000)
    assert np.isnan(row.share_of_yes)


def test_people_are_not_their_rows(fitted):
    privacy = fitted.released_.privacy
    by_person = replace(privacy, guarantee=replace(privacy.guarantee, rows=9_000))
    model = replace(fitted.released_, privacy=by_person)
    assert model.glance()[["nobs", "people"]].iloc[0].tolist() == [9_000, 2_000]
    facts = {line.label: line.cells[0] for line in compare_models([model]).facts}
    assert (facts["Rows"], facts["People"]) == ("9,000", "2,000")
    grouped = replace(privacy, guarantee=replace(privacy.guarantee, records_per_person=5))
    assert replace(model, privacy=grouped).glance().people.item() == 400


def test_the_covariance_has_the_errors_on_its_diagonal_and_is_one(fitted):
    covariance = fitted.vcov()
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), fitted.effects_.std_error, rtol=1e-12)
    np.testing.assert_array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert covariance.index.tolist() == covariance.columns.tolist() == fitted.effects_.term.tolist()


def test_the_covariance_of_an_effect_that_is_not_reliable_is_not_known(region):
    covariance = region.vcov()
    np.testing.assert_allclose(covariance.iloc[:2, :2], [[0.25, 0.25], [0.25, 4.0]])
    assert covariance.iloc[2].isna().all()


def test_the_covariance_is_in_the_units_of_the_effects(region):
    covariance = region.in_raw_units().vcov()
    assert covariance.loc["age", "age"] == pytest.approx(0.25 / 15**2)
    assert covariance.loc["age", "region=north"] == pytest.approx(0.25 / 15)


def test_correlations_are_those_of_a_covariance():
    rows = np.random.default_rng(0).normal(size=(50, 3)) @ np.diag([1e-3, 1.0, 1e5]) + 1.0
    covariance = np.cov(rows, rowvar=False)
    (first, second, third) = _correlations(covariance, np.array([2, 0, 1]))
    expected = np.corrcoef(rows, rowvar=False)
    assert first == ()
    np.testing.assert_allclose([*second, *third], [expected[0, 2], expected[1, 2], expected[1, 0]])
    with np.errstate(all="ignore"):
        assert _correlations(np.diag([0.0, np.inf]), np.array([0, 1])) == ((), (0.0,))


def test_methods_without_errors_have_no_covariance(fitted):
    without = replace(fitted.released_, effects=(Effect("a", 1.0), Effect("b", 2.0)), correlations=None)
    assert not without.effects_.reliable.any()
    assert set(without.effects_.reason) == {"the method gives no standard errors"}
    with pytest.raises(ValueError, match="vcov needs"):
        without.vcov()
    with pytest.raises(ValueError, match="does not have"):
        replace(fitted.released_, correlations=None).vcov()


@pytest.mark.parametrize("bad", [[[], [1.5]], [[]], [[], [True]], 3, [[], "x"], [[], [0.1], [0.1, 0.1]]])
def test_a_file_with_other_correlations_is_refused(tmp_path, bad, region):
    path = tmp_path / "model.json"
    whole = replace(region, correlations=None, effects=region.effects[:2])
    save_model(whole, path)
    path.write_text(path.read_text().replace('"correlations": null', f'"correlations": {json.dumps(bad)}'))
    with pytest.raises(FileError, match="'correlations' must"):
        load_model(path)


@pytest.mark.parametrize("frame", [NAMED, pl.from_pandas(NAMED), pa.Table.from_pandas(NAMED)])
def test_predictions_stand_beside_the_callers_records(frame, fitted):
    beside = fitted.augment(frame)
    expected = fitted.released_.predict(NAMED)
    np.testing.assert_array_equal(np.asarray(beside["prediction"]), expected)
    assert type(beside) is type(frame)
    with pytest.raises(ValueError, match="column 'a' already"):
        fitted.augment(frame, name="a")


def test_a_record_beside_others_is_predicted_as_it_is_alone(fitted):
    beside = fitted.augment(NAMED.iloc[:4])
    alone = [fitted.augment(NAMED.iloc[[k]]).prediction.item() for k in range(4)]
    assert beside.prediction.tolist() == alone


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_array_becomes_a_frame_of_pandas(fitted):
    beside = fitted.augment(X[:5])
    assert list(beside.columns) == [*"abcdef", "prediction"]
    np.testing.assert_array_equal(beside.prediction, fitted.released_.predict(NAMED.iloc[:5]))


def test_probabilities_stand_beside_records_where_the_response_is_yes_or_no():
    yes = np.where(np.median(Y) < Y, "yes", "no")
    fitted = PrivateSparseClassifier(sparsity=2, epsilon=3.0, positive="yes", **STANDARDIZED).fit(NAMED, yes)
    assert fitted.augment(NAMED, name="p").p.between(0, 1).all()
    assert 0 < fitted.glance().share_of_yes.item() < 1
    assert fitted.released_.ratio == "odds ratio"


def test_before_a_fit_there_is_nothing():
    model = PrivateSparseRegressor()
    assert not hasattr(model, "effects_")
    with pytest.raises(NotFittedError):
        model.glance()
