import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, LaplaceDpEvent, NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.algorithms.iht.private_iht import iht_commitment
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.audit.oracles.exact_curve import exact_delta
from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.filter import ACCOUNTS, Cost, PrivacyFilter, round_down
from dpsparse.privacy.accounting.gdp import epsilon_from_mu
from dpsparse.privacy.accounting.meter import Commitment
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, LaplacePeeling, Slot
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho
from dpsparse.privacy.guarantee import Guarantee

GRANT = Guarantee(3.0, 1e-6)
ORDERS = [1 + 1e-3 * 1.15**k for k in range(110)]


def pursuit(guarantee, n=10_000):
    return schedule_for(guarantee, n, 100, 3).commitment


def peeling(guarantee):
    return iht_commitment(guarantee, 3, 4, "tight")


def admitted(current, cost):
    account = current.account_with(cost)
    return PrivacyFilter(current.grant, (*current.costs, cost), account)


def greedy(grant, commitments):
    """The commitments that are admitted, each with its guarantee, and the filter after them."""
    current, kept = PrivacyFilter(grant), []
    for commitment, guarantee in commitments:
        cost = commitment.cost(guarantee)
        if current.admits(cost):
            current, kept = admitted(current, cost), [*kept, commitment]
    return current, kept


def priced():
    rho = st.floats(-4, -1.3).map(lambda x: 10**x)
    return st.one_of(st.builds(ExponentialMechanism, rho), st.builds(GaussianMechanism, rho, tv_slack=st.just(1e-16)))


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(priced(), min_size=1, max_size=4), min_size=2, max_size=8), st.floats(0.3, 4.0))
def test_no_admitted_sequence_exceeds_its_grant_on_the_exact_curve(fits, epsilon):
    # Each fit asks for what zCDP makes of it at a delta above the grant's: the grant's delta is what counts.
    grant = Guarantee(epsilon, 1e-4)
    commitments = []
    for mechanisms in fits:
        rho = math.fsum(mechanism.rho for mechanism in mechanisms)
        guarantee = Guarantee(epsilon_from_rho(rho, 1e-3) * 1.000001 + 1e-9, 1e-3)
        slots = tuple(Slot("release", mechanism) for mechanism in mechanisms)
        commitments.append((Commitment(slots), guarantee))
    current, kept = greedy(grant, commitments)
    if not kept:
        return
    assert current.account in ("gaussian", "zcdp")
    whole = [slot.mechanism for commitment in kept for slot in commitment.slots]
    (delta,), (error,) = exact_delta(whole, [grant.epsilon])
    assert delta <= grant.delta + 2 * error


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0.05, 1.0), min_size=2, max_size=10), st.floats(0.5, 4.0))
def test_zcdp_totals_agree_with_another_accountant(epsilons, epsilon):
    grant = Guarantee(epsilon, 1e-6)
    current = PrivacyFilter(grant)
    for value in epsilons:
        cost = Cost(value, 1e-5, rho=value**2 / 20)
        current = admitted(current, cost) if current.admits(cost) else current
    if current.costs:
        accountant = RdpAccountant(ORDERS, NeighboringRelation.REPLACE_ONE)
        accountant.compose(ComposedDpEvent([dp_event.ZCDpEvent(cost.rho) for cost in current.costs]))
        assert current.account == "zcdp"
        assert accountant.get_epsilon(1e-6) <= epsilon * 1.01


def test_laplace_releases_stay_within_their_mu_by_another_accountant():
    for size, count in ((0.02, 50), (0.2, 12), (1.0, 3)):
        accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
        accountant.compose(LaplaceDpEvent(1 / size), count)
        mu = compose_gdp([LaplacePeeling(count * size**2 / 2)])
        grant = Guarantee(1.0, 1e-5)
        current = PrivacyFilter(grant, (Cost(50.0, 0.5, mu=mu),), "gaussian")
        assert accountant.get_epsilon(1e-5) <= current.epsilon_spent * 1.001


def test_the_gaussian_pair_behind_a_pure_release_is_wide_enough():
    for epsilon in np.geomspace(1e-4, 60, 200):
        mu = mpmath.mpf(compose_gdp([LaplacePeeling(float(epsilon) ** 2 / 2)]))
        with mpmath.workdps(40):
            assert mpmath.ncdf(mu / 2) >= 1 / (1 + mpmath.exp(-mpmath.mpf(float(epsilon))))


@pytest.mark.parametrize("kind", [pursuit, peeling])
@pytest.mark.parametrize(
    "guarantee", [Guarantee(1.0, 1e-6), Guarantee(0.3, 1e-9), Guarantee(5.0, 1e-4, "zero-out-one", 3)]
)
def test_a_grant_admits_a_fit_that_asks_for_all_of_it_and_nothing_after(kind, guarantee):
    cost = kind(guarantee).cost(guarantee)
    current = PrivacyFilter(Guarantee(guarantee.epsilon, guarantee.delta))
    assert current.admits(cost)
    current = admitted(current, cost)
    assert current.epsilon_spent <= guarantee.epsilon
    hundredth = Guarantee(guarantee.epsilon / 100, guarantee.delta)
    assert not current.admits(kind(hundredth).cost(hundredth))


