"""The last estimate: one step from a pursuit's effects to those of the estimator that the estimand names.

The step needs second moments of rows, the variance of scores, and their mean. Each is clipped at a norm that a released
histogram of norms tells: the larger the table, the further out, so that what clips leave out fades.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit import reference_budget as budget
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.log_odds import evidence_so_far, prior_precision
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, gram_noise
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.mean_residual import MeanResidual
from dpsparse.algorithms.pursuit.steps.scored import Scores, planned_of, without_absent
from dpsparse.algorithms.pursuit.updates import covariance_of, knows_kept, seen, with_reference
from dpsparse.engine.scores import LongRows
from dpsparse.families.estimands import MEAN
from dpsparse.inference.bounded_step import updated
from dpsparse.inference.inference_constants import EXPONENTIAL_CURVE, MOST_ROW_NOISE
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.one_step import AboutMeans, OneStep, Whitening, power, raised, rough_moments, score_root
from dpsparse.inference.shrinkage import combined
from dpsparse.inference.tails import Clip, Norms


@dataclass(frozen=True)
class ReferenceStep:
    """One step to the reference estimator, on at most `most` columns; errors of more than `reliable` are noise."""

    facts: PublicFacts
    most: int
    reliable: float = math.inf

    @cached_property
    def of_rows(self) -> tuple[Planned, Planned, Planned, Planned]:
        """Rough second moments, far ones, the norms of rows that these make white, and second moments of those."""
        prices = budget.ROUGH_ROW_MOMENTS, budget.FAR_ROW_MOMENTS, budget.ROW_NORMS, budget.ROW_MOMENTS
        first, second, third, fourth = (planned_of(price, self.facts, self.most) for price in prices)
        return first, second, third, fourth

    @cached_property
    def of_scores(self) -> tuple[Planned, Planned, Planned]:
        """The norms of scores of white rows, their second moments and their mean, for a first step."""
        prices = budget.SCORE_NORMS, budget.SCORE_MOMENTS, budget.FIRST_MEAN_SCORE
        first, second, third = (planned_of(price, self.facts, self.most) for price in prices)
        return first, second, third

    @cached_property
    def of_white_scores(self) -> tuple[Planned, Planned]:
        """The norms of white scores and their mean."""
        return planned_of(budget.WHITE_SCORE_NORMS, self.facts, self.most), planned_of(
            budget.MEAN_SCORE, self.facts, self.most
        )

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return *self.of_rows, *self.of_scores, *self.of_white_scores

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and step."""
        before, columns = _start(state, self.facts), tuple(map(int, state.kept))
        tails = self.facts.family.tails.of_sums(self.facts.rows.root, bounded=False)
        at = Scores(data, releases, state.center, before, columns, math.inf, tails=tails)
        rough = self._rough_moments(at)
        at, state, rough = without_absent(at, state, rough, seen(state, self.facts))
        first = self._with_far_rows(at, rough_moments(rough, self.facts.rows.many))
        rows = self._row_law(at, first)
        whitening, long_rows = self._whitening(at, first, rows)
        # The first step goes by the rows that the second moments tell of, so that it does not go too far where a few
        # others decide. The last one sees all of them: it is short.
        variance, at = self._first_step(replace(at, long_rows=long_rows), whitening, state)
        step = self._last_step(replace(at, long_rows=None), state, whitening, variance)
        covariance = whitening.with_unseen(step.covariance, state.residual_scale)
        step = replace(step, covariance=covariance, noisy=at.k > self.reliable)
        state = with_reference(state, self.facts, step, whitening.second_moments)
        return _reaching(state, first, math.sqrt(rows[0].farthest))

    def _last_step(self, at: Scores, state: State, whitening: Whitening, variance: NoisyMatrix) -> OneStep:
        """The step by white scores, from the variance of the scores of white rows."""
        root, matrix = score_root(variance, whitening)
        white, (sizes, planned) = at.terms("score", matrix), self.of_white_scores
        norms = at.norms(sizes, white, math.sqrt(len(matrix)))
        clip = at.best_clip(norms, planned, white, white=True)
        mean, noise = at.mean(planned, white, clip)
        return OneStep.of(at.tau, at.effects[state.kept], whitening, root, norms, clip, mean, noise, at.tails.left_out)

    def _rough_moments(self, at: Scores) -> NoisyMatrix:
        plain = at.terms("slope", np.eye(at.k))
        return at.second_moments(self.of_rows[0], plain, math.sqrt(c.ROUGH_ROWS * at.k))

    def _with_far_rows(self, at: Scores, first: NDArray[np.float64]) -> NDArray[np.float64]:
        planned = self.of_rows[1]
        white = at.terms("slope", power(first, -0.5))
        bound = max(c.FAR_NOISE / gram_noise(at.releases, planned, at.k), c.ROUGH_ROWS * at.k)
        return raised(first, at.second_moments(planned, white, math.sqrt(bound)))

    def _row_law(self, at: Scores, first: NDArray[np.float64]) -> tuple[Norms, Clip]:
        """The law of the squared norms of the rows that these second moments make white, and where to clip them."""
        *_, norms, moments = self.of_rows
        squares = at.squared_norms(norms, at.terms("slope", power(first, -0.5)), at.k)
        across = math.sqrt(at.k)
        noise, most = gram_noise(at.releases, moments, at.k) * across, MOST_ROW_NOISE * across
        return squares, squares.best_clip(noise, c.ROW_BIAS, most_noise=most)

    def _whitening(
        self, at: Scores, first: NDArray[np.float64], rows: tuple[Norms, Clip]
    ) -> tuple[Whitening, LongRows]:
        """The derivative of the mean score, and which rows are longer than its clip."""
        *_, planned = self.of_rows
        white, bound = at.terms("slope", power(first, -0.5)), math.sqrt(rows[1].bound)
        released = at.second_moments(planned, white, bound)
        kind = AboutMeans if decisions.scores_about_means(self.facts) and at.k > 1 else Whitening
        return kind.of(first, released, *rows, math.sqrt(self.facts.rows.mean)), LongRows(white.matrix, bound)

    def _first_step(self, at: Scores, whitening: Whitening, state: State) -> tuple[NoisyMatrix, Scores]:
        """The variance of the scores of white rows; and where a first step leads, for residuals that are nearer."""
        norms, moments, first = self.of_scores
        terms = at.terms("score", whitening.of_scores)
        law = at.norms(norms, terms, state.score_scale * math.sqrt(len(terms.matrix)))
        clip = at.best_clip(law, first, terms)
        variance = at.second_moments(moments, terms, clip.bound)
        mean, noise = at.mean(first, terms, clip)
        turn, effects = whitening.step, at.effects.copy()
        before = at.effects[state.kept]
        effects[state.kept] += turn @ mean
        if self.facts.rows.many:
            # Few people make the first step noisy, and the pursuit sees sums of rows: more than their number tells.
            covariance = whitening.with_unseen(noise**2 * turn @ turn.T, state.residual_scale)
            effects[state.kept], _ = beside_pursuit(state, before, effects[state.kept], covariance)
        return variance, replace(at, effects=effects)


