"""Private Frank-Wolfe over an l1 ball: each step moves toward a vertex chosen with noise."""

import math

import numpy as np

from peers.problem import Line

# Features and residuals are clipped here, in exact units.
FEATURE_CLIP, RESIDUAL_CLIP = 2.0, 0.5


def fit(X, y, budget, rng):
    """Algorithm 2 of Talwar, Thakurta and Zhang (2015) with Huber's loss, for data in exact units; no intercept.

    "Nearly optimal private LASSO", NIPS. Adjacency: one record added or removed; the noise has the published scale,
    half of what the general argument for noisy minima needs, in its favour. The l1 ball has radius sqrt(sparsity),
    which holds the coefficients of any model of that many uncorrelated features that explains no more than the variance
    of y. Clipped features and Huber's loss give the Lipschitz constant that the paper assumes. The clips were tuned on
    synthetic tables in its favour, and the number of steps is a tenth of what balances the paper's two bounds.
    """
    n, d = X.shape
    radius, _ = ball(budget.sparsity)
    steps = step_count(n, d, budget)
    scale = noise_scale(n, steps, budget)
    # Clipping a block at a time keeps one copy of the features, at half the width.
    features = np.empty((n, d), dtype=np.float32)
    np.clip(X, -FEATURE_CLIP, FEATURE_CLIP, out=features, casting="same_kind")
    coef, predicted = np.zeros(d), np.zeros(n)
    for step in range(1, steps + 1):
        psi = np.clip(y - predicted, -RESIDUAL_CLIP, RESIDUAL_CLIP)
        slope = -radius / n * (psi.astype(np.float32) @ features)
        noisy = np.concatenate([slope, -slope]) + rng.laplace(scale=scale, size=2 * d)
        vertex = int(np.argmin(noisy))
        sign, j, share = (1.0 if vertex < d else -1.0), vertex % d, 2 / (step + 2)
        coef *= 1 - share
        coef[j] += share * sign * radius
        predicted = (1 - share) * predicted + share * sign * radius * features[:, j]
    return Line(coef, 0.0)


def ball(sparsity):
    """Radius of the l1 ball and the loss's Lipschitz constant there."""
    return math.sqrt(sparsity), FEATURE_CLIP * RESIDUAL_CLIP


def noise_scale(n, steps, budget):
    """Laplace scale of a vertex's score: L C sqrt(8 T log(1/delta)) / (n epsilon)."""
    radius, lipschitz = ball(budget.sparsity)
    return lipschitz * radius * math.sqrt(8 * steps * math.log(1 / budget.delta)) / (n * budget.epsilon)


def step_count(n, d, budget):
    """A tenth of the steps T at which the curvature's bound 2 Gamma / T equals that of the noise of 2 d vertices."""
    radius, _ = ball(budget.sparsity)
    curvature = 4 * FEATURE_CLIP**2 * radius**2
    noise = noise_scale(n, 1, budget) * math.log(2 * d)
    return min(300, max(5, math.ceil((2 * curvature / noise) ** (2 / 3) / 10)))
