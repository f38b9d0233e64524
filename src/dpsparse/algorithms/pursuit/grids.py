"""Public grids for private quantiles, each with a log prior; and the utilities of their points.

A prior is a constant added to a point's log-probability. It is public, so it changes no sensitivity; likely values,
such as a lump at 1 or a centre at 0, then need fewer records to be found, and exotic ones more.

The utility of a point is made of counts at or below thresholds. A point stands for its cell, the values nearer to it
than to its neighbours: they are on neither side of it. So a lump, the two values of a 0/1 feature for instance, is
found wherever it lies between two points, and where all values lie beyond the grid its last point is their quantile.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dpsparse.algorithms.pursuit import grid_constants as g
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.pursuit_constants import SIZE_WINDOW, SLOPE_WINDOW
from dpsparse.families.robust_linear import SCALE_RANGE
from dpsparse.inference.inference_constants import NORMAL_DIFFERENCE


@dataclass(frozen=True)
class Grid:
    """Rising points and their log prior."""

    points: NDArray[np.float64]
    log_prior: NDArray[np.float64]

    @classmethod
    def of(cls, points: ArrayLike, log_weight: ArrayLike = 0.0) -> "Grid":
        """A grid whose prior is proportional to exp(log_weight)."""
        weight = np.broadcast_to(np.asarray(log_weight, dtype=np.float64), np.shape(points))
        return cls(np.asarray(points, dtype=np.float64), weight - logsumexp(weight))

    def times(self, scale: float) -> "Grid":
        """The same grid in another unit."""
        return Grid(self.points * scale, self.log_prior)

    def shifted(self, by: float) -> "Grid":
        """The same grid about another origin."""
        return Grid(self.points + by, self.log_prior)


def _signed(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([-points[::-1], [0.0], points])


def _geometric(low: float, high: float, factor: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(np.arange(math.log(low), math.log(high), math.log(factor))))


def _sizes(lump: float | None = None) -> Grid:
    """Sizes from 1e-12 to 1e12 in steps of 1.3; 1 has odds of exp(`lump`) against all others, where given."""
    points = np.unique(np.append(_geometric(g.SMALLEST_SIZE, g.LARGEST_SIZE, g.SIZE_STEP), 1.0))
    weight = -np.abs(np.log10(points))
    if lump is not None:
        weight[points == 1] = logsumexp(weight[points != 1]) + lump
    return Grid.of(points, weight)


def feature_sizes(binary_nats: float = 0.0) -> Grid:
    """Sizes of a feature that has so many nats for being 0/1; 1 has half of the prior where nothing tells."""
    return _sizes(lump=binary_nats)


def _centers() -> Grid:
    """Centres in scales, up to 16,384 of them: years need about a thousand. 0 is favoured."""
    fine, middle = np.arange(*g.FINE_CENTERS, g.FINE_STEP), np.arange(*g.MIDDLE_CENTERS, g.MIDDLE_STEP)
    points = _signed(np.concatenate([fine, middle, np.arange(*g.COARSE_CENTERS)]))
    weight = -np.log1p(np.abs(points)) - g.FAR_LOSS * (np.abs(points) > g.FAR_CENTER)
    weight[points == 0] += g.ZERO_GAIN
    return Grid.of(points, weight)


def _slopes() -> Grid:
    """Effects in residual scales: 0 with odds of 20 to 1, then steps of 28 % up to 4096."""
    points = _signed(np.exp(np.arange(0, math.log(g.LARGEST_SLOPE), g.SLOPE_STEP)))
    weight = -g.SLOPE_POWER * np.log1p(np.abs(points))
    weight[points == 0] = logsumexp(weight[points != 0]) + math.log(g.ZERO_ODDS)
    return Grid.of(points, weight)


def splits(nats: float) -> Grid:
    """Thresholds that may divide a feature: 0, with odds of exp(3) to exp(6), and sizes of either sign, steps of 1.5.

    An even split leads by `nats`: the more, the more a rare 0/1 feature, which hardly tells thresholds apart, can be
    kept at 0. With very many nats rare features tell thresholds apart, too: steps are finer, and 0 is favoured less.
    """
    fine = nats > c.MOST_NATS
    points = FINE_SPLITS if fine else SPLITS
    weight = -g.SPLIT_POWER * np.abs(np.log10(np.maximum(np.abs(points), g.SMALLEST_SPLIT)))
    favour = g.LEAST_ZERO_NATS if fine else np.clip(nats - g.SPLIT_NATS, g.LEAST_ZERO_NATS, g.MOST_ZERO_NATS)
    weight[points == 0] = logsumexp(weight[points != 0]) + favour
    return Grid.of(points, weight)


def _steps_either_way(count: int) -> NDArray[np.float64]:
    return np.arange(-count, count + 1.0)


RESPONSE_SIZES = _sizes()
CENTERS, SLOPES = _centers(), _slopes()
SPLITS = _signed(_geometric(g.SMALLEST_SPLIT, g.LARGEST_SPLIT, g.SPLIT_STEP))
FINE_SPLITS = _signed(_geometric(g.SMALLEST_SPLIT, g.LARGEST_SPLIT, g.FINE_SPLIT_STEP))
# Around given units: sizes within a factor of 40 of a normal's median difference, centres within 40 scales.
_NEAR = _steps_either_way(g.NEAR_STEPS)
NEAR_SIZES = Grid.of(NORMAL_DIFFERENCE * g.SIZE_STEP**_NEAR, -g.NEAR_LOSS * np.abs(_NEAR))
_NEAR_CENTERS = _steps_either_way(g.NEAR_QUARTERS) / g.QUARTERS
NEAR_CENTERS = Grid.of(_NEAR_CENTERS, -np.log1p(np.abs(_NEAR_CENTERS)))
# How far a feature's upper tail reaches, in units of a normal's.
TAILS = Grid.of(g.TAIL_FACTORS, np.log(g.TAIL_PRIOR))
# The response's scale about its first estimate; scales of residuals in units of the response's.
FINE_SCALES = Grid.of(np.geomspace(*g.FINE_SCALE_GRID), -2 * np.log(np.geomspace(*g.FINE_SCALE_GRID)) ** 2)
RESIDUAL_SCALES = Grid.of(np.geomspace(*SCALE_RANGE, g.RESIDUAL_SCALE_POINTS))
# How far a tenth of the responses lie from their centre, or fewer, in response scales; 2.4 for a normal law.
_STEPS = np.arange(*g.REACH_STEPS)
_REACHES = g.NORMAL_TENTH * 2.0 ** (_STEPS / g.OCTAVE)
REACHES, NORMAL_REACHES = (Grid.of(_REACHES, -loss * np.abs(_STEPS)) for loss in (g.REACH_LOSS, g.NORMAL_REACH_LOSS))
# Where the median of the residuals is, in their scales.
_MEDIANS = _steps_either_way(g.MEDIAN_STEPS) / g.MEDIAN_STEP
MEDIANS = Grid.of(_MEDIANS, -np.abs(_MEDIANS))
# How much nearer predictions are than a constant, in response scales.
_STEPS = np.arange(*g.IMPROVEMENT_STEPS)
IMPROVEMENTS = Grid.of(2.0 ** (_STEPS / g.OCTAVE), -g.IMPROVEMENT_LOSS * np.abs(_STEPS))
# Sizes of errors, from a millionth to a trillion in steps of 2 %: `tune` looks for a bound on them.
SIZES = np.exp(np.arange(math.log(g.SMALLEST_ERROR), math.log(g.LARGEST_ERROR), g.ERROR_STEP))
# The scale of residuals about an earlier estimate of it.
FINE_RESIDUAL_SCALES = Grid.of(np.geomspace(*c.SCALE_AGAIN))


Counter = Callable[[NDArray[np.float64]], NDArray[np.int64]]
"""Gives for rising thresholds the numbers of values at or below them."""

Window = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Lower and upper ends, which count as inside, of the window of each point of a grid."""


