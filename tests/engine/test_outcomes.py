"""Counts of records by predicted log odds and response."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.engine.errors import Outcomes
from dpsparse.privacy import sensitivity
from dpsparse.privacy.protection import ADJACENCIES

EDGES = np.linspace(-2, 2, 7)
GROUPS = np.array([0, 0, 1, 2, 2, 2, 3, 3])

value = st.one_of(st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -2.0, 2.0]), st.floats(-4, 4))
response = st.sampled_from([0.0, 1.0, np.nan, 7.0, np.inf])
record = st.tuples(response, value)


def counted(records):
    y, log_odds = np.array(records).T
    outcomes = Outcomes.of(y, log_odds)
    return outcomes.counts(EDGES), outcomes.table(EDGES, GROUPS, 4)


@given(st.lists(record, min_size=1, max_size=6), record, st.integers(0, 5), st.sampled_from(ADJACENCIES))
def test_no_histogram_moves_by_more_than_its_sensitivity(records, other, place, adjacency):
    changed = list(records)
    changed[place % len(records)] = other if adjacency == "replace-one" else (np.nan, 0.0)
    for before, after in zip(counted(records), counted(changed), strict=True):
        assert math.sqrt(np.sum((after - before) ** 2)) <= sensitivity.histograms(1, adjacency)


def test_a_record_counts_once_and_only_with_a_response():
    fine, table = counted([(1.0, 0.1), (0.0, np.inf), (1.0, -np.inf), (np.nan, 0.0), (0.5, 0.0), (1.0, np.nan)])
    assert fine.sum() == table.sum() == 3
    assert (fine[0], fine[-1]) == (1, 1)
    assert table.tolist() == [[0, 0, 0, 1], [1, 0, 1, 0]]