def test_many_fits_get_the_tight_account_and_far_more_than_their_sum():
    guarantee = Guarantee(1.0, 1e-6)
    current, kept = greedy(GRANT, [(pursuit(guarantee), guarantee)] * 20)
    assert current.account == "gaussian"
    assert len(kept) == 7
    assert current.epsilon_spent <= 3.0


def test_kinds_mix_whatever_came_first():
    # At epsilon 0.5 and sparsity 3 the peeling is pure, and its mu and rho are above a pursuit's.
    guarantee = Guarantee(0.5, 1e-6)
    for kinds in ((pursuit, peeling), (peeling, pursuit)):
        _, kept = greedy(GRANT, [(kinds[i % 2](guarantee), guarantee) for i in range(30)])
        assert len(kept) >= 8
        assert {len(commitment.slots) for commitment in kept} == {len(kind(guarantee).slots) for kind in kinds}


def test_the_account_is_fixed_by_the_first_fit():
    """Room in another account does not count: each could fail on a delta of its own."""
    half = Cost(1.5, 5e-7, rho=GRANT.rho_per_record * 0.9, mu=GRANT.mu_per_record)
    current = admitted(PrivacyFilter(GRANT), half)
    assert current.account == "basic"
    cheap_in_zcdp = Cost(1.6, 1e-7, rho=1e-9, mu=1e-9)
    assert not current.admits(cheap_in_zcdp)
    assert PrivacyFilter(GRANT, current.costs, "zcdp").admits(cheap_in_zcdp)


def test_a_delta_above_the_grants_counts_by_mu_and_rho_alone():
    guarantee = Guarantee(1.0, 1e-3)
    loose = pursuit(guarantee).cost(guarantee)
    assert PrivacyFilter(Guarantee(2.0, 1e-6)).admits(loose)
    assert not PrivacyFilter(Guarantee(1.0, 1e-6)).admits(loose)
    assert not PrivacyFilter(GRANT).admits(Cost(1.0, 1e-3))


def test_discreteness_is_paid_by_all_fits_together():
    one = Cost(0.1, 1e-7, mu=0.01, tv_slack=0.4 * 1e-3 * 1e-6 / (1 + math.exp(3.0)))
    current, count = PrivacyFilter(GRANT, (one,), "gaussian"), 1
    while current.admits(one):
        current, count = admitted(current, one), count + 1
    assert count == 2


def test_decimals_add_up_as_they_are_written():
    current = PrivacyFilter(Guarantee(0.3, 1e-6))
    for _ in range(3):
        assert current.admits(Cost(0.1, 0.0))
        current = admitted(current, Cost(0.1, 0.0))
    assert not current.admits(Cost(1e-9, 0.0))
    assert current.epsilon_left == 0


def test_a_person_with_many_records_pays_for_all():
    guarantee = Guarantee(1.0, 1e-6, records_per_person=3)
    commitment = pursuit(guarantee)
    cost = commitment.cost(guarantee)
    assert (cost.rho, cost.mu) == (9 * commitment.composed.rho, 3 * commitment.composed.mu)
    assert cost.tv_slack == commitment.composed.tv_slack


def test_an_uncovered_commitment_has_no_cost():
    with pytest.raises(ValueError, match="does not cover"):
        pursuit(Guarantee(2.0, 1e-6)).cost(Guarantee(1.0, 1e-6))


@pytest.mark.parametrize("bad", [(0.0, 0.0), (math.inf, 0.0), (1.0, 1.0), (1.0, 0.0, -1.0), (1.0, 0.0, math.nan)])
def test_impossible_costs_are_refused(bad):
    with pytest.raises(ValueError, match="a cost needs"):
        Cost(*bad)


@pytest.mark.slow
@given(st.floats(1e-6, 1e6))
def test_rounding_is_never_up(epsilon):
    assert 0.99 * epsilon <= round_down(epsilon) <= epsilon


def spent_by(account, *costs, grant=GRANT):
    return PrivacyFilter(grant, costs, account)


