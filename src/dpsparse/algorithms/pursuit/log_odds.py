"""How a state takes in steps of Newton's: functions of a state, releases and public numbers, as in `updates`."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.state import Conclusion, State
from dpsparse.algorithms.pursuit.updates import rare
from dpsparse.engine.links import LARGEST_PREDICTOR
from dpsparse.inference.one_step import OneStep
from dpsparse.inference.scores_together import SlopeAt, Together
from dpsparse.inference.shrinkage import shrunk
from dpsparse.inference.spread import Averaged, averaged


def row_moments(state: State) -> NDArray[np.float64]:
    """Second moments of the kept columns: released ones, or 1 for each in its unit."""
    if not state.moments.noise:
        return np.eye(len(state.kept))
    return np.asarray(state.moments.gram[np.ix_(state.kept, state.kept)])


def prior_precision(state: State) -> NDArray[np.float64]:
    """The prior's precision of the kept columns' effects: the more of them there are, the smaller they are.

    Effects are for a standard deviation of a feature, as far as a release tells it.
    """
    constants, k = state.constants, len(state.kept)
    spread = min(c.EFFECT_SPREAD, c.EFFECTS_SPREAD / np.sqrt(max(1, k - constants)))
    of_features = np.diagonal(row_moments(state))[constants:] * spread**-2
    return np.diag(np.append(np.full(constants, c.CONSTANT_SPREAD**-2), of_features))


def evidence_so_far(state: State) -> NDArray[np.float64]:
    """The precision of what earlier mean scores tell of the kept columns' effects; 0 for new ones."""
    known, evidence = len(state.evidence.precision), np.zeros((len(state.kept), len(state.kept)))
    evidence[:known, :known] = state.evidence.precision
    return drifted(evidence, state.constants)


def drifted(evidence: NDArray[np.float64], constants: int) -> NDArray[np.float64]:
    """Evidence (E^-1 + D)^-1 of effects that drifted since, by variances D: they change with the features beside them.

    The first `constants` columns are the constant, which changes most.
    """
    drift = np.full(len(evidence), c.DRIFT**2)
    drift[:constants] = c.CONSTANT_DRIFT**2
    return np.asarray(np.linalg.solve(np.eye(len(evidence)) + evidence * drift, evidence))


@dataclass(frozen=True)
class Spread:
    """How predicted log odds spread, by second moments of rows.

    `means`: those of the features.
    `middle`, `of_features`: the mean of the log odds, from the centre's, and what the features add to it.
    `deviation`: their standard deviation.
    """

    means: NDArray[np.float64]
    middle: float
    of_features: float
    deviation: float

    @property
    def reach(self) -> float:
        """How far from the centre they may lie."""
        return float(abs(self.middle) + c.ODDS_REACH * self.deviation) / c.REACH

    def slopes(self, center: float, bound: float) -> NDArray[np.float64]:
        """The weights of `LINE_POINTS` in a mean of slopes, if log odds are normal and residuals have this bound."""
        law = np.exp(-(c.LINE_POINTS**2) / 2)
        probabilities = expit(center + self.middle + self.deviation * c.LINE_POINTS)
        weights = np.minimum(1.0, bound / np.maximum(probabilities, 1 - probabilities))
        return np.asarray(law / law.sum() * weights * probabilities * (1 - probabilities))


def spread_of(effects: NDArray[np.float64], moments: NDArray[np.float64], constants: int) -> Spread:
    """The spread of the log odds of some effects; the first `constants` columns are the constant."""
    of_features = effects[constants:]
    means = moments[0, 1:] / moments[0, 0] if constants else np.zeros(len(effects))
    spread = moments[constants:, constants:] / (moments[0, 0] if constants else 1.0) - np.outer(means, means)
    added = float(means @ of_features)
    deviation = float(np.sqrt(max(float(of_features @ spread @ of_features), 0.0)))
    return Spread(means, float(effects[:constants].sum() + added), added, deviation)


