"""Replay on random neighbours, and a proof that its pairs reach the bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.audit.checks.replay import ESTIMATORS, replay_all, replay_pair
from dpsparse.audit.harness.neighbors import N_FEATURES, STORAGES, Pair, pairs
from dpsparse.privacy.guarantee import ADJACENCIES

pytestmark = pytest.mark.slow

HOSTILE = [0.0, -0.0, 5e-324, 1e-300, 0.4, 0.5, 1.0, 1.5, 1e150, 1e300, 1.7976931348623157e308, np.inf, np.nan]
value = st.one_of(st.sampled_from(HOSTILE + [-v for v in HOSTILE]), st.floats(-3, 3))
record = st.lists(value, min_size=1 + N_FEATURES, max_size=1 + N_FEATURES).map(np.array)


@pytest.mark.parametrize("name", ["PrivateSparseRegressor", "DPIHTH", "DPIHTL"])
@settings(max_examples=25, deadline=None)
@given(record, record, st.integers(0, 25), st.sampled_from(list(STORAGES)), st.sampled_from(ADJACENCIES), st.booleans())
def test_random_neighbors(name, first, second, position, storage, adjacency, duplicates):
    companions = pairs()[0].companions
    if duplicates:
        companions = tuple(np.tile(np.nan_to_num(row), (len(companions[0]), 1)) for row in (first, second))
    pair = Pair("random", companions, first, second, position)
    violation, _ = replay_pair(ESTIMATORS[name](adjacency=adjacency), pair, storage, adjacency)
    assert violation is None


@pytest.mark.parametrize(
    ("name", "releases"), [("PrivateSparseRegressor, all features", 22), ("PrivateSparseRegressor, Gram rows", 21)]
)
def test_every_release_of_a_pursuit_comes_up_to_its_bound(name, releases):
    violation, shares = replay_all(name, "replace-one")
    assert violation is None
    assert len(shares) == releases
    assert {release: share for release, share in shares.items() if share < 0.99} == {}
