"""The last steps of a pursuit: is the model better than a constant, where is its intercept, how far may it predict?"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import budget, decisions, grids
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Planned, Releases
from dpsparse.algorithms.pursuit.state import Conclusion, State
from dpsparse.algorithms.pursuit.updates import covariance_of, rare, trusted
from dpsparse.engine import queries
from dpsparse.families.estimands import MEAN
from dpsparse.inference.shrinkage import any_sure, shrunk


@dataclass(frozen=True)
class RangeStep:
    """How far from their centre nearly all responses lie: it clips the gain, the offset and the predictions."""

    facts: PublicFacts

    @cached_property
    def distance(self) -> Planned:
        """That distance."""
        return Planned("response range", budget.RESPONSE_RANGE.of(self.facts), "pick")

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.distance,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them."""
        reaches = grids.NORMAL_REACHES if decisions.expects_normal_tails(self.facts) else grids.REACHES
        grid = reaches.times(state.response_scale)
        no_effects = np.zeros_like(state.effects)
        count = counter(data.records, queries.residual_counts, state.center, no_effects, sizes=True)
        tail = decisions.tail_of_responses(self.facts)
        distance = releases.quantile(releases.due(self.distance), count, grid, tail=tail)
        return replace(state, conclusion=Conclusion(distance))


