"""`PrivateSparseTwoPartRegressor`: scikit-learn's checks, statsmodels' two-part model, one charge, hostile tables."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import (
    PrivacyLedger,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    evaluate,
    fit_and_evaluate,
    read_table,
    tune,
)
from dpsparse.algorithms.overall_level import HOW_MUCH, LEVEL, WHETHER
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.estimators import _two_part_fit
from dpsparse.estimators._two_part_fit import responses_of
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.schema import FileError

# Some tests leave out privacy's noise, others have few records.
pytestmark = [pytest.mark.filterwarnings("ignore:epsilon="), pytest.mark.filterwarnings("ignore:With n=")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([PrivateSparseTwoPartRegressor(sparsity=2, **STANDARDIZED)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_what_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        PrivateSparseTwoPartRegressor().predict(np.zeros((3, 2)))


def table(n=6_000, d=5, share=0.4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    odds = 0.9 * X[:, 0] - 0.5 * X[:, 1] + np.log(share / (1 - share))
    mean = np.maximum(100 + 30 * X[:, 0] + 25 * X[:, 2], 10)
    return X, (rng.random(n) < expit(odds)) * mean * rng.gamma(2.0, 0.5, n)


@pytest.mark.slow
@pytest.mark.parametrize("options", [STANDARDIZED, {}], ids=["units known", "units unknown"])
@pytest.mark.parametrize("share", [0.5, 0.15])
def test_without_privacy_to_speak_of_it_is_statsmodels_two_part_model(options, share):
    api = pytest.importorskip("statsmodels.api", reason="extra bench")
    X, y = table(share=share)
    model = PrivateSparseTwoPartRegressor(sparsity=5, epsilon=10_000.0, random_state=0, **options).fit(X, y)
    design, some = api.add_constant(X), y > 0
    odds, amounts = api.Logit(some.astype(float), design).fit(disp=0), api.OLS(y[some], design[some]).fit()
    p, mu = odds.predict(design), amounts.predict(design)
    slope, mean = (p * (1 - p) * mu).mean(), p.mean()
    expected = slope * odds.params[1:] + mean * amounts.params[1:]
    errors = np.sqrt((slope * odds.bse[1:]) ** 2 + (mean * amounts.HC0_se[1:]) ** 2)
    middles = model.conf_int().mean(axis=1)
    np.testing.assert_allclose(middles, expected, atol=0.3 * errors.max())
    assert (model.coef_se_ > 0.8 * errors).all()
    assert (model.coef_se_ < 2 * errors).all()
    np.testing.assert_allclose(model.predict(X).mean(), y.mean(), rtol=0.03)
    np.testing.assert_allclose(model.predict(X), p * np.maximum(mu, 0), atol=0.1 * mu.mean())


def test_zeros_are_blank_in_the_second_part_and_gaps_in_both():
    y = np.array([3.0, 0.0, -2.0, np.nan, 5e-324])
    np.testing.assert_array_equal(responses_of(WHETHER, y), [1, 0, 0, np.nan, 1])
    np.testing.assert_array_equal(responses_of(HOW_MUCH, y), [3, np.nan, np.nan, np.nan, 5e-324])
    np.testing.assert_array_equal(responses_of(LEVEL, y), [3, 0, 0, np.nan, 5e-324])


@pytest.mark.filterwarnings("error")
def test_no_response_warns_whatever_it_is():
    y = np.array([np.inf, -np.inf, np.nan, 1e308, -1e308])
    assert [np.isnan(responses_of(part, y)).sum() for part in (WHETHER, HOW_MUCH, LEVEL)] == [2, 3, 2]


def test_a_fit_that_is_interrupted_at_the_level_leaves_no_part(monkeypatch):
    """A part alone would state its share of the guarantee, and not what the whole has cost."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_two_part_fit, "release_level", interrupted)
    model = PrivateSparseTwoPartRegressor(sparsity=1, **STANDARDIZED)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*table(200))
    assert [name for name in vars(model) if name.endswith("_")] == ["n_features_in_"]


def test_what_is_not_above_0_counts_as_0():
    X, y = table(1_000)
    model = PrivateSparseTwoPartRegressor(sparsity=2, random_state=0, **STANDARDIZED)
    below = np.where(y > 0, y, -7.0)
    assert model.fit(X, y).coef_.tobytes() == clone(model).fit(X, below).coef_.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("shape", [(300, 3), (20_000, 40)])
