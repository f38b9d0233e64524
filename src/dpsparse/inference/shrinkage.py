"""Effects shrunk toward 0 by their errors, and whether there are any effects at all."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpsparse.inference.inference_constants import CONVERGED, DOUBTFUL, JITTER, SURE, SWEEPS, UNRELIABLE_KEPT_FROM


def shrunk(
    effects: NDArray[np.float64], covariance: NDArray[np.float64], reliable: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The posterior mean of effects with normal errors, each with a normal prior of its own variance.

    The variances are those under which the effects are most likely (type-II maximum likelihood, as in sparse Bayesian
    learning), found one after the other. For independent errors this is b_j max(0, 1 - V_jj / b_j^2). Among features
    that are nearly collinear single effects have large errors and cancel, while their sum is well known: that is kept.

    `effects` are b, `covariance` is V; `reliable` says whose errors can be relied on.

    Examples
    --------
    >>> shrunk(np.array([2.0, 0.5]), np.eye(2), np.ones(2, dtype=bool))
    array([1.5, 0. ])
    """
    unit, target, noise, prior = _likely(effects, covariance, reliable)
    return np.asarray(prior * np.linalg.solve(noise + np.diag(prior), target) * unit)


def combined(
    effects: NDArray[np.float64],
    covariance: NDArray[np.float64],
    others: NDArray[np.float64],
    other_covariance: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unbiased effects combined with others that may be off, and the covariance of the result.

    By how much the others are off has a normal prior for each effect, of the variances under which the difference is
    most likely: where both agree within their errors they are weighted by their precisions, and where they do not the
    unbiased ones decide.

    Examples
    --------
    >>> combined(np.array([1.0, 1.0]), np.eye(2), np.array([2.0, 11.0]), np.eye(2))[0].round(6)
    array([1.5, 1.1])
    """
    unit, _, _, prior = _likely(effects - others, covariance + other_covariance, np.ones(len(effects), dtype=bool))
    precision = np.linalg.inv(covariance)
    of_others = np.linalg.inv(other_covariance + np.diag(prior * unit**2))
    result = np.linalg.inv(precision + of_others)
    return np.asarray(result @ (precision @ effects + of_others @ others)), np.asarray(result)


def _likely(
    effects: NDArray[np.float64], covariance: NDArray[np.float64], reliable: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], ...]:
    """The units of the errors, and effects, their errors' correlations and the likely prior variances in these."""
    least = np.where(reliable, 1.0, UNRELIABLE_KEPT_FROM**2)
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
        if np.all(np.abs(prior - before) <= CONVERGED * (1 + before)):
            break
    return unit, target, noise, prior


def any_sure(effects: NDArray[np.float64], covariance: NDArray[np.float64]) -> bool:
    """Whether there are effects beyond doubt: one of them, or all together where errors go together.

    Examples
    --------
    >>> any_sure(np.array([5.0, 0.0]), np.eye(2)), any_sure(np.array([1.0, 1.0]), np.eye(2))
    (True, False)
    """
    if not len(effects):
        return False
    alone = np.max(np.abs(effects) / np.sqrt(np.diagonal(covariance)))
    together = effects @ np.linalg.solve(DOUBTFUL**2 * covariance, effects)
    return bool(alone > SURE or together > stats.chi2.isf(2 * stats.norm.sf(SURE), len(effects)))
