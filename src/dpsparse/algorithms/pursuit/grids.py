"""Public grids for private quantiles, each with a log prior.

A prior is a constant added to a point's log-probability. It is public, so it changes no sensitivity; likely values,
such as a lump at 1 or a centre at 0, then need fewer records to be found, and exotic ones more.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

# Median of |z| for a standard normal z; the median difference of two of them is sqrt 2 times that.
NORMAL_MEDIAN = 0.6745
NORMAL_DIFFERENCE = math.sqrt(2) * NORMAL_MEDIAN


@dataclass(frozen=True)
class Grid:
    """Rising points and their log prior."""

    points: np.ndarray
    log_prior: np.ndarray

    @classmethod
    def of(cls, points, log_weight=0.0):
        """A grid whose prior is proportional to exp(log_weight)."""
        weight = np.broadcast_to(np.asarray(log_weight, dtype=np.float64), np.shape(points))
        return cls(np.asarray(points, dtype=np.float64), weight - logsumexp(weight))

    def times(self, scale):
        """The same grid in another unit."""
        return Grid(self.points * scale, self.log_prior)

    def shifted(self, by):
        """The same grid about another origin."""
        return Grid(self.points + by, self.log_prior)


def _signed(points):
    return np.concatenate([-points[::-1], [0.0], points])


def _sizes(lump):
    """Sizes from 1e-12 to 1e12 in steps of 1.3; with `lump` 1 has half of the prior, since 0/1 columns are common."""
    points = np.unique(np.append(np.exp(np.arange(math.log(1e-12), math.log(1e12), math.log(1.3))), 1.0))
    weight = -np.abs(np.log10(points))
    if lump:
        weight[points == 1] = logsumexp(weight[points != 1])
    return Grid.of(points, weight)


def _centers():
    """Centres in scales, up to 16,384 of them: years need about a thousand. 0 is favoured."""
    steps = np.arange(0.25, 64, 0.25), np.arange(64, 4096, 0.5), np.arange(4096, 16385.0)
    points = _signed(np.concatenate(steps))
    weight = -np.log1p(np.abs(points)) - 0.7 * (np.abs(points) > 40)
    weight[points == 0] += 2.0
    return Grid.of(points, weight)


def _slopes():
    """Effects in residual scales: 0 with odds of 20 to 1, then steps of 28 % up to 4096."""
    points = _signed(np.exp(np.arange(0, math.log(4096), 0.25)))
    weight = -0.5 * np.log1p(np.abs(points))
    weight[points == 0] = logsumexp(weight[points != 0]) + math.log(20)
    return Grid.of(points, weight)


def splits(nats):
    """Thresholds that may divide a feature: 0, with odds of exp(3) to exp(6), and sizes of either sign, steps of 1.5.

    An even split leads by `nats`: the more, the more a rare 0/1 feature, which hardly tells thresholds apart, can be
    kept at 0.
    """
    weight = -0.25 * np.abs(np.log10(np.maximum(np.abs(SPLITS), 1e-9)))
    weight[SPLITS == 0] = logsumexp(weight[SPLITS != 0]) + np.clip(nats - 6, 3, 6)
    return Grid.of(SPLITS, weight)


FEATURE_SIZES, RESPONSE_SIZES = _sizes(lump=True), _sizes(lump=False)
CENTERS, SLOPES = _centers(), _slopes()
SPLITS = _signed(np.exp(np.arange(math.log(1e-9), math.log(1e9), math.log(1.5))))
# Around given units: sizes within a factor of 40 of a normal's median difference, centres within 40 scales.
NEAR_SIZES = Grid.of(NORMAL_DIFFERENCE * 1.3 ** np.arange(-14, 15.0), -0.15 * np.abs(np.arange(-14, 15.0)))
NEAR_CENTERS = Grid.of(np.arange(-160, 161) / 4, -np.log1p(np.abs(np.arange(-160, 161) / 4)))
# How far a feature's upper tail reaches, in units of a normal's.
TAILS = Grid.of([1, 1.4, 2, 2.8, 4, 5.6, 8], np.log([0.6, 0.15, 0.1, 0.06, 0.04, 0.03, 0.02]))
# The response's scale about its first estimate; scales of residuals in units of the response's.
FINE_SCALES = Grid.of(np.geomspace(0.2, 5, 60), -2 * np.log(np.geomspace(0.2, 5, 60)) ** 2)
SCALE_RANGE = (0.02, 2.0)
RESIDUAL_SCALES = Grid.of(np.geomspace(*SCALE_RANGE, 47))
# How far a tenth of the responses lie from their centre, or fewer, in response scales; 2.4 for a normal law.
_STEPS = np.arange(-10, 45)
REACHES = Grid.of(2.4 * 2.0 ** (_STEPS / 4), -0.35 * np.abs(_STEPS))
# Where the median of the residuals is, in their scales.
MEDIANS = Grid.of(np.arange(-30, 31) / 20, -np.abs(np.arange(-30, 31) / 20))
# How much nearer predictions are than a constant, in response scales.
IMPROVEMENTS = Grid.of(2.0 ** (np.arange(-24, 33) / 4), -0.2 * np.abs(np.arange(-24, 33)))
