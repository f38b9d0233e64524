"""The releases that tell the unit of the newest feature: size, spread, tail, centre and mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dpsparse.algorithms.pursuit import budget, decisions, grids
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.planned import Planned, of_unit
from dpsparse.algorithms.pursuit.pursuit_constants import MEAN_NORM, MOST_SIZES, MOST_UNITS, SPREAD_NORM
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.quantiles import Counter, center_window, size_window
from dpsparse.algorithms.pursuit.releases import Releases, skip_all
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.updates import with_newest_unit, with_unit_settled
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
        return self.size, self.spread, self.tail, self.center, self.mean

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, unless there is no such feature."""
        if self.place > len(state.columns):
            skip_all(releases, self.planned())
            return state
        unit = state.newest_unit
        # Where units are shared with other fits, the facts of all together decide which releases there are.
        tail = decisions.tail_of_units(self.facts.of_units)
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
