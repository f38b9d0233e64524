"""The family of yes/no responses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.families.binomial import BINOMIAL, EARLY_BOUND, LARGEST_STEP


@given(st.floats())
def test_nothing_but_0_and_1_is_a_response(number):
    (response,) = BINOMIAL.responses(np.array([number]))
    assert response == number if number in (0, 1) else np.isnan(response)


@pytest.mark.parametrize("share", [1e-6, 0.05, 0.5, 0.9])
def test_a_slope_is_the_variance_of_a_response(share):
    scale = np.sqrt(share * (1 - share))
    assert BINOMIAL.mean_slope(scale) == pytest.approx(share * (1 - share))


@given(st.floats(-1, 1), st.floats(1e-3, 0.5))
def test_a_step_of_the_constant_is_newtons_up_to_a_limit(level, scale):
    step = BINOMIAL.constant_step(level, scale)
    assert abs(step) <= LARGEST_STEP
    assert step * level >= 0
    if abs(level) < LARGEST_STEP * scale**2:
        assert step == pytest.approx(level / scale**2)


def test_the_bound_of_early_residuals_weights_nothing_down_at_even_odds():
    y, x = np.array([0.0, 1.0]), np.zeros(2)
    for bound in (EARLY_BOUND, np.inf):
        np.testing.assert_array_equal(BINOMIAL.link.residuals(y, 0.0, [x], [1.0], bound), [-0.5, 0.5])
    assert BINOMIAL.selection_tau(0.3, True) == BINOMIAL.selection_tau(0.1, False) == EARLY_BOUND
    assert BINOMIAL.scaled is None
