"""The schedule: what it commits to is a function of public numbers, adds up to the budget, and can be carried out."""

import inspect
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.algorithms.pursuit import pursuit
from dpsparse.algorithms.pursuit.schedule import N_STEPS, PICKS, Schedule, schedule_for
from dpsparse.algorithms.pursuit.settings import SPARE_PICKS, Settings
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, RepeatedPicks
from dpsparse.privacy.guarantee import Guarantee

public_numbers = st.builds(
    Settings,
    n=st.integers(2, 10**7),
    d=st.integers(1, 10**6),
    sparsity=st.integers(1, 100),
    rho=st.floats(1e-8, 50),
    units_known=st.sampled_from(["all", "none", "some"]),
    center_known=st.booleans(),
    scale_known=st.booleans(),
    fit_intercept=st.booleans(),
)
# The groups of slots that another handler makes together with its own.
BESIDE = {"fraction at gradient", "fraction at final gradient"}


# The groups of slots for which `Pursuit.run` has a handler.
HANDLED = set(re.findall(r'"([\w ]+)": (?:self|closing_steps|all_at_once)\.', inspect.getsource(pursuit.Pursuit.run)))


@settings(max_examples=300, deadline=None)
@given(public_numbers)
def test_prices_add_up_to_the_budget(numbers):
    total = math.fsum(slot.rho for slot in Schedule(numbers).slots())
    assert total <= numbers.rho
    assert total == pytest.approx(numbers.rho, rel=1e-8)


@settings(max_examples=200, deadline=None)
@given(public_numbers)
def test_every_slot_has_a_price_a_kind_and_a_handler(numbers):
    slots = Schedule(numbers).slots()
    assert len({slot.name for slot in slots}) == len(slots)
    for slot in slots:
        assert slot.rho > 0
        assert slot.group in HANDLED | BESIDE
        kind = RepeatedPicks if slot.name == "splits" else ExponentialMechanism if slot.group in PICKS else None
        assert isinstance(slot.mechanism, kind or GaussianMechanism)


@settings(max_examples=100, deadline=None)
@given(public_numbers)
def test_a_schedule_is_a_function_of_public_numbers(numbers):
    again = Settings(**{name: getattr(numbers, name) for name in Settings.__dataclass_fields__})
    assert Schedule(again).slots() == Schedule(numbers).slots()


@settings(max_examples=200, deadline=None)
@given(public_numbers)
def test_as_many_features_as_asked_and_at_most_one_more(numbers):
    assert min(numbers.sparsity, numbers.d) <= numbers.n_picks <= min(numbers.sparsity + SPARE_PICKS, numbers.d)
    names = [slot.name for slot in Schedule(numbers).slots()]
    picks = [name for name in names if name.startswith("pick ")]
    assert len(picks) == (numbers.n_picks if numbers.choose else 0)
    assert numbers.choose == (numbers.d > numbers.n_picks)
    # A slot that needs another one follows it.
    assert names.count("Jacobian") == names.count("score variance") == numbers.sandwich
    for before, after in (("pick 1", "gradient 1"), ("unit size 1", "gradient 1"), ("response size", "response scale")):
        if before in names and after in names:
            assert names.index(before) < names.index(after)
    assert names[-1] == ("residual median" if numbers.fit_intercept else "gain")
    assert sum(name.startswith("descent") for name in names) == (0 if numbers.choose else N_STEPS)
    gradients = [k for k, name in enumerate(names) if "gradient" in name and not name.startswith("fraction")]
    assert all(names[k + 1] == f"fraction at {names[k]}" for k in gradients)


@settings(max_examples=100, deadline=None)
@given(public_numbers)
def test_what_is_public_is_not_released(numbers):
    groups = {slot.group for slot in Schedule(numbers).slots()}
    if numbers.scale_known:
        assert not groups & {"response size", "response scale"}
    if numbers.center_known or not numbers.fit_intercept:
        assert "response centre" not in groups
    if not numbers.fit_intercept:
        assert not groups & {"level", "unit centre", "unit mean", "calibration", "residual median"}
    if numbers.known:
        assert not groups & {"splits", "level"}
        assert numbers.size >= 1500 or not any(group.startswith("unit") for group in groups)
    else:
        assert "unit size" in groups


@pytest.mark.parametrize(
    ("n", "d", "sparsity", "guarantee", "units_known"),
    [
        (59, 4, 2, Guarantee(0.1, 1e-6), "some"),
        (2_000, 1_000, 10, Guarantee(1.0, 1e-6), "none"),
        (100_000, 60, 5, Guarantee(1.0, 1e-6), "all"),
        (100_000, 60, 5, Guarantee(4.0, 1e-9, records_per_person=3), "none"),
        # Here the noise is too fine-grained for the Gaussian account: prices are those of zCDP.
        (10_000, 300, 100, Guarantee(20.0, 1e-9), "none"),
    ],
)
def test_a_stretched_schedule_stays_within_its_guarantee(n, d, sparsity, guarantee, units_known):
    schedule = schedule_for(guarantee, n, d, sparsity, units_known=units_known)
    assert schedule.factor >= 1
    assert schedule.commitment.composed.is_within(guarantee)
    # The kinds do not change with the factor.
    plain = Schedule(schedule.settings).slots()
    assert [(slot.name, type(slot.mechanism)) for slot in plain] == [
        (slot.name, type(slot.mechanism)) for slot in schedule.slots()
    ]


@settings(max_examples=100, deadline=None)
@given(public_numbers, st.floats(1.0, 3.0))
def test_final_residuals_are_clipped_within_limits(numbers, factor):
    assert 0.6 <= Schedule(numbers, factor).final_tau <= 1.1