def slope_at(center: float, moments: NDArray[np.float64], constants: int) -> SlopeAt:
    """The mean slope as a function of effects and the bound of residuals, from second moments of rows.

    It is at least that of the largest log odds that a record counts with.
    """

    def slope(effects: NDArray[np.float64], bound: float) -> float:
        mean = float(spread_of(effects, moments, constants).slopes(center, bound).sum())
        return max(mean, float(expit(-LARGEST_PREDICTOR)))

    return slope


def without_columns(state: State, out: NDArray[np.bool_]) -> State:
    """The state without some of its kept columns, whose units noise chose: beside them all others would be short."""
    astray = {int(column) for column in state.kept[out]}
    columns = tuple(
        replace(column, unit=replace(column.unit, astray=True)) if place in astray else column
        for place, column in enumerate(state.columns, state.constants)
    )
    return replace(state, columns=columns, kept=state.kept[~out])


def concluded(state: State) -> State:
    """What a row of steps on all columns concludes by itself.

    There are too many columns for a step to the reference: no error of a single effect could be relied on.
    """
    solution, kept = state.evidence.together, state.kept
    assert solution is not None, "no step was made"
    covariance = np.asarray(np.linalg.inv(solution.precision + prior_precision(state)), dtype=np.float64)
    step = OneStep(solution.effects, covariance, np.zeros(len(kept)), np.inf, noisy=True)
    return _averaged(state, step, row_moments(state), solution)


def with_maximum(
    state: State, facts: PublicFacts, step: OneStep, moments: NDArray[np.float64], solution: Together
) -> State:
    """Take in the step to the maximum of the likelihood, second moments of rows, and what all mean scores tell.

    Predictions follow the latter. Effects of selected features are shrunk one by one by their errors, for some may have
    been selected by noise, and by how likely it is that no feature has an effect. The constant is what it is expected
    to be beside them.
    """
    if not decisions.selects(facts):
        return _averaged(state, step, moments, solution)
    first, best = state.constants, solution.effects
    errors = np.asarray(np.linalg.inv(solution.precision + prior_precision(state)), dtype=np.float64)
    of_nothing = averaged(solution.score, solution.precision, first, c.CONSTANT_SPREAD).of_nothing
    effects = (1 - of_nothing) * shrunk(best[first:], errors[first:, first:], ~rare(state, facts))
    beyond = np.linalg.solve(errors[first:, first:], effects - best[first:])
    with_constant = np.append(best[:first] + errors[:first, first:] @ beyond, effects)
    return _predicting(state, step, with_constant, of_nothing, moments)


def _averaged(state: State, step: OneStep, moments: NDArray[np.float64], solution: Together) -> State:
    """The last state with effects averaged over all spreads that they may have.

    A verdict would make all of them a constant where each single effect is in doubt.
    """
    mean = over_spreads(solution, moments, state.constants)
    return _predicting(state, step, mean.effects, mean.of_nothing, moments)


def over_spreads(solution: Together, moments: NDArray[np.float64], constants: int) -> Averaged:
    """Effects averaged over all spreads that they may have, each for a standard deviation of its feature."""
    units = np.diagonal(moments)[constants:] ** -0.5
    return averaged(solution.score, solution.precision, constants, c.CONSTANT_SPREAD, units)


def _predicting(
    state: State, step: OneStep, effects: NDArray[np.float64], of_nothing: float, moments: NDArray[np.float64]
) -> State:
    """The last state, from a step, the effects that predictions use, and second moments of the columns.

    Predicted log odds stay within a few standard deviations: rows far from all others, which were weighted down, tell
    nothing of what becomes of the odds so far out.
    """
    first, explains = state.constants, of_nothing < c.NOTHING and not state.response.released.lost
    used, every = effects.copy(), np.zeros(len(state.effects))
    used[first:] *= explains
    every[state.kept] = used
    spread = spread_of(used, moments, first)
    conclusion = Conclusion(
        distance=spread.reach,
        covariance=step.covariance + np.diag(step.bias**2),
        effects=every,
        means=spread.means,
        explains=explains,
    )
    return replace(state, evidence=replace(state.evidence, step=step), conclusion=conclusion)
