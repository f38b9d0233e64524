"""The posterior mean of effects whose common spread nobody knows."""

import numpy as np

from dpsparse.inference.spread import averaged


def drawn(rng, spread, d=20, noise=0.1):
    """Effects of a spread, and evidence for them and a constant of 0."""
    effects = spread / np.sqrt(d) * rng.standard_normal(d)
    seen = np.append(0.0, effects) + noise * rng.standard_normal(d + 1)
    return effects, averaged(seen / noise**2, np.eye(d + 1) / noise**2, 1, 1.0)


def test_effects_are_as_good_as_if_their_spread_were_known():
    """Over draws from the prior: the mean squared error is near that of the best shrinkage, and never above 0's."""
    rng = np.random.default_rng(0)
    for spread in (0.0, 0.3, 1.0, 3.0):
        pairs = [drawn(rng, spread) for _ in range(60)]
        loss = np.mean([np.sum((result.effects[1:] - effects) ** 2) for effects, result in pairs])
        prior = spread**2 / 20
        best = 20 * prior * 0.1**2 / (prior + 0.1**2)
        assert loss <= 1.25 * best + 0.005
        assert loss <= 20 * prior + 0.005


def test_nothing_is_likely_where_there_is_nothing_and_unlikely_where_there_is_something():
    rng = np.random.default_rng(1)
    nothing, much = (np.mean([drawn(rng, spread)[1].of_nothing for _ in range(40)]) for spread in (0.0, 1.5))
    assert nothing > 0.6
    assert much < 0.01


def test_without_evidence_there_are_no_effects():
    result = averaged(np.zeros(5), np.zeros((5, 5)), 1, 1.0)
    np.testing.assert_array_equal(result.effects, 0)
    assert 0 < result.of_nothing < 1


def test_without_a_constant():
    result = averaged(np.array([50.0, 0.0]), 100 * np.eye(2), 0, 1.0)
    assert 0.4 < result.effects[0] < 0.5
