"""Robust linear responses: real numbers with heavy tails, whose residuals are clipped at tau (Huber's psi).

Scales are medians of sizes, and a normal law stands for residuals where nothing better is known.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from dpsparse.engine.links import IDENTITY, Link
from dpsparse.families import Words
from dpsparse.families.estimands import Estimand
from dpsparse.inference.inference_constants import NORMAL_MEDIAN
from dpsparse.inference.tails import ANY_TAILS, Tails

# Where residuals are clipped in scores, in units of their scale; where public units are given, and otherwise. Set by
# `accuracy.py` and `honesty.py`.
TAU_GIVEN, TAU_UNKNOWN = 0.7, 0.6
# Where they are clipped in early gradients. Set by `accuracy.py`.
EARLY_TAU = 0.8
# In final gradients: from the first number down by the second for every unit of noise, within limits: tighter where
# privacy noise dominates. Set by `accuracy.py`.
FINAL_TAU, FINAL_TAU_FALL, LEAST_FINAL_TAU, MOST_FINAL_TAU = 1.15, 1.2, 0.6, 1.1
# How far a fraction of small residuals may be from that of a normal law, and the limits that it is kept within.
FRACTION_SPREAD, LEAST_FRACTION, MOST_FRACTION = 0.1, 0.1, 0.95
# Residuals that are uniform within tau have a mean psi^2 of tau^2 (1 - 2p/3).
UNIFORM = 3
# The least and the largest scale of residuals, in units of the response's: a fiftieth, and twice.
SCALE_RANGE = (0.02, 2.0)
# A normal residual that is clipped for a selection moves its mean by about a third of its own shift; the constant moves
# at most by that clip.
MEAN_PER_SHIFT, LARGEST_STEP = 0.31, 0.6


@dataclass(frozen=True, kw_only=True)
class RobustWords(Words):
    """The sentences about a response that is a number."""

    too_few_records: str = "{n:,} records are too few at this epsilon to learn the response's centre and scale"
    too_few_responses: str = (
        "too few records at this epsilon have a response that can be read as a number, a date, or true or false: about "
        "{count:,.0f} of {n:,}"
    )
    nothing_left: str = (
        "the residuals' scale ended at the lower end of its range, a fiftieth of the response's: {cause}"
    )
    nearly_exact: str = "the fit is nearly exact"
    astray: str = (
        "the residuals' scale ended at the upper end of its range, twice the response's: the fit went astray, for too "
        "few records at this epsilon or wrong public units"
    )
    units_not_learned: str = (
        "{n:,} records are too few at this epsilon for effects of features in unknown units, which take about "
        "{needed:,}: all of the budget went to the constant"
    )
    no_gain: str = "predictions from them were not clearly nearer to the responses than a constant"


@dataclass(frozen=True)
class RobustLinear:
    """A linear prediction of a number; the score is the residual, clipped at tau, and its slope the share within tau.

    Examples
    --------
    >>> round(RobustLinear().expected_slope(1.0, 0.6745), 2)
    0.68
    """

    words: RobustWords = RobustWords()
    scale_range: tuple[float, float] = SCALE_RANGE
    estimand: Estimand | None = None
    link: Link = IDENTITY
    amounts: bool = False
    bounded: bool = False
    tails: Tails = ANY_TAILS

    @property
    def scaled(self) -> Self:
        """Residuals have a scale."""
        return self

    def responses(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Every number is a response."""
        return numbers

    def mean_slope(self, residual_scale: float, bound: float = math.inf) -> float:
        """A mean is its linear predictor."""
        return 1.0

    def selection_tau(self, residual_scale: float, units_known: bool) -> float:
        """Where residuals are clipped while features are selected."""
        return (TAU_GIVEN if units_known else TAU_UNKNOWN) * residual_scale

    def early_tau(self, residual_scale: float) -> float:
        """Where they are clipped in early gradients."""
        return EARLY_TAU * residual_scale

    def final_tau(self, noise: float) -> float:
        """Where they are clipped in final gradients, in residual scales, from the noise against the sampling error."""
        return float(min(max(FINAL_TAU - FINAL_TAU_FALL * noise, LEAST_FINAL_TAU), MOST_FINAL_TAU))

    def expected_slope(self, tau: float, residual_scale: float) -> float:
        """The share within tau of normal residuals of that scale."""
        return float(2 * ndtr(NORMAL_MEDIAN * tau / residual_scale) - 1)

    def slope(self, released: float, noise: float, tau: float, residual_scale: float) -> float:
        """A noisy share within tau, pulled toward what the residual scale lets one expect."""
        expected = self.expected_slope(tau, residual_scale)
        pulled = expected + (released - expected) / (1 + (noise / FRACTION_SPREAD) ** 2)
        return float(np.clip(pulled, LEAST_FRACTION, MOST_FRACTION))

    def score_square(self, tau: float, slope: float) -> float:
        """The mean of psi^2 of residuals that are uniform within tau."""
        return tau**2 * (1 - 2 * slope / UNIFORM)

    def residual_scale(self, tau: float, slope: float, response_scale: float) -> float:
        """The scale of normal residuals with that share within tau, within its range."""
        if_normal = tau * NORMAL_MEDIAN / ndtri((1 + slope) / 2)
        low, high = self.scale_range
        return float(np.clip(if_normal, low * response_scale, high * response_scale))

    def constant_step(self, level: float, residual_scale: float) -> float:
        """By how much the constant moves where the mean of the clipped residuals is `level`."""
        return math.copysign(min(abs(level) / MEAN_PER_SHIFT, LARGEST_STEP * residual_scale), level)

    def largest_slope(self, mean: float) -> float:
        """All slopes are 1."""
        return mean

    def unit(self, center: float) -> float:
        """Residuals are in the response's own unit."""
        return 1.0

    def intercept(self, center: float) -> float:
        """The centre itself."""
        return center

    def range(self, center: float, reach: float) -> tuple[float, float] | None:
        """Either way, as far as nearly all responses lie."""
        return (center - reach, center + reach) if math.isfinite(reach) else None


ROBUST_LINEAR = RobustLinear()
