"""Which effects are significant, over all features together."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpsparse.inference.constants import FAMILY_WISE_LEVEL


def critical_value(n_features: int) -> float:
    """How many standard errors from 0 an effect must be: Bonferroni's bound, over all features that had a chance.

    Examples
    --------
    >>> from dpsparse.inference.significance import critical_value
    >>> round(critical_value(1), 2), round(critical_value(1_000), 2)
    (1.96, 4.06)
    """
    return float(stats.norm.isf(FAMILY_WISE_LEVEL / 2 / n_features))


def significant(effects: NDArray[np.float64], errors: NDArray[np.float64], n_features: int) -> NDArray[np.bool_]:
    """Whether each effect is further from 0 than that; one with an unknown error (NaN) is not."""
    return np.asarray(np.abs(effects) > critical_value(n_features) * errors)
