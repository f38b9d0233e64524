"""Means, and an R2, from noisy sums over records held out, with their standard errors and intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference.intervals import reach

# The variance of an error or improvement in units of its bound where squares are too noisy to tell, and how far it may
# be from that: both are about those of errors and improvements cut at one in twenty.
TYPICAL_VARIANCE, VARIANCE_SPREAD = 0.09, 0.05
# The least sum of the constant's squared errors, in standard deviations of its noise, for an R2.
LEAST_SQUARES = 6.0
# Below this many standard deviations of its noise the number of responses is not known: no mean is.
LEAST_RESPONSES = 4.0
# An R2 is from this to 1.
LEAST_R2 = -1.0
# A share of records at the cut leaves this part of the others a law of their own.
LESS = 1 - 1e-6


@dataclass(frozen=True)
class Estimate:
    """A mean on records held out, with its error.

    `value`: the estimate.
    `standard_error`: from sampling and from privacy noise.
    `low`, `high`: the interval of level `Scores.level`.
    `cut`: the noisy share of the records whose term was cut.
    """

    value: float
    standard_error: float
    low: float
    high: float
    cut: float


@dataclass(frozen=True)
class Means:
    """Means from noisy sums: the noisy number of responses, its noise, and that of the sums of squares."""

    answered: float
    answered_noise: float
    square_noise: float

    def estimate(
        self, unit: float, total: float, noise: float, square: float, cut: float, *, shift: float, least: float
    ) -> Estimate:
        """The mean of terms from `least` to 1, in some unit, of which `shift` was taken off before they were summed."""
        m, off = self.answered, total / self.answered
        mean = float(np.clip(off + shift, least, 1.0))
        by_noise = (noise**2 + (mean - shift) ** 2 * self.answered_noise**2) / m**2
        # The square of a noisy mean is too large by the noise's variance.
        variance = square / m - mean**2 + by_noise
        spread = (self.square_noise**2 + (2 * mean * noise) ** 2) / m**2
        variance = TYPICAL_VARIANCE + (variance - TYPICAL_VARIANCE) / (1 + spread / VARIANCE_SPREAD**2)
        # No terms between two limits vary more.
        variance = float(np.clip(variance, 0.0, (mean - least) * (1 - mean)))
        error = math.sqrt(by_noise + variance / m)
        low, high = max(least, mean - reach() * error), min(1.0, mean + reach() * error)
        if m < LEAST_RESPONSES * self.answered_noise:
            low, high = least, 1.0
        return Estimate(unit * mean, unit * error, unit * low, unit * high, float(cut))

    def square(self, unit: float, total: float, errors: float, cut: float) -> Estimate | None:
        """The mean of squared terms from 0 to 1, in some unit, from their sum and that of the terms less a half."""
        if total < LEAST_SQUARES * self.square_noise or self.answered < LEAST_RESPONSES * self.answered_noise:
            return None
        m = self.answered
        mean, square = float(np.clip(errors / m + 0.5, 0.0, 1.0)), float(np.clip(total / m, 0.0, 1.0))
        by_noise = (self.square_noise**2 + (square * self.answered_noise) ** 2) / m**2
        error = math.sqrt(by_noise + _variance_of_square(mean, square, float(cut)) / m)
        low, high = max(0.0, square - reach() * error), min(1.0, square + reach() * error)
        return Estimate(unit * square, unit * error, unit * low, unit * high, float(cut))

    def r2(
        self,
        squares: NDArray[np.float64],
        unit: float,
        errors: tuple[float, float],
        shares: NDArray[np.float64],
    ) -> Estimate | None:
        """1 less the ratio of the model's squares to the constant's; the improvement's are in some other unit."""
        if squares[1] < LEAST_SQUARES * self.square_noise or self.answered < LEAST_RESPONSES * self.answered_noise:
            return None
        m = self.answered
        model, constant, improved = np.clip(squares / m, 0.0, 1.0)
        ratio = min(model / constant, 1 - LEAST_R2)
        means = [float(np.clip(each / m + 0.5, 0.0, 1.0)) for each in errors]
        variance = _variance_of_ratio(ratio, means, (model, constant), shares.tolist(), unit**2 * improved)
        error = math.sqrt((1 + ratio**2) * (self.square_noise / m) ** 2 + variance / m) / constant
        value, half = 1 - ratio, reach() * error
        return Estimate(value, error, max(LEAST_R2, value - half), min(1.0, value + half), float(shares[:2].max()))


def _variance_of_ratio(
    ratio: float, means: Sequence[float], squares: Sequence[float], cut: Sequence[float], improvement: float
) -> float:
    """The variance of q1 - r q0 for squared errors q1 and q0 of a record, from moments of errors and improvements.

    Errors are from 0 to 1. Two estimates, of which the smaller is taken. Where the model explains much, its errors have
    little to do with the constant's: the variances of q1 and r q0 are added. Where it explains little, q0 - q1 is
    small: it is the improvement times the sum of both errors.
    """
    of_model, of_constant = map(_variance_of_square, means, squares, cut[:2])
    apart = of_model + ratio**2 * of_constant
    together = abs(1 - ratio) * math.sqrt(of_constant) + math.sqrt(2 * sum(squares) * improvement)
    return min(apart, together**2)


def _variance_of_square(mean: float, square: float, cut: float) -> float:
    """The variance of e^2 for an error e from 0 to 1, of these moments, that is 1 in a share of about `cut`.

    Elsewhere e is taken to follow a beta law. The largest variance is that of two points, of which 1 is one.
    """
    if not mean**2 < square < mean < 1:
        return square * (1 - square)
    other = (mean - square) / (1 - mean)
    at_one = min(max(cut, 0.0), (mean - other) / (1 - other) * LESS)
    mean, rest = (mean - at_one) / (1 - at_one), (square - at_one) / (1 - at_one)
    size = (mean - rest) / (rest - mean**2)
    fourth = math.prod((size * mean + place) / (size + place) for place in range(4))
    return max(0.0, at_one + (1 - at_one) * fourth - square**2)
