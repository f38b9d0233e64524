"""Steps on all columns at once, for yes/no responses where all features are taken.

One matrix of second moments of rows tells in which directions features vary together, and how far each varies in its
unit. All mean scores go by it, and count together: each tells of the way from the effects at which it was taken.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import newton_budget as budget
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.log_odds import (
    over_spreads,
    prior_precision,
    row_moments,
    slope_at,
    without_columns,
)
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.scored import Scores
from dpsparse.inference.matrices import NoisyMatrix, shrunk_spectrum
from dpsparse.inference.one_step import power
from dpsparse.inference.scores_together import MeanScore, together
from dpsparse.inference.tails import Clip


@dataclass(frozen=True)
class RowMomentsStep:
    """Second moments of the rows of all columns, by which all steps go."""

    facts: PublicFacts

    @cached_property
    def moments(self) -> Planned:
        """The matrix."""
        price = budget.ROW_MOMENTS
        return Planned(price.release, price.of(self.facts))

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.moments,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and leave out features in whose units rows are far too long."""
        kept, bound = tuple(map(int, state.kept)), float(c.MANY_NORM * np.sqrt(len(state.kept)))
        at = Scores(data, releases, state.center, state.effects, kept, np.inf, bound)
        released = at.second_moments(self.moments, at.terms("row", np.eye(at.k)), bound)
        fits = np.diagonal(released.values) <= c.MOST_MOMENT + c.UNSURE * released.noise
        fits[: state.constants] = True
        state = _varying(without_columns(state, ~fits), released)
        gram = state.moments.gram.copy()
        released = NoisyMatrix(released.values[np.ix_(fits, fits)], released.noise)
        gram[np.ix_(state.kept, state.kept)] = shrunk_spectrum(released)
        return replace(state, moments=replace(state.moments, gram=gram, noise=released.noise))


def _varying(state: State, released: NoisyMatrix) -> State:
    """The state in which no feature counts as constant that surely varies: a share of pairs alone has more noise."""
    values = released.values
    means = values[0] / max(values[0, 0], c.ABSENT) if state.constants else np.zeros(len(values))
    varies = np.diagonal(values) - means * values[0] > c.UNSURE * released.noise
    columns = tuple(
        replace(column, unit=column.unit.surely_varies()) if varies[place] else column
        for place, column in enumerate(state.columns, state.constants)
    )
    return replace(state, columns=columns)


@dataclass(frozen=True)
class AllColumnsStep:
    """One mean score on all columns; `place` counts from 1, and a step to the reference may follow all of them."""

    facts: PublicFacts
    place: int
    reference_follows: bool = False

    @cached_property
    def score(self) -> Planned:
        """The mean score."""
        return Planned(f"{budget.MEAN_SCORES.release} {self.place}", 0.0, is_final=True)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.score,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make it, and move to what all mean scores so far tell."""
        kept, moments, evidence = state.kept, row_moments(state), state.evidence
        bound = self.facts.family.selection_tau(state.residual_scale, self.facts.known)
        turn, slope = half_white(moments), slope_at(state.center, moments, state.constants)
        row_bound = c.MANY_NORM * math.sqrt(np.trace(turn @ moments @ turn.T))
        effects = state.effects.copy() if self.reference_follows else _halfway(state, moments)
        at = Scores(data, releases, state.center, effects, tuple(map(int, kept)), bound, row_bound)
        mean, noise = at.mean(self.score, at.terms("score", turn), Clip(row_bound * bound))
        origin, steeper = effects[kept], math.sqrt(self.facts.rows.mean)
        slopes = slope(origin, bound) * moments
        scores = *evidence.scores, MeanScore(origin, steeper * turn @ slopes, mean, noise, bound)
        sampling = steeper**2 * releases.n_responses * slopes
        solution = together(scores, origin, prior_precision(state), sampling, moments, slope)
        effects[kept] = solution.effects
        evidence = replace(evidence, scores=scores, precision=solution.precision, together=solution)
        return replace(state, effects=effects, evidence=evidence)


def _halfway(state: State, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """The effects at which the next mean score is taken: between the most likely ones so far and their mean.

    The first are mostly noise where yes is rare, and a score that is taken there tells less of the way back. A step to
    the reference starts at the first ones, and is for tables in which they are no noise.
    """
    effects, solution = state.effects.copy(), state.evidence.together
    if solution is not None:
        mean = over_spreads(solution, moments, state.constants).effects
        effects[state.kept] += c.TOWARDS_MEAN * (mean - effects[state.kept])
    return effects


def half_white(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """What makes of rows ones that are half white: every column has the same size, and directions are nearer to it.

    White rows would give each direction the same noise. In those that hardly vary effects are small by their prior.
    """
    unit = np.sqrt(np.diagonal(moments))
    return np.asarray(power(moments / np.outer(unit, unit), c.HALF_WHITE) / unit)
