"""Sums of errors: exact integers, each record's within its bounds, and nothing from a record without a response."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.engine.errors import HALF_LEVELS, Errors, levels
from dpsparse.engine.vector_sums import VECTOR_LEVELS

HOSTILE = [0.0, -0.0, 5e-324, 1e-300, 0.5, 1.0, 1e150, 1e300, 1.7976931348623157e308, np.inf, np.nan]
value = st.one_of(st.sampled_from(HOSTILE + [-v for v in HOSTILE]), st.floats(-4, 4))
limit = st.sampled_from([5e-324, 1e-300, 1e-6, 0.25, 1.0, 3.0, 1e12, 1e300])


def every_sum(errors, cut, bound):
    return [
        errors.count(),
        errors.error_sums(cut),
        errors.improvement_sums(bound),
        errors.square_sums(cut, bound),
        errors.cut_counts(cut, bound),
    ]


@given(value, value, value, limit, limit)
def test_a_record_s_terms_are_integers_within_their_bounds(response, prediction, constant, cut, bound):
    errors = Errors.of(np.array([response]), np.array([prediction]), constant)
    count, of_errors, improvement, squares, beyond = every_sum(errors, cut, bound)
    assert all(each.dtype == np.int64 for each in (count, of_errors, improvement, squares, beyond))
    assert count[0] in (0, 1)
    assert np.abs(of_errors).max() <= HALF_LEVELS
    assert abs(improvement[0]) <= VECTOR_LEVELS
    assert 0 <= squares.min() <= squares.max() <= VECTOR_LEVELS
    assert set(beyond.tolist()) <= {0, 1}
    if not count[0]:
        assert not any(each.any() for each in every_sum(errors, cut, bound))


@given(st.lists(st.tuples(value, value), min_size=1, max_size=6), limit, limit)
def test_sums_are_those_of_the_records_one_by_one(records, cut, bound):
    responses, predictions = np.array(records).T
    whole = every_sum(Errors.of(responses, predictions, 0.5), cut, bound)
    apart = [every_sum(Errors.of(responses[[i]], predictions[[i]], 0.5), cut, bound) for i in range(len(records))]
    for place, sums in enumerate(whole):
        np.testing.assert_array_equal(sums, sum(each[place] for each in apart))


def test_sums_are_the_means_they_stand_for():
    rng = np.random.default_rng(0)
    y, f = rng.standard_t(2, 500), rng.normal(size=500)
    y[::7] = np.nan
    seen = ~np.isnan(y)
    errors = Errors.of(y, f, 0.25)
    a, b = np.abs(y - f)[seen], np.abs(y - 0.25)[seen]
    cut, bound = 1.5, 0.75
    assert errors.count()[0] == seen.sum()
    shifted = [(np.minimum(each, cut) / cut - 0.5).sum() for each in (a, b)]
    np.testing.assert_allclose(errors.error_sums(cut) / VECTOR_LEVELS, shifted, atol=1e-3)
    d = np.clip(b - a, -bound, bound) / bound
    np.testing.assert_allclose(errors.improvement_sums(bound) / VECTOR_LEVELS, [d.sum()], atol=1e-3)
    squares = [(np.minimum(a, cut) ** 2).sum() / cut**2, (np.minimum(b, cut) ** 2).sum() / cut**2, (d**2).sum()]
    np.testing.assert_allclose(errors.square_sums(cut, bound) / VECTOR_LEVELS, squares, atol=1e-3)
    assert errors.cut_counts(cut, bound).tolist() == [(a > cut).sum(), (b > cut).sum(), (np.abs(b - a) > bound).sum()]
    grid = np.array([0.1, 1.0, 9.0])
    assert errors.size_counts(grid).tolist() == [(np.maximum(a, b) <= g).sum() for g in grid]
    assert errors.improvement_counts(grid).tolist() == [(np.abs(b - a) <= g).sum() for g in grid]


@pytest.mark.parametrize("response", [np.nan, np.inf, -np.inf])
def test_a_response_that_is_not_finite_is_none(response):
    errors = Errors.of(np.array([response]), np.array([1.0]), 0.0)
    assert not errors.count().any()
    assert not errors.size_counts(np.array([1e300])).any()
    assert not errors.improvement_counts(np.array([1e300])).any()


def test_levels_round_to_the_nearest():
    step = 1 / VECTOR_LEVELS
    assert levels(np.array([0.4 * step, 0.6 * step, -0.6 * step]), 1.0).tolist() == [0, 1, -1]


def test_what_is_as_large_as_a_cut_is_not_cut():
    errors = Errors.of(np.array([3.0]), np.array([2.0]), 1.0)
    assert errors.cut_counts(1.0, 1.0).tolist() == [0, 1, 0]
    assert errors.cut_counts(2.0, 0.5).tolist() == [0, 0, 1]
