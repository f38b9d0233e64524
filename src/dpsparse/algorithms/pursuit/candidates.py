"""Candidates of a selection, and their scores.

A candidate is a feature seen in one way. All ways have the same sensitivity, so another one costs a factor in the
number of candidates, and no noise:

- in public units, clipped: the best where they are right;
- by whether it is above a threshold that divides the records evenly, or above 0 where none was released;
- by the signs of the differences of pairs of records, against the differences of their residuals: free of centre and
  scale for any distribution, at half the signal;
- by those of rows of one person, where people have several: of what varies within people it has twice the signal of
  pairs of people, and what is a person's own is not in its residuals.

Where cells may be missing, "feature j is missing" is a feature of its own, d + j of `Rows` with d features, seen in one
way. A cell that is missing has level 0 in the other ways.

A category by whether it is above its threshold also counts for its variable: S_l being the sum of residuals of level l,
its score is the mean of its own and of sum_l |S_l|, the best that any division of the levels in two would have, less
what many levels have by chance. So does a number times a category, whose level l holds the sum of residuals where the
number is above its threshold, less that where it is not.

Which features come with a selected one, those of a variable that has several, follows from releases about the table.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import Differing, FeatureUnit
from dpsparse.algorithms.pursuit.pursuit_constants import ABOVE_SPLIT, BETWEEN_0_AND_1, SIGN
from dpsparse.algorithms.pursuit.state import State
from dpsparse.data.public_units import PublicUnits
from dpsparse.engine import queries
from dpsparse.engine.protocols import OnProgress, Rows, RowsOfPeople, Session
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer


@dataclass(frozen=True)
class Companions:
    """The features that come with a selected one: other categories of a variable, and whether it is missing.

    With a number times a category come the same number times the other categories, the number and the categories, so
    that it says how an effect differs, and with a part of a spline the other parts.

    `features`: those of each feature, the most common first, from releases about the table.
    `shares`: the share of records that have each one, about, from the same releases.
    `unsure`: those of which noise does not tell whether any record has them.
    `groups`: the features of variables that have several and are selected as a whole: no record has two of them.
    `products`: the same of numbers times categories: a record is missing in all of them but one.
    `numbers`: for a number that is multiplied by categories, and for each of these products, the place of the number:
      they have one centre, and one threshold.
    `units`: public centres and scales of numbers that come with others.
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

    def categories(self, feature: int) -> list[int]:
        """The other categories of the variable of a selected one, and whether it is missing: a record has one of them.

        None where the feature is no category.
        """
        if feature not in self.shares or feature in self.numbers:
            return []
        return [each for each in self.features.get(feature, ()) if each in self.shares and each not in self.numbers]

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
        return FeatureUnit(share, math.sqrt(share * (1 - share)), differing=Differing(differ, differ, differ))


# No feature comes with another.
ALONE = Companions()


