"""The posterior mean of effects whose common spread nobody knows.

Effects b have evidence of the precision P and the score h, so that b is N(P^-1 h, P^-1) without a prior. Their prior is
N(0, t^2 / d) for each of the d effects, where t, the spread of all together, is 0 or one of a grid; effects
are in units of their own. What is predicted is the mean over all t, each by its likelihood: where nothing can be
learned t is most likely 0, and predictions are hardly other than a constant; where little can, they are shrunk by as
much as noise says. There is no verdict in it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference import inference_constants as c


@dataclass(frozen=True)
class Averaged:
    """The mean effects over all spreads, and how likely it is that there are none: a spread of 0."""

    effects: NDArray[np.float64]
    of_nothing: float


def averaged(
    score: NDArray[np.float64],
    precision: NDArray[np.float64],
    constants: int,
    constant: float,
    units: NDArray[np.float64] | float = 1.0,
) -> Averaged:
    """The posterior mean from evidence without a prior.

    The first `constants` columns are the constant, whose prior has this standard deviation; `units` are the effects'.

    Examples
    --------
    >>> sure, unsure = (averaged(np.array([0.0, h]), 100 * np.eye(2), 1, 1.0) for h in (100.0, 10.0))
    >>> sure.effects.round(2), unsure.effects.round(2), sure.of_nothing < 0.01 < unsure.of_nothing
    (array([0.  , 0.99]), array([0.  , 0.02]), True)
    """
    d = len(score) - constants
    of_constants = np.full(constants, 1 / constant**2)
    # Without effects the constant alone is free; 0 stands for all of their prior.
    alone = np.linalg.solve(precision[:constants, :constants] + np.diag(of_constants), score[:constants])
    means = [np.append(alone, np.zeros(d))]
    _, log_size = np.linalg.slogdet(precision[:constants, :constants] + np.diag(of_constants))
    evidence = [np.log(c.NO_SPREAD) + (score[:constants] @ alone - log_size) / 2]
    for spread in c.SPREADS:
        prior = np.append(of_constants, np.full(d, d / spread**2) / units**2)
        total = precision + np.diag(prior)
        mean = np.linalg.solve(total, score)
        _, log_size = np.linalg.slogdet(total)
        of_prior = float(np.log(prior[constants:]).sum())
        evidence.append(np.log((1 - c.NO_SPREAD) / len(c.SPREADS)) + (of_prior + score @ mean - log_size) / 2)
        means.append(mean)
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    return Averaged(np.asarray(weights @ np.array(means)), float(weights[0]))
