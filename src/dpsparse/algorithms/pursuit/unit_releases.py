"""The releases that tell the unit of the newest feature of a pursuit: size, spread, tail, centre and mean."""

import math
import weakref

import numpy as np

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.quantiles import center_window, size_window
from dpsparse.algorithms.pursuit.units import MOST_SIZES, MOST_UNITS
from dpsparse.engine import queries


class UnitReleases:
    """Units of the features of a pursuit, one after the other.

    Parameters
    ----------
    pursuit : Pursuit
        It has sessions on the records and on the differences of pairs, releases, and a state.
    """

    def __init__(self, pursuit):
        # The pursuit has these releases: a reference back would hold X until a collection.
        self._pursuit, self._unit = weakref.proxy(pursuit), None
        # Where units are shared with other fits, the whole decides which releases there are.
        self._settings = pursuit.settings.whole or pursuit.settings

    def open(self, unit):
        """Begin with the newest feature, of which public numbers alone are known."""
        self._unit = unit

    def release_size(self, slot):
        """The typical size of the differences that are not 0."""
        grid = self._unit.size_grid()
        size = self._pursuit.releases.located(slot, self._pair_sizes(), grid, size_window(grid.points), nonzero=True)
        self._unit.set_size(size)

    def release_spread(self, slot):
        """The share of pairs that differ, and how far on average."""
        pursuit, unit = self._pursuit, self._unit
        sums = pursuit.pairs.evaluate(queries.spread_sums, pursuit.newest_pair, unit.size, MOST_SIZES)
        mean, noise = pursuit.releases.mean(slot, sums, math.sqrt(0.5), pursuit.releases.n_pairs)
        tail_follows = self._settings.tail > 0
        unit.set_spread(mean[0] + 0.5, MOST_SIZES * (mean[1] + 0.5), MOST_SIZES * noise, tail_follows)

    def release_tail(self, slot):
        """How far the upper tail of the differences reaches, against a normal's."""
        pursuit, unit, tail = self._pursuit, self._unit, self._settings.tail
        if not unit.has_tail:
            pursuit.releases.skip(slot)
            unit.set_tail(1.0)
            return
        grid = unit.tail_grid(tail)
        point = pursuit.releases.quantile(slot, self._pair_sizes(), grid, tail=tail, nonzero=True)
        unit.set_tail(grids.TAILS.points[np.flatnonzero(grid.points == point)[0]])

    def release_center(self, slot):
        """The median, in scales."""
        pursuit, unit = self._pursuit, self._unit
        grid = unit.center_grid()
        count = pursuit.counter(pursuit.session, queries.column_counts, pursuit.newest)
        center = pursuit.releases.located(slot, count, grid, center_window(grid.points, unit.scale))
        unit.set_center(center)

    def release_mean(self, slot):
        """The mean and the mean square about the centre."""
        pursuit, unit = self._pursuit, self._unit
        sums = pursuit.session.evaluate(queries.mean_sums, pursuit.newest, unit.center, unit.scale, MOST_UNITS)
        mean, noise = pursuit.releases.mean(slot, sums, math.sqrt(1.25))
        square = MOST_UNITS**2 * (mean[1] + 0.5)
        unit.set_mean(MOST_UNITS * mean[0], square, MOST_UNITS**2 * noise)

    def finish(self):
        """Read the newest feature's columns in its unit from here on; once for each feature."""
        if self._unit is not None:
            self._unit.settle()
            self._pursuit.session.rescale(self._unit.center, self._unit.scale)
            self._pursuit.pairs.rescale(0.0, self._unit.scale)
            self._pursuit.state.start_effect()
            self._unit = None

    def _pair_sizes(self):
        pursuit = self._pursuit
        return pursuit.counter(pursuit.pairs, queries.column_counts, pursuit.newest_pair, sizes=True)
