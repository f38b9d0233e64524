"""The last estimate of typical effects: steps to Huber's estimator, which clips residuals by their own scale.

Huber's effects and the scale of their residuals depend on each other. A pursuit's fit lies nearer to where responses
are densest, and where residuals are skewed its scale is smaller by up to a half. So there are two early steps, each
followed by the scale of the residuals that it leaves, and a last one from there.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit import reference_budget as budget
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Planned, Releases
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.reference import ReferenceStep, beside_pursuit
from dpsparse.algorithms.pursuit.steps.scored import Scores, planned_of, without_absent
from dpsparse.algorithms.pursuit.updates import seen, with_reference
from dpsparse.engine import queries
from dpsparse.families.estimands import HUBER_TUNING
from dpsparse.inference.inference_constants import (
    EARLY_STEP,
    EARLY_TAU,
    LONGEST_EARLY_STEP,
    NO_VARIANCE,
    NORMAL_MEDIAN,
)
from dpsparse.inference.one_step import power, rough_moments
from dpsparse.inference.tails import Clip


@dataclass(frozen=True)
class TypicalReferenceStep(ReferenceStep):
    """Steps to Huber's estimator, on at most `most` columns; errors of more than `reliable` are noise.

    Early steps go by the second moments of all rows, not of those alone whose residuals are within the clip: few rows
    that are far longer than others may all have residuals beyond it at first, and a step of Newton's that does not see
    them goes many times too far along them.
    """

    @cached_property
    def early(self) -> tuple[tuple[Planned, Planned], ...]:
        """The mean score of each early step, and the median size of the residuals after it."""
        prices = (budget.FIRST_MEAN_SCORE, budget.FIRST_SCALE), (budget.SECOND_MEAN_SCORE, budget.REFERENCE_SCALE)
        return tuple(
            (
                planned_of(score, self.facts, self.most),
                Planned(scale.release, scale.of(self.facts), "pick", of_reference=True),
            )
            for score, scale in prices
        )

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        (*rows, row_moments), (norms, moments, _) = self.of_rows, self.of_scores
        early = (each for step in self.early for each in step)
        return *rows, norms, *early, row_moments, moments, *self.of_white_scores

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and step."""
        before, columns = state.concluded.effects, tuple(map(int, state.kept))
        tails = self.facts.family.tails.of_sums(self.facts.rows.root, bounded=True)
        at = Scores(data, releases, state.center, before, columns, math.inf, tails=tails)
        rough = self._rough_moments(at)
        at, state, rough = without_absent(at, state, rough, seen(state, self.facts))
        first = self._with_far_rows(at, rough_moments(rough, self.facts.rows.many))
        rows = self._row_law(at, first)
        early = self._early_steps(at, state, first)
        at, state = early.at, early.state
        whitening, _ = self._whitening(at, first, rows)
        variance = at.second_moments(self.of_scores[1], at.terms("score", whitening.of_scores), early.bound)
        step = self._last_step(at, state, whitening, variance)
        covariance = whitening.with_unseen(step.covariance, state.residual_scale)
        step = replace(step, covariance=covariance, noisy=at.k > self.reliable)
        step = step.clipped_anew(at.effects[state.kept], early.covariance, whitening, early.drift)
        if state.concluded.at_center > c.HALF:
            step = replace(step, bias=np.hypot(step.bias, c.LUMP_DOUBT * np.abs(step.effects)))
        return with_reference(state, self.facts, step, whitening.second_moments)

    def _early_steps(self, at: Scores, state: State, moments: NDArray[np.float64]) -> "Early":
        """Where early steps lead, from the second moments of all rows."""
        white, scale = power(moments, -0.5), state.residual_scale
        turn = EARLY_STEP / math.sqrt(self.facts.rows.mean) * white
        at = replace(at, tau=EARLY_TAU * _tau(state))
        terms = at.terms("score", white)
        law = at.norms(self.of_scores[0], terms, state.score_scale * math.sqrt(at.k))
        bound, widest = at.best_clip(law, self.early[0][0], terms).bound, at.tau
        covariance = np.zeros_like(moments)
        for score, residual_scale in self.early:
            mean, noise = at.mean(score, at.terms("score", white), Clip(bound * at.tau / widest))
            most = LONGEST_EARLY_STEP * at.tau / max(float(np.linalg.norm(mean)), NO_VARIANCE)
            effects, before = at.effects.copy(), state.concluded.effects[state.kept]
            moved = effects[state.kept] + min(1.0, most) * (turn @ mean)
            effects[state.kept], covariance = beside_pursuit(state, before, moved, noise**2 * turn @ turn.T)
            at, scale = replace(at, effects=effects), state.residual_scale
            state = self._with_scale(at, state, residual_scale)
            at = replace(at, tau=_tau(state))
        return Early(at, state, bound, covariance, math.log(state.residual_scale / scale))

    def _with_scale(self, at: Scores, state: State, planned: Planned) -> State:
        grid = grids.FINE_RESIDUAL_SCALES.times(state.residual_scale)
        count = counter(at.data.records, queries.residual_counts, at.center, at.effects, sizes=True)
        return replace(state, residual_scale=at.releases.quantile(at.releases.due(planned), count, grid))


@dataclass(frozen=True)
class Early:
    """Where early steps lead.

    `at`, `state`: the scores there, and the state with the scale of the residuals there.
    `bound`: where the norms of scores of white rows are clipped.
    `covariance`: of the noise of the last early step's effects.
    `drift`: by how much the logarithm of the scale moved in it.
    """

    at: Scores
    state: State
    bound: float
    covariance: NDArray[np.float64]
    drift: float


def _tau(state: State) -> float:
    """Where Huber's estimator clips residuals of this scale."""
    return HUBER_TUNING * state.residual_scale / NORMAL_MEDIAN
