"""Private logistic regressions of the field in a few lines each, with exact units: features are standardised by their
own means and standard deviations, which no private fit may have.

Each takes training and held-out features, responses, epsilon, delta and a seed, and gives log odds of the held-out
records. Neighbours differ in one record's values.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def standardized(X, X_test):
    """Features by the training records' own units."""
    spread = X.std(axis=0)
    spread = np.where(np.ptp(X, axis=0) > 0, spread, 1.0)
    return (X - X.mean(axis=0)) / spread, (X_test - X.mean(axis=0)) / spread


def delta_of(n):
    """The delta that a fit of ours has."""
    return n**-1.1


def rho_of(epsilon, delta):
    """The zCDP budget that epsilon and delta allow."""
    most = np.log(1 / delta)
    return (np.sqrt(most + epsilon) - np.sqrt(most)) ** 2


def _rows(Z):
    """Rows with a constant."""
    return np.column_stack([np.ones(len(Z)), Z])


def _cut(rows, bound):
    """Rows within a norm."""
    norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows * np.minimum(1, bound / np.maximum(norms, bound))


def noisy_descent(Z, Z_test, y, epsilon, delta, seed, steps=60):
    """Gradient descent over all features, each gradient with noise; rows are cut at the root of their length."""
    rng, rows = np.random.default_rng([2903, seed]), _rows(Z)
    n, k = rows.shape
    bound = np.sqrt(k)
    rows, scale = _cut(rows, bound), 2 * bound / n / np.sqrt(2 * rho_of(epsilon, delta) / steps)
    b, average = np.zeros(k), np.zeros(k)
    for step in range(steps):
        gradient = rows.T @ (y - expit(rows @ b)) / n + scale * rng.standard_normal(k)
        b = b + 4 / (1 + k / 10) * gradient
        if step >= steps // 2:
            average += b / (steps - steps // 2)
    return _rows(Z_test) @ average


def noisy_newton(Z, Z_test, y, epsilon, delta, seed, steps=3):
    """Newton steps over all features, gradients and second derivatives with noise; eigenvalues have a floor."""
    rng, rows = np.random.default_rng([2904, seed]), _rows(Z)
    n, k = rows.shape
    bound, rho = np.sqrt(k), rho_of(epsilon, delta) / steps
    rows, b = _cut(rows, bound), np.zeros(k)
    for _ in range(steps):
        chances = expit(rows @ b)
        gradient = rows.T @ (y - chances) / n + 2 * bound / n / np.sqrt(rho) * rng.standard_normal(k)
        spread = bound**2 / 2 / n / np.sqrt(rho)
        noise = rng.standard_normal((k, k)) * spread
        slopes = (rows * (chances * (1 - chances))[:, None]).T @ rows / n + (np.triu(noise) + np.triu(noise, 1).T)
        values, vectors = np.linalg.eigh(slopes)
        step = vectors @ ((vectors.T @ gradient) / np.maximum(values, max(0.05, spread * np.sqrt(k))))
        b = b + step * min(1, 2 / np.linalg.norm(step))
    return _rows(Z_test) @ b


def frank_wolfe(Z, Z_test, y, epsilon, delta, seed, radius=4.0, steps=30, bound=2.0):
    """Frank-Wolfe over an l1 ball, each vertex picked by report-noisy-max; features are cut at two deviations."""
    rng, rows = np.random.default_rng([2905, seed]), _rows(np.clip(Z, -bound, bound))
    n, k = rows.shape
    scale = 2 * bound / n / np.sqrt(8 * rho_of(epsilon, delta) / steps)
    b = np.zeros(k)
    for step in range(steps):
        gradient = rows.T @ (y - expit(rows @ b)) / n
        scores = np.concatenate([gradient, -gradient]) + 2 * scale * rng.gumbel(size=2 * k)
        vertex = np.zeros(k)
        best = int(np.argmax(scores))
        vertex[best % k] = radius if best < k else -radius
        b = b + 2 / (step + 3) * (vertex - b)
    return _rows(np.clip(Z_test, -bound, bound)) @ b


def perturbed_objective(Z, Z_test, y, epsilon, delta, seed, penalty=1e-3):
    """Objective perturbation with Gaussian noise and the largest norm of a row as the exact bound."""
    rng, rows = np.random.default_rng([2906, seed]), _rows(Z)
    n, k = rows.shape
    bound = np.sqrt((rows**2).sum(axis=1).max())
    # Half of epsilon pays for the linear term, and the quadratic one brings the change of the Jacobian within the rest.
    ridge = max(penalty, bound**2 / 4 / n / (epsilon / 2))
    rho = rho_of(epsilon / 2, delta)
    linear = 2 * bound / np.sqrt(2 * rho) * rng.standard_normal(k) / n

    def objective(b):
        odds = rows @ b
        value = (np.logaddexp(0, odds) - y * odds).mean() + ridge / 2 * b @ b + linear @ b
        return value, rows.T @ (expit(odds) - y) / n + ridge * b + linear

    return _rows(Z_test) @ minimize(objective, np.zeros(k), jac=True, method="L-BFGS-B").x


RIVALS = {
    "noisy descent": noisy_descent,
    "noisy Newton": noisy_newton,
    "Frank-Wolfe": frank_wolfe,
    "perturbed objective": perturbed_objective,
}
