"""Private selection of features by Kendall's rank correlation, then Boosted AdaSSP or the Tukey mechanism."""

import numba
import numpy as np

from peers.adapters import boosted_adassp, tukey
from peers.problem import Budget, Line, exact_feature_units, robust_units


def fit(X, y, budget, rng, *, regression):
    """Half of epsilon selects features by Kendall's tau, half fits them; `regression` is "BAS" or "Tukey".

    Amin, Joseph, Ribero and Vassilvitskii (2023), "Better private linear regression through better private feature
    selection", NeurIPS, arXiv 2306.00920. Adjacency: one record added or removed. Selection is pure and needs no
    units. The Tukey mechanism needs none either. Boosted AdaSSP clips rows and residuals at 1, so it is given the
    selected features in exact units over sqrt(k + 1); the paper lets it clip raw rows and clips the rows it predicts
    for, which no line does.
    """
    k = min(budget.sparsity, X.shape[1])
    chosen = select(X, y, k, budget.epsilon / 2, rng)
    rest = Budget(budget.epsilon / 2, budget.delta, k)
    if regression == "Tukey":
        line = tukey.fit(X[:, chosen], y, rest, rng)
    else:
        center, scale = exact_feature_units(X[:, chosen])
        response_center, response_scale = robust_units(y)
        line = boosted_adassp.fit((X[:, chosen] - center) / scale, (y - response_center) / response_scale, rest, rng)
        coef = line.coef * response_scale / scale
        line = Line(coef, response_center + response_scale * line.intercept - coef @ center)
    coef = np.zeros(X.shape[1])
    coef[chosen] = line.coef
    return Line(coef, float(line.intercept))


def select(X, y, k, epsilon, rng):
    """Features of large correlation with y and small average correlation with those selected before.

    Scores are n/2 |tau|, of sensitivity 3/2; less the average over selected features their sensitivity is 3. Each pick
    is the exponential mechanism with epsilon / k.
    """
    orders = np.argsort(X, axis=0, kind="stable").T.astype(np.int32)
    columns = np.ascontiguousarray(X.T)
    relevance = scores(columns, orders, y)
    redundancy, chosen = np.zeros(len(columns)), []
    for _ in range(k):
        utility = relevance - redundancy / len(chosen) if chosen else relevance
        sensitivity = 3.0 if chosen else 1.5
        noisy = epsilon / k * utility / (2 * sensitivity) + rng.gumbel(size=len(utility))
        noisy[chosen] = -np.inf
        chosen.append(int(np.argmax(noisy)))
        if len(chosen) < k:
            redundancy += scores(columns, orders, columns[chosen[-1]])
    return np.array(chosen)


def scores(columns, orders, y):
    """n/2 |tau| of each column with y, where a tied pair counts as neither concordant nor discordant."""
    ranks = np.unique(y, return_inverse=True)[1].astype(np.int32)
    return np.abs(_concordance(columns, orders, ranks)) / (len(y) - 1)


@numba.njit(cache=True)
def _concordance(columns, orders, ranks):
    """Concordant less discordant pairs of each column with the ranks, by a Fenwick tree of counts."""
    d, n = columns.shape
    levels = ranks.max() + 1
    result = np.zeros(d)
    for j in range(d):
        tree = np.zeros(levels + 1, dtype=np.int64)
        order, column = orders[j], columns[j]
        total, start = 0, 0
        while start < n:
            stop = start
            while stop < n and column[order[stop]] == column[order[start]]:
                rank = ranks[order[stop]]
                below, i = 0, rank
                while i > 0:
                    below += tree[i]
                    i -= i & -i
                upto, i = 0, rank + 1
                while i > 0:
                    upto += tree[i]
                    i -= i & -i
                total += below - (start - upto)
                stop += 1
            # Records of equal features enter the tree together, after all of them were counted.
            for at in range(start, stop):
                i = ranks[order[at]] + 1
                while i <= levels:
                    tree[i] += 1
                    i += i & -i
            start = stop
        result[j] = total
    return result
