"""The state of a pursuit: scales, kept columns and verdicts, from made-up releases."""

import numpy as np
import pytest
from scipy import stats

from dpsparse.algorithms.pursuit.gls import row_clip
from dpsparse.algorithms.pursuit.state import PursuitState


def make_state(n_features=3, fit_intercept=True, response_scale=1.0):
    state = PursuitState(1000, n_features, fit_intercept)
    state.response_scale = state.residual_scale = response_scale
    for feature in range(n_features):
        state.add_column(10 + feature)
    return state


def take_gradient(state, offset, *, noise=0.01, tau=0.7, fraction=0.5):
    """A gradient that says the effects are `offset` away from the present ones."""
    clip = row_clip(len(state.kept), 0.6, state.constants)
    state.add_gradient(fraction * clip.gain * np.array(offset), noise, tau, fraction, clip)
    state.solve()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_follow_the_constant(fit_intercept):
    state = make_state(3, fit_intercept)
    assert state.features == [10, 11, 12]
    assert len(state.effects) == 3 + fit_intercept
    assert state.kept_features().tolist() == [k + fit_intercept for k in range(3)]


def test_gradients_are_solved_for_the_effects():
    state = make_state()
    take_gradient(state, [0.1, 0.5, -0.4, 0.0], noise=1e-4)
    np.testing.assert_allclose(state.effects, [0.1, 0.5, -0.4, 0.0], atol=0.01)
    take_gradient(state, [0.0, 0.0, 0.0, 0.0], noise=1e-4)
    np.testing.assert_allclose(state.effects, [0.1, 0.5, -0.4, 0.0], atol=0.01)


@pytest.mark.parametrize("spread", [0.3, 1.0, 1.7])
def test_the_scale_of_normal_residuals_follows_from_the_fraction_within_tau(spread):
    state, tau = make_state(), 0.7
    fraction = stats.norm.cdf(tau / spread) - stats.norm.cdf(-tau / spread)
    take_gradient(state, np.zeros(4), tau=tau, fraction=fraction)
    assert state.residual_scale == pytest.approx(spread * stats.norm.ppf(0.75), rel=1e-3)


def test_the_scale_stays_within_its_range_and_says_when_it_has_hit_an_end():
    state = make_state(response_scale=1.0)
    take_gradient(state, np.zeros(4), tau=0.7, fraction=0.5)
    assert state.scale_in_range()
    take_gradient(state, np.zeros(4), tau=50.0, fraction=0.5)
    assert state.residual_scale == 2.0
    assert not state.scale_in_range()
    take_gradient(state, np.zeros(4), tau=0.001, fraction=0.95)
    assert state.residual_scale == pytest.approx(0.02)
    assert not state.scale_in_range()


def test_an_effect_that_still_moves_keeps_the_scale_wide():
    state = make_state()
    take_gradient(state, [0.0, 0.6, 0.0, 0.0], noise=1e-4, fraction=0.9)
    narrow = state.residual_scale
    state.widen_scale(slice(2, None))
    assert state.residual_scale == narrow
    state.widen_scale(slice(1, None))
    assert state.residual_scale == pytest.approx(2.5 * state.effects[1])


def test_the_newest_effect_explains_part_of_the_spread():
    state = make_state()
    state.effects[-1], state.residual_scale = 0.5, 1.0
    state.narrow_scale()
    assert state.residual_scale == pytest.approx(np.sqrt(1 - (stats.norm.ppf(0.75) * 0.5) ** 2), rel=1e-4)
    state.effects[-1], state.residual_scale = 50.0, 1.0
    state.narrow_scale()
    assert state.residual_scale == pytest.approx(0.3)


def test_the_smallest_effect_is_dropped_and_the_constant_never():
    state = make_state()
    take_gradient(state, [0.0, 0.5, -0.1, 0.3])
    state.keep_largest(2)
    assert state.kept.tolist() == [0, 1, 3]
    state.solve()
    assert state.effects[2] == 0
    assert len(state.settled_errors()) == 2


def test_an_effect_that_has_not_settled_has_an_error_as_large_as_itself():
    state = make_state()
    take_gradient(state, [0.0, 0.5, 0.01, 0.0], noise=1e-3)
    moved, still, _ = state.settled_errors()
    assert moved == pytest.approx(state.effects[1])
    assert still == state.estimate.standard_errors[2]


def test_features_that_hardly_vary_about_the_constant_are_not_centered():
    state = make_state()
    moments = np.eye(4)
    moments[0, 1] = moments[1, 0] = 0.9
    moments[0, 2] = moments[2, 0] = -0.6
    state.set_gram(moments, 0.01)
    assert state.centered().tolist() == [False, True, True]
    without = make_state(fit_intercept=False)
    assert without.centered().all()


def test_gram_rows_within_the_noise_are_taken_as_zero():
    state = make_state(fit_intercept=False)
    state.add_gram_row(np.array([0.02, -0.5, 1.0]), 0.1)
    np.testing.assert_array_equal(state.gram[2], [0.0, -0.5, 1.0])
    np.testing.assert_array_equal(state.gram, state.gram.T)


def test_shrinkage_leaves_the_constant_alone():
    state = make_state()
    take_gradient(state, [0.2, 0.5, 0.01, 0.0], noise=0.02)
    effects, errors, shrunk = state.effects, state.estimate.standard_errors, state.shrunk_effects()
    assert shrunk[0] == effects[0]
    assert shrunk[1] == pytest.approx(effects[1] - errors[1] ** 2 / effects[1])
    assert abs(shrunk[2]) < abs(effects[2])
