"""Private best-subset selection: the exponential mechanism over all supports, then objective perturbation."""

import itertools
import math

import numba
import numpy as np

from peers.problem import Line

# Constants of the paper's experiments: features and response are clipped at 1, coefficients lie in a ball, a ridge.
RADIUS, RIDGE = 1.1, 100.0
# Supports up to which all are weighed; above, a Metropolis-Hastings chain runs.
MOST_SUPPORTS = 50_000


def fit(X, y, budget, rng, *, support_only=False):
    """Prastakos, Behdin and Mazumder (2025) for data in exact units; pure differential privacy.

    "Differentially private high-dimensional variable selection via integer programming", NeurIPS, arXiv 2510.22062.
    Supports of s features are weighed by exp(-epsilon loss / (2 Delta)), the loss being that of the best coefficients
    in a ball. The paper lists the best supports with a commercial solver and treats the rest as equals; this adapter
    samples the exponential mechanism that the paper approximates: by weighing all supports where they are few, by
    Metropolis-Hastings (Roy et al. 2024, the paper's competitor, with the paper's loss) from a random start where they
    are many, so that the guarantee is of the chain's limit. Half of epsilon selects, half fits by objective
    perturbation; with `support_only` all of it selects and coefficients are 1/sqrt(s), as in the paper's figures of
    support recovery. Adjacency: replace-one.
    """
    s = min(budget.sparsity, X.shape[1])
    epsilon = budget.epsilon if support_only else budget.epsilon / 2
    support = select(X, y, s, epsilon, rng)
    coef = np.zeros(X.shape[1])
    coef[support] = 1 / math.sqrt(s) if support_only else objective_perturbation(X[:, support], y, epsilon, rng)
    return Line(coef, 0.0)


def sensitivity(n, s):
    """How much one record moves the loss, for features and responses in [-1, 1]."""
    return (1 + RADIUS * math.sqrt(s)) ** 2 / (2 * n)


def select(X, y, s, epsilon, rng):
    """A support of s features by the exponential mechanism."""
    n, d = X.shape
    features, response = np.clip(X, -1, 1), np.clip(y, -1, 1)
    gram, products = features.T @ features, features.T @ response
    # A support's loss is this rate times (fit_loss + y'y), and y'y is common to all.
    rate = epsilon / (2 * sensitivity(n, s)) / (2 * n)
    if math.comb(d, s) <= MOST_SUPPORTS:
        supports = np.array(list(itertools.combinations(range(d), s)))
        losses = fit_losses(gram, products, supports)
        return supports[np.argmax(-rate * losses + rng.gumbel(size=len(losses)))]
    start = rng.permutation(d)
    moves = 60 * s * d
    return _chain(gram, products, start, s, rate, rng.random((moves, 3)))


@numba.njit(cache=True)
def fit_losses(gram, products, supports):
    """|X b|^2 - 2 y'X b + RIDGE |b|^2 of each support's best coefficients of norm at most RADIUS."""
    losses = np.empty(len(supports))
    for i in range(len(supports)):
        losses[i] = fit_loss(gram, products, supports[i])
    return losses


@numba.njit(cache=True)
def fit_loss(gram, products, support):
    """The loss of one support."""
    s = len(support)
    matrix, right = np.empty((s, s)), np.empty(s)
    for i in range(s):
        right[i] = products[support[i]]
        for j in range(s):
            matrix[i, j] = gram[support[i], support[j]]
        matrix[i, i] += RIDGE
    coef = coefficients_in_ball(matrix, right)
    loss = 0.0
    for i in range(s):
        loss -= 2 * right[i] * coef[i]
        for j in range(s):
            loss += coef[i] * matrix[i, j] * coef[j]
    return loss


@numba.njit(cache=True)
def coefficients_in_ball(matrix, right):
    """Minimise b'(matrix) b - 2 right'b over the ball of radius RADIUS, by bisection on the multiplier."""
    coef = _solve(matrix, right, 0.0)
    if (coef**2).sum() <= RADIUS**2:
        return coef
    low, high = 0.0, np.sqrt((right**2).sum()) / RADIUS
    for _ in range(40):
        middle = (low + high) / 2
        if (_solve(matrix, right, middle) ** 2).sum() > RADIUS**2:
            low = middle
        else:
            high = middle
    return _solve(matrix, right, high)


@numba.njit(cache=True)
def _solve(matrix, right, shift):
    """Solve (matrix + shift I) b = right by Cholesky's factors; the matrix is small and positive definite."""
    s = len(right)
    root, coef = np.zeros((s, s)), right.copy()
    for i in range(s):
        for j in range(i + 1):
            rest = matrix[i, j] + (shift if i == j else 0.0)
            for k in range(j):
                rest -= root[i, k] * root[j, k]
            root[i, j] = np.sqrt(rest) if i == j else rest / root[j, j]
        for k in range(i):
            coef[i] -= root[i, k] * coef[k]
        coef[i] /= root[i, i]
    for i in range(s - 1, -1, -1):
        for k in range(i + 1, s):
            coef[i] -= root[k, i] * coef[k]
        coef[i] /= root[i, i]
    return coef


@numba.njit(cache=True)
def _chain(gram, products, order, s, rate, uniforms):
    """Swap a feature in the first s of `order` for one outside, by Metropolis-Hastings."""
    d = len(order)
    loss = fit_loss(gram, products, order[:s])
    for move in range(len(uniforms)):
        inside, outside = int(uniforms[move, 0] * s), s + int(uniforms[move, 1] * (d - s))
        order[inside], order[outside] = order[outside], order[inside]
        proposed = fit_loss(gram, products, order[:s])
        if np.log(uniforms[move, 2]) < rate * (loss - proposed):
            loss = proposed
        else:
            order[inside], order[outside] = order[outside], order[inside]
    return order[:s]


def objective_perturbation(X, y, epsilon, rng):
    """Least squares with a random linear term and a ridge, for rows of norm at most sqrt(s) and |y| at most s.

    Kifer, Smith and Thakurta (2012) with the paper's constants: smoothness s, gradient bound 2 s^1.5.
    """
    s = X.shape[1]
    rows = X * np.minimum(1.0, math.sqrt(s) / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, None]
    direction = rng.standard_normal(s)
    noise = rng.gamma(s, perturbation_scale(s, epsilon)) * direction / np.linalg.norm(direction)
    matrix = rows.T @ rows + (RIDGE + 2 * s / epsilon) * np.eye(s)
    right = rows.T @ np.clip(y, -s, s) - noise
    return coefficients_in_ball(matrix, right)


def perturbation_scale(s, epsilon):
    """Scale of the Gamma distributed length of the random linear term."""
    return 2 * 2 * s**1.5 / epsilon
