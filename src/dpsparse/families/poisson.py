"""Counts, and costs whose effects are ratios: numbers from 0 on, with a linear predictor of the log of their mean.

Everything is in units of the mean response (`engine.links.Log`), so that a slope is 1 on average. Variances are not
those of a Poisson law: nothing here rests on them, as in quasi-Poisson regression. The scale that a pursuit keeps is
the mean size of y / mean - 1, which is at most 2 however skewed responses are.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.links import LARGEST_LOG, LOG, Link
from dpsparse.families import Words
from dpsparse.families.estimands import LOG_MEAN, Estimand
from dpsparse.inference.tails import Tails

# Where residuals are clipped in selections and early steps, in units of their scale. Set by `counts.py`.
EARLY_BOUND = 1.7
# The largest mean that counts in early slope moments, in units of the mean response. Set by `counts.py`.
LARGEST_MEAN = 3.0
# Scores of counts have lighter tails than those of costs and incomes, and what a clip leaves out of them points in more
# directions: with the other families' numbers intervals held in all cases. Set by `counts.py --set development`.
COUNT_TAILS = Tails(index=4.5, bias=0.35, left_out=0.6, power=1.0)
# The share of residuals within that clip, about, and the most by which the constant moves at a time.
WITHIN, LARGEST_STEP = 0.7, 0.5


WORDS = Words(
    too_few_records="{n:,} records are too few at this epsilon to learn the mean response",
    too_few_responses=(
        "too few records at this epsilon have a response that can be read as a number from 0 on: about {count:,.0f} of "
        "{n:,}"
    ),
    nearly_exact="the features tell every response",
)


@dataclass(frozen=True)
class Poisson:
    """Poisson regression of a count or a cost; variances need not be those of a Poisson law.

    Examples
    --------
    >>> Poisson().mean_slope(0.7), Poisson().intercept(1.0)
    (1.0, 0.0)
    """

    words: Words = WORDS
    estimand: Estimand | None = LOG_MEAN
    link: Link = LOG
    scaled: None = None
    bounded: bool = False
    tails: Tails = COUNT_TAILS

    def responses(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers from 0 on."""
        return np.where(numbers >= 0, numbers, np.nan)

    def selection_tau(self, residual_scale: float, units_known: bool) -> float:
        """Where residuals are clipped while features are selected."""
        return EARLY_BOUND * residual_scale

    def mean_slope(self, residual_scale: float, bound: float = math.inf) -> float:
        """The mean response in its own units; less where residuals are clipped."""
        return 1.0 if bound == math.inf else WITHIN

    def largest_slope(self, mean: float) -> float:
        """Slopes are means of responses, and may be many times as large as the average one."""
        return LARGEST_MEAN

    def constant_step(self, level: float, residual_scale: float) -> float:
        """One step of Newton's, at most of a half."""
        return math.copysign(min(abs(level) / WITHIN, LARGEST_STEP), level)

    def unit(self, center: float) -> float:
        """Residuals are in units of the mean response."""
        return center

    def intercept(self, center: float) -> float:
        """The log of the mean response."""
        return math.log(center)

    def range(self, center: float, reach: float) -> tuple[float, float] | None:
        """Up to so many times the mean response: a product of effects may lie far above all responses."""
        return (center - LARGEST_LOG, center + math.log(max(reach, 1.0))) if math.isfinite(reach) else None


POISSON = Poisson()
