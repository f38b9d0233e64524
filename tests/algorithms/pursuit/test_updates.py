"""How a state takes in releases: scales, kept columns and verdicts, from made-up releases."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpsparse.algorithms.pursuit import updates
from dpsparse.algorithms.pursuit.descent import Descent
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import Differing, FeatureUnit
from dpsparse.algorithms.pursuit.state import Response, ResponseUnit
from dpsparse.inference.inference_constants import LEAST_CARRIERS
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.weights import row_weight

CONSTANT = {"differing": Differing(constant=True)}


def make_facts(n_features=3, fit_intercept=True, units_known="all", **others):
    return PublicFacts(1000, 50, n_features - 1, 0.1, units_known=units_known, fit_intercept=fit_intercept, **others)


def started(facts, response_scale=1.0):
    """A state that knows the response's unit."""
    unknown = ResponseUnit()
    response = Response(unknown, unknown, 0.0, response_scale, facts.n)
    return updates.with_response(updates.initial(facts, unknown, unknown, 1.0), facts, response)


def make_state(n_features=3, fit_intercept=True, response_scale=1.0, second_moments=()):
    state = started(make_facts(n_features, fit_intercept), response_scale)
    for feature in range(n_features):
        unit = FeatureUnit(second_moment=second_moments[feature] if second_moments else 1.0)
        state = updates.with_unit_settled(updates.with_column(state, 10 + feature, unit))
    return state


def take_gradient(state, offset, *, noise=0.01, tau=0.7, fraction=0.5, fraction_noise=0.0):
    """A gradient that says the effects are `offset` away from the present ones."""
    facts = make_facts(fit_intercept=bool(state.constants))
    weight = row_weight(len(state.kept), 0.6, 1.5, state.constants)
    value = fraction * weight.gain * np.diagonal(state.moments.gram)[state.kept] * np.array(offset)
    return updates.solved(updates.with_gradient(state, facts, value, noise, tau, fraction, fraction_noise))


def with_effects(state, **by_column):
    effects = state.effects.copy()
    for column, effect in by_column.items():
        effects[int(column.removeprefix("b"))] = effect
    return replace(state, effects=effects)


def with_units(state, **changes):
    """The same with other units: for each place what to change."""
    units = {int(place.removeprefix("u")): change for place, change in changes.items()}
    columns = [
        replace(column, unit=replace(column.unit, **units.get(place, {}))) for place, column in enumerate(state.columns)
    ]
    return replace(state, columns=tuple(columns))


def trusted(state, errors, units_known="all"):
    return updates.trusted(state, make_facts(units_known=units_known), errors)


def doubts(state, units_known="all"):
    return updates.doubts_of(state, make_facts(units_known=units_known)).tolist()


def errors_of(state):
    return np.sqrt(np.diagonal(updates.covariance_of(state)))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_follow_the_constant(fit_intercept):
    state = make_state(3, fit_intercept)
    assert state.features == [10, 11, 12]
    assert len(state.effects) == 3 + fit_intercept
    assert state.kept_features.tolist() == [k + fit_intercept for k in range(3)]


@pytest.mark.parametrize("second_moments", [(1.0, 1.0, 1.0), (0.3, 1.0, 1.7)])
def test_gradients_are_solved_for_the_effects(second_moments):
    state = make_state(second_moments=second_moments)
    assert np.diagonal(state.moments.gram)[1:].tolist() == list(second_moments)
    for _ in range(2):
        state = take_gradient(state, np.array([0.1, 0.5, -0.4, 0.0]) - state.effects, noise=1e-4)
        np.testing.assert_allclose(state.effects, [0.1, 0.5, -0.4, 0.0], atol=0.01)


@pytest.mark.parametrize("spread", [0.4, 1.0, 1.7])
def test_the_scale_of_normal_residuals_follows_from_the_fraction_within_tau(spread):
    state, tau = make_state(), 0.7
    fraction = stats.norm.cdf(tau / spread) - stats.norm.cdf(-tau / spread)
    state = take_gradient(state, np.zeros(4), tau=tau, fraction=fraction)
    assert state.residual_scale == pytest.approx(spread * stats.norm.ppf(0.75), rel=1e-3)


