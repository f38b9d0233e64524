"""DPHuber for sparse models: peeling on clipped products, a private Huber-ridge start, noisy hard thresholding."""

import math

import numpy as np

from peers.problem import Line

RIDGE = 0.2
STEP = 0.01
# The standard deviation of y in the authors' simulations, sqrt(10), for which their constants are chosen.
RESPONSE_SPREAD = 3.16


def fit(X, y, budget, rng):
    """`procedure` for data in exact units, with y scaled as in the authors' simulations."""
    line = procedure(X, RESPONSE_SPREAD * y, budget, rng)
    return Line(line.coef / RESPONSE_SPREAD, line.intercept / RESPONSE_SPREAD)


def procedure(X, y, budget, rng):
    """The high-dimensional procedure of Chang et al. (2026), with the constants of their simulations.

    Chang, Yang, Zha and Zhou (2026), "Adapting to noise tails in private linear regression", arXiv 2603.07505, section
    5.3 and Algorithm 3. A third of epsilon each: peeling on |mean of clipped x y|; a start by Huber's loss with a
    ridge on the peeled features (a quarter of it for the scale of y); ceil(2 log n) noisy steps. Adjacency:
    replace-one. As published, and in its favour, peeling adds Laplace noise of half the scale that noisy maxima need,
    and the start's sensitivity is for half of the loss that is minimised. s is 1.2 times the features asked for and
    the intercept.
    """
    n, d = X.shape
    epsilon, delta = budget.epsilon / 3, budget.delta / 2
    s = min(math.ceil(1.2 * (budget.sparsity + 1)), d + 1)
    chosen = peel(product_scores(X, y), s - 1, peeling_scale(n, d, s, epsilon), rng)
    spread = response_spread(y, epsilon / 4, rng)
    start = huber_ridge(X[:, chosen], y, spread)
    start += start_scale(n, s - 1, spread, 3 / 4 * epsilon, delta) * rng.standard_normal(s)
    effects = np.zeros(d + 1)
    effects[np.concatenate([[0], chosen + 1])] = start
    tau = 0.04 * spread * math.sqrt(n * budget.epsilon / (s * math.log(d + 1) + math.log(n)))
    effects = noisy_steps(X, y, effects, s, tau, epsilon, delta, rng)
    return Line(effects[1:], float(effects[0]))


def product_scores(X, y, block=1024):
    """The size of each feature's mean product with y, products clipped; a few rows at a time."""
    n, d = X.shape
    clip, total = product_clip(n, d), np.zeros(d)
    for at in range(0, n, block):
        total += np.clip(X[at : at + block] * y[at : at + block, None], -clip, clip).sum(axis=0)
    return np.abs(total) / n


def product_clip(n, d):
    """Products are clipped here."""
    return math.sqrt(math.log(n) + math.log(d + 1))


def peeling_scale(n, d, s, epsilon):
    """Laplace scale of each of s - 1 picks: the sensitivity 2 clip / n over epsilon / (s - 1)."""
    return 2 * product_clip(n, d) / n * (s - 1) / epsilon


def peel(scores, count, scale, rng):
    """Indices of the largest noisy scores, one at a time with fresh noise, in increasing order."""
    left, chosen = scores.copy(), []
    for _ in range(count):
        chosen.append(int(np.argmax(left + rng.laplace(scale=scale, size=len(left)))))
        left[chosen[-1]] = -np.inf
    return np.sort(np.array(chosen, dtype=int))


def response_spread(y, epsilon, rng):
    """A private standard deviation of y, clipped at log n; 2 where the noise makes the variance negative."""
    n, clip = len(y), math.log(len(y))
    clipped = np.clip(y, -clip, clip)
    mean = clipped.mean() + rng.laplace(scale=2 * clip / n / (epsilon / 2))
    square = (clipped**2).mean() + rng.laplace(scale=clip**2 / n / (epsilon / 2))
    variance = square - mean**2
    return math.sqrt(variance) if variance > 0 else 2.0


def row_radius(count):
    """Rows of the peeled features are clipped at this norm."""
    return math.sqrt(count + 1) / 6


def start_scale(n, count, tau, epsilon, delta):
    """Standard deviation of the start's noise, as published."""
    lipschitz = tau * math.sqrt(1 + row_radius(count) ** 2)
    return 2 * lipschitz * math.sqrt(2 * math.log(1.25 / delta)) / (n * epsilon * RIDGE)


def huber_ridge(X, y, tau):
    """Minimise mean(2 Huber loss) + RIDGE/2 |b|^2 for rows (1, x clipped at `row_radius`), by Newton's steps."""
    n, count = X.shape
    norms = np.maximum(np.linalg.norm(X, axis=1), 1e-300)
    rows = np.column_stack([np.ones(n), X * np.minimum(1.0, row_radius(count) / norms)[:, None]])

    def loss(effects):
        size = np.abs(y - rows @ effects)
        huber = np.where(size <= tau, size**2, 2 * tau * size - tau**2)
        return huber.mean() + RIDGE / 2 * effects @ effects

    effects = np.zeros(count + 1)
    for _ in range(100):
        residuals = y - rows @ effects
        gradient = RIDGE * effects - 2 / n * (rows.T @ np.clip(residuals, -tau, tau))
        inside = rows[np.abs(residuals) <= tau]
        move = np.linalg.solve(2 / n * (inside.T @ inside) + RIDGE * np.eye(count + 1), gradient)
        size, now = 1.0, loss(effects)
        while loss(effects - size * move) > now - 1e-4 * size * (gradient @ move) and size > 1e-6:
            size /= 2
        effects = effects - size * move
        if np.abs(move).max() < 1e-9:
            break
    return effects


def step_budget(steps, epsilon, delta):
    """Epsilon and delta of each of the noisy steps, by the better of basic and advanced composition."""
    if steps * math.log(steps / delta) < 2.5 * math.log(2 / delta) * math.log(2 * steps / delta):
        return epsilon / steps, delta / steps
    return epsilon / math.sqrt(2.5 * steps * math.log(2 / delta)), delta / (2 * steps)


def noisy_steps(X, y, effects, s, tau, epsilon, delta, rng):
    """Gradient steps on Huber's loss, each thresholded to s coordinates with Laplace noise."""
    n, d = X.shape
    clip = 0.5 * math.sqrt(math.log(d + 1) + math.log(n))
    largest = np.maximum(X.max(axis=1), -X.min(axis=1))
    shrink = np.minimum(1.0, clip / np.maximum(largest, 1e-300))
    steps = math.ceil(2 * math.log(n))
    each_epsilon, each_delta = step_budget(steps, epsilon, delta)
    scale = 2 * STEP / n * clip * tau * 2 * math.sqrt(5 * s * math.log(1 / each_delta)) / each_epsilon
    for _ in range(steps):
        support = np.flatnonzero(effects[1:])
        psi = np.clip(y - effects[0] - X[:, support] @ effects[1:][support], -tau, tau)
        moved = effects + STEP / n * np.concatenate([[psi.sum()], (shrink * psi) @ X])
        chosen = peel(np.abs(moved), s, scale, rng)
        effects = np.zeros(d + 1)
        effects[chosen] = moved[chosen] + rng.laplace(scale=scale, size=s)
    return effects
