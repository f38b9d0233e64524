"""The lower bound of a game is sound."""

import math

import numpy as np
import pytest

from dpsparse.audit.checks.check_games import lower_bound

pytestmark = pytest.mark.slow


def coins(epsilon, n, rng):
    """Randomised response: the score is the answer itself."""
    honest = 1 / (1 + math.exp(-epsilon))
    return (rng.random(n) < honest).astype(float), (rng.random(n) < 1 - honest).astype(float)


def test_the_bound_is_sound_and_comes_close():
    rng = np.random.default_rng(0)
    bounds = np.array([lower_bound(*coins(1.0, 3_000, rng), 0.0) for _ in range(100)])
    assert (bounds > 1.0).sum() <= 1
    assert np.median(bounds) > 0.7


def test_the_bound_allows_for_delta():
    rng = np.random.default_rng(1)
    scores = [np.where(rng.random(3_000) < 0.05 * side, 5.0, 0.0) for side in (1, 0)]
    assert lower_bound(*scores, 0.0) > 1.0
    assert lower_bound(*scores, 0.07) == 0.0
