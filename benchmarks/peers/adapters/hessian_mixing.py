"""Iterative Hessian mixing: Newton's steps with Gaussian sketches of the matrix and noisy gradients."""

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar

from dpsparse.privacy.accounting.gdp import largest_mu
from peers.problem import Line

STEPS = 3
# Rows of a sketch, over the number of features.
SKETCH = 6


def fit(X, y, budget, rng):
    """Lev et al. (2026) for rows of norm at most 1 and responses in [-1, 1]; no intercept.

    Lev, Shenfeld, Srinivasan, Ligett and Wilson (2026), "Near-optimal private linear regression via iterative Hessian
    mixing", arXiv 2601.07545, with the constants of their experiments: 3 steps, sketches of 6 d rows, failure
    probability delta / 10. Adjacency: one record added or removed. Half of epsilon (three quarters of delta) pays for
    the sketches and the smallest eigenvalue, half for the products. A sketch S X + g N has independent rows of
    covariance X'X + g^2 I, so it is drawn from that, without an n-row matrix S.
    """
    d = X.shape[1]
    rows = sketch_rows(d, budget.delta)
    level = mixing_level(rows, STEPS, budget.epsilon / 2, 3 * budget.delta / 4)
    gram = X.T @ X
    tail = math.sqrt(2 * math.log(max(4 / budget.delta, 40 / budget.delta)))
    smallest = np.linalg.eigvalsh(gram)[0] - level / math.sqrt(rows) * (tail - rng.standard_normal())
    mixed = gram + max(0.0, level - max(0.0, smallest)) * np.eye(d)
    root = np.linalg.cholesky(mixed + 1e-9 * np.trace(mixed) / d * np.eye(d))
    scale = product_scale(budget.epsilon, budget.delta)
    coef = np.zeros(d)
    for _ in range(STEPS):
        sketch = rng.standard_normal((rows, d)) @ root.T
        products = X.T @ np.clip(y - X @ coef, -1, 1) + scale * rng.standard_normal(d)
        coef = coef + np.linalg.solve(sketch.T @ sketch / rows, products)
    return Line(coef, 0.0)


def sketch_rows(d, delta):
    """Rows of a sketch."""
    return max(SKETCH * d, int(SKETCH * math.log(40 * STEPS / delta)))


def product_scale(epsilon, delta):
    """Standard deviation of each step's noise on X'r: the Gaussian mechanism at (epsilon/2, delta/4), composed."""
    return math.sqrt(STEPS) / largest_mu(epsilon / 2, delta / 4)


def sketch_epsilon(level, rows, steps, delta):
    """Epsilon of `steps` sketches whose matrix has eigenvalues of at least `level`, by Renyi divergences.

    A sketch of a matrix and of its neighbor without a row of norm 1 has the Renyi divergence of order a
    rows/(2(a - 1)) (a log(1 - 1/level) - log(1 - a/level)). The last term is for the smallest eigenvalue's release.
    """

    def epsilon(order):
        sketches = order * math.log1p(-1 / level) - math.log1p(-order / level)
        to_delta = math.log(1 / delta) + (order - 1) * math.log1p(-1 / order) - math.log(order)
        return (steps * rows / 2 * sketches + to_delta) / (order - 1)

    best = minimize_scalar(
        lambda log_excess: epsilon(1 + math.exp(log_excess)),
        bounds=(math.log(1e-5), math.log((level - 1) * (1 - 1e-9))),
        method="bounded",
    )
    return best.fun + math.sqrt(2 * math.log(1.25 / delta)) * math.sqrt(rows) / level


@lru_cache
def mixing_level(rows, steps, epsilon, delta):
    """The smallest eigenvalue that sketches need for (epsilon, delta), a third of delta for each part."""
    low, high = 1 + 1e-3, 2.0
    while sketch_epsilon(high, rows, steps, delta / 3) > epsilon:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if sketch_epsilon(middle, rows, steps, delta / 3) > epsilon:
            low = middle
        else:
            high = middle
    return high
