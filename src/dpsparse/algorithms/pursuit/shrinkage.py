"""Post-processing of releases: effects shrunk toward 0 by their errors, and whether there are any effects at all."""

import numpy as np
from scipy import stats

# An effect of more than this many standard errors is there, whatever a noisy gain says; one whose error cannot be
# relied on is kept from this many on.
SURE, RELIABLE = 3.5, 4.0
# Errors of all effects together may be this many times as large as they are said to be: small tables whose features are
# correlated have such errors where nothing has an effect.
DOUBTFUL = 2.0
# Sweeps over all effects at most, and what a variance may still move by in the last one. Two sweeps suffice for
# independent errors, 3,000 did for each of 2,000 covariances of nearly collinear features. No sweep makes the effects
# less likely, so the bound is one on time alone.
SWEEPS, SETTLED = 10_000, 1e-6
# Added to the errors' correlations, so that they can be inverted.
JITTER = 1e-9


def shrunk(effects, covariance, reliable):
    """The posterior mean of effects with normal errors, each with a normal prior of its own variance.

    The variances are those under which the effects are most likely (type-II maximum likelihood, as in sparse Bayesian
    learning), found one after the other. For independent errors this is b_j max(0, 1 - V_jj / b_j^2). Among features
    that are nearly collinear single effects have large errors and cancel, while their sum is well known: that is kept.

    Parameters
    ----------
    effects : ndarray of shape (k,)
        The effects b.
    covariance : ndarray of shape (k, k)
        The covariance V of their errors.
    reliable : ndarray of bool of shape (k,)
        Whose errors can be relied on.

    Returns
    -------
    ndarray of shape (k,)
        The posterior means.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.algorithms.pursuit.shrinkage import shrunk
    >>> shrunk(np.array([2.0, 0.5]), np.eye(2), np.ones(2, dtype=bool))
    array([1.5, 0. ])
    """
    least = np.where(reliable, 1.0, RELIABLE**2)
    # In units of the errors, so that nothing underflows.
    unit = np.sqrt(np.diagonal(covariance))
    target, noise = effects / unit, covariance / np.outer(unit, unit) + JITTER * np.eye(len(effects))
    prior = np.maximum(0.0, target**2 - 1)
    for _ in range(SWEEPS):
        before, inverse = prior.copy(), np.linalg.inv(noise + np.diag(prior))
        for j, variance in enumerate(before):
            # What the other effects and their priors leave to say of this one: its precision, and that times its size.
            precision, evidence = np.array([inverse[j, j], inverse[j] @ target]) / (1 - variance * inverse[j, j])
            prior[j] = (evidence**2 - precision) / precision**2 if evidence**2 > least[j] * precision else 0.0
            change = prior[j] - variance
            inverse -= change / (1 + change * inverse[j, j]) * np.outer(inverse[:, j], inverse[j])
        if np.all(np.abs(prior - before) <= SETTLED * (1 + before)):
            break
    return prior * np.linalg.solve(noise + np.diag(prior), target) * unit


def any_sure(effects, covariance):
    """Whether there are effects beyond doubt: one of them, or all together where errors go together.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.algorithms.pursuit.shrinkage import any_sure
    >>> any_sure(np.array([5.0, 0.0]), np.eye(2)), any_sure(np.array([1.0, 1.0]), np.eye(2))
    (True, False)
    """
    if not len(effects):
        return False
    alone = np.max(np.abs(effects) / np.sqrt(np.diagonal(covariance)))
    together = effects @ np.linalg.solve(DOUBTFUL**2 * covariance, effects)
    return bool(alone > SURE or together > stats.chi2.isf(2 * stats.norm.sf(SURE), len(effects)))
