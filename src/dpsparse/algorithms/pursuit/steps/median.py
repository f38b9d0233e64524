"""Where medians of responses lie beside a pursuit's predictions: a line along these, and the median beside it."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import budget, grids
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.grid_constants import MEDIAN_STEP
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Planned, Releases
from dpsparse.algorithms.pursuit.state import MedianLine, State
from dpsparse.engine import queries


@dataclass(frozen=True)
class MedianLineStep:
    """For typical effects: a line of medians of residuals along predictions, which predictions of a median follow.

    Where the spread of a skewed response grows with its prediction, medians are not as far apart as Huber's line says.
    One step of Newton's method from that line.
    """

    facts: PublicFacts

    @cached_property
    def line(self) -> Planned:
        """Mean scores of Huber's line as one of medians, and their derivative."""
        return Planned("median line", budget.MEDIAN_LINE.of(self.facts), numbers=c.MEDIAN_LINE_NUMBERS)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.line,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and move predictions of a median."""
        slot = releases.slot(self.line)
        if slot is None:
            return state
        concluded, width = state.concluded, c.MEDIAN_WIDTH * state.residual_scale
        if concluded.lumped:
            # The median is that of the lump.
            releases.skip(slot)
            return state
        level = float(concluded.effects[0] + state.mean_of_effects)
        reach = c.PREDICTIONS_REACH * _spread_of_predictions(state)
        sums = data.records.evaluate(queries.median_line_sums, state.center, concluded.effects, level, reach, width)
        means, noise = releases.mean(slot, sums, queries.MEDIAN_LINE_NORM)
        derivative = _derivative(2 * means[2:] + [0.5, 0.0, 0.5], 2 * noise)
        line, error = newton_step(means[:2], noise, derivative, c.MEDIAN_SLOPE_SPREAD * reach / width)
        # A step beyond the width leaves the residuals that it was computed from. Of a response of two values few
        # residuals are within it, and a slope may be any number.
        height, most = float(np.clip(line[0], -1.0, 1.0)), c.MOST_MEDIAN_SLOPE * c.MEDIAN_SLOPE_SPREAD
        median = MedianLine(
            height=width * height,
            error=width * math.hypot(error, c.MEDIAN_DOUBT * height),
            slope=1 + float(np.clip(line[1] * width / reach, -most, most)),
        )
        return replace(state, conclusion=replace(concluded, median=median))


def _spread_of_predictions(state: State) -> float:
    """Their standard deviation, from released second moments or from what responses vary more than residuals."""
    explained = max(0.0, 1 - (state.residual_scale / state.response_scale) ** 2)
    of_scales = math.sqrt(explained) * state.response_scale / c.NORMAL_MAD
    # Without features all predictions are alike, and their spread is of no account.
    return max(math.sqrt(state.moments_of_predictions()[0]), of_scales) or state.residual_scale


def newton_step(
    scores: NDArray[np.float64], noise: float, derivative: NDArray[np.float64], spread: float
) -> tuple[NDArray[np.float64], float]:
    """The posterior mean of a line's height and slope, and the error of the height.

    Mean scores are `derivative` times height and slope, plus noise; both are 0 up to 1, and slopes up to `spread`.

    Examples
    --------
    >>> import numpy as np
    >>> derivative = np.array([[0.25, 0.0], [0.0, 0.05]])
    >>> newton_step(np.array([0.01, 0.01]), 1e-6, derivative, 1.0)[0].round(3)
    array([0.04, 0.2 ])
    >>> newton_step(np.array([0.01, 0.01]), 1e6, derivative, 1.0)[0].round(3)
    array([0., 0.])
    """
    known = derivative @ derivative / noise**2 + np.diag([1.0, 1 + 1 / spread**2])
    line = np.linalg.solve(known, derivative @ scores / noise**2)
    return np.asarray(line), math.sqrt(np.linalg.inv(known)[0, 0])


def _derivative(released: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Of mean scores by height and slope: between a normal law's and the released one, by their precision."""
    normal = c.MEDIAN_INSIDE * np.array([1.0, 0.0, c.NORMAL_SQUARE])
    doubt = c.MEDIAN_DOUBT * c.MEDIAN_INSIDE * np.array([1.0, math.sqrt(c.NORMAL_SQUARE), c.NORMAL_SQUARE])
    height, both, slope = normal + (released - normal) / (1 + (noise / doubt) ** 2)
    return np.array([[max(height, doubt[0]), both], [both, slope]])


@dataclass(frozen=True)
class MedianStep:
    """The median of the residuals, by which predictions of a median are moved: from the line of medians, if any."""

    facts: PublicFacts

    @cached_property
    def median(self) -> Planned:
        """The median."""
        return Planned("residual median", budget.RESIDUAL_MEDIAN.of(self.facts), "pick")

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.median,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them."""
        slot = releases.slot(self.median)
        if slot is None:
            return state
        concluded, line = state.concluded, state.concluded.median
        effects = line.slope * concluded.effects
        effects[0] += (1 - line.slope) * (concluded.effects[0] + state.mean_of_effects) + line.height
        grid = grids.MEDIANS.times(state.residual_scale)
        count = counter(data.records, queries.residual_counts, state.center, effects, sizes=False)
        median = releases.quantile(slot, count, grid)
        # The rank of a pick at this price has a standard deviation of 1 / sqrt(rho), and it is a point of a grid.
        rank = 1 / (releases.n_responses * math.sqrt(slot.rho))
        noise = math.hypot(2 * c.MEDIAN_WIDTH / c.MEDIAN_INSIDE * rank, c.UNIFORM_DEVIATION / MEDIAN_STEP)
        median /= 1 + (noise * state.residual_scale / line.error) ** 2
        return replace(state, conclusion=replace(concluded, median=replace(line, height=line.height + median)))
