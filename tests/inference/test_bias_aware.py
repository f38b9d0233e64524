"""Intervals about estimates whose bias is bounded, against closed forms."""

import numpy as np
import pytest
from scipy import stats

from dpsparse.inference.bias_aware import critical_value, widened_errors

BIASES = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0])


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_a_critical_value_covers_as_often_as_it_says(level):
    reach = critical_value(BIASES, level)
    covered = stats.norm.cdf(reach - BIASES) - stats.norm.cdf(-reach - BIASES)
    np.testing.assert_allclose(covered, level, atol=1e-9)
    assert reach[0] == pytest.approx(stats.norm.ppf((1 + level) / 2))
    # Far from 0 one end alone can be missed.
    assert reach[-1] == pytest.approx(30 + stats.norm.ppf(level))
    assert (np.diff(reach) > 0).all()


def test_errors_are_widened_by_bias_alone():
    errors = np.array([0.5, 2.0, 1.0])
    np.testing.assert_allclose(widened_errors(errors, np.zeros(3), 0.9), errors)
    found = widened_errors(errors, np.array([0.5, 2.0, 5.0]), 0.9)
    np.testing.assert_allclose(found[0] / errors[0], found[1] / errors[1])
    assert (found > errors).all()
    # The bias-aware interval of this level, by definition.
    np.testing.assert_allclose(found * stats.norm.ppf(0.95), errors * critical_value([1.0, 1.0, 5.0], 0.9))


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_intervals_of_higher_levels_cover_too(level):
    errors = widened_errors(np.ones(len(BIASES)), BIASES, 0.9)
    assert (errors * stats.norm.ppf((1 + level) / 2) >= critical_value(BIASES, level) - 1e-9).all()


def test_a_bias_far_beyond_the_error_is_the_width():
    found = widened_errors(np.array([1e-9]), np.array([1.0]), 0.9)
    assert found[0] * stats.norm.ppf(0.95) == pytest.approx(1.0, rel=1e-6)