class Candidates:
    """The candidates of one pursuit.

    `rows`: the data.
    `facts`: what decides which candidates there are.
    `units`: public centres and scales of the features, where they are given.
    `binary`: which features are 0/1 by construction, and never missing; None for no such feature.
    `may_be_missing`: of which features "it is missing" is a candidate, where cells may be missing; None for all.
    `among`: the features that may be selected, where these are not all.
    `same_split`: features that have the threshold of another one: numbers times categories have that of the number.
    """

    def __init__(
        self,
        rows: Rows,
        facts: PublicFacts,
        units: PublicUnits,
        binary: NDArray[np.bool_] | None = None,
        may_be_missing: NDArray[np.bool_] | None = None,
        among: NDArray[np.int64] | None = None,
        same_split: Mapping[int, int] | None = None,
    ) -> None:
        self._rows, self._facts, self._d = rows, facts, rows.n_features
        center, scale = (np.broadcast_to(each, self._d) for each in (units.center, units.scale))
        self._given = ~(np.isnan(center) | np.isnan(scale))
        self._clip = Quantizer(decisions.clip_bound(facts), *units.filled())
        self._binary = np.zeros(self._d, dtype=bool) if binary is None else binary
        self._same_split = {each: other for each, other in (same_split or {}).items() if each != other}
        self._split = ~self._binary
        self._split[list(self._same_split)] = False
        self._may_be_missing = ~self._binary if may_be_missing is None else may_be_missing
        self._splits: NDArray[np.float64] | float = 0.0
        exposure = facts.family.link.exposure
        if exposure is not None and exposure >= 0:
            # It tells how much a response could be, and nothing of its rate.
            everything = np.arange(2 * self._d) if among is None else among
            among = np.setdiff1d(everything, [exposure, exposure + self._d])
        self._among = among

    @cached_property
    def features(self) -> NDArray[np.int64]:
        """All features that may be selected, in order."""
        gaps = self._d + np.flatnonzero(self._may_be_missing) if self._facts.missing else ()
        everything = np.append(np.arange(self._d), gaps).astype(np.int64)
        return everything if self._among is None else np.intersect1d(everything, self._among)

    def count_splits(self, points: NDArray[np.float64], check_finite: bool) -> NDArray[np.int64]:
        """How many values of each feature are at or below each of some points, and how many there are.

        Of the features with a threshold of their own: those that are 0/1, and products, have none.
        Nothing is released.
        """
        if check_finite:
            self._rows.require_finite()
        # No finite value is larger than the last threshold.
        thresholds = np.append(points, np.finfo(np.float64).max)
        return np.asarray(self._rows.evaluate(queries.feature_counts, thresholds)[self._split])

    def set_splits(self, splits: NDArray[np.float64]) -> None:
        """Use these thresholds, one for each feature that has its own: those that are 0/1 have none."""
        self._splits = np.full(self._d, BETWEEN_0_AND_1)
        self._splits[self._split] = splits
        for feature, other in self._same_split.items():
            self._splits[feature] = self._splits[other]

    def set_all_splits(self, splits: NDArray[np.float64]) -> None:
        """Use these thresholds of all features, but for those that are 0/1."""
        self.set_splits(splits[self._split])

    def open(self, check_finite: bool, on_progress: OnProgress = None) -> "OpenCandidates":
        """Open a session on the records and one on the differences of pairs."""
        facts, families, possible = self._facts, [], []
        if decisions.compares_clipped(facts):
            families.append(self._clip)
            possible.append(self._given)
        if decisions.compares_thresholds(facts):
            families.append(Quantizer(SIGN, self._splits + np.maximum(SIGN, ABOVE_SPLIT * np.abs(self._splits))))
            possible.append(np.ones(self._d, dtype=bool))
        if decisions.compares_gaps(facts):
            families.append(Quantizer(SIGN, BETWEEN_0_AND_1, of_gaps=True))
            possible.append(self._may_be_missing)
        records = self._rows.session(
            tuple(families),
            constant=facts.fit_intercept,
            check_finite=check_finite,
            link=facts.family.link,
            on_progress=on_progress,
        )
        by_pairs: tuple[Quantizer, ...] = (Quantizer(SIGN),) if decisions.compares_pairs(facts) else ()
        pairs, own = self._rows.differences().session(by_pairs, check_finite=False), None
        if decisions.compares_own_rows(facts):
            own = cast(RowsOfPeople, self._rows).own_differences().session(by_pairs, check_finite=False)
            by_pairs *= 2
        features = np.tile(np.arange(self._d), (len(families) + len(by_pairs), 1))
        if decisions.compares_gaps(facts):
            features[len(families) - 1] += self._d
        possible += [np.ones(self._d, dtype=bool) for _ in by_pairs]
        # Where all features are taken there are no candidates.
        can_be = np.array(possible, dtype=bool).reshape(features.shape)
        if self._among is not None:
            can_be &= np.isin(features, self._among)
        return OpenCandidates(facts, records, pairs, features, can_be, own)


