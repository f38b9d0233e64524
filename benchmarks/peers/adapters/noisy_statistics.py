"""dp-statsmodels' least squares: noisy sufficient statistics with one pair of bounds for all features."""

import math
from typing import NamedTuple

import numpy as np

from peers.problem import Line

# Shares of epsilon: the matrix, the products with the response, and the response's sum of squares; each has a third of
# delta.
SHARES = (0.4, 0.4, 0.2)


class Estimate(NamedTuple):
    """Coefficients, the intercept first, and their standard errors."""

    coef: np.ndarray
    errors: np.ndarray


def fit(X, y, budget, rng):
    """DPOLS of dp-statsmodels (2025) for data in exact units with exact bounds.

    github.com/MaxGhenis/dp-statsmodels; the package is not in the index that pip reads here, so this is written from
    what its source does, with its default split. Adjacency: one record added or removed. Its Gaussian noise is the
    classical one, which holds below epsilon 1 for each release. It has no correction for noise in the matrix.
    """
    found = estimate(X, y, float(np.abs(X).max()), float(np.abs(y).max()), budget.epsilon, budget.delta, rng)
    return Line(found.coef[1:], float(found.coef[0]))


def estimate(X, y, bound, response_bound, epsilon, delta, rng):
    """Coefficients and standard errors for features and responses within the bounds, or clipped to them."""
    n = len(X)
    rows = np.column_stack([np.ones(n), np.clip(X, -bound, bound)])
    y = np.clip(y, -response_bound, response_bound)
    k = rows.shape[1]
    # A row's norm if all its columns are at the bound, the constant one too.
    norm = math.sqrt(k) * bound
    matrix_scale, product_scale, square_scale = (
        sensitivity * classical_scale(share * epsilon, delta / 3)
        for sensitivity, share in zip((norm**2, norm * response_bound, response_bound**2), SHARES, strict=True)
    )
    noise = np.triu(rng.standard_normal((k, k)) * matrix_scale)
    matrix = rows.T @ rows + noise + np.triu(noise, 1).T
    products = rows.T @ y + product_scale * rng.standard_normal(k)
    squares = y @ y + square_scale * rng.standard_normal()
    smallest = np.linalg.eigvalsh(matrix)[0]
    if smallest <= 0:
        matrix += (abs(smallest) + 1e-6) * np.eye(k)
    inverse = np.linalg.inv(matrix)
    coef = inverse @ products
    variance = max((squares - coef @ products) / (n - k), 1e-10)
    of_noise = (product_scale**2 + matrix_scale**2 * (coef @ coef)) * (inverse**2).sum(axis=1)
    return Estimate(coef, np.sqrt(np.maximum(variance * np.diag(inverse) + of_noise, 1e-10)))


def classical_scale(epsilon, delta):
    """Standard deviation over the sensitivity, of Dwork and Roth (2014)."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon
