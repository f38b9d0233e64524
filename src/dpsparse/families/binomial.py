"""Yes/no responses: 1 for yes and 0 for no, with a linear predictor of the log odds of yes.

The residual y - p lies in [-1, 1], so that it needs no scale and no clip. The scale that a pursuit keeps is the
standard deviation of a response, sqrt(p (1 - p)) for the share p of yes.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.links import LOGIT, Link
from dpsparse.families import Words
from dpsparse.families.estimands import LOG_ODDS, Estimand
from dpsparse.inference.tails import ANY_TAILS, Tails

# The bound of residuals in selections and early steps: half of the noise, and for even odds nothing is weighted down.
# Set by `classifiers.py`.
EARLY_BOUND = 0.5
# The variance of a response at even odds.
MOST_VARIANCE = 0.25
# The most by which the constant moves at a time, in log odds.
LARGEST_STEP = 1.0
# The largest slope that counts: this many times the mean one, and that of even odds.
MOST_SLOPES = 4


WORDS = Words(
    too_few_records="too few of {n:,} records are yes, or no, to learn anything at this epsilon",
    too_few_responses="too few records at this epsilon have a response that can be read: about {count:,.0f} of {n:,}",
    nearly_exact="the features tell yes from no",
)


@dataclass(frozen=True)
class Binomial:
    """Logistic regression of a yes/no response.

    Examples
    --------
    >>> Binomial().mean_slope(0.5), Binomial().constant_step(0.05, 0.5)
    (0.25, 0.2)
    """

    words: Words = WORDS
    estimand: Estimand | None = LOG_ODDS
    link: Link = LOGIT
    scaled: None = None
    bounded: bool = True
    tails: Tails = ANY_TAILS

    def responses(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 is yes and 0 is no; nothing else is a response."""
        return np.where((numbers == 0) | (numbers == 1), numbers, np.nan)

    def selection_tau(self, residual_scale: float, units_known: bool) -> float:
        """The bound of residuals while features are selected."""
        return EARLY_BOUND

    def mean_slope(self, residual_scale: float, bound: float = math.inf) -> float:
        """P (1 - p), for the share p of yes, times the weight of a residual at the bound."""
        larger = (1 + math.sqrt(max(0.0, 1 - residual_scale**2 / MOST_VARIANCE))) / 2
        return residual_scale**2 * min(1.0, bound / larger)

    def constant_step(self, level: float, residual_scale: float) -> float:
        """One step of Newton's, at most of one log odds."""
        step = level / self.mean_slope(residual_scale)
        return math.copysign(min(abs(step), LARGEST_STEP), step)

    def largest_slope(self, mean: float) -> float:
        """That of even odds, at most."""
        return min(MOST_SLOPES * mean, MOST_VARIANCE)

    def unit(self, center: float) -> float:
        """Residuals are shares."""
        return 1.0

    def intercept(self, center: float) -> float:
        """The centre is the log odds of the share of yes."""
        return center

    def range(self, center: float, reach: float) -> tuple[float, float] | None:
        """Either way, as far as predicted log odds may lie: a wrong unit would make them sure of anything."""
        return (center - reach, center + reach) if math.isfinite(reach) else None


BINOMIAL = Binomial()