def test_both_parts_and_the_level_cost_no_more_than_was_asked(epsilon, shape):
    guarantee = Guarantee(epsilon, 1e-6)
    plan = PrivateSparseTwoPartRegressor()._schedule(guarantee, *shape)
    assert plan.commitment.is_within(guarantee)
    # Nearly all of it is used, and every release has a slot of its own.
    assert not plan.commitment.is_within(Guarantee(0.9 * epsilon, 1e-6))
    names = [slot.name for slot in plan.commitment.slots]
    assert len({*names}) == len(names)
    assert {name.partition(":")[0] for name in names} == {WHETHER, HOW_MUCH, LEVEL}
    assert all(slot.part is None for slot in plan.commitment.slots)


def test_it_is_charged_once(tmp_path):
    X, y = table(1_000)
    ledger = PrivacyLedger(tmp_path / "budget.db")
    ledger.grant("costs", epsilon=2.0, delta=1e-4)
    model = PrivateSparseTwoPartRegressor(sparsity=1, ledger=ledger, dataset="costs", **STANDARDIZED).fit(X, y)
    balance = ledger.balance("costs")
    assert len(balance.costs) == 1
    assert model.privacy_.private
    assert model.privacy_.epsilon <= 1.0
    assert model.released_.context.budget.fits == 1
    assert {release.name.partition(":")[0] for release in model.privacy_.releases} == {WHETHER, HOW_MUCH, LEVEL}
    assert model.whether_.privacy_ == model.how_much_.privacy_ == model.privacy_


def frame(n=3_000):
    X, y = table(n)
    people = pd.DataFrame(X, columns=list("abcde"))
    people["region"] = np.where(X[:, 3] > 0, "north", "south")
    people["cost"] = y
    people.loc[::9, "a"] = np.nan
    people.loc[5::50, "cost"] = np.nan
    return people


@pytest.mark.slow
def test_a_raw_table_with_gaps_and_categories():
    people = frame()
    model = PrivateSparseTwoPartRegressor(sparsity=3, epsilon=5.0, random_state=0).fit(read_table(people, "cost"))
    assert model.released_.target == "cost"
    assert "a" in model.released_.columns_needed
    mean = people.cost.mean()
    assert abs(model.predict(people).mean() / mean - 1) < 0.2
    assert {release.name.partition(":")[0] for release in model.privacy_.releases} == {
        *("table", WHETHER, HOW_MUCH, LEVEL)
    }
    both, evaluation = fit_and_evaluate(clone(model), read_table(people, "cost"))
    assert evaluation.scores.n_records == 600
    assert both.privacy_ == evaluation.privacy


def test_a_data_frame_names_the_features_of_both_parts():
    people = frame(500)[["a", "b", "c", "cost"]]
    X = people[["b", "c"]]
    model = PrivateSparseTwoPartRegressor(sparsity=1, missing="center", random_state=0, **STANDARDIZED)
    model.fit(X, people.cost)
    for each in (model, model.whether_, model.how_much_):
        assert list(each.feature_names_in_) == ["b", "c"]
    # Without a warning about names.
    assert (model.predict(X) == model.released_.predict(X[["c", "b"]])).all()
    assert model.released_.responses is not None


def test_a_raw_table_s_response_has_neither_a_label_nor_units():
    people = frame(200)
    with pytest.raises(ValueError, match="above 0 is a yes"):
        PrivateSparseTwoPartRegressor().fit(read_table(people, "cost", positive="1"))
    with pytest.raises(ValueError, match="y must be left out"):
        PrivateSparseTwoPartRegressor().fit(read_table(people, "cost"), people.cost)


def test_units_of_the_response_in_bounds_are_refused(tmp_path):
    (tmp_path / "bounds.toml").write_text("[response]\ncenter = 0\nscale = 1\n")
    with pytest.raises(FileError, match="two parts"):
        PrivateSparseTwoPartRegressor().fit(read_table(frame(200), "cost", bounds=tmp_path / "bounds.toml"))


def test_records_held_out_have_the_whole_of_epsilon():
    X, y = table(2_000)
    model = PrivateSparseTwoPartRegressor(sparsity=2, epsilon=2.0, random_state=3, **STANDARDIZED)
    fitted, evaluation = fit_and_evaluate(model, X, y)
    assert fitted.privacy_.epsilon <= 2.0
    assert evaluation.constant_name == "mean"
    assert evaluation.r2 is not None
    assert fitted.released_.evaluation.scores == evaluation.scores
    again = evaluate(fitted, X, y, epsilon=2.0, random_state=0)
    assert again.improvement.value > 0
    # The first part by itself.
    assert evaluate(fitted.whether_, X, y > 0, epsilon=2.0, random_state=0).auc.value > 0.6


