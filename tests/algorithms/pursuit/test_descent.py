"""Do effects move on where steps stopped too early, and stay where their gradient is noise?"""

import numpy as np
import pytest

from dpsparse.algorithms.pursuit.descent import Descent
from dpsparse.algorithms.pursuit.pursuit_constants import MOST_NOISE
from dpsparse.inference.matrices import NoisyMatrix

SIZE, NOISE, SLOPE = 40, 0.01, 0.5


def descent(noise=1e-6, scale=1.0):
    return Descent.of(NoisyMatrix(scale * np.eye(SIZE), noise), np.ones(SIZE), np.ones(SIZE))


def test_effects_stay_where_a_gradient_is_noise():
    rng = np.random.default_rng(0)
    moved = [descent().further(NOISE * rng.standard_normal(SIZE), NOISE, SLOPE).any() for _ in range(100)]
    assert np.mean(moved) < 0.05


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_effects_move_as_far_as_a_gradient_tells(unit):
    """What they lack has the variance that the gradient shows, and errors of noise are left out of the move."""
    rng = np.random.default_rng(1)
    lacking, errors = 0.05 * rng.standard_normal(SIZE), NOISE * rng.standard_normal(SIZE)
    moved = descent().further(unit * (SLOPE * lacking + errors), unit * NOISE, SLOPE) / unit
    kept = 0.05**2 / (0.05**2 + (NOISE / SLOPE) ** 2)
    np.testing.assert_allclose(moved, kept * (lacking + errors / SLOPE), rtol=0.1)
    assert np.linalg.norm(moved - lacking) < 0.5 * np.linalg.norm(lacking)


def test_a_move_is_no_longer_for_second_moments_that_noise_made_small():
    gradient = NOISE * np.arange(SIZE)
    far, there = (descent(scale=scale).further(gradient, NOISE, SLOPE) for scale in (1.0, -1.0))
    np.testing.assert_allclose(there, far)


def test_second_moments_that_are_noise_count_as_those_of_a_sphere():
    """Along a direction whose released eigenvalue is small by noise alone a move is not far."""
    rng = np.random.default_rng(2)
    noisy = rng.standard_normal((SIZE, SIZE)) * 0.3
    released = NoisyMatrix(np.eye(SIZE) + (noisy + noisy.T) / 2, 0.3)
    gradient = 0.1 * rng.standard_normal(SIZE)
    moved = Descent.of(released, np.ones(SIZE), np.ones(SIZE)).further(gradient, NOISE, SLOPE)
    assert np.linalg.norm(moved) < 1.5 * np.linalg.norm(gradient / SLOPE)


@pytest.mark.parametrize("square", [1.0, 0.25])
def test_noise_of_a_step_counts_by_how_much_it_moves_predictions(square):
    """Features whose mean square is a quarter may have effects that are off by twice as much."""
    steps = Descent.of(NoisyMatrix(np.eye(SIZE), 1e-6), np.ones(SIZE), np.full(SIZE, square))
    noise, scale = 10.0, 3.0
    _, effects = steps.step(np.zeros(SIZE), np.ones(SIZE), noise, SLOPE, scale)
    moved = noise * effects[0] * np.sqrt(SIZE * square)
    assert moved == pytest.approx(MOST_NOISE * scale)


@pytest.mark.parametrize(("signal", "bold"), [(0.0, False), (0.5, True)])
def test_steps_are_bolder_where_recent_gradients_are_more_than_noise(signal, bold):
    rng = np.random.default_rng(3)
    lacking, steps = signal * rng.standard_normal(SIZE), descent()
    for place in range(30):
        if place == 10:
            # What came before does not count.
            steps = steps.looking_from_here()
        gradient = 100.0 if place < 10 else NOISE * (lacking + rng.standard_normal(SIZE))
        steps, _ = steps.step(np.zeros(SIZE), gradient * np.ones(SIZE), NOISE, SLOPE, 1.0)
        steps = steps.bolder() if place in (19, 29) else steps
    assert steps.boldness == (4.0 if bold else 1.0)
    # The averages are of all steps.
    assert steps.count == 30
