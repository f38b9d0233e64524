"""Tables that are too small for any number of features in unknown units: what they look for, and what they predict."""

import warnings

import numpy as np
import pytest

from dpsparse import PrivateSparseRegressor, plan, tune
from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts, Sharing
from dpsparse.algorithms.pursuit.pursuit_constants import LEAST_SIZE, TAKEN_FOR_ONE, TINY
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.families.binomial import BINOMIAL
from dpsparse.privacy.guarantee import Guarantee

RHO = 0.0025
PRIVATE = {"epsilon": 0.5, "delta": 1e-5}
UNITS = np.geomspace(1e-3, 1e4, 10)


def of_size(size, d=40, sparsity=8, **public):
    """Facts with this N."""
    return PublicFacts(round(size / RHO**0.5), d, sparsity, RHO, **({"units_known": "none"} | public))


@pytest.mark.parametrize(
    ("size", "most"), [(LEAST_SIZE - 1, 0), (LEAST_SIZE, 1), (1.5 * LEAST_SIZE, 2), (2 * LEAST_SIZE, 4), (TINY, 40)]
)
def test_the_number_of_features_grows_with_the_square_of_the_table(size, most):
    facts = of_size(size)
    assert decisions.most_features(facts) == most
    assert decisions.n_picks(facts) == min(most, 8)
    assert decisions.looks_at_features(facts) == (most > 0)


def test_whoever_does_not_pay_for_units_may_look_for_all():
    assert decisions.most_features(of_size(20, units_known="all")) == 40
    assert decisions.most_features(of_size(20, family=BINOMIAL)) == 40
    shared = of_size(20, sharing=Sharing(of_size(70), n_selectable=1))
    assert (decisions.n_picks(shared), shared.n_candidates) == (1, 1)


def test_without_an_intercept_one_feature_is_left_to_fit():
    assert decisions.n_picks(of_size(20, fit_intercept=False)) == 1


def test_all_features_are_taken_where_a_selection_would_cost_more():
    few = TAKEN_FOR_ONE * 4
    assert not decisions.selects(of_size(2 * LEAST_SIZE, few, few))
    assert decisions.n_picks(of_size(2 * LEAST_SIZE, few + 1, few + 1)) == 4
    assert decisions.n_picks(of_size(2 * LEAST_SIZE, few, few - 1)) == 4


def test_what_is_asked_for_beyond_that_changes_nothing():
    guarantee = Guarantee(0.5, 1e-5)
    for n, most in ((500, 1), (800, 1), (1_100, 2)):
        asked, less = (schedule_for(guarantee, n, 20, s, units_known="none").commitment for s in (12, most))
        assert asked.slots == less.slots


@pytest.mark.parametrize("n", [400, 800, 1_200, 4_000])
def test_a_plan_says_how_many_are_looked_for(n):
    forecast = plan(n, 20, 5, 0.5, 1e-5)
    schedule = schedule_for(forecast.guarantee, n, 20, 5, units_known="none")
    picks = [slot for slot in schedule.slots() if slot.group == "pick"]
    assert forecast.n_looked_for == min(5, len(picks))
    assert bool(forecast.few_features) == (forecast.n_looked_for < 5)
    assert (forecast.smallest_effect == np.inf) == (not picks)
    if forecast.few_features:
        assert forecast.few_features in str(forecast).replace("\nThe fit", "\nthe fit")
        enough = forecast.n_for_features(5)
        assert plan(enough, 20, 5, 0.5, 1e-5).n_looked_for == 5
        assert plan(int(0.99 * enough), 20, 5, 0.5, 1e-5).n_looked_for < 5


def test_a_forecast_loses_what_is_not_looked_for():
    """The largest of five normal effects holds most of their squares; known units lose nothing this way."""
    nothing, one, four = (plan(n, 50, 5, 0.5, 1e-5).expected_error for n in (500, 850, 1_400))
    assert nothing > 1.1 * one > 1.5 * four


def of_people(n, seed):
    """Two strong features in odd units, and a response that lies far from 0."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 10))
    y = 5_000 + 300 * (1.5 * Z[:, 0] + 0.7 * Z[:, 3] + rng.normal(size=n))
    return (Z + 5) * UNITS, y


def fitted(n, seed, sparsity=4, **options):
    """A fit without public units, and its squared error against that of the exact constant."""
    X, y = of_people(n, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateSparseRegressor(sparsity=sparsity, random_state=seed, **PRIVATE, **options).fit(X, y)
    return model, float(((y - model.predict(X)) ** 2).mean() / y.var())


@pytest.mark.slow
def test_a_constant_has_all_of_the_budget_below_the_first_feature():
    fits = [fitted(500, seed) for seed in range(8)]
    groups = {release.name.rstrip(" 0123456789") for release in fits[0][0].privacy_.releases}
    assert groups == {
        *("response size", "response centre", "response scale", "final gradient", "fraction at final gradient"),
        *("response range", "gain", "calibration", "residual median"),
    }
    assert np.mean([ratio for _, ratio in fits]) < 1.03
    assert not any(len(model.support_) or model.coef_.any() or model.explains_ for model, _ in fits)


@pytest.mark.slow
def test_the_strongest_feature_is_found_by_all_of_the_budget():
    """Four together would leave none of them a unit."""
    fits = [fitted(1_000, seed) for seed in range(8)]
    assert all(len(model.support_) <= 2 for model, _ in fits)
    assert sum(0 in model.support_ for model, _ in fits) >= 6
    assert np.exp(np.mean([np.log(ratio) for _, ratio in fits])) < 0.7


def test_the_result_says_that_no_feature_was_looked_at():
    model, _ = fitted(500, 0)
    needed = decisions.n_for_features(schedule_for(model.privacy_.guarantee, 500, 10, 4, units_known="none").facts)
    assert 500 < needed < 900
    told = " ".join(model.summary().split())
    assert (
        f"500 records are too few at this epsilon for effects of features in unknown units, which take about {needed}"
        in told
    )
    assert "predictions are the constant" in told
    assert np.ptp(model.predict(of_people(20, 1)[0])) == 0


def test_tuning_a_tiny_table_compares_constants():
    X, y = of_people(400, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        candidates = [PrivateSparseRegressor(sparsity=s, random_state=0, **PRIVATE) for s in (1, 3)]
        tuned = tune(candidates, X, y)
    assert not len(tuned.estimator.support_)
    assert abs(tuned.estimator.predict(X[:1])[0] - y.mean()) < y.std()


def test_a_fit_warns_that_not_all_are_looked_for():
    X, y = of_people(1_000, 0)
    with pytest.warns(UserWarning, match="2 of 4 features are looked for, and only effects above"):
        PrivateSparseRegressor(sparsity=4, **PRIVATE).fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "With n=", UserWarning)
        warnings.filterwarnings("error", ".* are looked for", UserWarning)
        # Nobody asked for a number of them, or the units are public.
        PrivateSparseRegressor(sparsity="auto", **PRIVATE).fit(X, y)
        units = {"feature_center": list(5 * UNITS), "feature_scale": list(UNITS)}
        PrivateSparseRegressor(sparsity=4, **PRIVATE, **units).fit(X, y)
