"""TukeyEM: a point of high approximate Tukey depth among least-squares fits of disjoint groups of records."""

import math

import numpy as np
from scipy.special import logsumexp

from peers.problem import Line


def fit(X, y, budget, rng):
    """Least squares on disjoint groups, then the exponential mechanism on approximate Tukey depth.

    Amin, Joseph, Ribero and Vassilvitskii (2023), "Easy differentially private linear regression", ICLR, arXiv
    2208.07353, with the sharper test of their next paper (arXiv 2306.00920, "modified PTR lemma"). It needs no bounds
    and many more records than features. Adjacency: one record added or removed; n is public here, which spares it the
    price of a private count. Half of epsilon tests whether deep points are safe to release, half picks one. The
    authors' published code adds Laplace noise of scale epsilon / 2 to the test where the proof needs 2 / epsilon; the
    adapter adds the latter. A failed test releases nothing: the adapter then returns the exact mean, a gift, so that
    failure costs as much as predicting a constant.
    """
    ones = np.column_stack([X, np.ones(len(X))])
    center = deep_point(group_fits(ones, y, group_count(*ones.shape, budget), rng), budget.epsilon, budget.delta, rng)
    if center is None:
        return Line(np.zeros(X.shape[1]), float(y.mean()))
    return Line(center[:-1], float(center[-1]))


def test_threshold(epsilon, delta):
    """The distance to an unsafe table that the noisy test must exceed."""
    return math.log(1 / (2 * delta)) / (epsilon / 2)


def group_count(n, d, budget):
    """Groups: as many as have d records each, at most the papers' 1000 unless the test needs more.

    With normal data of up to 20 features the test passes from about 20 times its threshold on; the number of groups
    then hardly matters for accuracy.
    """
    return min(n // d, max(1000, math.ceil(24 * test_threshold(budget.epsilon, budget.delta))))


def group_fits(X, y, count, rng):
    """Least-squares coefficients of `count` random disjoint groups, one in each row."""
    if count < 1:
        return np.zeros((0, X.shape[1]))
    size = len(X) // count
    order = rng.permutation(len(X))[: count * size].reshape(count, size)
    return np.array([np.linalg.lstsq(X[rows], y[rows], rcond=None)[0] for rows in order])


def deep_point(models, epsilon, delta, rng):
    """A point of high depth by the exponential mechanism, or None where the noisy test says it is not safe."""
    count = len(models)
    if count < 8:
        return None
    # Ties would make volumes 0.
    jitter = 1e-10 * np.maximum(1.0, np.abs(models)) * rng.random(models.shape)
    columns = np.sort(models + jitter, axis=0)
    half = count // 2
    log_volumes = np.log(columns[::-1][:half] - columns[:half]).sum(axis=1)
    log_shells = log_volumes.copy()
    log_shells[:-1] += np.log1p(-np.exp(np.minimum(log_volumes[1:] - log_volumes[:-1], -1e-16)))
    shallow = half // 2
    distance = distance_to_unsafe(log_volumes, log_shells, shallow, epsilon / 2, delta)
    if not distance + rng.laplace(scale=2 / epsilon) > test_threshold(epsilon, delta):
        return None
    depths = np.arange(shallow, half + 1)
    weights = log_shells[shallow - 1 :] + epsilon / 2 * depths
    depth = int(depths[np.argmax(weights + rng.gumbel(size=len(weights)))])
    return uniform_in_shell(columns, depth, rng)


def distance_to_unsafe(log_volumes, log_shells, shallow, epsilon, delta):
    """A lower bound of the number of records to change until some neighbor's deep points are not safe to release.

    `log_volumes[i]` is of the points of depth above i, `log_shells[i]` of those of depth i + 1. For a distance k the
    points that may enter have depth at least shallow - k - 1 and weigh at most exp(epsilon (shallow + k + 1)) each;
    they must be a share of at most delta / (8 e^epsilon) of those that certainly stay.
    """
    limit = math.log(delta / 8) - epsilon

    def safe(k):
        entering = log_volumes[shallow - k - 2] + epsilon * (shallow + k + 1)
        staying = np.arange(shallow + k - 1, len(log_shells) + 1)
        return entering - logsumexp(epsilon * staying + log_shells[staying - 1]) <= limit

    low, high = -1, shallow - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if safe(middle) else (low, middle)
    return low


def uniform_in_shell(columns, depth, rng):
    """A uniform point of the box of depth `depth` outside the box one deeper; `columns` are sorted."""
    low, high = columns[depth - 1], columns[-depth]
    if 2 * depth >= len(columns) - 1:
        return rng.uniform(low, high)
    inner_low, inner_high = columns[depth], columns[-depth - 1]
    outer, inner = np.log(high - low), np.log(inner_high - inner_low)
    # The first coordinate outside the inner box is the j-th: those before it are inside, those after it anywhere.
    before = np.concatenate([[0.0], np.cumsum(inner)[:-1]])
    after = np.concatenate([np.cumsum(outer[::-1])[::-1][1:], [0.0]])
    shell = outer + np.log1p(-np.exp(np.minimum(inner - outer, -1e-16)))
    j = int(np.argmax(before + shell + after + rng.gumbel(size=len(outer))))
    point = np.where(np.arange(len(outer)) < j, rng.uniform(inner_low, inner_high), rng.uniform(low, high))
    left, right = inner_low[j] - low[j], high[j] - inner_high[j]
    step = rng.uniform(0, left + right)
    point[j] = low[j] + step if step < left else inner_high[j] + step - left
    return point