def test_a_fraction_that_is_all_noise_changes_nothing():
    state = make_state()
    before = state.residual_scale
    state = take_gradient(state, np.zeros(4), tau=0.7, fraction=0.9, fraction_noise=100.0)
    assert state.residual_scale == pytest.approx(before, rel=1e-3)


def test_the_scale_stays_within_its_range():
    state = make_state(response_scale=1.0)
    state = take_gradient(state, np.zeros(4), tau=50.0, fraction=0.5)
    assert state.residual_scale == 2.0
    state = take_gradient(state, np.zeros(4), tau=0.001, fraction=0.95)
    assert state.residual_scale == pytest.approx(0.02)


def test_an_effect_that_started_far_from_0_is_not_pulled_back():
    state = make_state(fit_intercept=False)
    state = with_effects(state, b1=40.0)
    # A gradient that has nothing to add: the prior alone would pull 40 scales to 0.
    state = take_gradient(state, np.zeros(3), noise=1e-3)
    assert state.effects[1] == pytest.approx(40.0, rel=0.05)


def test_the_least_significant_effect_is_dropped_and_the_constant_never():
    # The second effect is larger than the third, but its feature is rare and its error larger still.
    state = make_state(second_moments=(1.0, 0.02, 1.0))
    state = take_gradient(state, [0.0, 0.5, 0.3, 0.2], noise=0.02)
    state = updates.spare_dropped(state, make_facts(fit_intercept=bool(state.constants)))
    assert state.kept.tolist() == [0, 1, 3]
    assert state.effects[2] == 0
    state = take_gradient(state, np.zeros(3))
    assert len(errors_of(state)) == 3
    assert state.effects[2] == 0


def test_constant_features_and_wrong_units_are_left_out():
    state = make_state()
    state = take_gradient(state, [0.0, 0.5, 0.3, 0.2], noise=0.02)
    state = with_units(state, u0=CONSTANT, u2={"astray": True})
    assert updates.left_out(state) == {10: "hardly varies", 12: "unit wrong"}
    state = updates.spare_dropped(state, make_facts(fit_intercept=bool(state.constants)))
    # Two features were asked for, but only one is left.
    assert state.kept.tolist() == [0, 2]


def test_as_many_other_columns_are_not_those_of_the_estimate():
    state = take_gradient(make_state(), [0.0, 0.5, 0.3, 0.2], noise=0.02)
    assert updates.knows_kept(state)
    state = replace(state, effects=np.append(state.effects, 0.0), kept=np.array([0, 1, 2, 3, 4]))
    assert not updates.knows_kept(state)
    assert not updates.knows_kept(replace(state, kept=np.array([0, 2, 3, 4])))


def test_without_an_intercept_a_constant_feature_is_not_left_out():
    state = make_state(fit_intercept=False)
    state = take_gradient(state, [0.5, 0.3, 0.2], noise=0.02)
    both = CONSTANT | {"astray": True}
    state = with_units(state, u0=CONSTANT, u1=both, u2=both)
    assert updates.left_out(state) == {11: "unit wrong", 12: "unit wrong"}
    state = updates.spare_dropped(state, make_facts(fit_intercept=bool(state.constants)))
    assert len(state.kept) == 2


def test_an_effect_that_has_not_settled_is_not_trusted_as_it_is():
    state = make_state()
    state = take_gradient(state, [0.0, 0.5, 0.01, 0.0], noise=1e-3)
    # In units of tau and of errors: 0.5 is more than a quarter of 0.7, and more than four errors of 0.1.
    assert trusted(state, np.full(3, 0.1)).tolist() == [False, True, True]
    assert trusted(state, np.full(3, 0.2)).all()
    state = take_gradient(state, np.zeros(4), noise=1e-3)
    assert trusted(state, errors_of(state)[1:]).all()


