"""BinAgg: a private tree of bins, noisy sums of each bin, and least squares corrected for the noise in the features."""

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from dpsparse.privacy.accounting.gdp import largest_mu
from peers.problem import Line

# The paper's defaults: shares of mu for bins, counts, sums of features and sums of responses; bins with a noisy count
# below the last are left out.
SHARES, LEAST_COUNT = (1.0, 3.0, 3.0, 3.0), 2
BRANCHES = 2  # of a split
MOST_SPLITS = 100_000  # a tree of many more bins than records is noise alone


class Estimate(NamedTuple):
    """Coefficients, the intercept last where there is one, and their standard errors."""

    coef: np.ndarray
    errors: np.ndarray


def fit(X, y, budget, rng, *, whole=False):
    """Lin, Slavkovic and Bhoomireddy (2026), Algorithms 1 and 2, for data in exact units with exact bounds.

    "Differentially private linear regression and synthetic data generation with statistical guarantees", AISTATS, arXiv
    2510.16974. Written from its abstract, from an account of it and from what the authors' package does, not from the
    paper's own pages. Adjacency: one record added or removed, n public. Two things differ from the package. The noise
    of the sums of features is sqrt(d) times as large: one record moves all d of them, and the package spends its share
    of mu on each. And an intercept is fitted, whose column of sums is the noisy counts. The package subtracts one part
    in K of the second moment of the features' noise, K being the number of bins; with `whole` all of it is subtracted,
    as least squares with noise in the features needs: then intervals hold, and small tables go astray more often.
    """
    bounds = np.column_stack([X.min(axis=0), X.max(axis=0)])
    found = estimate(X, y, bounds, np.abs(y).max(), largest_mu(budget.epsilon, budget.delta), rng, whole=whole)
    return Line(found.coef[:-1], float(found.coef[-1]))


def estimate(X, y, bounds, response_bound, mu, rng, *, intercept=True, whole=False, sound=True):
    """Coefficients and standard errors; the authors' package has no intercept and is not `sound`."""
    n, d = X.shape
    shares = mu * np.array(SHARES) / np.linalg.norm(SHARES)
    X, y = np.clip(X, bounds[:, 0], bounds[:, 1]), np.clip(y, -response_bound, response_bound)
    boxes, members = private_tree(X, bounds, pure_epsilon(shares[0]), rng)
    boxes, members = split_until(X, boxes, members, d + 1)
    counts = np.rint([len(rows) for rows in members] + rng.standard_normal(len(boxes)) / shares[1])
    scales = np.abs(boxes).max(axis=2) * (math.sqrt(d) if sound else 1) / shares[2]
    sums = np.array([X[rows].sum(axis=0) for rows in members]) + scales * rng.standard_normal(scales.shape)
    responses = np.array([y[rows].sum() for rows in members])
    responses += response_bound / shares[3] * rng.standard_normal(len(boxes))
    kept = counts >= LEAST_COUNT
    if not kept.any():
        return Estimate(np.zeros(d + intercept), np.full(d + intercept, np.inf))
    # Counts are rescaled so that they add up to n, which is public.
    weights = np.maximum(1.0, counts[kept] * (n / counts[kept].sum()))
    sums, scales, responses = sums[kept], scales[kept], responses[kept]
    if intercept:
        sums = np.column_stack([sums, counts[kept]])
        scales = np.column_stack([scales, np.full(len(scales), 1 / shares[1])])
    return corrected_least_squares(sums, responses, 1 / weights, scales**2, whole)


def corrected_least_squares(sums, responses, weights, variances, whole):
    """Weighted least squares of noisy sums on noisy sums, less what the features' noise adds, and its sandwich."""
    bins, columns = sums.shape
    noise = np.diag(weights @ variances)
    gram = (sums * weights[:, None]).T @ sums
    coef = np.linalg.solve(gram - (noise if whole else noise / bins), sums.T @ (weights * responses))
    residuals = responses - sums @ coef
    scores = weights[:, None] * (sums * residuals[:, None] + variances * coef)
    bread = np.linalg.inv((gram - noise) / bins)
    meat = scores.T @ scores / (bins * max(bins - columns, 1))
    return Estimate(coef, np.sqrt(np.diag(bread @ meat @ bread)))


def pure_epsilon(mu):
    """The epsilon whose pure guarantee is as good as mu-Gaussian differential privacy."""
    return float(stats.norm.logcdf(mu / 2) - stats.norm.logsf(mu / 2))


def private_tree(X, bounds, epsilon, rng):
    """PrivTree (Zhang, Xiao and Xie 2016) with threshold 0: boxes, and the rows in each."""
    scale = (2 * BRANCHES - 1) / ((BRANCHES - 1) * epsilon)
    step = scale * math.log(BRANCHES)
    waiting, boxes, members = [(bounds, np.arange(len(X)), 0)], [], []
    splits = 0
    while waiting:
        box, rows, depth = waiting.pop()
        score = max(len(rows) - step * depth, -step) + rng.laplace(scale=scale)
        if score > 0 and splits < MOST_SPLITS:
            splits += 1
            waiting += [(half, part, depth + 1) for half, part in halves(X, box, rows)]
        else:
            boxes.append(box)
            members.append(rows)
    return np.array(boxes), members


def halves(X, box, rows):
    """A box halved along its widest side, with the rows of each half."""
    side = int(np.argmax(box[:, 1] - box[:, 0]))
    middle = box[side].mean()
    low, high = box.copy(), box.copy()
    low[side, 1] = high[side, 0] = middle
    below = X[rows, side] < middle
    return (low, rows[below]), (high, rows[~below])


def split_until(X, boxes, members, least):
    """Halve the largest box until there are enough; this looks at no record."""
    boxes, members = list(boxes), list(members)
    while len(boxes) < least:
        largest = int(np.argmax([np.log(np.maximum(box[:, 1] - box[:, 0], 1e-300)).sum() for box in boxes]))
        (low, below), (high, above) = halves(X, boxes.pop(largest), members.pop(largest))
        boxes += [low, high]
        members += [below, above]
    return np.array(boxes), members
