"""Intervals and p-values of single effects, by the normal law; `significance` judges all of them together."""

import math
from statistics import NormalDist

from dpsparse.inference.inference_constants import SHOWN_LEVEL

# The level of the intervals that people read, in words.
SHOWN_PERCENT = f"{SHOWN_LEVEL:.0%}".replace("%", " %")


def reach(level: float = SHOWN_LEVEL) -> float:
    """How many standard errors from an estimate its interval ends.

    Examples
    --------
    >>> round(reach(), 2), round(reach(0.9), 2)
    (1.96, 1.64)
    """
    return NormalDist().inv_cdf((1 + level) / 2)


def p_value(effect: float, error: float) -> float:
    """The two-sided p-value of one effect, not adjusted for the number of features; NaN where its error is not known.

    Examples
    --------
    >>> round(p_value(-1.96, 1.0), 2), p_value(0.0, 0.0), p_value(1.0, 0.0)
    (0.05, 1.0, 0.0)
    """
    if error == 0:
        return float(effect == 0)
    return math.erfc(abs(effect) / error / math.sqrt(2))