@dataclass(frozen=True)
class Tally:
    """For each point how many values are below its cell, above it and in a window about the point; and their number."""

    below: NDArray[np.int64]
    above: NDArray[np.int64]
    near: NDArray[np.int64]
    total: int

    @classmethod
    def of(
        cls, count: Counter, points: NDArray[np.float64], window: Window | None = None, nonzero: bool = False
    ) -> "Tally":
        """Count with one query; with `nonzero` zeros are left out, and the values are sizes."""
        # Without windows nothing is near; half of the thresholds are saved.
        low, high = (points[:0], points[:0]) if window is None else window
        middles = (points[1:] + points[:-1]) / 2
        groups = [middles, _before(middles), high, _before(low), np.array([0.0, np.inf])]
        thresholds = np.concatenate(groups)
        # A stable sort merges the groups, which rise already.
        order = np.argsort(thresholds, kind="stable")
        at_most = np.empty(len(thresholds), dtype=np.int64)
        at_most[order] = count(thresholds[order])
        ends = itertools.accumulate((len(group) for group in groups), initial=0)
        at, before, up_to_high, before_low, (zeros, total) = (
            at_most[first:end] for first, end in itertools.pairwise(ends)
        )
        zeros *= nonzero
        below, above = np.zeros((2, len(points)), dtype=np.int64)
        below[1:], above[:-1] = before - zeros, total - at
        return cls(below, above, up_to_high - before_low, int(total - zeros))

    def balanced(self, tail: int = 2) -> NDArray[np.int64]:
        """0 where at most 1/tail of the values are above and the rest below, and less elsewhere.

        Its sensitivity is `sensitivity.balanced_utility` of `tail`.
        """
        above, below = tail * self.above - self.total, tail * self.below - (tail - 1) * self.total
        return -np.maximum(0, np.maximum(above, below))

    def located(self) -> NDArray[np.int64]:
        """A median that also wants many values near it: far points lose by both, near ones are told apart by the first.

        Its sensitivity is `sensitivity.located_utility`.
        """
        return 2 * self.near + self.balanced()


def _before(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.nextafter(points, -np.inf)


def size_window(points: NDArray[np.float64]) -> Window:
    """A factor of 3 either way."""
    return points / SIZE_WINDOW, points * SIZE_WINDOW


def center_window(points: NDArray[np.float64], scale: float) -> Window:
    """Two scales either way."""
    return points - 2 * scale, points + 2 * scale


def slope_window(points: NDArray[np.float64], scale: float) -> Window:
    """Two scales and 15 % of the slope either way."""
    reach = 2 * scale + SLOPE_WINDOW * np.abs(points)
    return points - reach, points + reach
