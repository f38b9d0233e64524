"""Select one more feature, or take the next one where all are taken; what comes before and with it.

Before: a threshold for every feature that divides the records evenly, where units are unknown. With it: the other
features of its variable, such as the other categories of a column.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit import budget, decisions, grids, newton_budget
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, skip_all
from dpsparse.algorithms.pursuit.state import Column, State
from dpsparse.algorithms.pursuit.updates import with_column, with_constant_moved
from dpsparse.engine import queries
from dpsparse.privacy.accounting.release import Slot


@dataclass(frozen=True)
class SplitsStep:
    """Release the splits, then read the features by them."""

    facts: PublicFacts

    @cached_property
    def splits(self) -> Planned:
        """One pick for each feature."""
        return Planned("splits", budget.SPLITS.of(self.facts), "picks")

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.splits,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them."""
        slot = releases.slot(self.splits)
        if slot is not None and data.split_counts is not None:
            grid = grids.splits(decisions.split_nats(self.facts))
            data.candidates.set_splits(releases.splits(slot, data.split_counts, grid))
            data.open()
        return state


@dataclass(frozen=True)
class SelectStep:
    """Select a feature by the exponential mechanism on the features' scores; `place` counts from 1."""

    facts: PublicFacts
    place: int

    @cached_property
    def level(self) -> Planned:
        """The mean of the clipped residuals."""
        return Planned(f"level {self.place}", budget.share_of_each(budget.LEVEL, self.facts))

    @cached_property
    def pick(self) -> Planned:
        """The feature."""
        picks = budget.PICKS if self.facts.family.scaled else newton_budget.PICKS
        shares = budget.pick_shares(picks.of(self.facts), self.facts)
        return Planned(f"pick {self.place}", shares[self.place - 1], "pick")

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.level, self.pick

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, unless no feature is left."""
        if not data.has_more(state.features):
            skip_all(releases, self.planned())
            return state
        level, slot = 0.0, releases.slot(self.level)
        if slot is not None:
            level = _level(slot, data, releases, state)
        with data.reporter.step() as on_progress:
            scores, features, taken = data.scored.scores(state, data.companions, level, on_progress)
        selected = int(features[releases.pick(releases.due(self.pick), scores, taken)])
        if slot is not None:
            tau = data.scored.tau(state)
            state = with_constant_moved(state, self.facts.family.constant_step(level * tau, state.residual_scale))
        return with_column(state, selected, data.add_column(selected))


def _level(slot: Slot, data: Data, releases: Releases, state: State) -> float:
    """The mean of the clipped residuals, which scores leave out: it would select features that hardly vary."""
    tau = data.scored.tau(state)
    sums = data.records.evaluate(queries.mean_residual_sums, state.center, state.effects, tau)
    mean, _ = releases.mean(slot, sums, 1.0)
    return float(np.clip(mean[0], -1, 1))


@dataclass(frozen=True)
class TakeStep:
    """Take the feature at a place, which counts from 1; nothing is released."""

    facts: PublicFacts
    place: int

    def planned(self) -> tuple[Planned, ...]:
        """Nothing."""
        return ()

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Add the feature, if there is one."""
        if self.place > len(data.candidates.features):
            return state
        feature = int(data.candidates.features[self.place - 1])
        return with_column(state, feature, data.add_column(feature))


@dataclass(frozen=True)
class CompanionsStep:
    """Add the features that come with the selected ones, up to `most` columns; nothing is released.

    Which they are follows from releases about the table. Effects start where category means led, or at 0, and units are
    those of released shares, or those of a selected feature of the same number. Features of which nothing tells whether
    any record has them come where `unsure`, for a step that looks.
    """

    most: int
    unsure: bool = True

    def planned(self) -> tuple[Planned, ...]:
        """Nothing."""
        return ()

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Add them, those of the first feature first."""
        for feature in data.companions.of(state.features[column - state.constants] for column in state.kept_features):
            if len(state.kept) >= self.most:
                break
            if feature in data.companions.unsure and not self.unsure:
                continue
            if feature in state.features:
                place = state.constants + state.features.index(feature)
                state = replace(state, kept=np.append(state.kept, place))
                continue
            unit = data.companions.unit(feature, {column.feature: column.unit for column in state.columns})
            data.records.add(feature)
            data.records.rescale(unit.center, unit.scale)
            state = _with_column(state, feature, unit)
        return _with_others_at_zero(state)


def _with_others_at_zero(state: State) -> State:
    """Without the effects of categories for which there was no place."""
    stays, concluded = np.isin(np.arange(len(state.effects)), state.kept), state.concluded
    concluded = replace(concluded, effects=np.where(stays, concluded.effects, 0.0))
    return replace(state, effects=np.where(stays, state.effects, 0.0), conclusion=concluded)


def _with_column(state: State, feature: int, unit: FeatureUnit) -> State:
    concluded = state.concluded
    return replace(
        state,
        columns=(*state.columns, Column(feature, unit)),
        effects=np.append(state.effects, 0.0),
        kept=np.append(state.kept, len(state.effects)),
        conclusion=replace(concluded, effects=np.append(concluded.effects, 0.0)),
    )
