"""The unit of a selected feature, its centre and scale, from releases about it and public numbers alone.

Differences of pairs come first: they have no centre, and those that are not 0 have a typical size whatever the share of
zeros is, so lumps, 0/1 columns and years need no case of their own. The centre is then looked for in scales.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.inference.inference_constants import NORMAL_DIFFERENCE


@dataclass(frozen=True)
class Differing:
    """How many pairs of records differ in a feature.

    `share`, `least`, `most`: their share, and confidence bounds on it.
    `constant`: whether so few pairs differ that the feature counts as constant.
    `noise`: the standard deviation of the share's noise; 0 where nothing was released.
    """

    share: float = 1.0
    least: float = 1.0
    most: float = 1.0
    constant: bool = False
    noise: float = 0.0

    @classmethod
    def released(cls, differ: float, noise: float) -> "Differing":
        """From a noisy share."""
        share, off = float(np.clip(differ, c.LEAST_DIFFERING, 1.0)), c.LEAST_SHARE_DEVIATIONS * noise
        constant = bool(differ < c.CONSTANT and noise < c.CONSTANT_NOISE)
        return cls(share, share - off, share + off, constant, noise)

    def again(self, differ: float, noise: float) -> "Differing":
        """With another noisy share of the same pairs."""
        if not self.noise:
            return self.released(differ, noise)
        weight = noise**2 / (self.noise**2 + noise**2)
        return self.released(weight * self.share + (1 - weight) * differ, math.sqrt(weight) * self.noise)

    @property
    def binary_nats(self) -> float:
        """By how much a share of a half or less, as of a 0/1 feature, is likelier than one of nearly all pairs."""
        if not self.noise:
            return 0.0
        nats = ((1 - self.share) ** 2 - max(0.0, self.share - 0.5) ** 2) / (2 * self.noise**2)
        return float(np.clip(nats, -c.BINARY_NATS, c.BINARY_NATS))


@dataclass(frozen=True)
class FeatureUnit:
    """Centre and scale of a feature; each release gives a refined one.

    `center`, `scale`: what is known so far; 0 and 1 before anything is.
    `center_known`, `scale_known`: whether they were public.
    `size`: the typical size of the differences that are not 0.
    `second_moment`: the expected mean square of (x - center) / scale.
    `differing`: how many pairs differ.
    `astray`: whether noise chose its size or its centre.
    `median`: where the median lies, in scales from the centre.
    `learned`: whether a release has changed centre or scale.
    `equal_sizes`: whether differences that are not 0 seem to have one size, as those of a 0/1 feature.
    """

    center: float = 0.0
    scale: float = 1.0
    center_known: bool = False
    scale_known: bool = False
    size: float = 1.0
    second_moment: float = 1.0
    differing: Differing = Differing()
    astray: bool = False
    median: float = 0.0
    learned: bool = False
    equal_sizes: bool = False

    @classmethod
    def public(cls, center: float, scale: float) -> "FeatureUnit":
        """A unit of public numbers; NaN where they are not given."""
        center_known, scale_known = not math.isnan(center), not math.isnan(scale)
        return cls(center if center_known else 0.0, scale if scale_known else 1.0, center_known, scale_known)

    def size_grid(self) -> grids.Grid:
        """Where the typical difference of a pair is looked for: near the public scale, or everywhere."""
        return (
            grids.NEAR_SIZES.times(self.scale) if self.scale_known else grids.feature_sizes(self.differing.binary_nats)
        )

    def with_share(self, differ: float, noise: float) -> "FeatureUnit":
        """Take in the share of pairs that differ, with its noise."""
        return replace(self, differing=Differing.released(differ, noise))

    def with_size(self, size: float) -> "FeatureUnit":
        """Take in the typical size of the differences that are not 0."""
        return replace(self, size=size, learned=True, scale=size / NORMAL_DIFFERENCE)

    def with_spread(self, differ: float, reach: float, noise: float, tail_follows: bool) -> "FeatureUnit":
        """Take in the share of pairs that differ and their mean size, in units of `size`, with its noise."""
        differing = self.differing.again(differ, noise / c.MOST_SIZES)
        size, share, astray = self.size, differing.share, self.astray
        unsure = max(c.UNSURE * differing.noise, min(c.CONTINUOUS, c.SEEN * differing.noise))
        if share < unsure and not self.scale_known:
            # Then noise may have chosen the size. One that is far too small puts predictions far off for the few
            # carriers, one that is too large makes the effect small.
            size = max(size, 1.0)
        elif reach - 2 * noise > c.SIZE_ASTRAY * share and not self.scale_known:
            astray = True
        equal = bool(reach - share < max(c.UNEQUAL * share, noise))
        unit = replace(
            self, size=size, scale=size / NORMAL_DIFFERENCE, astray=astray, differing=differing, equal_sizes=equal
        )
        if tail_follows:
            return unit
        if not (self.scale_known or _is_binary(unit)):
            unit = replace(unit, scale=unit.scale * _breadth(reach / share, noise / share))
        return _allowing_for_zeros(unit)

    def tail_grid(self, tail: int) -> grids.Grid:
        """Where 1/tail of a normal feature's differences lie beyond, times the factors of `grids.TAILS`."""
        return grids.TAILS.times(math.sqrt(2) * -ndtri(0.5 / tail) * self.scale)

    @property
    def has_tail(self) -> bool:
        """Whether the tail of the differences is worth a look."""
        return self.differing.share > c.CONTINUOUS

    def with_tail(self, factor: float) -> "FeatureUnit":
        """Take in how far the tail reaches against a normal's; 1 where it was not looked at."""
        return _allowing_for_zeros(replace(self, scale=self.scale * factor))

    def center_grid(self) -> grids.Grid:
        """Where the centre is looked for: near the public one, or everywhere."""
        if self.center_known:
            return grids.NEAR_CENTERS.times(self.scale).shifted(self.center)
        return grids.CENTERS.times(self.scale)

    def with_center(self, center: float) -> "FeatureUnit":
        """Take in a median."""
        return replace(self, center=center, learned=True)

    def with_mean(self, mean: float, square: float, noise: float) -> "FeatureUnit":
        """Take in the mean and the mean square about the centre, in scales, with the noise of the square.

        The centre moves to the mean, so that the feature is uncorrelated with the constant.
        """
        astray = bool(self.astray or (abs(mean) > c.CENTER_ASTRAY and not self.center_known))
        mean /= 1 + (noise / c.MOST_UNITS / c.MEAN_SPREAD) ** 2
        trust = 1 / (1 + (noise / (c.SECOND_MOMENT_SPREAD * self.second_moment)) ** 2)
        square = self.second_moment + trust * (square - mean**2 - self.second_moment)
        return replace(
            self,
            astray=astray,
            second_moment=float(np.clip(square, c.LEAST_MOMENT * self.second_moment, c.MOST_MOMENT)),
            center=self.center + mean * self.scale,
            median=-mean,
        )

    def among(self, share: float) -> "FeatureUnit":
        """The unit of the same number among a share of the records, about; it is at its centre in all others.

        What is not sure of this unit is not sure of that one: the shares of its bounds on what differs stay.
        """
        before = self.differing
        spread = self.scale / max(math.sqrt(before.share), c.RARE)
        scale = spread * max(math.sqrt(share), c.RARE)
        moment = min(1.0, share / c.RARE**2)
        least, most = (share * bound / before.share for bound in (before.least, before.most))
        differing = replace(before, share=share, least=least, most=most)
        return replace(self, scale=scale, second_moment=moment, differing=differing, learned=True)

    def maybe_absent(self, *, surely: bool) -> "FeatureUnit":
        """Take in that perhaps no pair of records with a response differs, or that next to none does."""
        differing = replace(self.differing, least=0.0, most=0.0 if surely else self.differing.most)
        return replace(self, differing=differing)

    def surely_varies(self) -> "FeatureUnit":
        """Take in that it does not count as constant."""
        return replace(self, differing=replace(self.differing, constant=False))

    def settled(self) -> "FeatureUnit":
        """Leave the feature out if it is astray: in a unit in which it is about 0 it does not make the rows long."""
        return replace(self, center=0.0, scale=c.OUT_OF_THE_WAY, median=0.0) if self.astray else self


