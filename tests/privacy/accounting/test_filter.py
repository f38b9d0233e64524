import math

import mpmath
import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, LaplaceDpEvent, NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.algorithms.iht.iht import iht_commitment
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.audit.oracles.exact_curve import exact_delta
from dpsparse.privacy.accounting.commitment import Commitment
from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.filter import Cost, PrivacyFilter, round_down
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


@given(st.floats(1e-6, 1e6))
def test_rounding_is_never_up(epsilon):
    assert 0.99 * epsilon <= round_down(epsilon) <= epsilon
