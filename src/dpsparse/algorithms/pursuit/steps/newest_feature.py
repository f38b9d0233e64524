"""The newest feature: the releases that tell its unit, and then those that tell its effect.

Its unit is told by share, size, spread, tail, centre and mean; its effect by second moments, a start from slopes, a
gradient, and least squares over all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dpsparse.algorithms.pursuit import budget, decisions, grids
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.grids import Counter, center_window, size_window
from dpsparse.algorithms.pursuit.pursuit_constants import GRAM_ROW_NORM, MEAN_NORM, MOST_SIZES, MOST_UNITS, SPREAD_NORM
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Planned, Releases, of_unit, skip_all
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.gradients import (
    with_released_gradient,
    with_released_residual_scale,
    with_start_from_slopes,
)
from dpsparse.algorithms.pursuit.updates import solved, with_gram_row, with_newest_unit, with_unit_settled
from dpsparse.engine import queries
from dpsparse.privacy.accounting.release import Slot


@dataclass(frozen=True)
class UnitStep:
    """Learn the unit of the newest feature, where it is not public, and read its column in it.

    `place` counts from 1; `shares` are those of the releases by name, the same for all features.
    """

    facts: PublicFacts
    place: int
    shares: Mapping[str, float]

    @cached_property
    def share(self) -> Planned:
        """The share of pairs that differ, where nothing is known of the feature."""
        return self._planned(budget.UNIT_SHARE, "noise")

    @cached_property
    def size(self) -> Planned:
        """The typical size of the differences that are not 0."""
        return self._planned(budget.UNIT_SIZE, "pick")

    @cached_property
    def spread(self) -> Planned:
        """The share of pairs that differ, and how far on average."""
        return self._planned(budget.UNIT_SPREAD, "noise")

    @cached_property
    def tail(self) -> Planned:
        """How far the upper tail of the differences reaches."""
        return self._planned(budget.UNIT_TAIL, "pick")

    @cached_property
    def center(self) -> Planned:
        """The median."""
        return self._planned(budget.UNIT_CENTER, "pick")

    @cached_property
    def mean(self) -> Planned:
        """The mean and the mean square about the centre."""
        return self._planned(budget.UNIT_MEAN, "noise")

    def _planned(self, price: budget.Price, mechanism: Literal["noise", "pick"]) -> Planned:
        return of_unit(f"{price.release} {self.place}", self.shares[price.release], self.facts, mechanism)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.share, self.size, self.spread, self.tail, self.center, self.mean

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, unless there is no such feature."""
        if self.place > len(state.kept_features):
            skip_all(releases, self.planned())
            return state
        unit = state.newest_unit
        # Where units are shared with other fits, the facts of all together decide which releases there are.
        tail = decisions.tail_of_units(self.facts.of_units)
        if slot := releases.slot(self.share):
            unit = _with_share(unit, slot, data, releases, state)
        if slot := releases.slot(self.size):
            unit = _with_size(unit, slot, data, releases, state)
        if slot := releases.slot(self.spread):
            unit = _with_spread(unit, slot, data, releases, state, tail is not None)
        if (slot := releases.slot(self.tail)) and tail is not None:
            unit = _with_tail(unit, slot, data, releases, state, tail)
        if slot := releases.slot(self.center):
            unit = _with_center(unit, slot, data, releases, state)
        if slot := releases.slot(self.mean):
            unit = _with_mean(unit, slot, data, releases, state)
        before = {column.feature: column.unit for column in state.columns[:-1]}
        unit = data.companions.of_product(state.columns[-1].feature, unit, before).settled()
        data.rescale(unit)
        return with_unit_settled(with_newest_unit(state, unit))


def _with_share(unit: FeatureUnit, slot: Slot, data: Data, releases: Releases, state: State) -> FeatureUnit:
    """The share of pairs that differ."""
    equal, pairs = (int(count) for count in _pair_sizes(data, state)(np.array([0.0, np.inf])))
    return unit.with_share(*releases.fraction(slot, pairs - equal, releases.n_of_units[1]))


def _with_size(unit: FeatureUnit, slot: Slot, data: Data, releases: Releases, state: State) -> FeatureUnit:
    """The typical size of the differences that are not 0."""
    grid = unit.size_grid()
    window = size_window(grid.points)
    return unit.with_size(releases.located(slot, _pair_sizes(data, state), grid, window, nonzero=True))


