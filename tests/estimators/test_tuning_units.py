"""`tune` learns units once for all candidates: each is released once, priced once, and reused."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse import PrivateSparseRegressor, tune
from dpsparse.algorithms.guarantee_shares import within_mu
from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.algorithms.pursuit.shared_units import SharedUnits
from dpsparse.estimators import _tuning_plan, tuning
from dpsparse.estimators._tuning_plan import Schedules, _plan, in_order, name_of, plan_for
from dpsparse.learning.table_prices import TableReleases, names_failure, preparation_shares
from dpsparse.privacy.guarantee import Guarantee

pytestmark = pytest.mark.filterwarnings("ignore:random_state", "ignore:With n=")

RNG = np.random.default_rng(0)
N, D = 4_000, 8
SCALES = 10.0 ** np.linspace(-3, 3, D)
X = SCALES * (RNG.standard_normal((N, D)) + 5)
Y = 7 + (X / SCALES) @ [3, 2, 1, 0, 0, 0, 0, 0] + RNG.standard_t(3, N)


def candidates(*sparsities, **options):
    common = {"epsilon": 3.0, "delta": 1e-6, "random_state": 1}
    return [PrivateSparseRegressor(**common | {"sparsity": s} | options) for s in sparsities]


def group(name):
    return name.rpartition(": ")[2].rstrip(" 0123456789")


SHARED = {
    *("responses", "response size", "response centre", "response scale"),
    *("unit share", "unit size", "unit spread", "unit tail", "unit centre", "unit mean"),
}


def about_units(record):
    """Name and price of the releases about units, also of those that a candidate would make for itself."""
    return [(release.name, release.rho) for release in record.releases if group(release.name) in SHARED]


@pytest.fixture
def shared(monkeypatch):
    """The units that `tune` shared, as a list of one once it has run."""
    made = []

    def kept(*public):
        made.append(SharedUnits(*public))
        return made[-1]

    monkeypatch.setattr(tuning, "SharedUnits", kept)
    return made


@pytest.mark.slow
def test_each_unit_is_released_once_and_reused_by_later_candidates(shared):
    tuned = tune(candidates(1, 2, 4), X, Y)
    names = [name for name, _ in about_units(tuned.privacy)]
    assert len(names) == len(set(names))
    assert all(name.startswith("units: ") for name in names)
    # Four features are asked for, and there may be a spare one.
    assert {f"units: unit size {k}" for k in (1, 2, 3, 4)} <= set(names)
    assert {"units: response size", "units: response centre", "units: response scale"} <= set(names)
    assert "units: unit size 6" not in names
    released = shared[0].features
    assert 4 <= len(released) <= 5
    for model in tuned.candidates:
        assert set(model.support_.tolist()) <= released.keys()
        for feature, unit in zip(model.support_, model.units_.values(), strict=True):
            assert unit == (released[feature].center, released[feature].scale)
        assert model.released_.response_scale == shared[0].response.scale
    # The units are the features' own.
    assert all(0.5 < unit.scale / SCALES[feature] < 2 for feature, unit in released.items())
    assert tuned.index in (1, 2)
    assert set(tuned.candidates[1].support_.tolist()) == {0, 1}


def schedules(count, n=N, d=D, sparsity=3, table=None, **options):
    """Those of candidates of which the last one has the most features."""
    models = candidates(*[1] * (count - 1), sparsity, **options)
    order = in_order([False] * count, [model.sparsity for model in models])
    return Schedules(
        order,
        lambda k, share, whole, leads: models[k]._schedule(share, n, d, of_units=whole, leads=leads),
        lambda share: models[order[0]]._schedule(share, n, d),
        table,
    )


def planned(count, guarantee, n=N, *shape, **options):
    """The plan for candidates of which the last one has the most features."""
    return plan_for(guarantee, n, schedules(count, n, *shape, **options))


def of_table(guarantee):
    """The schedule of a raw table of five columns."""
    shares = preparation_shares(N, guarantee.rho_per_record, 6, 5, 4)
    naming = shares.pop("names")
    table = TableReleases(tuple(shares.items()), naming, names_failure(guarantee))
    return schedule_for(guarantee, N, 15, 3, missing=True, table=table, most_splits=5)


@pytest.mark.slow
def test_units_cost_the_same_whatever_the_number_of_candidates():
    prices = []
    for count in (1, 2, 5):
        slots = planned(count, Guarantee(1.0, 1e-6)).commitment.slots
        prices.append([(slot.name, slot.mechanism) for slot in slots if group(slot.name) in SHARED])
    assert prices[0] == prices[1] == prices[2]
    assert len(prices[0]) > 10


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 6),
    st.floats(0.05, 8.0),
    st.sampled_from([1e-9, 1e-6, 1e-2]),
    st.integers(10, 10**6),
    st.integers(1, 2_000),
    st.integers(1, 12),
    st.sampled_from([{}, {"missing": "center"}, {"feature_center": 0.0}, {"fit_intercept": False}]),
)
def test_plans_fill_the_guarantee_and_only_the_first_fit_pays_for_units(count, epsilon, delta, n, d, sparsity, options):
    guarantee = Guarantee(epsilon, delta)
    plan = planned(count, guarantee, n, d, sparsity, **options)
    assert plan.commitment.is_within(guarantee)
    assert plan.commitment.composed.rho > 0.8 * guarantee.rho_per_record
    # Of the account by which the fits are planned, the picks on other rows take no more than there is.
    assert plan.picks.composed.mu <= guarantee.mu_per_record or math.isinf(plan.picks.composed.mu)
    for slot in plan.picks.slots:
        # A pick is e0-bounded-range with e0^2 = 8 rho, and e0-DP.
        assert slot.mechanism.pure_epsilon**2 == pytest.approx(8 * slot.rho)
    names = [slot.name for slot in plan.commitment.slots]
    assert len(set(names)) == len(names)
    first, *others = plan.schedules.values()
    shared = {slot.name for slot in first.of_units.shared}
    assert shared <= {slot.name for slot in first.pursuit}
    assert not any(slot.name in shared for fit in (first, *others) for slot in fit.slots())
    assert not any(slot.name in shared for fit in others for slot in fit.pursuit)
    # A later fit selects no more features than there are units, and pays for no threshold that needs none.
    for fit in others:
        assert decisions.n_picks(fit.facts) <= decisions.n_picks(first.facts)
        assert not decisions.splits_share(fit.facts)
        assert decisions.learns_units(fit.facts)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("table", [None, of_table])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_a_plan_by_zcdp_fills_rho_and_keeps_it(count, table, epsilon):
    """For where the Gaussian account has no bound: what is stretched to fill that one is too much for zCDP."""
    guarantee = Guarantee(epsilon, 1e-6)
    plan = _plan(guarantee, N, schedules(count, table=table), by_mu=False)
    composed = plan.commitment.composed
    assert composed.is_within_by_sums(guarantee)
    training = math.fsum(slot.rho for slot in plan.commitment.slots if slot.part == 0)
    assert 0.95 * guarantee.rho_per_record < training <= guarantee.rho_per_record


@pytest.mark.parametrize("within", [True, False, None])
def test_a_plan_is_by_zcdp_where_there_is_none_by_mu_or_it_costs_too_much(within, monkeypatch):
    by_mu = None if within is None else SimpleNamespace(commitment=SimpleNamespace(is_within=lambda _: within))
    plans = {True: by_mu, False: "by zCDP"}
    monkeypatch.setattr(_tuning_plan, "_plan", lambda *_, by_mu: plans[by_mu])
    assert plan_for(Guarantee(1.0, 1e-6), N, None) is (by_mu if within else "by zCDP")


def test_a_schedule_that_costs_more_than_mu_is_made_cheaper_and_no_other():
    guarantee = Guarantee(1.0, 1e-6)
    (schedule,) = planned(1, guarantee).schedules.values()
    mu = schedule.commitment.composed.mu
    for most in (0.5 * mu, 0.99 * mu):
        assert 0.999 * most < within_mu(schedule, most).commitment.composed.mu <= most
    assert within_mu(schedule, 1.01 * mu) is schedule


@pytest.mark.slow
def test_a_candidate_keeps_the_response_that_it_gives_and_takes_over_what_it_does_not(shared):
    given, without = candidates(1, 2)
    tuned = tune([given.set_params(response_scale=50.0), without], X, Y)
    assert [name for name, _ in about_units(tuned.privacy)].count("units: response scale") == 1
    assert tuned.candidates[0].released_.response_scale == 50.0
    assert tuned.candidates[1].released_.response_scale == shared[0].response.scale != 50.0


@pytest.mark.slow
def test_nothing_is_released_of_a_response_that_all_give():
    known = {"response_center": 0.0, "response_scale": 1.0}
    record = tune(candidates(1, 2, **known), X, Y).privacy
    assert {group(name) for name, _ in about_units(record)} & {"response size", "response centre"} == set()


@pytest.mark.slow
def test_public_units_are_kept_and_features_outside_the_released_ones_may_be_selected(shared):
    # Too small a table to check public units.
    public = {"feature_center": 5 * SCALES, "feature_scale": SCALES}
    unknown, known = candidates(1, 3, epsilon=0.8)
    tuned = tune([unknown, known.set_params(**public)], X, Y)
    # The candidate without units comes first, though it selects less.
    first = next(release.name for release in tuned.privacy.releases if release.name.startswith("candidate"))
    assert first.startswith("candidate 0: ")
    assert set(tuned.candidates[1].support_.tolist()) - shared[0].features.keys()
    for feature, unit in zip(tuned.candidates[1].support_, tuned.candidates[1].units_.values(), strict=True):
        assert unit == (5 * SCALES[feature], SCALES[feature])


@pytest.mark.slow
def test_whether_a_feature_is_missing_is_selected_by_later_candidates_too(shared):
    gaps = np.where(np.random.default_rng(3).random((N, D)) < 0.3, np.nan, X)
    response = Y + 9 * np.isnan(gaps[:, 4])
    tuned = tune(candidates(1, 3, missing="center", random_state=2), gaps, response)
    assert D + 4 in shared[0].features
    assert tuned.candidates[0].support_.tolist() == [D + 4]
    names = [name for name, _ in about_units(tuned.privacy)]
    assert names.count("units: responses") == 1
    assert tuned.candidates[0].missing_coef_[4] == pytest.approx(9, abs=2)


def test_the_whole_names_what_belongs_to_it():
    first, second = planned(2, Guarantee(1.0, 1e-6)).schedules.values()
    assert name_of(1, first)("unit size 3") == name_of(0, second)("response centre") == "units"
    assert name_of(2, first)("response range") == name_of(2, first)("pick 1") == "candidate 2"
