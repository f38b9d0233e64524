"""Intervals about an estimate that may be biased by up to a known bound (Armstrong and Kolesar, 2018).

For an estimate with a normal error of standard deviation s and a bias of at most b, the interval that holds in a share
`level` of cases whatever the bias reaches s cv(b / s): cv(t) is the quantile of |N(t, 1)|.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import foldnorm, norm


def critical_value(bias: ArrayLike, level: float) -> NDArray[np.float64]:
    """The quantile `level` of |N(bias, 1)|.

    Examples
    --------
    >>> critical_value([0.0, 1.0], 0.95).round(2).tolist()
    [1.96, 2.65]
    """
    return np.asarray(foldnorm.ppf(level, np.asarray(bias, dtype=np.float64)))


def widened_errors(errors: NDArray[np.float64], bias: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Standard errors whose usual interval of this level is the bias-aware one; those of higher levels are wider."""
    return np.asarray(errors * critical_value(bias / errors, level) / norm.ppf((1 + level) / 2))
