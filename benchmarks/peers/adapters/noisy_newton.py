"""Noisy Newton steps on Huber's loss with bounded rows."""

import math

import numpy as np

from dpsparse.privacy.accounting.gdp import largest_mu
from peers.problem import Line

STEPS = 6
HUBER = 1.345  # residuals beyond it count as it, in units of the response's scale
# The smallest eigenvalue of the matrix that is believed, in standard deviations of its noise's largest eigenvalue.
FLOOR = 1.0


def fit(X, y, budget, rng):
    """Avella-Medina, Bradshaw and Loh (2023), the noisy Newton method, for data in exact units, with an intercept.

    "Differentially private inference via noisy optimization", Annals of Statistics, arXiv 2103.11003. Written from its
    abstract and its opening pages: every step releases the gradient and the Hessian of a robust loss with Gaussian
    noise, halves of the budget each, and solves. The paper bounds a row by a weight; here rows (1, x) are shortened to
    the norm sqrt(d + 1), which keeps most of them whole. A row counts in the Hessian by its clipped residual over its
    residual, so that no step goes too far: with rows within the clip alone, as in Newton's method, steps left for
    infinity on three of the real tables. The number of steps, the loss's constant and the floor of the
    matrix's eigenvalues are ours. Adjacency: replace-one; the price is exact in Gaussian
    differential privacy.
    """
    n, d = X.shape
    radius = math.sqrt(d + 1)
    rows = np.column_stack([X, np.ones(n)])
    rows *= np.minimum(1.0, radius / np.linalg.norm(rows, axis=1))[:, None]
    gradient_scale, hessian_scale = noise_scales(n, d, budget.epsilon, budget.delta)
    # The largest eigenvalue of a symmetric matrix of k columns with such noise is near scale * sqrt(2 k).
    floor = max(FLOOR * hessian_scale * math.sqrt(2 * (d + 1)), 1e-3)
    effects = np.zeros(d + 1)
    for _ in range(STEPS):
        residuals = y - rows @ effects
        gradient = np.clip(residuals, -HUBER, HUBER) @ rows / n
        weighted = rows * np.minimum(1.0, HUBER / np.maximum(np.abs(residuals), 1e-300))[:, None]
        noise = rng.standard_normal((d + 1, d + 1))
        hessian = weighted.T @ rows / n + hessian_scale * (noise + noise.T) / math.sqrt(2)
        values, vectors = np.linalg.eigh(hessian)
        noisy = gradient + gradient_scale * rng.standard_normal(d + 1)
        effects = effects + vectors @ (vectors.T @ noisy / np.maximum(values, floor))
    return Line(effects[:-1], float(effects[-1]))


def noise_scales(n, d, epsilon, delta):
    """Standard deviations of a gradient's noise and of a Hessian's entries above the diagonal.

    Replacing a record moves the gradient by at most 2 HUBER sqrt(d + 1) / n, and the Hessian, as a matrix, by at most
    sqrt(2) (d + 1) / n: x x' and z z' have inner product (x'z)^2, which is not negative. Off-diagonal entries count
    twice in the matrix's norm, so that noise of this deviation off the diagonal and sqrt(2) times it on the diagonal
    costs as much as noise of sqrt(2) times it on every entry.
    """
    each = largest_mu(epsilon, delta) / math.sqrt(2 * STEPS)
    return 2 * HUBER * math.sqrt(d + 1) / (n * each), (d + 1) / (n * each)
