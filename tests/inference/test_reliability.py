"""Whose standard errors can be relied on, from made-up releases."""

import numpy as np
import pytest

from dpsparse.inference import reliability
from dpsparse.inference.gls import Gradient
from dpsparse.inference.inference_constants import LEAST_CARRIERS
from dpsparse.inference.sandwich import Jacobian
from dpsparse.inference.weights import row_weight


def gradient(noise=1e-3, tau=0.7):
    weight = row_weight(4, 0.6, 1.5, 1)
    return Gradient(np.arange(4), np.zeros(4), noise, np.zeros(4), tau, 0.5, 0.3, weight)


def test_an_effect_has_arrived_within_a_quarter_of_tau_or_four_errors():
    move = np.array([0.17, 0.18, 0.5])
    assert reliability.has_arrived(move, np.full(3, 0.01), gradient()).tolist() == [True, False, False]
    assert reliability.has_arrived(move, np.full(3, 0.125), gradient()).all()
    # Where one has not arrived, all errors hold the last move.
    np.testing.assert_array_equal(reliability.with_last_move(np.full(3, 0.01), move, gradient()), move)
    np.testing.assert_array_equal(reliability.with_last_move(np.full(3, 0.2), move, gradient()), np.full(3, 0.2))


def test_a_gradient_saturates_two_tau_away():
    assert reliability.moved_too_far(np.array([1.3, 1.5]), gradient(tau=0.7)).tolist() == [False, True]


def test_a_column_that_the_score_hardly_sees_is_weak():
    jacobian = Jacobian(np.eye(4), 0.0, np.zeros(4), np.array([False, False, True, False]))
    assert reliability.is_weak(np.arange(1, 4), gradient(), jacobian).tolist() == [False, True, False]
    assert not reliability.is_weak(np.arange(1, 4), gradient(), None).any()


def test_gradients_saturate_where_their_noise_moves_effects_by_a_quarter_of_tau():
    # In units of the effects, a gradient's entry for one tau.
    one_tau = 0.7 * 0.5 * row_weight(4, 0.6, 1.5, 1).gain[-1]
    assert not reliability.is_noisy(gradient(noise=0.2 * one_tau))
    assert reliability.is_noisy(gradient(noise=0.4 * one_tau))


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_a_rare_feature_has_few_carriers(share):
    """Of a share p of carriers, 2 p (1 - p) of the pairs differ: the records beside a carrier bound their number."""
    rng = np.random.default_rng(0)
    x = rng.random(10_000) < share
    differ = np.mean(x[:5_000] != x[5_000:])
    assert reliability.is_rare(10_000, np.array([differ])).item() == (x.sum() < LEAST_CARRIERS)


def test_effects_that_cancel_lie_along_a_direction_of_near_collinearity():
    gram = np.eye(4)
    gram[1, 2] = gram[2, 1] = 0.9
    # The first two effects cancel, which gradients hardly see; their sum, and the third, are seen.
    along = reliability.along_collinear(np.array([0.0, 2.0, -2.0, 5.0]), gram)
    np.testing.assert_allclose(along, [0.0, 2.0, -2.0, 0.0], atol=1e-12)
    along = reliability.along_collinear(np.array([0.0, 2.0, 2.0, 5.0]), gram)
    np.testing.assert_allclose(along, np.zeros(4), atol=1e-12)
    assert not reliability.along_collinear(np.array([0.0, 2.0, -2.0, 5.0]), np.eye(4)).any()


def test_errors_hold_effects_along_such_a_direction():
    errors, along, ones = np.array([0.1, 0.1, 3.0]), np.array([2.0, -2.0, 0.0]), np.ones(3)
    wide = reliability.with_collinearity(errors, along, ones)
    assert (wide[:2] > 2 * 2.0).all()
    assert 3.0 < wide[2] < 3.01
    np.testing.assert_array_equal(reliability.with_collinearity(np.full(3, 2.5), along, ones), np.full(3, 2.5))
