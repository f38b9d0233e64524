"""Releases at the present effects that several steps make: responses, gradients, slopes of pairs, residual scales."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import budget, grids
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.grids import slope_window
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Planned, Releases, of_unit
from dpsparse.algorithms.pursuit.state import ResponseUnit, State
from dpsparse.algorithms.pursuit.updates import weight_of_rows, with_gradient, with_residual_scale, with_slope
from dpsparse.engine import queries
from dpsparse.inference.weights import RowWeight
from dpsparse.privacy.accounting.release import Slot


def number_of_responses(facts: PublicFacts) -> Planned:
    """The number of records that have a response, where not all have one: all shares and means are of it."""
    counted = of_unit("responses", budget.RESPONSES.of(facts), facts, "noise")
    return replace(counted, of_whole=True)


def with_number_of_responses(
    planned: Planned, data: Data, releases: Releases, state: State, center: float = 0.0
) -> ResponseUnit:
    """What is released of the response, with their number; `center` is any one that its link has."""
    released = state.response.released
    if slot := releases.slot(planned):
        count = counter(data.records, queries.residual_counts, center, state.effects)
        n_records, noise = releases.responses(slot, int(count(np.array([np.inf]))[0]))
        released = replace(released, n_records=n_records, noise=noise)
    if released.n_records is not None:
        releases.n_responses = released.n_records
    return released


def equation(state: State, tau: float, weight: RowWeight) -> tuple[Any, ...]:
    """What the sums of the estimating equation are computed from, at the present effects."""
    return state.center, state.effects, tau, state.kept, weight.inner, weight.outer


def mean_score(
    slot: Slot, data: Data, releases: Releases, state: State, facts: PublicFacts, tau: float
) -> tuple[NDArray[np.float64], float, int]:
    """A noisy gradient, its noise, and the exact number of residuals within tau, which is no release."""
    weight = weight_of_rows(state, facts)
    sums, within = data.records.evaluate(queries.gradient_sums, *equation(state, tau, weight))
    mean, noise = releases.mean(slot, sums, weight.inner)
    return tau * mean, tau * noise, within


def with_released_gradient(
    planned: tuple[Planned, Planned], data: Data, releases: Releases, state: State, facts: PublicFacts, tau: float
) -> State:
    """A gradient on the kept columns and, in the next slot, the fraction of residuals within tau."""
    gradient, fraction = planned
    value, noise, within = mean_score(releases.due(gradient), data, releases, state, facts, tau)
    return with_gradient(state, facts, value, noise, tau, *releases.fraction(releases.due(fraction), within))


def with_start_from_slopes(slot: Slot, data: Data, releases: Releases, state: State, column: int) -> State:
    """Move an effect by the slope, in residual scales, near which most slopes of pairs lie."""
    grid = grids.SLOPES.times(state.residual_scale)
    effects = state.effects[state.constants :]
    count = counter(data.pairs, queries.slope_counts, effects, column - state.constants)
    slope = releases.densest(slot, count, grid, slope_window(grid.points, state.residual_scale))
    return with_slope(state, column, slope)


def with_released_residual_scale(slot: Slot, data: Data, releases: Releases, state: State) -> State:
    """The median size of the residuals."""
    grid = grids.RESIDUAL_SCALES.times(state.response_scale)
    count = counter(data.records, queries.residual_counts, state.center, state.effects, sizes=True)
    return with_residual_scale(state, releases.quantile(slot, count, grid))
