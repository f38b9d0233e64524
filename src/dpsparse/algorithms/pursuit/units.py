"""The unit of a selected feature, its centre and scale, from releases about it and public numbers alone.

Differences of pairs come first: they have no centre, and those that are not 0 have a typical size whatever the share of
zeros is, so lumps, 0/1 columns and years need no case of their own. The centre is then looked for in scales.
"""

import math

import numpy as np
from scipy.special import ndtri

from dpsparse.algorithms.pursuit import grids

# Carriers of a rare feature lie at 1 / RARE scales at most, inside the outer norm of a row.
RARE = 0.25
# Sizes are cut here in the average size, which is this for a normal feature; units are cut here in their mean.
MOST_SIZES, NORMAL_REACH, MOST_UNITS = 6.0, 1.18, 2.5
# A feature of which a smaller share of the pairs differ counts as constant.
CONSTANT = 0.008
# That share is looked at where its noise is below this.
SURELY = 0.05
# Below this many standard deviations of its noise a share may be next to nothing.
UNSURE = 3.0
# Sizes in units of their median and cut at `MOST_SIZES` have a mean of at most 3.5, and values cut at `MOST_UNITS` one
# of at most 1.25 from their median: beyond these numbers the size, or the centre, was chosen by noise. The first is
# exceeded where the mean lies beyond it by two standard deviations of its noise.
SIZE_ASTRAY, CENTER_ASTRAY = 4.0, 2.0
# The scale of a feature that is left out: beside it all values on the grids are about 0.
OUT_OF_THE_WAY = 1e18
# A tail is looked at where more than this share of the pairs differ.
CONTINUOUS = 0.6


class FeatureUnit:
    """Centre and scale of a feature, refined as releases come in.

    Parameters
    ----------
    center, scale : float
        Public numbers; NaN where they are not given.

    Attributes
    ----------
    center, scale : float
        What is known so far; 0 and 1 before anything is.
    second_moment : float
        The expected mean square of (x - center) / scale.
    share, least_share : float
        The share of pairs that differ, and a lower confidence bound on it.
    constant : bool
        Whether so few pairs differ that the feature counts as constant.
    astray : bool
        Whether noise chose its size or its centre.
    median : float
        Where the median lies, in scales from the centre.
    learned : bool
        Whether a release has changed centre or scale.
    """

    def __init__(self, center=math.nan, scale=math.nan):
        self._center_known, self._scale_known = not math.isnan(center), not math.isnan(scale)
        self.center = center if self._center_known else 0.0
        self.scale = scale if self._scale_known else 1.0
        self.constant, self.astray, self.least_share = False, False, 1.0
        self.second_moment, self.share, self.median, self.learned = 1.0, 1.0, 0.0, False

    def size_grid(self):
        """Where the typical difference of a pair is looked for: near the public scale, or everywhere."""
        return grids.NEAR_SIZES.times(self.scale) if self._scale_known else grids.FEATURE_SIZES

    def set_size(self, size):
        """Take in the typical size of the differences that are not 0."""
        self.size, self.learned = size, True
        self.scale = size / grids.NORMAL_DIFFERENCE

    def set_spread(self, differ, reach, noise, tail_follows):
        """Take in the share of pairs that differ and their mean size, in units of `size`, with its noise."""
        self.share = float(np.clip(differ, 1 / 64, 1.0))
        self.least_share = self.share - 1.5 * noise / MOST_SIZES
        self.constant = differ < CONSTANT and noise / MOST_SIZES < SURELY
        if self.share < UNSURE * noise / MOST_SIZES and not self._scale_known:
            # Then noise may have chosen the size. One that is far too small puts predictions far off for the few
            # carriers, one that is too large makes the effect small.
            self.size = max(self.size, 1.0)
            self.scale = self.size / grids.NORMAL_DIFFERENCE
        elif reach - 2 * noise > SIZE_ASTRAY * self.share and not self._scale_known:
            self.astray = True
        if not tail_follows:
            reach, noise = reach / self.share, noise / self.share
            self.scale *= float(np.clip((reach - noise / 2) / NORMAL_REACH, 1, 4))
            self._allow_for_zeros()

    def tail_grid(self, tail):
        """Where 1/tail of a normal feature's differences lie beyond, times the factors of `grids.TAILS`."""
        return grids.TAILS.times(math.sqrt(2) * -ndtri(0.5 / tail) * self.scale)

    @property
    def has_tail(self):
        """Whether the tail of the differences is worth a look."""
        return self.share > CONTINUOUS

    def set_tail(self, factor):
        """Take in how far the tail reaches against a normal's; 1 where it was not looked at."""
        self.scale *= factor
        self._allow_for_zeros()

    def _allow_for_zeros(self):
        self.scale *= max(math.sqrt(self.share), RARE)
        self.second_moment = min(1.0, self.share / RARE**2)

    def center_grid(self):
        """Where the centre is looked for: near the public one, or everywhere."""
        if self._center_known:
            return grids.NEAR_CENTERS.times(self.scale).shifted(self.center)
        return grids.CENTERS.times(self.scale)

    def set_center(self, center):
        """Take in a median."""
        self.center, self.learned = center, True

    def set_mean(self, mean, square, noise):
        """Take in the mean and the mean square about the centre, in scales, with the noise of the square.

        The centre moves to the mean, so that the feature is uncorrelated with the constant.
        """
        self.astray |= abs(mean) > CENTER_ASTRAY and not self._center_known
        mean /= 1 + (noise / MOST_UNITS / 0.4) ** 2
        trust = 1 / (1 + (noise / (0.5 * self.second_moment)) ** 2)
        square = self.second_moment + trust * (square - mean**2 - self.second_moment)
        self.second_moment = float(np.clip(square, 0.25 * self.second_moment, 2.0))
        self.center += mean * self.scale
        self.median = -mean

    def settle(self):
        """Leave the feature out if it is astray: in a unit in which it is about 0 it does not make the rows long."""
        if self.astray:
            self.center, self.scale, self.median = 0.0, OUT_OF_THE_WAY, 0.0
