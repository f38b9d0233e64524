"""Candidates among the hash buckets of text columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.io.cells.encoding import encode
from dpsparse.io.cells.grammar import N_BUCKETS, bucket
from dpsparse.io.cells.raw_table import FrameTable
from dpsparse.io.table_features import Feature
from dpsparse.learning import categories
from dpsparse.learning.categories import (
    MOST_CATEGORIES,
    MOST_FEATURES,
    baseline_bucket,
    category_features,
    is_rare,
    missing_feature,
    release_categorical,
)
from dpsparse.learning.noisy_counts import NoisyCounts


def counts(**of_texts):
    made = np.zeros(N_BUCKETS)
    for text, count in of_texts.items():
        made[bucket(text)] += count
    return made


def test_the_largest_bucket_is_the_baseline_and_small_ones_are_another():
    features = category_features("region", counts(north=500, south=300, west=150, east=30), 10.0, 1_000)
    assert [each.buckets for each in features[:2]] == [(bucket("south"),), (bucket("west"),)]
    (other,) = features[2:]
    assert other.other
    assert set(other.buckets) == {bucket("north"), bucket("south"), bucket("west")}
    assert baseline_bucket(features, "region") == bucket("north")
    assert baseline_bucket(features, "age") is None


def test_rare_categories_are_no_candidates_however_little_noise_there_is():
    features = category_features("region", counts(north=99_000, south=150), 0.01, 100_000)
    assert [each.buckets for each in features if each.buckets and not each.other] == []


def test_without_a_common_bucket_there_is_no_feature():
    assert category_features("id", np.ones(N_BUCKETS), 10.0, 1_024) == []


@given(
    st.dictionaries(st.integers(0, N_BUCKETS - 1), st.floats(-1e5, 1e6), max_size=60),
    st.floats(-1e3, 1e3),
    st.floats(0.1, 1e3),
)
def test_a_column_has_no_more_features_than_the_public_cap(listed, others, noise):
    noisy = np.full(N_BUCKETS, others)
    noisy[list(listed)] = list(listed.values())
    features = category_features("text", noisy, noise, 1_000)
    assert len(features) <= MOST_FEATURES
    assert len({each.name for each in features}) == len(features)
    for each in features:
        if each.other:
            assert len(each.buckets) <= MOST_CATEGORIES


def test_every_text_counts_in_one_way():
    texts = ["north", "south", "west", "elsewhere", None, " north ", ""]
    raw = FrameTable(pd.DataFrame({"region": texts}))
    features = category_features("region", counts(north=500, south=300, west=150), 10.0, 1_000)
    features.append(missing_feature("region"))
    encoded = encode(raw, features)
    #                         south  west  another  missing
    expected = [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(encoded, expected)


def test_numbers_come_by_their_kinds_in_the_order_of_the_features():
    raw = FrameTable(pd.DataFrame({"fee": ["1,234", "x"], "age": [3.0, np.nan], "date": ["31/01/1970", ""]}))
    features = [
        Feature("age", kind="number"),
        Feature("age", kind="number", missing=True),
        Feature("date", kind="date_dmy"),
        Feature("fee", kind="number_grouped"),
    ]
    np.testing.assert_array_equal(encode(raw, features), [[3.0, 0.0, 30.0, 1234.0], [np.nan, 1.0, np.nan, np.nan]])
    np.testing.assert_array_equal(encode(raw, features[:1]), [[3.0], [np.nan]])


def test_another_is_rare_where_nearly_all_text_is_listed():
    noisy = counts(north=500, south=300, west=150)
    other = category_features("region", noisy, 10.0, 1_000)[-1]
    assert is_rare(noisy, 10.0, other, filled=960.0, filled_noise=10.0)
    assert not is_rare(noisy, 10.0, other, filled=1_000.0, filled_noise=10.0)


@pytest.mark.parametrize(
    ("distinct", "categorical", "many"),
    [(1_000, [], ["c"]), (200, ["c"], []), (210, ["c"], []), (230, [], []), (240, [], ["c"])],
)
def test_many_values_are_said_only_where_that_is_sure(monkeypatch, open_meter, distinct, categorical, many):
    """The limit is a fifth of 1,000 records. 2 deviations of 10 above it no text is used; above 3.5 that is said."""
    monkeypatch.setattr(categories, "release_counts", lambda *_: NoisyCounts(np.array([float(distinct)]), 10.0))
    meter, slots = open_meter(1_000)
    raw = FrameTable(pd.DataFrame({"c": ["x"] * 1_000}))
    assert release_categorical(meter, slots["distinct values"], raw, ["c"]) == (categorical, many)
