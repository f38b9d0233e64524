"""Releases at the present effects that several steps make: responses, gradients, slopes of pairs, residual scales."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.grids import slope_window
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Planned, Releases
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.updates import weight_of_rows, with_gradient, with_residual_scale, with_slope
from dpsparse.engine import queries
from dpsparse.inference.weights import RowWeight
from dpsparse.privacy.accounting.release import Slot


def count_responses(
    slot: Slot, data: Data, releases: Releases, state: State, center: float = 0.0
) -> tuple[float, float]:
    """The number of records that have a response, and its noise; `center` is any one that its link has."""
    count = counter(data.records, queries.residual_counts, center, state.effects)
    return releases.responses(slot, int(count(np.array([np.inf]))[0]))


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