@dataclass(frozen=True)
class GainStep:
    """How predictions go with responses, which gives the features' weight; and how many responses are alike.

    The weight is the slope of responses on predictions, both from the centre and clipped, pulled toward what the
    effects' own errors let one expect.
    """

    facts: PublicFacts

    @cached_property
    def gain(self) -> Planned:
        """The mean product and square of predictions and responses, and the share of responses at their centre."""
        return Planned("gain", budget.GAIN.of(self.facts))

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.gain,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and weigh the features."""
        state = with_shrunk_effects(state, self.facts)
        concluded, scale = state.concluded, state.response_scale
        near = c.LUMP_WIDTH * scale
        # Tails say little and cost much noise; half of them are looked at where a scale is small beside them, as it is
        # for responses with a lump.
        most = min(concluded.distance, max(c.GAIN_WIDTH * scale, concluded.distance / 2))
        sums = data.records.evaluate(queries.gain_sums, state.center, concluded.effects, most, near)
        (product, square, share), noise = releases.mean(releases.due(self.gain), sums, c.GAIN_NORM)
        at_center, by_chance = share + 0.5, c.NO_LUMP + c.LUMP_DEVIATIONS * noise
        lumped, all_equal = bool(at_center > max(c.LUMP, by_chance)), bool(at_center > max(c.ALL_EQUAL, by_chance))
        # Steps on all columns stop before noise has moved the effects far; but a median may be that of the lump.
        of_lump = state.descent is None or (self.facts.family.estimand != MEAN and at_center > c.HALF)
        weight = self._weight(state, lumped and of_lump, product, max(square + 0.5, 0.0), noise)
        explains = not (weight < c.NO_WEIGHT or all_equal)
        exact = state.residual_scale <= c.AT_LOWER_END * self.facts.scaled.scale_range[0] * scale
        effects = concluded.effects.copy()
        effects[state.constants :] *= weight
        if lumped:
            # Few carriers with responses off the lump would stand for the distance from the lump to the mean.
            effects[state.kept_features[rare(state, self.facts)]] = 0.0
        if not explains:
            # The constant is kept where it is plausible.
            constant = np.where(np.abs(effects) < scale, effects, 0.0)[: state.constants]
            effects = np.zeros_like(effects)
            effects[: state.constants] = constant
            state = replace(state, residual_scale=scale)
        concluded = replace(
            concluded,
            effects=effects,
            lumped=lumped,
            at_center=float(at_center + noise),
            all_equal=all_equal,
            explains=explains,
            exact=bool(exact),
        )
        return replace(state, conclusion=concluded)

    def _weight(self, state: State, lumped: bool, product: float, square: float, noise: float) -> float:
        """The posterior mean of the slope product / square, within [0, 1]; 1 for sure effects without clear doubt."""
        if not decisions.features_pay(self.facts):
            return 0.0
        features = slice(state.constants, None)
        effects = state.evidence.estimate.effects[features]
        sure = any_sure(effects, state.concluded.covariance[features, features])
        # Steps stop before noise has moved the effects far.
        sure = sure or state.descent is not None
        prior = (c.LUMPED_WEIGHT if lumped else c.SURE_WEIGHT) if sure else c.UNSURE_WEIGHT
        if decisions.tiny(self.facts):
            doubt = (square - product) / math.sqrt(2) / c.TINY_DOUBT
        else:
            doubt = (c.NO_WEIGHT * square - product) / c.DOUBT
        if prior == c.SURE_WEIGHT and doubt < noise:
            return 1.0
        precision = (square * c.WEIGHT_SPREAD / noise) ** 2
        slope = (prior + product * square * (c.WEIGHT_SPREAD / noise) ** 2) / (1 + precision)
        return float(np.clip(slope, 0.0, 1.0))


def with_shrunk_effects(state: State, facts: PublicFacts) -> State:
    """Shrink effects toward 0 by their errors; small ones without an error that can be relied on to 0."""
    features, concluded = slice(state.constants, None), state.concluded
    covariance, estimates = covariance_of(state), state.evidence.estimate.effects
    errors = np.sqrt(np.diagonal(covariance))
    relied_on = trusted(state, facts, errors[features])
    if state.descent is None:
        kept = estimates.copy()
        kept[features] = shrunk(estimates[features], covariance[features, features], relied_on)
    else:
        kept = _further(state)
    effects = np.where(state.came_with >= 0, state.effects, 0.0)
    effects[state.kept] = kept
    if state.constants:
        # From second moments with the constant.
        means = state.moments.gram[0, state.kept_features] / state.moments.gram[0, 0]
    else:
        means = np.zeros(len(state.kept_features))
    concluded = replace(concluded, covariance=covariance, trusted=relied_on, effects=effects, means=means)
    return replace(state, conclusion=concluded)


def _further(state: State) -> NDArray[np.float64]:
    """The averaged effects of steps on all columns, moved on by as much as their gradient tells beyond its noise."""
    last, descent = state.evidence.last, state.descent
    assert descent is not None, "steps were made"
    effects = last.origin.copy()
    effects[last.columns] += descent.further(last.value, last.noise_scale, last.steeper * last.slope)
    return np.asarray(effects[state.kept])


@dataclass(frozen=True)
class CalibrationStep:
    """The line of residuals on predictions: predictions of a mean follow it. In small tables its height alone.

    Least squares with wide clips. The height is what predictions are to be moved by. The slope is what those of a mean
    move by beyond the effects, which discount outliers, and with them what features explain of these.
    """

    facts: PublicFacts

    @cached_property
    def line(self) -> Planned:
        """Means of residuals and predictions and of their products."""
        return Planned("calibration", budget.CALIBRATION.of(self.facts) - budget.MEDIAN_LINE.of(self.facts))

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.line,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and move predictions."""
        slot = releases.slot(self.line)
        if slot is None:
            return state
        concluded, scale = state.concluded, state.response_scale
        # Where most responses are equal, small residuals say nothing of the others.
        explained = 1.0 if concluded.lumped else state.residual_scale / scale
        width = c.REACH * concluded.distance * min(1.0, c.NARROWER * explained)
        reach = 0.0
        if decisions.calibrates(self.facts):
            reach = c.PREDICTIONS_REACH * math.sqrt(state.moments_of_predictions()[0])
        if reach > 0:
            level = float(concluded.effects[0] + state.mean_of_effects)
            public = (state.center, concluded.effects, level, reach, width)
            sums, bound = data.records.evaluate(queries.calibration_sums, *public), queries.CALIBRATION_NORM
        else:
            sums = data.records.evaluate(queries.mean_residual_sums, state.center, concluded.effects, width)
            bound = 1.0
        (height, *others), noise = releases.mean(slot, sums, bound)
        spread = math.hypot(c.OFFSET_SPREAD * scale, min(concluded.errors[0], scale))
        if not concluded.explains:
            spread = math.hypot(spread, c.CENTER_SPREAD * scale)
        offset = float(width * height / (1 + (width * noise / spread) ** 2))
        state = replace(state, conclusion=replace(concluded, offset=offset))
        if not others:
            return state
        slope = self._slope(height, others, noise)
        return _with_line(state, 1.0 if slope is None else max(0.0, 1 + slope * width / reach), reach, 2 * others[1])

    def _slope(self, height: float, others: list[float], noise: float) -> float | None:
        """The slope in units of the clips, shrunk by its noise; None where it may be 0."""
        product, mean, variance = others[0], 2 * others[1], 2 * others[2] + 0.5 - (2 * others[1]) ** 2
        if not variance > c.SURELY_VARY * noise:
            return None
        doubt = (c.SELECTED_DOUBT if decisions.selects(self.facts) else c.TAKEN_DOUBT) * noise / variance
        slope = (product - mean * height) / variance
        return float(slope * (1 - (doubt / slope) ** 2)) if abs(slope) > doubt else None


def _with_line(state: State, slope: float, reach: float, mean: float) -> State:
    """Take in the slope, and the mean of the clipped predictions.

    Second moments are of clipped rows with small residuals, whose means may differ: these follow the mean prediction.
    """
    variance, covariances = state.moments_of_predictions()
    means = state.concluded.means + reach * float(mean) * covariances / variance
    return replace(state, conclusion=replace(state.concluded, slope=slope, means=means))