def test_where_one_effect_has_not_settled_all_errors_hold_the_last_move():
    state = take_gradient(make_state(), [0.0, 0.5, 0.2, 0.0], noise=1e-3)
    move = np.abs(state.effects[1:])
    np.testing.assert_array_equal(updates.widened(state, np.full(3, 0.1)), [move[0], move[1], 0.1])
    np.testing.assert_array_equal(updates.widened(state, np.full(3, 0.2)), [0.2, 0.2, 0.2])
    assert doubts(state) == ["", "", ""]


def test_after_a_move_of_several_tau_no_error_is_relied_on():
    state = take_gradient(make_state(), [0.0, 2.5 * 0.7, 0.2, 0.0], noise=1e-3)
    assert doubts(state) == ["moved far", "", ""]


def test_features_with_few_carriers_are_not_trusted_where_their_share_is_known():
    state = make_state()
    state = take_gradient(state, np.zeros(4), noise=1e-3)
    # Of 1000 records a share / 2 carries the feature.
    few, enough = (2 * carriers / 1000 for carriers in (LEAST_CARRIERS - 1, LEAST_CARRIERS))
    of_few, of_enough = ({"differing": Differing(least=share)} for share in (few, enough))
    state = with_units(state, u1=of_few, u2=of_enough)
    assert trusted(state, errors_of(state)[1:], units_known="none").tolist() == [True, False, True]
    assert trusted(state, errors_of(state)[1:], units_known="all").all()
    # The share is at least that of a few, and may be 1: noise is the reason.
    assert doubts(state, units_known="none") == ["", "maybe few carriers", ""]
    assert doubts(state, units_known="all") == ["", "", ""]
    state = with_units(state, u1={"differing": Differing(least=few, most=few)}, u2=of_enough)
    assert doubts(state, units_known="none") == ["", "few carriers", ""]


def test_nothing_is_trusted_where_noise_alone_moves_effects_by_tau():
    for noise, doubt in ((0.2, ""), (0.4, "too noisy")):
        state = make_state()
        # In units of the effects, a gradient's entry for one tau.
        one_tau = 0.7 * 0.5 * row_weight(4, 0.6, 1.5, 1).gain[-1]
        state = take_gradient(state, np.zeros(4), noise=noise * one_tau)
        assert (trusted(state, errors_of(state)[1:]) == (not doubt)).all()
        assert doubts(state) == [doubt] * 3


def test_a_weak_column_is_not_trusted():
    state = make_state()
    state = take_gradient(state, np.zeros(4), noise=1e-3)
    weight = row_weight(4, 0.6, 1.5, 1)
    jacobian = 0.5 * np.diag(weight.gain * [1, 1, 0.01, 1])
    variance = NoisyMatrix(np.diag(0.3 * weight.power), 0.0)
    state = replace(state, moments=replace(state.moments, variance=variance))
    state = updates.with_jacobian(state, NoisyMatrix(jacobian, 1e-6))
    assert trusted(state, np.ones(3)).tolist() == [True, False, True]
    assert doubts(state) == ["", "outlying", ""]
    assert np.diagonal(state.moments.gram) == pytest.approx(np.ones(4))


def test_gram_rows_within_the_noise_are_taken_as_zero():
    state = make_state(fit_intercept=False)
    state = updates.with_gram_row(state, np.array([0.02, -0.5, 1.0]), 0.1)
    np.testing.assert_array_equal(state.moments.gram[2], [0.0, -0.5, 1.0])
    np.testing.assert_array_equal(state.moments.gram, state.moments.gram.T)


@np.errstate(all="ignore")
def test_second_moments_are_replaced_and_pulled_to_the_expected_diagonal():
    state = make_state(second_moments=(0.5, 1.0, 1.0), fit_intercept=False)
    state = updates.with_gram(state, np.diag([0.5, 1.0, 1.0]) + 0.3 * (1 - np.eye(3)), 1e-6)
    np.testing.assert_allclose(state.moments.gram, np.diag([0.5, 1.0, 1.0]) + 0.3 * (1 - np.eye(3)), rtol=1e-6)
    state = updates.with_gram(state, 2 * np.eye(3), 1e4)
    np.testing.assert_allclose(state.moments.gram, np.diag([0.5, 1.0, 1.0]), atol=1e-6)


