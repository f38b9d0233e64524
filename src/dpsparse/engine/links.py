"""How the mean of a response follows from a linear predictor, and the residuals and slopes that this makes.

A link is asked for a record's residual and for the root of its slope, the derivative of its mean, as functions of the
response and of its linear predictor. No engine computes an exponential: a mean is looked up in a table of public
numbers, so that it has the same bits everywhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpsparse.engine.arrays import Array, as_float64, as_places, like, module_of, quotient, square_root, zero_for_nan
from dpsparse.engine.vector_sums import subtract_columns

Effects: TypeAlias = Sequence[float] | NDArray[np.float64]

# Linear predictors are clipped at this, where a probability is 6e-6, and looked up in steps of 2^-10: a probability is
# off by at most 1.3e-4, and by as much upward as downward.
LARGEST_PREDICTOR, STEPS = 12, 2**10
# Probabilities are multiples of 2^-30: the last bits of an exponential, which depend on the machine, are rounded away.
PROBABILITY_LEVELS = 2**30
# Logs of means are clipped at this, and the table of exponentials has the same steps; an entry has 30 bits.
LARGEST_LOG, EXPONENTIAL_BITS = 40, 30


# The place of an exposure that is no feature of the table: it comes with the rows.
BESIDE = -1


class Link(Protocol):
    """What an engine needs to know about a response."""

    @property
    def exposure(self) -> int | None:
        """The feature that is the exposure, or `BESIDE`; None for none. Where there is one, it is the first column."""

    def residuals(
        self, y: Array, center: float, columns: Iterable[Array], effects: Effects, bound: float = np.inf
    ) -> Array:
        """Responses minus their means, in float64; NaN for blank records.

        Where the link holds residuals to a `bound` itself, they are weighted down to it; otherwise it is ignored.
        """

    def slope_roots(
        self, y: Array, center: float, columns: Iterable[Array], effects: Effects, bound: float = np.inf
    ) -> Array:
        """Roots of minus the derivative of the bounded residual by the linear predictor."""


@dataclass(frozen=True)
class Identity:
    """The mean is the linear predictor. Residuals are clipped at their bound by those who ask for them."""

    exposure: None = None

    def residuals(
        self, y: Array, center: float, columns: Iterable[Array], effects: Effects, bound: float = np.inf
    ) -> Array:
        """Responses minus linear predictors, one column after another."""
        return subtract_columns(y - center, columns, effects)

    def slope_roots(
        self, y: Array, center: float, columns: Iterable[Array], effects: Effects, bound: float = np.inf
    ) -> Array:
        """1 where the residual lies within the bound, and 0 elsewhere."""
        return as_float64(abs(self.residuals(y, center, columns, effects)) <= bound)


@dataclass(frozen=True)
class Logit:
    """Responses are 0 or 1, and the linear predictor is the log odds of 1.

    A residual y - p lies in [-1, 1]. For a bound below 1 it is multiplied by min(1, bound / max(p, 1 - p)), which
    depends on the features alone: unlike a clip it leaves the mean score at 0 where the model is right.

    Examples
    --------
    >>> Logit().residuals(np.array([1.0, 0.0, np.nan]), 0.0, [np.array([0.0, 20.0, 0.0])], [1.0]).round(5)
    array([ 0.5    , -0.99999,      nan])
    """

    exposure: None = None

    def residuals(
        self, y: Array, center: float, columns: Iterable[Array], effects: Effects, bound: float = np.inf
    ) -> Array:
        """Responses minus probabilities, weighted down to the bound."""
        probabilities = _probabilities(y, center, columns, effects)
        return (y - probabilities) * _weights(probabilities, bound)

    def slope_roots(
        self, y: Array, center: float, columns: Iterable[Array], effects: Effects, bound: float = np.inf
    ) -> Array:
        """Roots of p (1 - p), weighted as the residuals are."""
        probabilities = _probabilities(y, center, columns, effects)
        return square_root(probabilities * (1 - probabilities) * _weights(probabilities, bound))


@dataclass(frozen=True)
class Log:
    """Responses are not negative, and the linear predictor is the log of their mean over `center`.

    Residuals are in units of `center`: y / center - exp(predictor). So are slopes, and effects are the same for every
    unit of the response. Residuals are clipped at their bound by those who ask for them. With an exposure, the first
    column, a mean is in proportion to it; a record whose exposure is not above 0 has no residual, as a blank one.

    Examples
    --------
    >>> Log().residuals(np.array([4.0, 0.0, np.nan]), 2.0, [np.array([0.0, np.log(3.0), 0.0])], [1.0]).round(5)
    array([ 1., -3., nan])
    """

    exposure: int | None = None

    def residuals(
        self, y: Array, center: float, columns: Iterable[Array], effects: Effects, bound: float = np.inf
    ) -> Array:
        """Responses minus means, in units of the centre."""
        return quotient(y, center) - self._means(y, columns, effects)

    def slope_roots(
        self, y: Array, center: float, columns: Iterable[Array], effects: Effects, bound: float = np.inf
    ) -> Array:
        """Roots of means where the residual lies within the bound, and 0 elsewhere."""
        means = self._means(y, columns, effects)
        return square_root(means) * as_float64(abs(quotient(y, center) - means) <= bound)

    def _means(self, y: Array, columns: Iterable[Array], effects: Effects) -> Array:
        if self.exposure is None:
            return _exponential_means(y, columns, effects)
        exposure, *others = columns
        positive = module_of(y).where(exposure > 0, exposure, like(np.nan, y))
        return positive * _exponential_means(y, others, effects)


IDENTITY, LOGIT, LOG = Identity(), Logit(), Log()


@cache
def _table() -> NDArray[np.float64]:
    """Probabilities by the step of their log odds."""
    most = LARGEST_PREDICTOR * STEPS
    levels = np.rint(expit(np.arange(-most, most + 1) / STEPS) * PROBABILITY_LEVELS)
    return np.asarray(levels / PROBABILITY_LEVELS)


@cache
def _exponentials() -> NDArray[np.float64]:
    """Exponentials by the step of their log."""
    most = LARGEST_LOG * STEPS
    mantissas, exponents = np.frexp(np.exp(np.arange(-most, most + 1) / STEPS))
    return np.asarray(np.ldexp(np.rint(mantissas * 2**EXPONENTIAL_BITS), exponents - EXPONENTIAL_BITS))


def _predictors(y: Array, center: float, columns: Iterable[Array], effects: Effects, most: float) -> Array:
    """Linear predictors, clipped: one column after another and elementwise, so that each is of one record alone."""
    predictors = module_of(y).full_like(y, center)
    for column, effect in zip(columns, effects, strict=True):
        predictors = predictors + column * float(effect)
    # A predictor that overflowed twice is NaN, and stands for 0.
    return zero_for_nan(predictors).clip(-most, most)


def _probabilities(y: Array, center: float, columns: Iterable[Array], effects: Effects) -> Array:
    """The means of responses that are 0 or 1."""
    steps = _predictors(y, center, columns, effects, LARGEST_PREDICTOR) * STEPS
    return like(_table(), y)[as_places(steps.round() + LARGEST_PREDICTOR * STEPS)]


def _exponential_means(y: Array, columns: Iterable[Array], effects: Effects) -> Array:
    """Exponentials of linear predictors: that of the nearest step, times 1 + f + f^2 / 2 for the rest f."""
    predictors = _predictors(y, 0.0, columns, effects, LARGEST_LOG)
    steps = (predictors * STEPS).round()
    rest = predictors - steps / STEPS
    return like(_exponentials(), y)[as_places(steps + LARGEST_LOG * STEPS)] * (1 + rest + rest * rest / 2)


def _weights(probabilities: Array, bound: float) -> Array:
    """What brings the larger of p and 1 - p within the bound: at most 1."""
    if bound >= 1:
        return module_of(probabilities).ones_like(probabilities)
    larger = module_of(probabilities).maximum(probabilities, 1 - probabilities)
    return quotient(bound, larger).clip(None, 1.0)
