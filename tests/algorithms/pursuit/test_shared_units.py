"""Units that pursuits share: who releases them, who takes them over, and among which features that one selects."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts, Sharing
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.pursuit import Pursuit
from dpsparse.algorithms.pursuit.schedule import Schedule, n_with_units, schedule_for
from dpsparse.algorithms.pursuit.shared_units import SharedUnits, selectable, splits, with_released
from dpsparse.data.as_table import as_table
from dpsparse.data.public_units import public_units
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SeededSource

GUARANTEE = Guarantee(4.0, 1e-6)
RNG = np.random.default_rng(5)
N, D = 3_000, 12
# The last feature is 1 for most records, and its median is 1.
X = np.column_stack([1_000 + 30 * RNG.standard_normal((N, D - 1)), RNG.random(N) < 0.8])
Y = 0.1 * (X[:, 3] - 1_000) - 0.05 * (X[:, 7] - 1_000) + 3 * X[:, -1] + RNG.standard_normal(N)

all_together = st.builds(
    PublicFacts,
    n=st.integers(10, 10**6),
    d=st.integers(1, 500),
    sparsity=st.integers(1, 20),
    rho=st.floats(1e-5, 5),
    units_known=st.sampled_from(["all", "none", "some"]),
    fit_intercept=st.booleans(),
    missing=st.booleans(),
)


def of(numbers, **others):
    names = ("n", "d", "sparsity", "rho", "units_known", "fit_intercept", "missing")
    return PublicFacts(**{name: getattr(numbers, name) for name in names} | others)


SHARED = {
    *("responses", "response size", "response centre", "response scale"),
    *("unit share", "unit size", "unit spread", "unit tail", "unit centre", "unit mean"),
}


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(all_together, st.floats(0.05, 1.0), st.integers(1, 20))
def test_one_fit_pays_for_units_and_the_others_have_no_slots_for_them(numbers, share, sparsity):
    whole = Schedule(numbers)
    rho = share * numbers.rho
    lead = Schedule(of(numbers, rho=rho, sharing=Sharing(numbers)), of_units=whole)
    assert not any(slot.group in SHARED for slot in lead.slots())
    assert tuple(slot for slot in lead.pursuit if slot.group in SHARED) == whole.shared
    # Own slots keep their order, and the picks are as many as the units.
    assert tuple(slot for slot in lead.pursuit if slot.group not in SHARED) == lead.slots()
    n_picks = decisions.n_picks(numbers)
    assert decisions.n_picks(lead.facts) == n_picks
    names = [slot.name for slot in lead.pursuit]
    for k in range(1, n_picks + 1):
        if f"pick {k}" in names and f"unit size {k}" in names:
            assert names.index(f"pick {k}") < names.index(f"unit size {k}") < names.index(f"gradient {k}")
    n_known = numbers.d if numbers.units_known == "all" else 0
    sharing = Sharing(numbers, n_with_units(whole, n_known))
    later = of(numbers, rho=rho, sparsity=sparsity, sharing=sharing)
    assert not any(slot.group in SHARED for slot in Schedule(later, of_units=whole).pursuit)
    assert decisions.learns_units(later) == decisions.learns_units(numbers)
    if not numbers.known:
        assert later.n_candidates <= n_picks
        assert later.takes_over_units
        assert not decisions.compares_pairs(later)


def test_units_that_are_public_or_released():
    units = public_units([1.0, 2.0, np.nan, np.nan], [1.0, np.nan, np.nan, 3.0], range(4))
    released = FeatureUnit().with_size(0.9539).with_center(10.0)
    of_gap = FeatureUnit().with_size(1.0)
    by_feature = {2: released, 5: of_gap}
    assert selectable(units, by_feature, 4).tolist() == [0, 2, 5]
    assert selectable(units, {}, 4).tolist() == [0]
    merged = with_released(units, by_feature, 4)
    np.testing.assert_array_equal(merged.center, [1.0, 2.0, 10.0, np.nan])
    np.testing.assert_allclose(merged.scale, [1.0, np.nan, 1.0, 3.0], rtol=1e-4)
    assert splits(units, by_feature, 4).tolist() == [1.0, 2.0, 10.0, 0.0]
    # The public units are as they were.
    assert np.isnan(units.center[2])


@pytest.mark.parametrize(("mean", "side"), [(0.4, 1.0), (-0.4, 0.0)])
def test_a_lump_at_the_median_is_told_from_the_values_beyond_it(mean, side):
    """A median of 0 or 1 of a 0/1 feature: the split separates the two values."""
    unit = FeatureUnit().with_size(1.0).with_center(1.0 - side).with_mean(mean, 0.5, 0.01)
    split = splits(public_units(None, None, range(1)), {0: unit}, 1)[0]
    assert -1e-9 <= split < 1.0


def pursue(shared, schedule, units):
    meter = Meter(GUARANTEE, N, SeededSource(3))
    made = Pursuit(as_table(X).rows(Y), meter, schedule, units=units, shared=shared)
    return made, made.run()


def test_a_later_pursuit_selects_among_released_features_and_reads_them_in_their_units(monkeypatch):
    # Each pursuit has a meter of its own here, and the first one fills the slots of the whole too.
    monkeypatch.setattr(Meter, "_is_committed", lambda *_: True)
    monkeypatch.setattr(Meter, "skip", lambda *_: None)
    units = public_units(None, None, range(D))
    public = {"units_known": "none"}
    whole = schedule_for(GUARANTEE, N, D, 4, **public)
    shared = SharedUnits()
    first, _ = pursue(shared, schedule_for(GUARANTEE, N, D, 4, of_units=whole, **public), units)
    assert list(shared.features) == first.state.features
    assert len(shared.features) == decisions.n_picks(whole.facts) < D
    assert {3, 7, D - 1} <= shared.features.keys()
    before = dict(shared.features)
    later, result = pursue(
        shared, schedule_for(GUARANTEE, N, D, 2, of_units=whole, n_selectable=n_with_units(whole, 0), **public), units
    )
    assert set(later.state.features) <= shared.features.keys()
    assert [each.unit for each in later.state.columns] == [shared.features[j] for j in later.state.features]
    assert (later.state.center, later.state.response_scale) == (first.state.center, first.state.response_scale)
    assert shared.features == before
    assert result.features.learned.all()
    np.testing.assert_allclose(
        result.features.effects / result.features.scale,
        [{3: 0.1, 7: -0.05, D - 1: 3}[j] for j in result.features.support],
        rtol=0.5,
    )
