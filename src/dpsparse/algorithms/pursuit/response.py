"""The response's unit, its centre and scale, and the releases that tell it: number, size, centre and scale."""

import math
import weakref

import numpy as np

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.quantiles import center_window, size_window
from dpsparse.engine import queries
from dpsparse.privacy import sensitivity

# Nats by which the right size and centre of the response must lead those far from all responses.
SAFE_NATS = 8.0
# A scale below this part of the typical difference is the distance of a lump from the centre, which lies beside it: the
# grid of centres is coarse.
BESIDE_A_LUMP = 0.23


class ResponseUnit:
    """Centre and scale of the response, refined as releases come in.

    Parameters
    ----------
    center, scale : float or None
        Public numbers; None where they are not given.

    Attributes
    ----------
    center, scale : float or None
        What is known so far.
    n_records, noise : float or None
        The number of records that have a response, and its noise; None where it is not released.
    """

    def __init__(self, center=None, scale=None):
        self.center, self.scale, self.n_records, self.noise = center, scale, None, None


class ResponseReleases:
    """The releases about the response.

    Parameters
    ----------
    pursuit : Pursuit
        It has sessions on the records and on the differences of pairs, releases, and a state without effects so far.
    unit : ResponseUnit
        Takes in the releases.
    """

    def __init__(self, pursuit, unit):
        # The pursuit has these releases: a reference back would hold X until a collection.
        self._pursuit, self._unit = weakref.proxy(pursuit), unit

    def release_count(self, slot):
        """The number of records that have a response."""
        count = self._counter(0.0)
        self._unit.n_records = self._pursuit.releases.responses(slot, int(count(np.array([np.inf]))[0]))
        self._unit.noise = self._pursuit.releases.response_noise
        self._pursuit.take_response()

    def release_size(self, slot):
        """The typical size of the differences of pairs of responses that are not 0."""
        pursuit, points = self._pursuit, grids.RESPONSE_SIZES
        effects = pursuit.state.effects[pursuit.state.constants :]
        count = pursuit.counter(pursuit.pairs, queries.residual_counts, 0.0, effects, sizes=True)
        size = pursuit.releases.located(slot, count, points, size_window(points.points), nonzero=True)
        self._unit.scale = size / math.sqrt(2)
        pursuit.take_response()

    def release_center(self, slot):
        """The centre of the response, in scales."""
        deviation = self._unit.scale / grids.NORMAL_MEDIAN
        grid = grids.CENTERS.times(deviation)
        window = center_window(grid.points, deviation)
        self._unit.center = self._pursuit.releases.located(slot, self._counter(0.0), grid, window)
        self._pursuit.take_response()

    def release_scale(self, slot):
        """The median distance from the centre of those responses that are not at it.

        Where most lie at a lump beside the centre, the typical difference stands for it, which leaves them out.
        """
        grid = grids.FINE_SCALES.times(self._unit.scale)
        count = self._counter(float(self._unit.center or 0.0), sizes=True)
        scale = self._pursuit.releases.quantile(slot, count, grid, nonzero=True)
        if scale >= BESIDE_A_LUMP * self._unit.scale:
            self._unit.scale = scale
        self._pursuit.take_response()

    def _counter(self, center, **options):
        pursuit = self._pursuit
        return pursuit.counter(pursuit.session, queries.residual_counts, center, pursuit.state.effects, **options)


def response_is_safe(schedule, n_responses):
    """From public numbers or releases: are the response's centre and scale safe from points far from all responses?

    Where m responses, or pairs of them, take part, such a point has the utility -m, and the right one about 1.5 m
    (three quarters of them lie in its window).
    """
    pairs = schedule.settings.n // 2 * (n_responses / schedule.settings.n) ** 2
    change = sensitivity.located_utility("replace-one")
    for name, count in {"response size": pairs, "response centre": n_responses}.items():
        slot = schedule.response_slot(name)
        if slot is not None and 2.5 * count * math.sqrt(8 * slot.rho) / (2 * change) < SAFE_NATS:
            return False
    return True