def test_what_is_spent_and_left_follows_from_the_account():
    """Two fits, a third and a sixth of the grant: half is left."""
    rhos = [share * GRANT.rho_per_record for share in (1 / 3, 1 / 6)]
    mus = [math.sqrt(share) * GRANT.mu_per_record for share in (1 / 3, 1 / 6)]
    half_rho = epsilon_from_rho(GRANT.rho_per_record / 2, GRANT.delta)
    half_mu = epsilon_from_mu(math.sqrt(1 / 2) * GRANT.mu_per_record, (1 - 1e-3) * GRANT.delta)
    for current, half in (
        (spent_by("zcdp", *(Cost(2.0, 1e-5, rho=rho) for rho in rhos)), half_rho),
        (spent_by("gaussian", *(Cost(2.0, 1e-5, mu=mu) for mu in mus)), half_mu),
        (spent_by("basic", Cost(1.0, 0.0), Cost(0.5, 0.0)), 1.5),
    ):
        assert current.share == pytest.approx(1 / 2, rel=1e-12)
        assert current.epsilon_spent == pytest.approx(half, rel=1e-9)
        assert current.epsilon_left == pytest.approx(half, rel=1e-9)


def test_failures_lower_the_delta_at_which_rho_is_converted():
    costs = [Cost(2.0, 1e-6, rho=rho, failure_probability=2e-7) for rho in (0.01, 0.02)]
    assert spent_by("zcdp", *costs).epsilon_spent == pytest.approx(epsilon_from_rho(0.03, 6e-7), rel=1e-9)
    whole = Cost(2.0, 1e-6, rho=1e-9, failure_probability=GRANT.delta)
    assert spent_by("zcdp", whole).share == 1
    assert spent_by("zcdp", whole, whole).epsilon_spent == math.inf


def test_a_single_fit_spends_no_more_than_its_own_epsilon_where_its_delta_is_the_grants():
    expensive = {"rho": GRANT.rho_per_record, "mu": GRANT.mu_per_record}
    for account in ("zcdp", "gaussian"):
        for delta in (1e-7, GRANT.delta):
            assert spent_by(account, Cost(0.7, delta, **expensive)).epsilon_spent == 0.7
        assert spent_by(account, Cost(0.7, 1e-5, **expensive)).epsilon_spent == pytest.approx(3.0, rel=1e-6)
    for deltas in ((1e-7, 1e-7), (1e-7, 1e-5), (1e-5, 1e-7)):
        costs = [Cost(0.1, delta, rho=GRANT.rho_per_record / 2) for delta in deltas]
        assert spent_by("zcdp", *costs).epsilon_spent == pytest.approx(3.0, rel=1e-6)


def test_nothing_all_and_more_than_all_of_a_grant():
    fresh = PrivacyFilter(GRANT)
    assert (fresh.share, fresh.epsilon_spent, fresh.epsilon_left) == (0, 0, 3.0)
    assert spent_by("basic", Cost(1.5, 0.0), Cost(1.5, 0.0)).epsilon_spent == 3.0
    over = spent_by("basic", Cost(2.0, 0.0), Cost(2.5, 0.0))
    assert (over.share, over.epsilon_left, over.epsilon_spent) == (1, 0, 4.5)


def test_slack_is_weighed_by_what_it_adds_to_delta():
    """Both tables are off by it: 1 + e^epsilon times the slack, of a thousandth of delta."""
    cost = Cost(1.0, 1e-7, mu=1e-6, tv_slack=1e-15)
    expected = (1 + math.exp(3.0)) * 2e-15 / 1e-9
    assert ACCOUNTS["gaussian"].share(GRANT, (cost, cost)) == pytest.approx(expected, rel=1e-12)
    # Beyond the range of e^epsilon there is room for no slack.
    loose = Guarantee(1e6, 1e-6)
    assert ACCOUNTS["gaussian"].share(loose, (cost,)) > 1
    assert ACCOUNTS["gaussian"].share(loose, (replace(cost, tv_slack=0.0),)) < 1


def test_a_cost_has_no_slack_and_no_failures_unless_it_says_so():
    cost = Cost(1.0, 1e-6, rho=0.01, mu=0.01)
    assert (cost.tv_slack, cost.failure_probability) == (0, 0)
    assert PrivacyFilter(GRANT).choose(cost) == "gaussian"


def test_the_account_is_chosen_anew_once_all_is_refunded():
    cost = Cost(1.0, 1e-6, rho=0.01, mu=0.01)
    assert PrivacyFilter(GRANT, (), "basic").account_with(cost) == "gaussian"


def test_a_fit_that_pure_composition_just_covers_costs_no_delta():
    guarantee = Guarantee(5.0, 1e-12, records_per_person=2)
    for pure_epsilon, delta in ((2.5, 0.0), (2.4, 0.0), (math.nextafter(2.5, 3), None)):
        commitment = Commitment((Slot("peeling", LaplacePeeling(9.0, pure_epsilon)),))
        if delta is None:
            assert not commitment.is_within(guarantee)
        else:
            assert commitment.cost(guarantee).delta == delta
    by_zcdp = Commitment((Slot("peeling", LaplacePeeling(1e-6, 2.6)),))
    assert by_zcdp.cost(guarantee).delta == guarantee.delta


@pytest.mark.parametrize("epsilon", [0.0, math.inf])
def test_nothing_and_infinity_are_not_rounded(epsilon):
    assert round_down(epsilon) == epsilon
