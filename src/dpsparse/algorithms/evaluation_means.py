"""How well predictions of a mean do on records held out, where effects are ratios: errors, and deviance explained.

A Poisson deviance of a response y and a mean m is 2 (y log(y / m) - y + m), and its root is the size of a deviance
residual. The releases are those of `evaluation_sums`, twice, at half of the budget each: on errors, and on deviance
residuals in the place of errors. The R2 of the latter is the share of the deviance that is explained, D2, as
scikit-learn's `d2_tweedie_score` with power 1 has it, deviance residuals being cut as errors are.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from dpsparse.algorithms.estimates import Estimate
from dpsparse.algorithms.evaluation_sums import Scores, release_errors
from dpsparse.engine.errors import Errors
from dpsparse.privacy.accounting.meter import Commitment, Meter

# What the names of the releases begin with: those on errors, and those on deviance residuals.
OF_DEVIANCE = "deviance "
PARTS = ("", OF_DEVIANCE)


@dataclass(frozen=True)
class MeanScores(Scores):
    """What an evaluation of means releases: `Scores` of errors, and what deviance residuals tell."""

    # 1 less the mean deviance of the model over that of the constant, deviance residuals counting up to `deviance_cut`;
    # None where they are too noisy to tell.
    d2: Estimate | None = None
    deviance_cut: float = math.inf


def release_means(
    meter: Meter,
    commitment: Commitment,
    responses: NDArray[np.float64],
    means: NDArray[np.float64],
    constants: float | NDArray[np.float64],
    response_scale: float | None = None,
) -> MeanScores:
    """Release how well means do, against constant ones: a number, or one for each record's exposure.

    The meter has committed to the releases. Responses are NaN for a record without one. `response_scale`, about how far
    responses spread, was released before.
    """
    constants = np.broadcast_to(constants, means.shape)
    errors = release_errors(meter, commitment, Errors.of(responses, means, constants), response_scale)
    # In units of the root of the mean response, about which deviances do not depend on the response's unit.
    residuals = Errors(deviance_residuals(responses, means), deviance_residuals(responses, constants))
    deviances = release_errors(meter, commitment, residuals, None, OF_DEVIANCE)
    return MeanScores(**vars(errors), d2=deviances.r2, deviance_cut=deviances.cut)


@np.errstate(all="ignore")
def deviance_residuals(responses: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Roots of Poisson deviances; NaN where there is no response.

    Examples
    --------
    >>> deviance_residuals(np.array([0.0, 2.0, np.nan, -1.0]), np.array([2.0, 2.0, 1.0, 1.0]))
    array([ 2.,  0., nan, nan])
    """
    responses = np.where(np.isfinite(responses) & (responses >= 0), responses, np.nan)
    deviances = 2 * (xlogy(responses, responses / means) - responses + means)
    return np.asarray(np.sqrt(np.maximum(deviances, 0.0)))
