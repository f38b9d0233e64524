"""Replay on random neighbours, and a proof that its pairs reach the bounds."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shares import one_in

from dpsparse import PrivateSparseRegressor
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.algorithms.pursuit.steps import closing
from dpsparse.audit.checks import check_replay
from dpsparse.audit.checks.check_replay import check_estimator, replay_all, replay_pair
from dpsparse.audit.harness.attacked import (
    ALL_FEATURES,
    CLASSIFIERS,
    COUNTS,
    ESTIMATORS,
    EVALUATIONS,
    LOOPS,
    PEOPLE,
    PURSUITS,
    REFERENCES,
    TUNED,
    TWO_PARTS,
)
from dpsparse.audit.harness.neighbors import N_FEATURES, N_RECORDS, STORAGES, Pair, pairs
from dpsparse.audit.run import CHECKS
from dpsparse.engine.threads import threads
from dpsparse.families.estimands import MEAN
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.privacy.protection import ADJACENCIES

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

HOSTILE = [0.0, -0.0, 5e-324, 1e-300, 0.4, 0.5, 1.0, 1.5, 1e150, 1e300, 1.7976931348623157e308, np.inf, np.nan]
value = st.one_of(st.sampled_from(HOSTILE + [-v for v in HOSTILE]), st.floats(-3, 3))
record = st.lists(value, min_size=1 + N_FEATURES, max_size=1 + N_FEATURES).map(np.array)


UNKNOWN = "PrivateSparseRegressor, units unknown, every release"


TYPICAL = "PrivateSparseRegressor, step to the typical response"
YES_NO = "PrivateSparseClassifier, units unknown"


@pytest.mark.parametrize("name", ["PrivateSparseRegressor", UNKNOWN, TYPICAL, YES_NO, "DPIHTH", "DPIHTL"])
@settings(max_examples=25, deadline=None)
@given(
    record,
    record,
    st.integers(0, N_RECORDS - 1),
    st.sampled_from(list(STORAGES)),
    st.sampled_from(ADJACENCIES),
    st.booleans(),
)
def test_random_neighbors(name, first, second, position, storage, adjacency, duplicates):
    companions = pairs()[0].companions
    if duplicates:
        companions = tuple(np.tile(np.nan_to_num(row), (len(companions[0]), 1)) for row in (first, second))
    pair = Pair("random", companions, first, second, position)
    violation, _ = replay_pair(ESTIMATORS[name](adjacency=adjacency), pair, storage, adjacency)
    assert violation is None


# The largest change is short of the bound where the set of a record's terms is smaller than a ball: (a, a^2 - 1/2) has
# a diameter of 2 in a ball of radius sqrt 1.25, a gain's terms one of 2 in a ball of radius sqrt 1.5, and the two
# columns at a right angle to the constant share its row. Second moments of two scores come up to their bound where
# these are at a right angle, as no pair's are here.
SHORT = {
    "unit mean": 0.89,
    "gradient": 0.79,
    "final gradient": 0.79,
    "score variance": 0.79,
    "gain": 0.8,
    "score moments": 0.98,
}


def test_every_kind_of_release_of_a_pursuit_comes_up_to_its_bound(monkeypatch):
    """A count within a clip that is narrow by chance moves for no pair; the same count at another step does."""
    # Effects of so few records are not relied on, and without them all predictions are equal.
    monkeypatch.setattr(closing, "trusted", lambda _, __, errors: np.ones(len(errors), dtype=bool))
    violation, shares = replay_all(UNKNOWN, "replace-one")
    assert violation is None
    kinds = {name.rstrip(" 0123456789") for name in shares}
    largest = {kind: max(share for name, share in shares.items() if name.startswith(kind)) for kind in kinds}
    assert {kind: share for kind, share in largest.items() if share < SHORT.get(kind, 0.99)} == {}


def shares_of(name):
    """What one pair shows: which releases are made does not depend on the pair, or the audit would notice."""
    violation, shares = replay_pair(ESTIMATORS[name](adjacency="zero-out-one"), pairs()[0], "C order", "zero-out-one")
    assert violation is None
    return shares


def test_the_replayed_fits_make_every_release_there_is():
    everything = PublicFacts(10_000, 60, 5, 1.0, units_known="none")
    everything = replace(everything, family=RobustLinear(estimand=MEAN))
    groups = {slot.group for slot in Schedule(everything, reference_rho=1.0).slots()}
    shares = shares_of(UNKNOWN)
    assert {"row norms", "mean score", "mean residual"} <= groups
    assert groups == {name.rstrip(" 0123456789") for name in shares}
    everything = replace(everything, d=4, sparsity=4, fit_intercept=False)
    groups = {slot.group for slot in Schedule(everything, reference_rho=1.0).slots()}
    shares = shares_of(f"{UNKNOWN.partition(', every')[0]}, all features, no intercept")
    assert "descent" in groups
    assert groups == {name.rstrip(" 0123456789") for name in shares}


@pytest.mark.parametrize(("name", "adjacency"), one_in(2, [*REFERENCES], ADJACENCIES))
def test_every_release_of_a_step_comes_up_to_its_bound(name, adjacency):
    violation, shares = replay_all(name, adjacency)
    assert violation is None
    assert {"row norms", "score norms", "white score norms", "first mean score", "mean score"} <= set(shares)
    assert ("final residual scale" in shares) == ("median line" in shares) == ("typical" in name)
    assert ("first residual scale" in shares) == ("second mean score" in shares) == ("typical" in name)
    for release in ("row norms", "score norms", "white score norms", "mean score"):
        assert shares[release] > 0.99, release
    # Where residuals are clipped and long rows weigh less, no score is as long as the clip of all.
    assert shares["first mean score"] > (0.7 if "typical" in name else 0.99)
    # Second moments need two records at right angles to each other. Scores come near that where residuals differ in
    # sign and rows in direction; for rows within Huber's clip, both, no pair is made.
    assert shares["score moments"] > (0.8 if "typical" in name else 0.95)
    assert min(shares["rough row moments"], shares["row moments"]) > 0.5
    # The clip of far rows lies beyond most rows of these tables.
    assert shares["far row moments"] > 0.1


# Steps to an estimator, the replays of "replay of reference steps", are above.
REPLAYS = {
    "replay of pursuits": PURSUITS,
    "replay of all features": ALL_FEATURES,
    "replay of classifiers": CLASSIFIERS,
    "replay of people": PEOPLE,
    "replay of counts": COUNTS,
    "replay of two parts": TWO_PARTS,
    "replay of loops": LOOPS,
    "replay of tuning": TUNED,
    "replay of evaluations": EVALUATIONS,
}


@pytest.mark.parametrize(
    ("name", "adjacency"), one_in(2, [name for names in REPLAYS.values() for name in names], ADJACENCIES)
)
def test_an_estimator_stays_within_its_bounds(name, adjacency):
    finding = check_estimator(name, adjacency)
    assert finding.good, finding.found


@pytest.mark.parametrize("check", [*REPLAYS, "replay of reference steps"])
def test_the_audit_replays_the_same(check, monkeypatch):
    """`test_run.py` leaves these checks out."""
    monkeypatch.setattr(check_replay, "check_estimator", lambda *asked: asked)
    assert {*CHECKS[check]()} == {*itertools.product(REPLAYS.get(check, REFERENCES), ADJACENCIES)}


@pytest.mark.parametrize(("storage", "adjacency"), one_in(2, ["C order", "CSR", "float32"], ADJACENCIES))
def test_a_fit_of_real_size(storage, adjacency):
    rng = np.random.default_rng(7)
    n, d = 10_001, 60
    companions = tuple(
        np.round(rng.standard_t(3, (n, d + 1)) * 10.0 ** rng.integers(-3, 4, d + 1), 3) for _ in range(2)
    )
    for table in companions:
        table[:, 3] = rng.random(n) < 0.1
        table[:, 0] += 3 * table[:, 1] + 2 * table[:, 3]
    first, second = companions[0][17].copy(), np.full(d + 1, 1e6)
    first[3], second[3] = 1.0, 0.0
    pair = Pair("of real size", companions, first, second, position=4_321)
    model = PrivateSparseRegressor(sparsity=5, epsilon=1.0, delta=1e-6, adjacency=adjacency)
    # In one thread, so that the sums of blocks come onto the tape in order.
    with threads(1):
        violation, shares = replay_pair(model, pair, storage, adjacency)
    assert violation is None
    assert {"splits", "slope 1", "unit size 1", "Jacobian", "gain", "calibration", "residual median"} <= set(shares)
    assert max(shares.values()) > 0.9
