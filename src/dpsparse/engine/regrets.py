"""How much worse than the best of several linear models each does on a record, summed in integers."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpsparse.engine.quantize import WEIGHT_LEVELS, Quantizer, weight_levels


class WithResiduals(Protocol):
    """Records in memory."""

    def residuals(
        self, coef: NDArray[np.float64], support: NDArray[np.intp], quantizer: Quantizer
    ) -> NDArray[np.float64]:
        """Responses minus predictions."""


@np.errstate(all="ignore")
def absolute_errors(
    rows: WithResiduals, coefs: Sequence[NDArray[np.float64]], intercepts: Sequence[float]
) -> NDArray[np.float64]:
    """Absolute errors, a row for each model and a column for each record; elementwise, in one fixed order.

    Coefficients beyond the features are those of the indicators of gaps, which count as 0 themselves: where a model has
    a gap at a centre c, coef * c is part of them. The error of a blank record is NaN.
    """
    errors = [
        np.abs(rows.residuals(coef, np.flatnonzero(coef), Quantizer(np.inf)) - intercept)
        for coef, intercept in zip(coefs, intercepts, strict=True)
    ]
    return np.array(errors)


@np.errstate(all="ignore")
def squared_errors(responses: NDArray[np.float64], log_odds: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Squared errors of probabilities, (y - p)^2, from responses that are 0 or 1 and each model's log odds of yes.

    A row for each model and a column for each record, elementwise. The error of a blank record is NaN.

    Examples
    --------
    >>> squared_errors(np.array([1.0, np.nan]), [np.array([0.0, 0.0]), np.array([np.inf, 0.0])])
    array([[0.25,  nan],
           [0.  ,  nan]])
    """
    return np.stack([(responses - expit(np.asarray(each, dtype=np.float64))) ** 2 for each in log_odds])


@np.errstate(all="ignore")
def deviances(responses: NDArray[np.float64], means: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Halves of Poisson deviances, up to a term of the response alone: m - y log m, for means m.

    A row for each model and a column for each record, elementwise. That of a blank record is NaN.

    Examples
    --------
    >>> deviances(np.array([1.0, np.nan]), [np.array([1.0, 1.0])])
    array([[ 1., nan]])
    """
    tables = [np.asarray(each, dtype=np.float64) for each in means]
    return np.stack([each - responses * np.log(each) for each in tables])


@np.errstate(all="ignore")
def regrets(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each record's errors less its smallest; NaN where one is NaN."""
    result: NDArray[np.float64] = errors - errors.min(axis=0)
    return result


@np.errstate(all="ignore")
def regret_sums(errors: NDArray[np.float64], bound: float) -> NDArray[np.int64]:
    """For each model the sum over records of its regret, as int64; one level stands for bound / 2^16.

    Regrets are clipped to [0, bound]; they are 0 where an error is NaN.

    Examples
    --------
    >>> regret_sums(np.array([[1.0, 5.0, np.nan], [1.5, 0.0, 2.0]]), 1.0)
    array([65536, 32768])
    """
    levels = weight_levels(regrets(errors), bound)
    result: NDArray[np.int64] = np.clip(levels, 0, WEIGHT_LEVELS).sum(axis=1).astype(np.int64)
    return result
