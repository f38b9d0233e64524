"""The last estimate where residuals are bounded by their link: two steps to the maximum of the likelihood.

Scores are bounded by the norms of their rows, and in small tables by weights on residuals. Rows are weighted down to a
norm that a released histogram tells, whatever their responses are: under the model the mean score stays 0, and the
larger the table, the fewer rows have a weight below 1.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import newton_budget as budget
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.budget import Price
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.log_odds import (
    drifted,
    evidence_so_far,
    prior_precision,
    row_moments,
    slope_at,
    with_maximum,
)
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, mean_noise
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.scored import Scores, planned_of
from dpsparse.inference.bounded_step import Slopes, bounded_step, row_bound, squares_left_out, updated
from dpsparse.inference.one_step import power
from dpsparse.inference.scores_together import MeanScore, Together, together
from dpsparse.inference.tails import Clip


@dataclass(frozen=True)
class BoundedReferenceStep:
    """Two steps to the reference estimator, on at most `most` columns; errors of more than `reliable` are noise."""

    facts: PublicFacts
    most: int
    reliable: int

    def _planned(self, *prices: Price) -> tuple[Planned, Planned, Planned]:
        first, second, third = (planned_of(price, self.facts, self.most) for price in prices)
        return first, second, third

    @cached_property
    def first(self) -> tuple[Planned, Planned, Planned]:
        """Rough slope moments, the norms of rows that these make white, and the mean score for a first step."""
        return self._planned(budget.ROUGH_MOMENTS, budget.ROW_NORMS, budget.FIRST_SCORE)

    @cached_property
    def second(self) -> tuple[Planned, Planned, Planned]:
        """Slope moments, and second moments and the mean of scores, where the first step leads."""
        return self._planned(budget.FINAL_MOMENTS, budget.SCORE_MOMENTS, budget.FINAL_SCORE)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return *self.first, *self.second

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and step twice."""
        bound, size = decisions.last_bound(self.facts), releases.n_responses
        steeper = math.sqrt(self.facts.rows.mean)
        slope = self.facts.family.mean_slope(state.residual_scale, bound)
        largest = math.sqrt(self.facts.family.largest_slope(slope))
        at = Scores(data, releases, state.center, state.effects, tuple(map(int, state.kept)), bound)
        rough, norms, score = self.first
        plain = at.second_moments(rough, at.terms("slope", np.eye(at.k)), largest * math.sqrt(c.ROUGH_ROWS * at.k))
        rows = plain.pulled(slope * np.diag(np.diagonal(row_moments(state)))).values
        turn = power(rows, -0.5)
        law = at.norms(norms, at.terms("row", turn), math.sqrt(at.k / slope))
        noise = bound * mean_noise(releases, self.second[-1]) / steeper
        at = replace(at, row_bound=row_bound(law, noise, slope))
        clip = Clip(at.row_bound * bound)
        prior = prior_precision(state)
        mean, noise = at.mean(score, at.terms("score", turn), clip)
        before = turn @ (prior + evidence_so_far(state)) @ turn.T
        moved, precision = updated(np.zeros(at.k), before, np.eye(at.k), mean, noise, size, steeper)
        first = MeanScore(at.effects[state.kept], steeper * turn @ rows, mean, noise, bound, local=True)
        at, covariance = _moved(at, turn.T @ moved), turn.T @ np.linalg.inv(precision) @ turn
        moments, variance, score = self.second
        released = at.second_moments(moments, at.terms("slope", turn), at.row_bound * largest)
        slopes = Slopes.of(turn, released, steeper)
        released, start = at.second_moments(variance, at.terms("score", turn), clip.bound), at.effects[state.kept]
        mean, noise = at.mean(score, at.terms("score", turn), clip)
        step = bounded_step(start, slopes, released, mean, noise, size, slope, squares_left_out(law, at.row_bound))
        step = replace(step.since(start, np.sqrt(np.diagonal(covariance))), noisy=at.k > self.reliable)
        rows = slopes.second_moments
        if decisions.selects(self.facts):
            # Scores of a selection are of fewer columns than are there in the end: a filter has what they told.
            root = np.linalg.inv(turn)
            before = turn @ (prior + drifted(root @ precision @ root.T - prior, state.constants)) @ turn.T
            moved, precision = updated(np.zeros(at.k), before, slopes.inner, mean, noise, size, steeper)
            effects, evidence = start + turn.T @ moved, root @ precision @ root.T - prior
            solution = Together(effects, evidence, (evidence + prior) @ effects)
        else:
            last = MeanScore(start, steeper * turn @ rows, mean, noise, bound, local=True)
            slope_of = slope_at(state.center, row_moments(state), state.constants)
            scores = *state.evidence.scores, first, last
            solution = together(scores, start, prior, steeper**2 * size * rows, rows / slope, slope_of)
        return with_maximum(state, self.facts, step, rows / slope, solution)


def _moved(at: Scores, move: NDArray[np.float64]) -> Scores:
    effects = at.effects.copy()
    effects[list(at.positions)] += move
    return replace(at, effects=effects)
