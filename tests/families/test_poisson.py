"""The family of counts and costs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.families.poisson import EARLY_BOUND, LARGEST_STEP, POISSON


@given(st.floats())
def test_numbers_from_0_on_are_responses(number):
    (response,) = POISSON.responses(np.array([number]))
    assert response == number if number >= 0 else np.isnan(response)


@given(st.floats(-5, 5), st.floats(0.05, 2))
def test_a_step_of_the_constant_goes_the_right_way_up_to_a_limit(level, scale):
    step = POISSON.constant_step(level, scale)
    assert abs(step) <= LARGEST_STEP
    assert step * level >= 0


@given(st.floats(1e-9, 1e9), st.floats(0, 1e6))
def test_means_are_predicted_up_to_so_many_times_the_mean_response(center, reach):
    low, high = POISSON.range(POISSON.intercept(center), reach)
    assert low < math.log(center) <= high + 1e-9
    assert math.exp(high) <= max(reach, 1.0) * center * (1 + 1e-9)


def test_the_clip_of_early_residuals_keeps_zeros_of_a_response_of_mean_1():
    """Clipped residuals of zeros, of which there may be many, would have no slope."""
    scale = 2 * math.exp(-1)
    assert POISSON.selection_tau(scale, True) == EARLY_BOUND * scale > 1
    assert POISSON.range(0.0, math.inf) is None
    assert POISSON.mean_slope(scale) == pytest.approx(1)