class OpenCandidates:
    """The candidates in sessions on the records and on the differences of pairs; they can be scored.

    `facts`: what decides where residuals are clipped.
    `records`, `pairs`: on the records, and on the differences of pairs.
    `features`: which feature each candidate is, a row for each way to see them; those of differences are the last.
    `can_be` (ndarray of bool of the same shape): which of them are candidates.
    `own`: on the differences of rows of each person, where these are candidates.
    """

    def __init__(
        self,
        facts: PublicFacts,
        records: Session,
        pairs: Session,
        features: NDArray[np.int64],
        can_be: NDArray[np.bool_],
        own: Session | None = None,
    ) -> None:
        self.records, self.pairs, self._facts = records, pairs, facts
        # Of differences there are responses and columns, and no constant.
        self.differences = (pairs,) if own is None else (pairs, own)
        self._by_pairs = decisions.compares_pairs(facts)
        self._by_records = len(can_be) > self._by_pairs * len(self.differences)
        # With many features a copy of their scores takes as long as a pick among them.
        self._some = None if can_be.all() else can_be
        self._features = self._of_candidates(features)
        self._places: dict[int, NDArray[np.int64]] = {}
        self._by_thresholds = int(decisions.compares_clipped(facts)) if decisions.compares_thresholds(facts) else None

    def _of_candidates(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of all candidates, from a table with a row for each family."""
        return table.ravel() if self._some is None else table[self._some]

    def _places_of(self, feature: int) -> NDArray[np.int64]:
        """The places of a feature among the candidates; each is looked for once."""
        if feature not in self._places:
            self._places[feature] = np.flatnonzero(self._features == feature)
        return self._places[feature]

    def tau(self, state: State) -> float:
        """Where residuals are clipped."""
        return self._facts.family.selection_tau(state.residual_scale, self._facts.known)

    def scores(
        self, state: State, companions: Companions = ALONE, level: float = 0.0, on_progress: OnProgress = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The scores of all candidates, which features they are, and the places of those that are selected already.

        Features that come with the selected ones are no candidates any more.

        Residuals enter less their released mean, `level` in units of tau, so that a feature which hardly varies has no
        score, whatever the intercept and however the responses lump together. Differences of pairs have no level.
        """
        tau = self.tau(state)
        scores = []
        if self._by_records:
            scores.append(self.records.scores(state.center, state.effects, tau, level, on_progress))
        if self._by_pairs:
            # Differences of means are about linear in those of linear predictors.
            family = self._facts.family
            unit = family.unit(state.center)
            slope = unit * family.mean_slope(state.residual_scale)
            model = 0.0, slope * state.effects[state.constants :], math.sqrt(2) * unit * tau
            scores += [each.scores(*model) for each in self.differences]
        table = scores[0] if len(scores) == 1 else np.concatenate(scores)
        wholes = self._wholes(table, state, companions, level)
        np.abs(table, out=table)
        if wholes:
            row = table[self._by_thresholds]
            for group, whole in wholes:
                row[group] = np.maximum(row[group], (row[group] + whole) // 2)
        coming = companions.of(state.features)
        nothing = np.zeros(0, dtype=np.int64)
        selected = np.concatenate([nothing, *(self._places_of(feature) for feature in (*state.features, *coming))])
        return self._of_candidates(table), self._features, selected

    def _wholes(
        self, table: NDArray[np.int64], state: State, companions: Companions, level: float
    ) -> list[tuple[list[int], int]]:
        """For each variable of several features, of which a record has one, its score as a whole."""
        variables = [*companions.groups, *companions.products]
        if self._by_thresholds is None or not variables or self._facts.rows.many:
            # A person with several rows has several levels: no bound on one feature's sum bounds all levels'.
            return []
        total = self.records.evaluate(queries.pick_total, state.center, state.effects, self.tau(state), level)
        by_chance = FEATURE_LEVELS * WEIGHT_LEVELS * math.sqrt(state.n_records)
        scored = []
        for group in map(list, companions.groups):
            # A 0/1 feature has levels 127 and -127, so that its sum is 127 (2 S - total).
            twice = table[self._by_thresholds, group] // FEATURE_LEVELS + total
            whole = FEATURE_LEVELS * (np.abs(twice).sum() + abs(2 * total - twice.sum())) // 2
            scored.append((group, int(whole) - math.ceil(by_chance * companions.chance(group))))
        for group in map(list, companions.products):
            # Levels are 127 and -127 in records of the category, and 0 in all others.
            whole = np.abs(table[self._by_thresholds, group]).sum()
            scored.append((group, int(whole) - math.ceil(by_chance * companions.chance(group))))
        return scored