def _with_spread(
    unit: FeatureUnit, slot: Slot, data: Data, releases: Releases, state: State, tail_follows: bool
) -> FeatureUnit:
    """The share of pairs that differ, and how far on average."""
    _, pairs = data.of_units
    sums = pairs.evaluate(queries.spread_sums, state.newest_pair, unit.size, MOST_SIZES)
    mean, noise = releases.mean(slot, sums, SPREAD_NORM, releases.n_of_units[1])
    return unit.with_spread(mean[0] + 0.5, MOST_SIZES * (mean[1] + 0.5), MOST_SIZES * noise, tail_follows)


def _with_tail(unit: FeatureUnit, slot: Slot, data: Data, releases: Releases, state: State, tail: int) -> FeatureUnit:
    """How far the upper tail of the differences reaches, against a normal's."""
    if not unit.has_tail:
        releases.skip(slot)
        return unit.with_tail(1.0)
    grid = unit.tail_grid(tail)
    point = releases.quantile(slot, _pair_sizes(data, state), grid, tail=tail, nonzero=True)
    return unit.with_tail(grids.TAILS.points[np.flatnonzero(grid.points == point)[0]])


def _with_center(unit: FeatureUnit, slot: Slot, data: Data, releases: Releases, state: State) -> FeatureUnit:
    """The median, in scales."""
    grid = unit.center_grid()
    records, _ = data.of_units
    count = counter(records, queries.column_counts, state.newest)
    center = releases.located(slot, count, grid, center_window(grid.points, unit.scale))
    return unit.with_center(center)


def _with_mean(unit: FeatureUnit, slot: Slot, data: Data, releases: Releases, state: State) -> FeatureUnit:
    """The mean and the mean square about the centre."""
    records, _ = data.of_units
    sums = records.evaluate(queries.mean_sums, state.newest, unit.center, unit.scale, MOST_UNITS)
    mean, noise = releases.mean(slot, sums, MEAN_NORM, releases.n_of_units[0])
    square = MOST_UNITS**2 * (mean[1] + 0.5)
    return unit.with_mean(MOST_UNITS * mean[0], square, MOST_UNITS**2 * noise)


def _pair_sizes(data: Data, state: State) -> Counter:
    _, pairs = data.of_units
    return counter(pairs, queries.column_counts, state.newest_pair, sizes=True)


@dataclass(frozen=True)
class EffectStep:
    """Estimate the effects of all features so far; `place` counts from 1."""

    facts: PublicFacts
    place: int

    @cached_property
    def gram_row(self) -> Planned:
        """Second moments of the newest feature with those before it; the first one has none."""
        others = decisions.n_picks(self.facts) - 1
        share = budget.GRAM_ROWS.of(self.facts) / others if self.place > 1 else 0.0
        return Planned(f"Gram row {self.place}", share)

    @cached_property
    def slope(self) -> Planned:
        """A start for the newest effect."""
        return Planned(f"slope {self.place}", budget.share_of_each(budget.SLOPE, self.facts), "pick")

    @cached_property
    def residual_scale(self) -> Planned:
        """The median size of the residuals."""
        share = budget.share_of_each(budget.RESIDUAL_SCALE, self.facts)
        return Planned(f"residual scale {self.place}", share, "pick")

    @cached_property
    def gradient(self) -> tuple[Planned, Planned]:
        """A gradient on all columns so far, and the fraction of residuals within tau."""
        grows = np.arange(1, decisions.n_picks(self.facts) + 1) ** budget.EARLY_RISE
        name, share = f"gradient {self.place}", budget.EARLY_GRADIENTS.of(self.facts) * grows[self.place - 1]
        fraction = budget.share_of_each(budget.FRACTION, self.facts)
        return Planned(name, share / grows.sum()), Planned(f"fraction at {name}", fraction)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.gram_row, self.slope, self.residual_scale, *self.gradient

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them; where there is no newest feature, those about all effects alone."""
        if self.place > len(state.kept_features):
            skip_all(releases, (self.gram_row, self.slope))
        else:
            if slot := releases.slot(self.gram_row):
                state = _with_gram_row(slot, data, releases, state)
            if slot := releases.slot(self.slope):
                state = with_start_from_slopes(slot, data, releases, state, state.newest)
        state = with_released_residual_scale(releases.due(self.residual_scale), data, releases, state)
        tau = self.facts.scaled.early_tau(state.residual_scale)
        return solved(with_released_gradient(self.gradient, data, releases, state, self.facts, tau))


def _with_gram_row(slot: Slot, data: Data, releases: Releases, state: State) -> State:
    """Second moments of the newest feature with itself and those before; each pair is released once."""
    columns = state.kept_features
    bound = float(GRAM_ROW_NORM * np.sqrt(len(columns)))
    sums = data.records.evaluate(queries.product_sums, columns, bound)
    return with_gram_row(state, *releases.mean(slot, sums, bound))
