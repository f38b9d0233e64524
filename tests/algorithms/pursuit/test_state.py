"""The state of a pursuit: scales, kept columns and verdicts, from made-up releases."""

import numpy as np
import pytest
from scipy import stats

from dpsparse.algorithms.pursuit.gls import row_weight
from dpsparse.algorithms.pursuit.sandwich import NoisyMatrix
from dpsparse.algorithms.pursuit.settings import Settings
from dpsparse.algorithms.pursuit.state import LEAST_CARRIERS, PursuitState
from dpsparse.algorithms.pursuit.units import FeatureUnit


def make_state(n_features=3, fit_intercept=True, response_scale=1.0, units_known="all", second_moments=()):
    settings = Settings(1000, 50, n_features - 1, 0.1, units_known=units_known, fit_intercept=fit_intercept)
    state = PursuitState(settings)
    state.set_response_scale(response_scale)
    for feature in range(n_features):
        unit = FeatureUnit()
        unit.second_moment = second_moments[feature] if second_moments else 1.0
        state.add_column(10 + feature, unit)
        state.start_effect()
    return state


def take_gradient(state, offset, *, noise=0.01, tau=0.7, fraction=0.5, fraction_noise=0.0):
    """A gradient that says the effects are `offset` away from the present ones."""
    weight = row_weight(len(state.kept), 0.6, 1.5, state.constants)
    value = fraction * weight.gain * np.diagonal(state.gram)[state.kept] * np.array(offset)
    state.add_gradient(value, noise, tau, weight, fraction, fraction_noise)
    state.solve()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_follow_the_constant(fit_intercept):
    state = make_state(3, fit_intercept)
    assert state.features == [10, 11, 12]
    assert len(state.effects) == 3 + fit_intercept
    assert state.kept_features().tolist() == [k + fit_intercept for k in range(3)]


@pytest.mark.parametrize("second_moments", [(1.0, 1.0, 1.0), (0.3, 1.0, 1.7)])
def test_gradients_are_solved_for_the_effects(second_moments):
    state = make_state(second_moments=second_moments)
    assert np.diagonal(state.gram)[1:].tolist() == list(second_moments)
    for _ in range(2):
        take_gradient(state, np.array([0.1, 0.5, -0.4, 0.0]) - state.effects, noise=1e-4)
        np.testing.assert_allclose(state.effects, [0.1, 0.5, -0.4, 0.0], atol=0.01)


@pytest.mark.parametrize("spread", [0.4, 1.0, 1.7])
def test_the_scale_of_normal_residuals_follows_from_the_fraction_within_tau(spread):
    state, tau = make_state(), 0.7
    fraction = stats.norm.cdf(tau / spread) - stats.norm.cdf(-tau / spread)
    take_gradient(state, np.zeros(4), tau=tau, fraction=fraction)
    assert state.residual_scale == pytest.approx(spread * stats.norm.ppf(0.75), rel=1e-3)


def test_a_fraction_that_is_all_noise_changes_nothing():
    state = make_state()
    before = state.residual_scale
    take_gradient(state, np.zeros(4), tau=0.7, fraction=0.9, fraction_noise=100.0)
    assert state.residual_scale == pytest.approx(before, rel=1e-3)


def test_the_scale_stays_within_its_range():
    state = make_state(response_scale=1.0)
    take_gradient(state, np.zeros(4), tau=50.0, fraction=0.5)
    assert state.residual_scale == 2.0
    take_gradient(state, np.zeros(4), tau=0.001, fraction=0.95)
    assert state.residual_scale == pytest.approx(0.02)


def test_an_effect_that_started_far_from_0_is_not_pulled_back():
    state = make_state(fit_intercept=False)
    state.effects[1] = 40.0
    # A gradient that has nothing to add: the prior alone would pull 40 scales to 0.
    take_gradient(state, np.zeros(3), noise=1e-3)
    assert state.effects[1] == pytest.approx(40.0, rel=0.05)


