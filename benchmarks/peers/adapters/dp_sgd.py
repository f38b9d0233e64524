"""DP-SGD: noisy clipped gradients, here of batches of all records, with averaged iterates."""

import math

import numpy as np

from dpsparse.privacy.accounting.gdp import largest_mu
from peers.problem import Line

STEPS = 100
# The clip of a record's gradient over sqrt(d + 1), a typical row's norm: residuals beyond 0.3 count as 0.3.
CLIP = 0.3


def fit(X, y, budget, rng):
    """Abadi et al. (2016) for squared loss with an intercept, for data in exact units.

    "Deep learning with differential privacy", CCS, arXiv 1607.00133. Adjacency: the paper adds or removes a record;
    here one is replaced, as in this package, which doubles the sensitivity of the summed gradient. Steps, clip and
    rate were tuned on synthetic tables in its favour: batches of all records did better there than of a tenth of them,
    and their Gaussian noise is accounted for exactly. The rate depends on the exact largest eigenvalue of the features'
    covariance, a gift like the exact units. The second half of the iterates is averaged.
    """
    n, d = X.shape
    clip = CLIP * math.sqrt(d + 1)
    norms = np.sqrt(np.einsum("ij,ij->i", X, X) + 1)
    noise = noise_multiplier(budget.epsilon, budget.delta) * clip / n
    rate = min(0.6 / largest_eigenvalue(X, rng), 0.07 / (noise * math.sqrt(d)))
    effects, total = np.zeros(d + 1), np.zeros(d + 1)
    for step in range(STEPS):
        residuals = y - X @ effects[:-1] - effects[-1]
        weights = residuals * np.minimum(1.0, clip / np.maximum(np.abs(residuals) * norms, 1e-300))
        gradient = np.append(weights @ X, weights.sum()) / n
        effects = effects + rate * (gradient + noise * rng.standard_normal(d + 1))
        if step >= STEPS // 2:
            total += effects
    total /= STEPS - STEPS // 2
    return Line(total[:-1], float(total[-1]))


def noise_multiplier(epsilon, delta):
    """Noise over the clip of a gradient, in each of `STEPS` steps; replacing a record moves their sum by two clips."""
    return 2 * math.sqrt(STEPS) / largest_mu(epsilon, delta)


def largest_eigenvalue(X, rng, passes=15):
    """The largest eigenvalue of X'X / n, of at least 1, by the power method."""
    vector = rng.standard_normal(X.shape[1])
    for _ in range(passes):
        vector /= np.linalg.norm(vector)
        vector = X.T @ (X @ vector) / len(X)
    return max(1.0, float(np.linalg.norm(vector)))
