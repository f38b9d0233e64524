"""AdaSSP: noisy sufficient statistics with a ridge that adapts to the smallest eigenvalue."""

import math

import numpy as np

from peers.problem import Line

# The failure probability of the paper's experiments.
VARRHO = 0.05


def noise_scale(epsilon, delta):
    """Standard deviation of each of the three releases, for rows of norm 1 and responses in [-1, 1]."""
    return math.sqrt(math.log(6 / delta)) / (epsilon / 3)


def largest_ridge(d, epsilon, delta):
    """The ridge where the smallest eigenvalue is 0."""
    return noise_scale(epsilon, delta) * math.sqrt(d * math.log(2 * d**2 / VARRHO))


def fit(X, y, budget, rng):
    """Algorithm 2 of Wang (2018) for rows of norm at most 1 and responses in [-1, 1]; no intercept.

    Wang, Y.-X. (2018), "Revisiting differentially private linear regression: optimal and adaptive prediction and
    estimation in unbounded domain", UAI. Adjacency: one record added or removed, weaker than replace-one. As in the
    author's experiments the matrix has 1 added to its diagonal, and its noise is (Z + Z') / 2, which is as private as
    independent noise above the diagonal, because off-diagonal entries of x x' count twice in its norm.
    """
    d, scale = X.shape[1], noise_scale(budget.epsilon, budget.delta)
    gram = X.T @ X + np.eye(d)
    smallest = np.linalg.eigvalsh(gram)[0]
    smallest += scale * rng.standard_normal() - math.log(6 / budget.delta) / (budget.epsilon / 3)
    ridge = max(0.0, largest_ridge(d, budget.epsilon, budget.delta) - max(0.0, smallest))
    noise = rng.standard_normal((d, d))
    noisy_gram = gram + scale * (noise + noise.T) / 2 + ridge * np.eye(d)
    noisy_products = X.T @ y + scale * rng.standard_normal(d)
    return Line(np.linalg.solve(noisy_gram, noisy_products), 0.0)