def test_a_slope_that_makes_residuals_larger_is_taken_back():
    state = make_state(2)
    state = updates.with_residual_scale(state, 0.8)
    state = with_effects(state, b1=0.5)
    state = updates.with_residual_scale(state, 0.7)
    state = updates.with_slope(state, 2, -40.0)
    state = updates.with_slope(state, 2, 3.0)
    state = updates.with_residual_scale(state, 2.0)
    assert state.effects.tolist() == [0.0, 0.5, 0.0]
    assert state.residual_scale == 0.7


def test_half_of_a_step_that_makes_residuals_larger_is_taken_back():
    state = make_state(1)
    state = with_effects(state, b1=1.0)
    state = updates.with_residual_scale(state, 0.7)
    state = with_effects(state, b1=5.0)
    state = updates.with_column(state, 12, FeatureUnit())
    state = updates.with_residual_scale(state, 1.4)
    assert state.effects.tolist() == [0.0, 3.0, 0.0]
    # The smallest residuals so far are what others are compared with.
    state = updates.with_residual_scale(state, 1.2)
    assert state.effects.tolist() == [0.0, 2.0, 0.0]
    state = updates.with_residual_scale(state, 0.9)
    assert state.effects.tolist() == [0.0, 2.0, 0.0]
    assert state.residual_scale == 0.9


def test_a_public_scale_of_the_response_says_nothing_of_the_residuals():
    state = started(make_facts(scale_known=True))
    state = with_effects(state, b0=1.0)
    state = updates.with_residual_scale(state, 2.0)
    assert (state.effects[0], state.residual_scale) == (1.0, 2.0)


def test_a_constant_that_moves_before_any_feature_is_not_taken_back():
    state = updates.with_constant_moved(started(make_facts()), 0.5)
    state = updates.with_column(state, 3, FeatureUnit())
    state = updates.with_residual_scale(with_effects(state, b1=4.0), 100.0)
    assert state.effects.tolist() == [0.5, 2.0]


def collinear(*effects, correlation=0.9):
    """A state with two nearly collinear features that the last gradient did not move."""
    state = take_gradient(make_state(), np.zeros(4), noise=1e-3)
    gram = state.moments.gram.copy()
    gram[1, 2] = gram[2, 1] = correlation
    effects = np.append(state.effects[0], effects)
    last = replace(state.evidence.last, origin=np.append(state.evidence.last.origin[0], effects[1:]))
    evidence = replace(state.evidence, gradients=(last,))
    return replace(state, effects=effects, evidence=evidence, moments=replace(state.moments, gram=gram))


def test_errors_are_wide_along_a_direction_of_near_collinearity():
    errors = np.full(3, 0.1)
    # The first two effects cancel, which gradients hardly see: either may be twice as large, 0, or of the other sign.
    wide = updates.widened(collinear(2.0, -2.0, 5.0), errors)
    assert (wide[:2] > 3.9).all()
    # The third is not along that direction, but takes over a little of its error.
    assert 0.1 < wide[2] < 0.5
    # The sum of the first two is determined.
    np.testing.assert_array_equal(updates.widened(collinear(2.0, 2.0, 5.0), errors), errors)
    # Uncorrelated features are, whatever their effects.
    np.testing.assert_array_equal(updates.widened(collinear(2.0, -2.0, 5.0, correlation=0.0), errors), errors)


def test_where_all_features_are_taken_their_errors_cover_near_collinearity():
    state, errors = collinear(2.0, -2.0, 5.0), np.full(3, 0.1)
    taken = replace(state, descent=Descent.of(NoisyMatrix(np.eye(4), 0.0), np.ones(4), np.ones(4)))
    np.testing.assert_array_equal(updates.widened(taken, errors), errors)
