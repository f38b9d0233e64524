"""What a response is: a family says which bounded score its records have, and how predictions are spoken of.

A pursuit asks a family for everything that it needs to know about a response. Another family is one more file here,
with a class that has these members, and a link (`engine.links`).
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.links import Link
from dpsparse.families.estimands import Estimand
from dpsparse.inference.tails import Tails


@dataclass(frozen=True, kw_only=True)
class Words:
    """The sentences of a family, without a full stop."""

    # Why nothing was learned of the response, with a place for `n`; and where records lack one, with `count` and `n`.
    too_few_records: str
    too_few_responses: str
    all_equal: str = "nearly all responses are equal"
    # The residuals' scale ended at the lower end of its range, with a place for `cause`; two causes.
    nothing_left: str = "the fit is nearly exact: {cause}"
    most_equal: str = "most responses are equal"
    nearly_exact: str
    # It ended at the upper end.
    astray: str = "the fit went astray, for too few records at this epsilon or wrong public units"
    # Why the features explain nothing: in a small table, with places for `n` and `needed`, or without; and otherwise.
    units_not_learned: str = "there are too few records at this epsilon to learn the features' units"
    no_gain: str = "no effect was clearly different from zero"


class Scaled(Protocol):
    """What a family says of residuals that have a scale, which is learned, and are clipped in units of it.

    The engine clips residuals at `tau`: psi is linear within it. The *slope* is the mean of psi's derivative, which the
    released fraction of residuals within tau tells.
    """

    @property
    def amounts(self) -> bool:
        """Whether responses are above 0, and most records may have none."""

    @property
    def scale_range(self) -> tuple[float, float]:
        """The least and the largest scale of residuals, in units of the response's."""

    def early_tau(self, residual_scale: float) -> float:
        """Where they are clipped in early gradients."""

    def final_tau(self, noise: float) -> float:
        """Where they are clipped in final gradients, in residual scales, from the noise against the sampling error."""

    def expected_slope(self, tau: float, residual_scale: float) -> float:
        """The slope that a residual scale lets one expect."""

    def slope(self, released: float, noise: float, tau: float, residual_scale: float) -> float:
        """The slope, from a noisy release and what is expected."""

    def score_square(self, tau: float, slope: float) -> float:
        """The mean of psi^2."""

    def residual_scale(self, tau: float, slope: float, response_scale: float) -> float:
        """The residual scale that a slope tells."""


class Family(Protocol):
    """A bounded score of a response and its linear predictor, and how predictions are spoken of."""

    @property
    def link(self) -> Link:
        """How the mean of a response follows from its linear predictor."""

    @property
    def scaled(self) -> Scaled | None:
        """What residuals are, where their scale says where to clip them; None where a pursuit goes by Newton steps."""

    @property
    def bounded(self) -> bool:
        """Whether the link bounds residuals; otherwise the last steps learn where to clip scores."""

    @property
    def tails(self) -> Tails:
        """What is known of scores far out, where the last steps learn where to clip them."""

    @property
    def estimand(self) -> Estimand | None:
        """What effects are of; None for those that the pursuit itself estimates."""

    @property
    def words(self) -> Words:
        """Its sentences."""

    def responses(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers as responses; NaN for those that are none."""

    def selection_tau(self, residual_scale: float, units_known: bool) -> float:
        """The bound of residuals while features are selected."""

    def mean_slope(self, residual_scale: float, bound: float = math.inf) -> float:
        """The slope of a residual at a bound, on average; `residual_scale` is that of no features."""

    def constant_step(self, level: float, residual_scale: float) -> float:
        """By how much the constant moves where the mean of the bounded residuals is `level`."""

    def largest_slope(self, mean: float) -> float:
        """The largest slope that counts in early slope moments, where `mean` is the mean one."""

    def unit(self, center: float) -> float:
        """The unit of residuals, for a response of this centre."""

    def intercept(self, center: float) -> float:
        """The linear predictor of a response of this centre, before there are effects."""

    def range(self, center: float, reach: float) -> tuple[float, float] | None:
        """The range of linear predictors about that of a centre; None for no limits."""
