"""Composition over disjoint parts of the rows, and of releases that may fail."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.audit.oracles.exact_curve import exact_delta
from dpsparse.privacy.accounting.compose import compose, compose_gdp, largest_factor, releases_per_record
from dpsparse.privacy.accounting.filter import ACCOUNTS, Cost, PrivacyFilter
from dpsparse.privacy.accounting.gdp import gaussian_curve
from dpsparse.privacy.accounting.meter import Commitment, in_part
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, LaplacePeeling, Mechanism, Slot
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho
from dpsparse.privacy.guarantee import Guarantee

GUARANTEE = Guarantee(1.0, 1e-5)
MECHANISMS = (GaussianMechanism(0.01), ExponentialMechanism(0.004, 0.2), GaussianMechanism(0.01))


def slots(*mechanisms, part=None):
    return [Slot(f"release {k}", mechanism, part) for k, mechanism in enumerate(mechanisms)]


def test_a_record_pays_for_its_own_part_and_for_what_reads_all_rows():
    fits = [Commitment(tuple(slots(*mechanisms))) for mechanisms in (MECHANISMS, MECHANISMS[:1])]
    planned = [*slots(ExponentialMechanism(0.001)), *in_part(fits[0], 0, "a"), *in_part(fits[1], 1, "b")]
    assert [len(seen) for seen in releases_per_record(planned)] == [4, 2]
    last = Slot("last", ExponentialMechanism(0.001))
    assert [seen[-1] for seen in releases_per_record([*planned, last])] == [last, last]
    seen = [ExponentialMechanism(0.001), *MECHANISMS]
    assert compose(planned).mu == compose_gdp(seen)
    assert compose(planned).rho == pytest.approx(0.025)
    exact, errors = exact_delta(seen, [0.1, 0.5])
    curve = gaussian_curve(compose(planned).mu, [0.1, 0.5])
    assert (exact <= curve + 2 * errors).all()


def test_of_disjoint_parts_the_most_costly_counts():
    pick, noise = MECHANISMS[1], MECHANISMS[0]
    in_parts = [*slots(noise), *slots(noise, part=0), *slots(pick, pick, part=1)]
    assert compose(in_parts).mu == compose_gdp([noise, pick, pick])
    assert compose(in_parts).rho == pytest.approx(0.01 + 0.01)
    assert compose(slots(pick, pick, part=0)).pure_epsilon == pytest.approx(0.4)


def test_a_part_with_laplace_noise_has_its_own_account():
    peeling = LaplacePeeling(0.01, 0.1)
    mixed = [*slots(peeling, part=0), *slots(ExponentialMechanism(0.001, 0.1), part=1)]
    assert compose(mixed).mu == compose(slots(peeling)).mu


def test_slack_without_bound_leaves_the_gaussian_account():
    assert compose(slots(replace(MECHANISMS[0], tv_slack=math.inf))).mu == math.inf


@dataclass(frozen=True)
class Fallible(Mechanism):
    """A kind of mechanism that composition has never heard of: it costs rho, and fails with some probability."""

    kind: ClassVar[str] = "fallible"
    more: ClassVar[tuple[str, ...]] = ("failure_probability",)

    def mu_squared(self, later, *, certify=True):
        return later + 2 * self.rho


def test_failures_add_up_over_all_parts():
    items = [Slot("a", Fallible(0.001, 0.1, failure_probability=1e-7), k) for k in (0, 1, None)]
    assert compose(items).failure_probability == pytest.approx(3e-7)
    assert compose(items).tv_slack == pytest.approx(3e-7)
    assert compose(items).pure_epsilon == math.inf


def test_slacks_of_discrete_noise_add_up_as_the_root_of_their_squares():
    noisy = GaussianMechanism(0.001, tv_slack=1e-9)
    assert compose(slots(noisy, noisy, noisy, noisy)).tv_slack == pytest.approx(2e-9)


def test_zcdp_is_converted_at_the_delta_that_failures_leave():
    fails = Fallible(GUARANTEE.rho_per_record, failure_probability=1e-6)
    assert not compose(slots(fails)).is_within(GUARANTEE)
    spent = epsilon_from_rho(0.9 * fails.rho, 0.9 * GUARANTEE.delta)
    assert GUARANTEE.epsilon_spent(0.9 * fails.rho, failure_probability=1e-6) == pytest.approx(spent)
    assert compose(slots(replace(fails, rho=0.9 * fails.rho))).is_within(GUARANTEE)
    assert not compose(slots(replace(fails, rho=1e-9, failure_probability=GUARANTEE.delta))).is_within(GUARANTEE)


def test_failures_of_fits_are_taken_from_the_grants_delta():
    cost = Commitment(tuple(slots(Fallible(0.005, failure_probability=4e-6)))).cost(GUARANTEE)
    assert cost.failure_probability == cost.tv_slack == 4e-6
    one = PrivacyFilter(GUARANTEE, (cost,), "zcdp")
    assert ACCOUNTS["zcdp"].share(GUARANTEE, (cost,)) > cost.rho / GUARANTEE.rho_per_record
    assert one.epsilon_spent >= min(GUARANTEE.epsilon, epsilon_from_rho(cost.rho, 0.6 * GUARANTEE.delta))
    tiny = replace(cost, rho=1e-9)
    assert one.admits(tiny)
    assert not PrivacyFilter(GUARANTEE, (cost, tiny), "zcdp").admits(tiny)
    assert ACCOUNTS["gaussian"].share(GUARANTEE, (Cost(1.0, 1e-5, mu=0.0, tv_slack=4e-6),)) > 1


@given(st.lists(st.floats(1e-12, 1e3), min_size=1, max_size=40))
def test_the_mu_of_gaussian_releases_is_rounded_up(rhos):
    """mu^2 is 2 rho, added up: exactly, in fractions."""
    exact = sum(2 * Fraction(rho) for rho in rhos)
    mu = Fraction(compose_gdp([GaussianMechanism(rho) for rho in rhos]))
    assert exact <= mu**2 <= exact * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize("mechanisms", [[], [GaussianMechanism(0.0)], [ExponentialMechanism(0.0)] * 3])
def test_prices_of_nothing_are_multiplied_by_2_at_most(mechanisms):
    assert largest_factor(mechanisms, 0.1) == 2
    assert largest_factor([*mechanisms, GaussianMechanism(1e-9)], 0.1) == 2


@pytest.mark.parametrize("mechanism", [GaussianMechanism(0.01), ExponentialMechanism(0.01), LaplacePeeling(0.01, 1.0)])
def test_what_takes_all_of_a_limit_is_within_it(mechanism):
    """Of mu, of a pure epsilon and of rho: a limit is what may be spent, and the least bit above it is not."""
    composed = compose(slots(mechanism))
    for name, spent in (("rho", composed.rho), ("mu", composed.mu), ("pure_epsilon", composed.pure_epsilon)):
        if spent == math.inf:
            continue
        for limit, holds in ((spent, True), (math.nextafter(spent, 0), False)):
            limits = dict.fromkeys(("rho_per_record", "mu_per_record", "pure_epsilon_per_record"), 0.0)
            guarantee = SimpleNamespace(epsilon=1.0, delta=1e-5, **{**limits, f"{name}_per_record": limit})
            assert composed.is_within(guarantee) is holds


def test_with_failures_the_epsilon_that_is_spent_may_be_all_of_it():
    composed = compose(slots(Fallible(0.005, failure_probability=4e-6)))
    spent = GUARANTEE.epsilon_spent(0.005, failure_probability=4e-6)
    for epsilon, holds in ((spent, True), (spent * (1 - 1e-9), False)):
        assert composed.is_within_by_sums(Guarantee(epsilon, GUARANTEE.delta)) is holds
