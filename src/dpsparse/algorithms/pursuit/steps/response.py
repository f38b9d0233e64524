"""The response's unit, its centre and scale, and the releases that tell it: number, size, centre and scale."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from dpsparse.algorithms.pursuit import budget, grids
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.grids import Counter, center_window, size_window
from dpsparse.algorithms.pursuit.pursuit_constants import BESIDE_A_LUMP
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Planned, Releases, of_unit
from dpsparse.algorithms.pursuit.state import Response, ResponseUnit, State
from dpsparse.algorithms.pursuit.steps.gradients import number_of_responses, with_number_of_responses
from dpsparse.algorithms.pursuit.updates import with_response
from dpsparse.engine import queries
from dpsparse.inference.inference_constants import NORMAL_MEDIAN
from dpsparse.privacy.accounting.release import Slot


@dataclass(frozen=True)
class ResponseStep:
    """Learn what is not public of the response; another fit on the same records may have done so."""

    facts: PublicFacts

    @cached_property
    def count(self) -> Planned:
        """The number of records that have a response."""
        return number_of_responses(self.facts)

    @cached_property
    def size(self) -> Planned:
        """The typical size of the differences of pairs of responses."""
        return of_unit("response size", budget.RESPONSE_SIZE.of(self.facts), self.facts)

    @cached_property
    def center(self) -> Planned:
        """The centre."""
        return of_unit("response centre", budget.RESPONSE_CENTER.of(self.facts), self.facts)

    @cached_property
    def scale(self) -> Planned:
        """The median distance from the centre."""
        return of_unit("response scale", budget.RESPONSE_SCALE.of(self.facts), self.facts)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.count, self.size, self.center, self.scale

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and use what is known of the response by then; public numbers of this fit's own come first."""
        released = with_number_of_responses(self.count, data, releases, state)
        if slot := releases.slot(self.size):
            released = replace(released, scale=_size(slot, data, releases, state, self.facts.amounts))
        if slot := releases.slot(self.center):
            released = replace(released, center=_center(slot, data, releases, state, released))
        if slot := releases.slot(self.scale):
            released = replace(released, scale=_scale(slot, data, releases, state, released))
        given = state.response.given
        center = float((released.center if given.center is None else given.center) or 0.0)
        scale = released.scale if given.scale is None else given.scale
        assert scale is not None, "the response's scale is public, released, or taken over"
        return with_response(state, self.facts, Response(given, released, center, float(scale), releases.n_responses))


def _size(slot: Slot, data: Data, releases: Releases, state: State, amounts: bool) -> float:
    """The scale of which normal differences would have the typical size of those that are not 0.

    Amounts, which lie above 0, are about as large as their differences, and few pairs may have two of them.
    """
    grid, effects = grids.RESPONSE_SIZES, state.effects
    session, effects = (data.records, effects) if amounts else (data.pairs, effects[state.constants :])
    count = counter(session, queries.residual_counts, 0.0, effects, sizes=True)
    return releases.located(slot, count, grid, size_window(grid.points), nonzero=True) / math.sqrt(2)


def _center(slot: Slot, data: Data, releases: Releases, state: State, released: ResponseUnit) -> float:
    """The centre of the response, in scales."""
    deviation = _known(released.scale) / NORMAL_MEDIAN
    grid = grids.CENTERS.times(deviation)
    return releases.located(slot, _residuals(data, state, 0.0), grid, center_window(grid.points, deviation))


def _scale(slot: Slot, data: Data, releases: Releases, state: State, released: ResponseUnit) -> float:
    """The median distance from the centre of those responses that are not at it.

    Where most lie at a lump beside the centre, the typical difference stands for it, which leaves them out.
    """
    size = _known(released.scale)
    count = _residuals(data, state, float(released.center or 0.0), sizes=True)
    scale = releases.quantile(slot, count, grids.FINE_SCALES.times(size), nonzero=True)
    return scale if scale >= BESIDE_A_LUMP * size else size


def _residuals(data: Data, state: State, center: float, **options: bool) -> Counter:
    return counter(data.records, queries.residual_counts, center, state.effects, **options)


def _known(scale: float | None) -> float:
    assert scale is not None, "the response's scale is public, or released first"
    return scale
