"""Which effects are significant, over all features together."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL


def critical_value(n_features: int) -> float:
    """How many standard errors from 0 an effect must be: Bonferroni's bound, over all features that had a chance.

    Examples
    --------
    >>> round(critical_value(1), 2), round(critical_value(1_000), 2)
    (1.96, 4.06)
    """
    return float(stats.norm.isf(FAMILY_WISE_LEVEL / 2 / n_features))


def significant(effects: NDArray[np.float64], errors: NDArray[np.float64], n_features: int) -> NDArray[np.bool_]:
    """Whether each effect is further from 0 than that; one with an unknown error (NaN) is not."""
    return np.asarray(np.abs(effects) > critical_value(n_features) * errors)


def joint_p_value(effects: NDArray[np.float64], covariance: NDArray[np.float64]) -> float:
    """The p-value of the hypothesis that all of some effects are 0: Wald's test.

    Examples
    --------
    >>> import numpy as np
    >>> round(joint_p_value(np.array([1.96]), np.eye(1)), 3)
    0.05
    """
    statistic = float(effects @ np.linalg.solve(covariance, effects))
    return float(stats.chi2.sf(statistic, len(effects)))
