"""Utilities of private quantiles, from counts at or below thresholds.

A point of a grid stands for its cell, the values nearer to it than to its neighbours: they are on neither side of it.
So a lump, the two values of a 0/1 feature for instance, is found wherever it lies between two points, and where all
values lie beyond the grid its last point is their quantile.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.pursuit_constants import SIZE_WINDOW, SLOPE_WINDOW

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
