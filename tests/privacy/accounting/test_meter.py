"""A meter holds a fit to its commitment: every slot once, in order, and paid even where it is skipped."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.gdp import epsilon_from_mu
from dpsparse.privacy.accounting.meter import BudgetExceeded, Commitment, Meter, MeterShare, in_part
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, LaplacePeeling, Release, Slot
from dpsparse.privacy.accounting.zcdp import rho_from_epsilon
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SecureSource, SeededSource

GUARANTEE = Guarantee(1.0, 1e-5)
FINE = 1e9


def gaussian(rho, scale=FINE):
    return GaussianMechanism.drawn(scale=scale, size=1, rho=rho)


def committed(*mechanisms):
    return Commitment(tuple(Slot(f"release {k}", mechanism) for k, mechanism in enumerate(mechanisms)))


def made(slot, **changes):
    return Release(slot.name, replace(slot.mechanism, **changes), 1.0, FINE, slot.part)


def release(mechanism, name="r", part=None):
    return Release(name, mechanism, 1.0, FINE, part)


def meter_for(commitment=None, guarantee=GUARANTEE):
    meter = Meter(guarantee, 100, SecureSource())
    if commitment:
        meter.commit(commitment)
    return meter


THREE = committed(gaussian(0.01), ExponentialMechanism(0.004, 0.2), gaussian(0.01))


def test_the_whole_budget_can_be_spent_and_not_a_bit_more():
    guarantee = Guarantee(0.7, 1e-5)
    meter = meter_for(guarantee=guarantee)
    meter.charge(release(gaussian(guarantee.rho_per_record), "g"))
    assert meter.record().epsilon <= 0.7
    with pytest.raises(BudgetExceeded, match="'g' needs rho"):
        meter.charge(release(gaussian(1e-12), "g"))
    assert len(meter.record().releases) == 1


def test_pure_accounting_admits_what_it_covers():
    guarantee = Guarantee(5.0, 1e-12)
    pure = release(LaplacePeeling(12.5, 5.0))
    assert rho_from_epsilon(5.0, 1e-12) < 12.5
    meter = meter_for(guarantee=guarantee)
    meter.charge(pure)
    assert meter.record().epsilon == 5.0
    with pytest.raises(BudgetExceeded):
        meter.charge(release(gaussian(1e-9)))


def test_a_committed_sequence_is_admitted_that_only_the_gaussian_account_covers():
    guarantee = Guarantee(1.0, 1e-6)
    commitment = committed(ExponentialMechanism(0.002), gaussian(guarantee.mu_per_record**2 / 2 - 1.06 * 0.002))
    assert commitment.composed.rho > guarantee.rho_per_record
    meter = meter_for(commitment, guarantee)
    for slot in commitment.slots:
        meter.charge(made(slot))
    assert meter.record().epsilon <= 1
    with pytest.raises(BudgetExceeded):
        meter.charge(release(gaussian(1e-6)))


def test_a_committed_fit_that_stops_early_reads_as_no_more_than_was_guaranteed():
    commitment = committed(ExponentialMechanism(0.3**2 / 8), gaussian(0.1499**2 / 2), gaussian(0.03**2 / 2))
    guarantee = Guarantee(epsilon_from_mu(commitment.composed.mu * 1.0001, 0.999e-6), 1e-6)
    meter = meter_for(commitment, guarantee)
    for slot in commitment.slots[:2]:
        meter.charge(made(slot))
    record = meter.record()
    assert record.epsilon <= guarantee.epsilon
    assert record.mu <= guarantee.mu_per_record


def test_a_commitment_binds():
    """Which account covers a fit must not depend on what was released: neither bounds a mixture of both."""
    guarantee = Guarantee(1.0, 1e-6)
    commitment = committed(*[gaussian(guarantee.mu_per_record**2 / 8)] * 2)
    meter = meter_for(commitment, guarantee)
    meter.charge(made(commitment.slots[0]))
    with pytest.raises(BudgetExceeded):
        meter.charge(release(gaussian(guarantee.rho_per_record / 100), "release 1"))


def test_a_release_must_be_the_one_of_the_next_slot():
    first, second, third = THREE.slots
    wrong = [
        made(second),
        made(third),
        replace(made(first), name="another"),
        replace(made(first), part=0),
        made(first, rho=0.009),
        made(first, rho=0.011),
        made(first, tv_slack=1e-9),
        made(first, failure_probability=1e-9),
        Release(first.name, ExponentialMechanism(0.01), 1.0, FINE),
    ]
    meter = meter_for(THREE)
    for each in wrong:
        with pytest.raises(BudgetExceeded):
            meter.charge(each)
    with pytest.raises(BudgetExceeded):
        meter.charge(made(first), made(third))
    assert meter.record().releases == ()
    meter.charge(made(first), made(second))
    for used in (first, second):
        with pytest.raises(BudgetExceeded):
            meter.charge(made(used))
    with pytest.raises(BudgetExceeded):
        meter.charge(made(third), made(third))
    meter.charge(made(third))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.booleans(), min_size=3, max_size=3))
def test_skipped_slots_stay_paid(skips):
    meter = meter_for(THREE)
    for slot, is_skipped in zip(THREE.slots, skips, strict=True):
        if is_skipped:
            meter.skip(slot.name)
        else:
            meter.charge(made(slot))
        with pytest.raises(BudgetExceeded):
            meter.charge(made(slot))
    record = meter.record()
    assert record.rho == THREE.composed.rho
    assert record.mu == THREE.composed.mu
    assert record.epsilon == GUARANTEE.epsilon_spent(record.rho, THREE.composed.pure_epsilon, record.mu)
    assert [each.size == 0 for each in record.releases] == skips
    assert [each.mechanism.words == "skipped: paid for, nothing released" for each in record.releases] == skips
    with pytest.raises(RuntimeError, match="not the next release"):
        meter.skip(THREE.slots[-1].name)


def test_only_the_next_slot_can_be_skipped():
    meter = meter_for(THREE)
    for name in ("release 1", "release 2", "nothing"):
        with pytest.raises(RuntimeError, match=f"'{name}' is not the next release"):
            meter.skip(name)
    with pytest.raises(RuntimeError):
        meter_for().skip("release 0")
    assert meter.record().releases == ()


def test_a_skip_charges_the_ledger():
    class Reservation:
        charges = 0

        def charge(self):
            self.charges += 1

    reservation, meter = Reservation(), meter_for(THREE)
    meter.hold(reservation)
    meter.skip("release 0")
    assert reservation.charges == 1


def shared(part=3):
    whole = Meter(GUARANTEE, 100, SeededSource(0))
    whole.commit(Commitment(in_part(THREE, part, "first")))
    return whole, MeterShare(whole, Guarantee(0.5, 1e-6), 80, part=part, name="first")


def test_a_share_charges_the_whole_under_its_own_name_and_part():
    whole, share = shared()
    for slot in THREE.slots:
        share.charge(made(slot))
    names = [slot.name for slot in THREE.slots]
    assert [(r.name, r.part) for r in whole.record().releases] == [(f"first: {name}", 3) for name in names]
    assert [(r.name, r.part) for r in share.record().releases] == [(name, None) for name in names]
    assert share.record().n_records == 80
    with pytest.raises(BudgetExceeded):
        share.charge(made(THREE.slots[0]))
    assert len(share.record().releases) == 3


def test_a_share_skips_in_the_whole():
    whole, share = shared()
    with pytest.raises(RuntimeError):
        share.skip("release 1")
    share.skip("release 0")
    share.charge(made(THREE.slots[1]))
    for meter in (whole, share):
        assert [r.size for r in meter.record().releases] == [0, 1]
        assert meter.record().rho == pytest.approx(0.014)
    assert [r.name for r in share.record().releases] == ["release 0", "release 1"]


def test_a_share_cannot_spend_what_the_whole_did_not_commit_to():
    whole, _ = shared(part=0)
    first, second, _ = THREE.slots
    for part, each in ((1, made(first)), (0, made(second)), (0, made(first, rho=0.02))):
        with pytest.raises(BudgetExceeded):
            MeterShare(whole, GUARANTEE, 80, part=part, name="first").charge(each)
    with pytest.raises(BudgetExceeded):
        MeterShare(whole, GUARANTEE, 80, part=0, name="second").charge(made(first))
    assert whole.record().releases == ()


def test_a_fit_in_parts_cannot_be_a_part():
    with pytest.raises(ValueError, match="divides its rows"):
        in_part(Commitment((Slot("a", LaplacePeeling(0.1), 0),)), 0, "first")


def test_the_mu_of_a_commitment_is_that_of_its_mechanisms():
    assert THREE.composed.mu == compose_gdp([slot.mechanism for slot in THREE.slots])


def test_a_fit_commits_once_and_before_its_first_release():
    meter = meter_for(THREE)
    meter.commit(THREE)
    with pytest.raises(RuntimeError, match="commits once"):
        meter.commit(committed(gaussian(0.001)))
    begun = meter_for()
    begun.charge(release(gaussian(0.001)))
    with pytest.raises(RuntimeError, match="before its first release"):
        begun.commit(committed(gaussian(0.001)))
    with pytest.raises(BudgetExceeded, match=r"the planned releases need rho 2, more than the guarantee's"):
        meter_for(committed(gaussian(2.0)))


def test_a_reservation_needs_a_plan_a_private_source_and_no_release_before_it():
    begun = meter_for(THREE)
    begun.charge(made(THREE.slots[0]))
    seeded = Meter(GUARANTEE, 100, SeededSource(0))
    seeded.commit(THREE)
    for meter in (begun, seeded, meter_for()):
        with pytest.raises(RuntimeError, match="a reservation needs"):
            meter.hold(None)
