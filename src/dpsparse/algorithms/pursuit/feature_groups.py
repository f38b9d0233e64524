"""Variables of several features: which ones come with a selected one, from releases about the table."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit


@dataclass(frozen=True)
class Companions:
    """The features that come with a selected one: other categories of a variable, and whether it is missing.

    With a number times a category come the same number times the other categories, the number and the categories, so
    that it says how an effect differs, and with a part of a spline the other parts.

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
    products : sequence of sequence of int
        The same of numbers times categories: a record is missing in all of them but one.
    numbers : mapping of int to int
        For a number that is multiplied by categories, and for each of these products, the place of the number: they
        have one centre, and one threshold.
    units : mapping of int to pair of float
        Public centres and scales of numbers that come with others.
    """

    features: Mapping[int, Sequence[int]] = field(default_factory=dict)
    shares: Mapping[int, float] = field(default_factory=dict)
    unsure: frozenset[int] = frozenset()
    groups: Sequence[Sequence[int]] = ()
    products: Sequence[Sequence[int]] = ()
    numbers: Mapping[int, int] = field(default_factory=dict)
    units: Mapping[int, tuple[float, float]] = field(default_factory=dict)

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
        rest = 0.0 if group[0] in self.numbers else max(0.0, 1 - sum(shares))
        return max(0.0, sum(map(math.sqrt, (*shares, rest))) - 1)

    def _same_number(self, feature: int, known: Mapping[int, FeatureUnit]) -> FeatureUnit:
        """The unit of a selected feature of the same number: there is one where this feature comes with another."""
        same = [unit for each, unit in known.items() if self.numbers.get(each) == self.numbers[feature]]
        return next((unit for unit in same if not unit.astray), same[0])

    def of_product(self, feature: int, unit: FeatureUnit, known: Mapping[int, FeatureUnit]) -> FeatureUnit:
        """The unit of a selected feature, as it was learned; of a product, that of its number among its records.

        Few pairs have two records of a category, so that its own releases tell less than those of the number, and than
        the released share of the category.
        """
        is_product = self.numbers.get(feature, feature) != feature
        return self.unit(feature, {**known, feature: unit}) if is_product else unit

    def unit(self, feature: int, known: Mapping[int, FeatureUnit]) -> FeatureUnit:
        """The centre and the scale of one of them, and how many pairs of records differ in it.

        `known` are the units of the selected features: those of the same number share a centre.
        """
        if feature in self.units:
            return FeatureUnit(*self.units[feature], learned=True)
        share = self.shares.get(feature, 1.0)
        if feature in self.numbers:
            return self._same_number(feature, known).among(share)
        differ = 2 * share * (1 - share)
        return FeatureUnit(share, math.sqrt(share * (1 - share)), share=differ, least_share=differ, most_share=differ)


# No feature comes with another.
ALONE = Companions()
