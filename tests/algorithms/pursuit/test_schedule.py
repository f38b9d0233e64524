"""The schedule: what it commits to is a function of public numbers, adds up to the budget, and can be carried out."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.decisions import takes_all
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_constants import LEAST_SIZE, N_STEPS, SPARE_PICKS, TINY
from dpsparse.algorithms.pursuit.schedule import Schedule, schedule_for
from dpsparse.families.estimands import MEAN, TYPICAL
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, RepeatedPicks
from dpsparse.privacy.guarantee import Guarantee

public_numbers = st.builds(
    PublicFacts,
    n=st.integers(2, 10**7),
    d=st.integers(1, 10**6),
    sparsity=st.integers(1, 100),
    rho=st.floats(1e-8, 50),
    units_known=st.sampled_from(["all", "none", "some"]),
    center_known=st.booleans(),
    scale_known=st.booleans(),
    fit_intercept=st.booleans(),
)
# The releases that are picks by the exponential mechanism; the others have Gaussian noise.
PICKS = {
    *("response size", "response centre", "response scale", "pick", "unit size", "unit tail", "unit centre", "slope"),
    *("second slope", "residual scale", "response range", "residual median"),
}


@settings(max_examples=300, deadline=None)
@given(public_numbers)
def test_prices_add_up_to_the_budget(numbers):
    total = math.fsum(slot.rho for slot in Schedule(numbers).slots())
    assert total <= numbers.rho
    assert total == pytest.approx(numbers.rho, rel=1e-8)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(public_numbers)
def test_every_slot_has_a_price_and_a_mechanism(numbers):
    slots = Schedule(numbers).slots()
    assert len({slot.name for slot in slots}) == len(slots)
    for slot in slots:
        assert slot.rho > 0
        kind = RepeatedPicks if slot.name == "splits" else ExponentialMechanism if slot.group in PICKS else None
        assert isinstance(slot.mechanism, kind or GaussianMechanism)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(public_numbers)
def test_the_commitment_is_the_concatenation_of_the_steps_slots(numbers):
    schedule = Schedule(numbers)
    planned = [planned.name for step in schedule.steps for planned in step.planned()]
    names = [slot.name for slot in schedule.slots()]
    assert len(set(planned)) == len(planned)
    assert names == [name for name in planned if name in set(names)]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(public_numbers)
def test_a_schedule_is_a_function_of_public_numbers(numbers):
    again = PublicFacts(**{name: getattr(numbers, name) for name in PublicFacts.__dataclass_fields__})
    assert Schedule(again).slots() == Schedule(numbers).slots()


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(public_numbers)
def test_as_many_features_as_asked_and_at_most_one_more(numbers):
    n_picks, selects = decisions.n_picks(numbers), decisions.selects(numbers)
    most = min(numbers.d, decisions.most_features(numbers))
    assert min(numbers.sparsity, most) <= n_picks <= min(numbers.sparsity + SPARE_PICKS, most)
    assert most == numbers.d or (numbers.size < TINY and not numbers.known)
    assert most > 0 or (numbers.size < LEAST_SIZE and numbers.fit_intercept)
    names = [slot.name for slot in Schedule(numbers).slots()]
    picks = [name for name in names if name.startswith("pick ")]
    assert len(picks) == (n_picks if selects else 0)
    assert selects == (numbers.d > n_picks)
    # A slot that needs another one follows it.
    assert names.count("Jacobian") == names.count("score variance") == decisions.releases_sandwich(numbers)
    for before, after in (("pick 1", "gradient 1"), ("unit size 1", "gradient 1"), ("response size", "response scale")):
        if before in names and after in names:
            assert names.index(before) < names.index(after)
    assert names[-1] == ("residual median" if numbers.fit_intercept else "gain")
    assert sum(name.startswith("descent") for name in names) == (0 if selects else N_STEPS)
    gradients = [k for k, name in enumerate(names) if "gradient" in name and not name.startswith("fraction")]
    assert all(names[k + 1] == f"fraction at {names[k]}" for k in gradients)


@pytest.mark.slow
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
        assert numbers.size >= 1050 or not any(group.startswith("unit") for group in groups)
    elif decisions.looks_at_features(numbers):
        assert "unit size" in groups
    else:
        # Nothing is released about features.
        assert not groups & {"splits", "level", "pick", "unit size", "Gram matrix", "gradient"}
        assert {"final gradient", "response range", "calibration"} <= groups


@pytest.mark.slow
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
    plain = Schedule(schedule.facts).slots()
    assert [(slot.name, type(slot.mechanism)) for slot in plain] == [
        (slot.name, type(slot.mechanism)) for slot in schedule.slots()
    ]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(public_numbers, st.floats(1.0, 3.0))
def test_final_residuals_are_clipped_within_limits(numbers, factor):
    assert 0.6 <= Schedule(numbers, factor).final_tau <= 1.1


@pytest.mark.parametrize(
    ("size", "estimand", "expected"),
    [
        # Of 5 features effects on the mean can be had from N = 407 on, of 50 from 6,556 on.
        (400, MEAN, True),  # of neither
        (420, MEAN, False),  # of a few alone
        (6_600, MEAN, True),
        (700, TYPICAL, True),
    ],
)
def test_all_features_are_taken_unless_a_selection_alone_has_effects_on_the_mean(size, estimand, expected):
    n = 10_000
    assert takes_all(n, 50, (size / n) ** 2, known=True, family=RobustLinear(estimand=estimand)) is expected
