"""The last estimate where residuals are bounded by their link: two steps to the maximum of the likelihood.

Scores are bounded by the norms of their rows alone. Rows are weighted down to a norm that a released histogram tells,
whatever their responses are: under the model the mean score stays 0, and the larger the table, the fewer rows have a
weight below 1.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import constants as c
from dpsparse.algorithms.pursuit import newton_budget as budget
from dpsparse.algorithms.pursuit.budget import Price
from dpsparse.algorithms.pursuit.data import Data
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.releases import Releases, mean_noise
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.scored import Scores
from dpsparse.algorithms.pursuit.updates import with_prior, with_reference
from dpsparse.inference.bounded_step import Slopes, bounded_step, left_out, row_bound, updated
from dpsparse.inference.one_step import power, rough_moments
from dpsparse.inference.tails import Clip


@dataclass(frozen=True)
class BoundedReferenceStep:
    """Two steps to the reference estimator, on at most `most` columns."""

    facts: PublicFacts
    most: int

    def _planned(self, price: Price) -> Planned:
        numbers = max(c.MOST_BINS, self.most * (self.most + 1) // 2)
        return Planned(price.release, price.of(self.facts), of_reference=True, numbers=numbers)

    @cached_property
    def of_rows(self) -> tuple[Planned, Planned, Planned]:
        """Rough slope moments, the norms of rows that these make white, and slope moments of weighted rows."""
        first, second, third = map(self._planned, (budget.ROUGH_MOMENTS, budget.ROW_NORMS, budget.FINAL_MOMENTS))
        return first, second, third

    @cached_property
    def of_scores(self) -> tuple[Planned, Planned, Planned]:
        """A first mean score, the scores' second moments after that step, and their mean."""
        first, second, third = map(self._planned, (budget.FIRST_SCORE, budget.SCORE_MOMENTS, budget.FINAL_SCORE))
        return first, second, third

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return *self.of_rows, *self.of_scores

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and step twice."""
        first, second, third = self.of_scores
        at = Scores(data, releases, state.center, state.effects, tuple(map(int, state.kept)), math.inf)
        slopes, at = self._slopes(at, state)
        mean, noise = self._mean(at, first, slopes)
        turn, size = slopes.turn, releases.n_responses
        moved, precision = updated(np.zeros(at.k), turn @ with_prior(state) @ turn.T, slopes.inner, mean, noise, size)
        at, errors = _moved(at, turn.T @ moved), np.sqrt(np.diagonal(turn.T @ np.linalg.inv(precision) @ turn))
        start = at.effects[state.kept]
        moments = at.second_moments(second, at.terms("score", slopes.turn), at.row_bound)
        mean, noise = self._mean(at, third, slopes)
        step = bounded_step(start, slopes, moments, mean, noise, size).since(start, errors)
        return with_reference(state, self.facts, step, slopes.second_moments)

    def _slopes(self, at: Scores, state: State) -> tuple[Slopes, Scores]:
        """The slope moments, and the scores with rows weighted down to the norm that costs least."""
        rough, norms, moments = self.of_rows
        slope = self.facts.family.mean_slope(state.residual_scale)
        largest = math.sqrt(min(c.MOST_SLOPES * slope, c.MOST_SLOPE))
        plain = at.terms("slope", np.eye(at.k))
        turn = power(rough_moments(at.second_moments(rough, plain, largest * math.sqrt(c.ROUGH_ROWS * at.k))), -0.5)
        law = at.norms(norms, at.terms("row", turn), math.sqrt(at.k / slope))
        bound = row_bound(law, mean_noise(at.releases, self.of_scores[-1]), at.k, slope)
        at = replace(at, row_bound=bound)
        released = at.second_moments(moments, at.terms("slope", turn), bound * largest)
        return Slopes.of(turn, released, left_out(law, bound, at.k, slope)), at

    def _mean(self, at: Scores, planned: Planned, slopes: Slopes) -> tuple[NDArray[np.float64], float]:
        return at.mean(planned, at.terms("score", slopes.turn), Clip(at.row_bound))


def _moved(at: Scores, move: NDArray[np.float64]) -> Scores:
    effects = at.effects.copy()
    effects[list(at.positions)] += move
    return replace(at, effects=effects)