def test_the_least_significant_effect_is_dropped_and_the_constant_never():
    # The second effect is larger than the third, but its feature is rare and its error larger still.
    state = make_state(second_moments=(1.0, 0.02, 1.0))
    take_gradient(state, [0.0, 0.5, 0.3, 0.2], noise=0.02)
    state.drop_spare()
    assert state.kept.tolist() == [0, 1, 3]
    assert state.effects[2] == 0
    take_gradient(state, np.zeros(3))
    assert len(state.standard_errors()) == 3
    assert state.effects[2] == 0


def test_constant_features_and_wrong_units_are_left_out():
    state = make_state()
    take_gradient(state, [0.0, 0.5, 0.3, 0.2], noise=0.02)
    state.units[0].constant = state.units[2].astray = True
    assert state.left_out() == {10: "hardly varies", 12: "unit wrong"}
    state.drop_spare()
    # Two features were asked for, but only one is left.
    assert state.kept.tolist() == [0, 2]


def test_without_an_intercept_a_constant_feature_is_not_left_out():
    state = make_state(fit_intercept=False)
    take_gradient(state, [0.5, 0.3, 0.2], noise=0.02)
    for unit in state.units:
        unit.constant = unit.astray = True
    state.units[0].astray = False
    assert state.left_out() == {11: "unit wrong", 12: "unit wrong"}
    state.drop_spare()
    assert len(state.kept) == 2


def test_an_effect_that_has_not_settled_is_not_trusted_as_it_is():
    state = make_state()
    take_gradient(state, [0.0, 0.5, 0.01, 0.0], noise=1e-3)
    # In units of tau and of errors: 0.5 is more than a quarter of 0.7, and more than four errors of 0.1.
    assert state.trusted(np.full(3, 0.1)).tolist() == [False, True, True]
    assert state.trusted(np.full(3, 0.2)).all()
    take_gradient(state, np.zeros(4), noise=1e-3)
    assert state.trusted(state.standard_errors()[1:]).all()


def test_where_one_effect_has_not_settled_all_errors_hold_the_last_move():
    state = make_state()
    take_gradient(state, [0.0, 0.5, 0.2, 0.0], noise=1e-3)
    move = np.abs(state.effects[1:])
    np.testing.assert_array_equal(state.widened(np.full(3, 0.1)), [move[0], move[1], 0.1])
    np.testing.assert_array_equal(state.widened(np.full(3, 0.2)), [0.2, 0.2, 0.2])
    assert state.doubts().tolist() == ["", "", ""]


def test_after_a_move_of_several_tau_no_error_is_relied_on():
    state = make_state()
    take_gradient(state, [0.0, 2.5 * 0.7, 0.2, 0.0], noise=1e-3)
    assert state.doubts().tolist() == ["moved far", "", ""]


def test_features_with_few_carriers_are_not_trusted_where_their_share_is_known():
    state = make_state(units_known="none")
    take_gradient(state, np.zeros(4), noise=1e-3)
    # Of 1000 records a share / 2 carries the feature.
    state.units[1].least_share = 2 * (LEAST_CARRIERS - 1) / 1000
    state.units[2].least_share = 2 * LEAST_CARRIERS / 1000
    assert state.trusted(state.standard_errors()[1:]).tolist() == [True, False, True]
    assert state.doubts().tolist() == ["", "few carriers", ""]


def test_nothing_is_trusted_where_noise_alone_moves_effects_by_tau():
    for noise, doubt in ((0.2, ""), (0.4, "too noisy")):
        state = make_state()
        # In units of the effects, a gradient's entry for one tau.
        one_tau = 0.7 * 0.5 * row_weight(4, 0.6, 1.5, 1).gain[-1]
        take_gradient(state, np.zeros(4), noise=noise * one_tau)
        assert (state.trusted(state.standard_errors()[1:]) == (not doubt)).all()
        assert state.doubts().tolist() == [doubt] * 3


def test_a_weak_column_is_not_trusted():
    state = make_state()
    take_gradient(state, np.zeros(4), noise=1e-3)
    weight = row_weight(4, 0.6, 1.5, 1)
    jacobian = 0.5 * np.diag(weight.gain * [1, 1, 0.01, 1])
    state.variance = NoisyMatrix(np.diag(0.3 * weight.power), 0.0)
    state.set_jacobian(NoisyMatrix(jacobian, 1e-6))
    assert state.trusted(np.ones(3)).tolist() == [True, False, True]
    assert state.doubts().tolist() == ["", "outlying", ""]
    assert np.diagonal(state.gram) == pytest.approx(np.ones(4))