@pytest.mark.slow
def test_units_of_features_are_learned_from_all_records():
    """Of 16,000 records with few amounts, hardly any pair has two."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(16_000) < 0.25, rng.normal(40.0, 10.0, 16_000)]).astype(float)
    y = (rng.random(16_000) < 0.2) * (300 + 200 * X[:, 0] + 10 * (X[:, 1] - 40)).clip(50) * rng.exponential(1.0, 16_000)
    model = PrivateSparseTwoPartRegressor(sparsity=2, random_state=0).fit(X, y)
    scales = [effect.scale for effect in sorted(model.how_much_.released_.effects, key=lambda each: each.feature)]
    assert scales == pytest.approx([0.6, 11.0], rel=0.4)
    assert all(effect.interval is not None for effect in model.how_much_.released_.effects)


@pytest.mark.slow
def test_candidates_are_tuned_within_one_guarantee(tmp_path):
    X, y = table(6_000)
    ledger = PrivacyLedger(tmp_path / "budget.db")
    ledger.grant("costs", epsilon=8.0, delta=1e-3)
    shared = {"epsilon": 8.0, "ledger": ledger, "dataset": "costs", **STANDARDIZED}
    tuned = tune([PrivateSparseTwoPartRegressor(sparsity=sparsity, **shared) for sparsity in (1, 2)], X, y)
    assert 0 < tuned.privacy.epsilon <= 8.0
    assert len(ledger.balance("costs").costs) == 1
    assert tuned.estimator.privacy_ == tuned.privacy
    assert {name.partition(":")[0] for name in (each.name for each in tuned.privacy.releases)} == {
        "candidate 0",
        "candidate 1",
        "held out",
    }
    # Every fifth row is held out, and nothing of it is in the fits.
    other = y.copy()
    other[4::5] = 1e6
    seeded = [PrivateSparseTwoPartRegressor(sparsity=s, epsilon=8.0, random_state=0, **STANDARDIZED) for s in (1, 2)]
    one, another = (tune(seeded, X, each) for each in (y, other))
    for fitted, again in zip(one.candidates, another.candidates, strict=True):
        np.testing.assert_array_equal(fitted.coef_, again.coef_)


def test_a_candidate_that_predicts_means_better_is_chosen():
    X, y = table(3_000)
    seeded = {"epsilon": 50.0, "random_state": 0, **STANDARDIZED}
    people = frame(2_000)
    tuned = tune([PrivateSparseTwoPartRegressor(sparsity=s, **seeded) for s in (2, 1)], X, y)
    assert tuned.index == 0
    raw = [PrivateSparseTwoPartRegressor(sparsity=s, epsilon=50.0, random_state=0) for s in (1, 2)]
    assert tune(raw, read_table(people, "cost")).privacy.epsilon <= 50.0
    with pytest.raises(ValueError, match="two parts by person"):
        tune(raw, X, y, person=np.arange(3_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "responses",
    [
        lambda y: np.zeros_like(y),
        lambda y: np.ones_like(y),
        lambda y: np.full_like(y, 1e308),
        lambda y: np.where(y > 0, 5e-324, 0.0),
        lambda y: np.where(np.arange(len(y)) == 3, 1e300, 0.0),
        lambda y: -y,
    ],
    ids=["all 0", "all 1", "huge", "tiny", "one", "none above 0"],
)
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_whatever_the_responses_are_the_result_is_finite(responses, epsilon):
    X, y = table(400)
    y = responses(y)
    model = PrivateSparseTwoPartRegressor(sparsity=2, epsilon=epsilon, random_state=1, **STANDARDIZED).fit(X, y)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    assert (predicted >= 0).all()
    assert np.isfinite(model.coef_).all()
    assert model.summary()


def test_progress_counts_the_steps_of_both_parts():
    seen = []
    X, y = table(400)
    model = PrivateSparseTwoPartRegressor(sparsity=1, random_state=0, **STANDARDIZED)
    model.fit(X, y, progress=lambda done, total: seen.append((done, total)))
    done, totals = zip(*seen, strict=True)
    assert list(done) == sorted(done)
    assert {*totals} == {done[-1]}


@pytest.mark.parametrize("cls", [PrivateSparseRegressor, PrivateSparseTwoPartRegressor])
def test_a_response_keeps_its_name_where_rows_are_held_out(cls):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 2)), columns=["age", "size"])
    cost = frame.age.clip(lower=0).rename("cost")
    candidates = [cls(sparsity=1, random_state=seed, **STANDARDIZED) for seed in (0, 0)]
    tuned = tune(candidates, frame, cost)
    assert [each.released_.target for each in tuned.candidates] == ["cost", "cost"]
    fitted, evaluation = fit_and_evaluate(candidates[0], frame, cost)
    assert (fitted.released_.target, evaluation.target) == ("cost", "cost")
    # The next fit has the name of its own response.
    assert fitted.fit(frame, cost.rename("pay")).released_.target == "pay"
