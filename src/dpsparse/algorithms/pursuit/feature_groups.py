"""Variables of several features: which 0/1 features come with a selected one, from releases about the table."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit


@dataclass(frozen=True)
class Companions:
    """The 0/1 features that come with a selected one: other categories of a variable, and whether it is missing.

    Parameters
    ----------
    features : mapping of int to sequence of int
        Those of each feature, the most common first, from releases about the table.
    shares : mapping of int to float
        The share of records that have each one, about, from the same releases.
    unsure : frozenset of int
        Those of which noise does not tell whether any record has them.
    groups : sequence of sequence of int
        The features of variables that have several and are selected as a whole: no record has two of them.
    """

    features: Mapping[int, Sequence[int]] = field(default_factory=dict)
    shares: Mapping[int, float] = field(default_factory=dict)
    unsure: frozenset[int] = frozenset()
    groups: Sequence[Sequence[int]] = ()

    def of(self, features: Iterable[int]) -> list[int]:
        """The features that come with some selected ones, without these."""
        selected = list(features)
        coming = (each for feature in selected for each in self.features.get(feature, ()))
        return [each for each in dict.fromkeys(coming) if each not in selected]

    def chance(self, group: Sequence[int]) -> float:
        """How much further sums of signs over the levels of a group lie from 0 by chance than those of one feature.

        In units of the square root of the number of records: the sum of the roots of the shares, less 1.
        """
        shares = [self.shares[feature] for feature in group]
        return max(0.0, sum(map(math.sqrt, (*shares, max(0.0, 1 - sum(shares))))) - 1)

    def unit(self, feature: int) -> FeatureUnit:
        """The centre and the scale of one of them, and how many pairs of records differ in it."""
        share = self.shares[feature]
        differ = 2 * share * (1 - share)
        return FeatureUnit(share, math.sqrt(share * (1 - share)), share=differ, least_share=differ)


# No feature comes with another.
ALONE = Companions()