def beside_pursuit(
    state: State, before: NDArray[np.float64], effects: NDArray[np.float64], covariance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Effects after an early step and the covariance of their noise, combined with the pursuit's where it has any.

    An early step may be mostly its own noise: where both agree, the start of the last step has most of the pursuit.
    """
    if not knows_kept(state):
        return effects, covariance
    return combined(effects, covariance, before, covariance_of(state))


@dataclass(frozen=True)
class CurvedReferenceStep(ReferenceStep):
    """The same where slopes depend on effects: the first step comes first, and second moments are those after it."""

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        rough, far, *of_rows = self.of_rows
        norms, moments, first = self.of_scores
        return rough, far, norms, first, *of_rows, moments, *self.of_white_scores

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and step twice."""
        tails, before = self.facts.family.tails, _start(state, self.facts)
        columns = tuple(map(int, state.kept))
        at = Scores(data, releases, state.center, before, columns, math.inf, tails=tails)
        rough = self._rough_moments(at)
        at, state, rough = without_absent(at, state, rough, seen(state, self.facts))
        first = self._with_far_rows(at, rough_moments(rough))
        turn = power(first, -0.5)
        norms, moments, score = self.of_scores
        rows = at.terms("score", turn)
        law = at.norms(norms, rows, state.score_scale * math.sqrt(at.k))
        clip = at.best_clip(law, score, rows)
        mean, noise = at.mean(score, rows, clip)
        effects = at.effects.copy()
        # A step as long as its noise goes no further than the pursuit's effects may be off: their clips bias them, too.
        so_far = np.linalg.inv(prior_precision(state) + evidence_so_far(state))
        off = so_far + c.EARLY_BIAS**2 * np.eye(at.k)
        known = turn @ np.linalg.inv(off) @ turn.T
        moved, precision = updated(np.zeros(at.k), known, np.eye(at.k), mean, noise, releases.n_responses)
        effects[state.kept] += turn.T @ moved
        # A long step leaves what a straight line does not see of the curve.
        curve = EXPONENTIAL_CURVE * float(moved @ moved)
        errors = np.sqrt(np.diagonal(turn.T @ (np.linalg.inv(precision) + curve**2 * np.eye(at.k)) @ turn))
        at = replace(at, effects=effects)
        whitening, _ = self._whitening(at, first, self._row_law(at, first))
        variance = at.second_moments(moments, at.terms("score", whitening.of_scores), clip.bound)
        step, start = self._last_step(at, state, whitening, variance), at.effects[state.kept]
        step = replace(step.curved(start, whitening).since(start, errors), noisy=at.k > self.reliable)
        beside = before[state.kept], np.asarray(np.linalg.inv(prior_precision(state) + evidence_so_far(state)))
        return with_reference(state, self.facts, step, whitening.second_moments, beside, only_beside=not step.settled)


@dataclass(frozen=True)
class LevelStep:
    """The mean residual: predictions of a mean are right on average."""

    facts: PublicFacts

    @cached_property
    def level(self) -> MeanResidual:
        """The residuals by their size and sign, and their mean."""
        prices = budget.RESIDUAL_SIZES, budget.MEAN_RESIDUAL
        return MeanResidual(*(planned_of(price, self.facts) for price in prices))

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.level.sizes, self.level.mean

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and move the constant."""
        concluded, step = state.concluded, state.evidence.step
        at = Scores(data, releases, state.center, concluded.effects, (0,), math.inf)
        offset, clip = self.level.release(at, state.residual_scale, self.facts.rows.mean)
        # A mean may lie beyond most responses, where these are skewed; some predictions lie further out.
        level = float(concluded.effects[0]) + state.mean_of_effects + offset
        distance = max(concluded.distance, abs(level))
        if step is not None and step.settled:
            distance = max(distance, clip.below.most / c.REACH, clip.above.most / c.REACH)
        return replace(state, conclusion=replace(concluded, offset=offset, distance=distance))


def _reaching(state: State, moments: NDArray[np.float64], farthest: float) -> State:
    """The state in which predictions reach as far as those of a row so long, in units of these second moments.

    Responses may follow a feature far beyond where nearly all of them are.
    """
    concluded = state.concluded
    reach = farthest * float(np.linalg.norm(power(moments, 0.5) @ concluded.effects[state.kept]))
    return replace(state, conclusion=replace(concluded, distance=max(concluded.distance, reach / c.REACH)))


def _start(state: State, facts: PublicFacts) -> NDArray[np.float64]:
    """The effects that the pursuit predicts by: for a mean with its offset."""
    effects = state.concluded.effects.copy()
    if state.constants and facts.family.estimand == MEAN:
        effects[0] += state.concluded.offset
    return effects
