"""Utilities of private quantiles, from counts at or below thresholds.

A point of a grid stands for its cell, the values nearer to it than to its neighbours: they are on neither side of it.
So a lump, the two values of a 0/1 feature for instance, is found wherever it lies between two points, and where all
values lie beyond the grid its last point is their quantile.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tally:
    """For each point how many values are below its cell, above it and in a window about the point; and their number."""

    below: np.ndarray
    above: np.ndarray
    near: np.ndarray
    total: int

    @classmethod
    def of(cls, count, points, window=None, nonzero=False):
        """Count with one query.

        Parameters
        ----------
        count : callable
            Gives for rising thresholds the numbers of values at or below them.
        points : ndarray
            The grid.
        window : tuple of ndarray or None
            Lower and upper ends, which count as inside, of the window of each point.
        nonzero : bool
            Whether zeros are left out; the values are then sizes.
        """
        # Without windows nothing is near; half of the thresholds are saved.
        low, high = (points[:0], points[:0]) if window is None else window
        middles = (points[1:] + points[:-1]) / 2
        groups = [middles, _before(middles), high, _before(low), [0.0, np.inf]]
        thresholds = np.concatenate(groups)
        # A stable sort merges the groups, which rise already.
        order = np.argsort(thresholds, kind="stable")
        at_most = np.empty(len(thresholds), dtype=np.int64)
        at_most[order] = count(thresholds[order])
        ends = np.cumsum([len(group) for group in groups])[:-1]
        at, before, up_to_high, before_low, (zeros, everything) = np.split(at_most, ends)
        zeros *= nonzero
        below, above = np.append(0, before - zeros), np.append(everything - at, 0)
        return cls(below, above, up_to_high - before_low, int(everything - zeros))

    def balanced(self, tail=2):
        """0 where at most 1/tail of the values are above and the rest below, and less elsewhere.

        Its sensitivity is `sensitivity.balanced_utility` of `tail`.
        """
        above, below = tail * self.above - self.total, tail * self.below - (tail - 1) * self.total
        return -np.maximum(0, np.maximum(above, below))

    def located(self):
        """A median that also wants many values near it: far points lose by both, near ones are told apart by the first.

        Its sensitivity is `sensitivity.located_utility`.
        """
        return 2 * self.near + self.balanced()


def _before(points):
    return np.nextafter(points, -np.inf)


def size_window(points):
    """A factor of 3 either way."""
    return points / 3, points * 3


def center_window(points, scale):
    """Two scales either way."""
    return points - 2 * scale, points + 2 * scale


def slope_window(points, scale):
    """Two scales and 15 % of the slope either way."""
    reach = 2 * scale + 0.15 * np.abs(points)
    return points - reach, points + reach