def test_gram_rows_within_the_noise_are_taken_as_zero():
    state = make_state(fit_intercept=False)
    state.add_gram_row(np.array([0.02, -0.5, 1.0]), 0.1)
    np.testing.assert_array_equal(state.gram[2], [0.0, -0.5, 1.0])
    np.testing.assert_array_equal(state.gram, state.gram.T)


@np.errstate(all="ignore")
def test_second_moments_are_replaced_and_pulled_to_the_expected_diagonal():
    state = make_state(second_moments=(0.5, 1.0, 1.0), fit_intercept=False)
    state.set_gram(np.diag([0.5, 1.0, 1.0]) + 0.3 * (1 - np.eye(3)), 1e-6)
    np.testing.assert_allclose(state.gram, np.diag([0.5, 1.0, 1.0]) + 0.3 * (1 - np.eye(3)), rtol=1e-6)
    state.set_gram(2 * np.eye(3), 1e4)
    np.testing.assert_allclose(state.gram, np.diag([0.5, 1.0, 1.0]), atol=1e-6)


def test_a_slope_that_makes_residuals_larger_is_taken_back():
    state = make_state(2)
    state.set_residual_scale(0.8)
    state.effects[1] = 0.5
    state.set_residual_scale(0.7)
    state.add_slope(2, -40.0)
    state.add_slope(2, 3.0)
    state.set_residual_scale(2.0)
    assert state.effects.tolist() == [0.0, 0.5, 0.0]
    assert state.residual_scale == 0.7


def test_half_of_a_step_that_makes_residuals_larger_is_taken_back():
    state = make_state(1)
    state.effects[1] = 1.0
    state.set_residual_scale(0.7)
    state.effects[1] = 5.0
    state.add_column(12, FeatureUnit())
    state.set_residual_scale(1.4)
    assert state.effects.tolist() == [0.0, 3.0, 0.0]
    # The smallest residuals so far are what others are compared with.
    state.set_residual_scale(1.2)
    assert state.effects.tolist() == [0.0, 2.0, 0.0]
    state.set_residual_scale(0.9)
    assert state.effects.tolist() == [0.0, 2.0, 0.0]
    assert state.residual_scale == 0.9


def test_a_public_scale_of_the_response_says_nothing_of_the_residuals():
    state = PursuitState(Settings(1000, 50, 2, 0.1, scale_known=True))
    state.set_response_scale(1.0)
    state.effects[0] = 1.0
    state.set_residual_scale(2.0)
    assert (state.effects[0], state.residual_scale) == (1.0, 2.0)


def test_errors_are_wide_along_a_direction_of_near_collinearity():
    state = make_state(3)
    take_gradient(state, np.zeros(4), noise=1e-3)
    state.gram[1, 2] = state.gram[2, 1] = 0.9
    errors = np.full(3, 0.1)

    def widened(*effects):
        # Without a last move.
        state.effects[1:] = state.gradients[-1].origin[1:] = effects
        return state.widened(errors)

    # The first two effects cancel, which gradients hardly see: either may be twice as large, 0, or of the other sign.
    wide = widened(2.0, -2.0, 5.0)
    assert (wide[:2] > 3.9).all()
    # The third is not along that direction, but takes over a little of its error.
    assert 0.1 < wide[2] < 0.5
    # The sum of the first two is determined.
    np.testing.assert_array_equal(widened(2.0, 2.0, 5.0), errors)
    # Uncorrelated features are, whatever their effects.
    state.gram[1, 2] = state.gram[2, 1] = 0.0
    np.testing.assert_array_equal(widened(2.0, -2.0, 5.0), errors)


def test_where_all_features_are_taken_their_errors_cover_near_collinearity():
    state = make_state(3)
    take_gradient(state, np.zeros(4), noise=1e-3)
    state.gram[1, 2] = state.gram[2, 1] = 0.9
    state.effects[1:] = state.gradients[-1].origin[1:] = 2.0, -2.0, 5.0
    state.descent = object()
    np.testing.assert_array_equal(state.widened(np.full(3, 0.1)), np.full(3, 0.1))
