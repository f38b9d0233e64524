"""Boosted AdaSSP: one noisy matrix, then many noisy steps on clipped residuals."""

import math

import numpy as np

from dpsparse.privacy.accounting.gdp import largest_mu
from peers.problem import Line

ROUNDS = 100


def fit(X, y, budget, rng):
    """Algorithm 1 of Tang et al. (2023) with 100 rounds, rows clipped at 1 and residuals at 1, and an intercept.

    Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu (2023), "Improved differentially private regression via gradient
    boosting", arXiv 2303.03451. Adjacency: one record added or removed. Its price is exact in Gaussian differential
    privacy: a third of mu^2 each for the matrix, its smallest eigenvalue and all rounds together. Rows
    (1, x) / sqrt(d + 1) are clipped; x is of about unit variance, y of about unit scale.
    """
    n, d = X.shape
    rows = np.column_stack([X, np.ones(n)]) / math.sqrt(d + 1)
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    scale = noise_scale(budget.epsilon, budget.delta)
    gram = rows.T @ rows
    noise = rng.standard_normal(gram.shape)
    # AdaSSP's ridge, its smallest eigenvalue lowered by two standard deviations of its noise.
    smallest = max(0.0, np.linalg.eigvalsh(gram)[0] + scale * (rng.standard_normal() - 2))
    ridge = max(0.0, scale * math.sqrt((d + 1) * math.log(2 * (d + 1) ** 2 / 0.05)) - smallest)
    inverse = np.linalg.inv(gram + scale * (noise + noise.T) / 2 + ridge * np.eye(d + 1))
    effects = np.zeros(d + 1)
    for _ in range(ROUNDS):
        products = rows.T @ np.clip(y - rows @ effects, -1, 1)
        effects += inverse @ (products + scale * math.sqrt(ROUNDS) * rng.standard_normal(d + 1))
    effects /= math.sqrt(d + 1)
    return Line(effects[:-1], float(effects[-1]))


def noise_scale(epsilon, delta):
    """Standard deviation of the matrix's noise and the eigenvalue's; a round's is sqrt(ROUNDS) times that."""
    return math.sqrt(3) / largest_mu(epsilon, delta)