def _is_binary(unit: FeatureUnit) -> bool:
    """Whether a feature seems to be 0/1: its differences have the size 1, or none."""
    return unit.size == 1 and unit.equal_sizes and not unit.has_tail and not unit.scale_known


def _allowing_for_zeros(unit: FeatureUnit) -> FeatureUnit:
    """The unit with a smaller scale where few pairs differ, and what the mean square is then."""
    share = unit.differing.share
    if _is_binary(unit):
        # Half of the share is the variance. A unit that is too wide costs more than one that is too narrow.
        least = max(0.0, share - unit.differing.noise)
        scale = max(math.sqrt(least / 2), c.RARE_BINARY)
        return replace(unit, scale=scale, second_moment=min(1.0, share / 2 / scale**2))
    return replace(unit, scale=unit.scale * max(math.sqrt(share), c.RARE), second_moment=min(1.0, share / c.RARE**2))


def _breadth(reach: float, noise: float) -> float:
    """A scale over that of normal differences of the same median, from their mean size in units of it, with its noise.

    It is pulled toward a typical feature's, whose tails are heavier than a normal law's.
    """
    beyond = max(reach / c.NORMAL_REACH, c.LEAST_REACH)
    doubt = noise / (c.NORMAL_REACH * max(beyond, c.HALF) * c.REACH_SPREAD)
    return float(np.clip(c.HEAVIER * beyond ** (1 / (1 + doubt**2)), 1 / c.MOST_REACH, c.MOST_REACH))
