"""The last estimate: one step from a pursuit's effects to those of the estimator that the estimand names.

The step needs second moments of rows, the variance of scores, and their mean. Each is clipped at a norm that a released
histogram of norms tells: the larger the table, the further out, so that what clips leave out fades.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit import reference_budget as budget
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Releases, gram_noise, mean_noise
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.scored import Scores, planned_of
from dpsparse.algorithms.pursuit.updates import with_reference
from dpsparse.engine import queries
from dpsparse.families.estimands import MEAN
from dpsparse.inference.inference_constants import NO_VARIANCE, NORMAL_MEDIAN
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.one_step import OneStep, Whitening, power, rough_moments, score_root


@dataclass(frozen=True)
class ReferenceStep:
    """One step to the reference estimator, on at most `most` columns."""

    facts: PublicFacts
    most: int

    @cached_property
    def of_rows(self) -> tuple[Planned, Planned, Planned]:
        """Rough second moments of rows, the norms of rows that these make white, and second moments of those."""
        prices = budget.ROUGH_ROW_MOMENTS, budget.ROW_NORMS, budget.ROW_MOMENTS
        first, second, third = (planned_of(price, self.facts, self.most) for price in prices)
        return first, second, third

    @cached_property
    def of_scores(self) -> tuple[Planned, Planned, Planned]:
        """The norms of scores of white rows, their second moments and their mean, for a first step."""
        prices = budget.SCORE_NORMS, budget.SCORE_MOMENTS, budget.FIRST_MEAN_SCORE
        first, second, third = (planned_of(price, self.facts, self.most) for price in prices)
        return first, second, third

    @cached_property
    def scale(self) -> Planned:
        """The median size of the residuals after the first step, where the estimator clips them by it.

        At the pursuit's own predictions it is smaller: these lie where responses are densest.
        """
        price = budget.REFERENCE_SCALE
        return Planned(price.release, price.of(self.facts), "pick", of_reference=True)

    @cached_property
    def of_white_scores(self) -> tuple[Planned, Planned]:
        """The norms of white scores and their mean."""
        return planned_of(budget.WHITE_SCORE_NORMS, self.facts, self.most), planned_of(
            budget.MEAN_SCORE, self.facts, self.most
        )

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return *self.of_rows, *self.of_scores, self.scale, *self.of_white_scores

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and step."""
        start, columns = _start(state, self.facts), tuple(map(int, state.kept))
        at = Scores(data, releases, state.center, start, columns, self._tau(state))
        rough = self._rough_moments(at)
        state, at, rough = _without_absent(state, at, rough, data.companions.unsure)
        whitening = self._whitening(at, rough_moments(rough))
        root, at, errors = self._score_root(at, whitening, state)
        state = self._with_scale(at, state)
        at = replace(at, tau=self._tau(state))
        white = at.terms("score", np.asarray(np.linalg.inv(root), dtype=np.float64))
        norms = at.norms(self.of_white_scores[0], white, math.sqrt(at.k))
        planned = self.of_white_scores[1]
        clip = norms.best_clip(mean_noise(at.releases, planned), c.SCORE_BIAS / math.sqrt(at.k))
        mean, noise = at.mean(planned, white, clip)
        start = at.effects[state.kept]
        step = OneStep.of(at.tau, start, whitening, root, norms, clip, mean, noise).since(start, errors)
        return with_reference(state, self.facts, step, whitening.second_moments)

    def _tau(self, state: State) -> float:
        estimand = self.facts.family.estimand
        assert estimand is not None, "the step is for an estimand"
        return estimand.tuning * state.residual_scale / NORMAL_MEDIAN

    def _with_scale(self, at: Scores, state: State) -> State:
        slot = at.releases.slot(self.scale)
        if slot is None:
            return state
        grid = grids.FINE_RESIDUAL_SCALES.times(state.residual_scale)
        count = counter(at.data.records, queries.residual_counts, at.center, at.effects, sizes=True)
        return replace(state, residual_scale=at.releases.quantile(slot, count, grid))

    def _rough_moments(self, at: Scores) -> NoisyMatrix:
        plain = at.terms("slope", np.eye(at.k))
        return at.second_moments(self.of_rows[0], plain, math.sqrt(c.ROUGH_ROWS * at.k))

    def _whitening(self, at: Scores, first: NDArray[np.float64]) -> Whitening:
        _, norms, moments = self.of_rows
        white = at.terms("slope", power(first, -0.5))
        squares = at.squared_norms(norms, white, at.k)
        clip = squares.best_clip(gram_noise(at.releases, moments, at.k) * math.sqrt(at.k), c.ROW_BIAS)
        released = at.second_moments(moments, white, math.sqrt(clip.bound))
        return Whitening.of(first, released, squares, clip)

    def _score_root(
        self, at: Scores, whitening: Whitening, state: State
    ) -> tuple[NDArray[np.float64], Scores, NDArray[np.float64]]:
        """A root of the variance of the scores; and where a first step leads, for residuals that are nearer.

        The last are the standard errors of the first step's effects, as far as they are its noise.
        """
        norms, moments, first = self.of_scores
        terms = at.terms("score", whitening.inverse_root)
        law = at.norms(norms, terms, state.score_scale * math.sqrt(at.k))
        clip = law.best_clip(mean_noise(at.releases, first), c.SCORE_BIAS / math.sqrt(at.k))
        root = score_root(at.second_moments(moments, terms, clip.bound), whitening)
        mean, noise = at.mean(first, terms, clip)
        turn, effects = whitening.inverse_root.T, at.effects.copy()
        effects[state.kept] += turn @ mean
        return root, replace(at, effects=effects), noise * np.sqrt(np.sum(turn**2, axis=1))


@dataclass(frozen=True)
class LevelStep:
    """The mean residual: predictions of a mean are right on average.

    A mean is one number, so that its clip can be further out than that of all scores together, and its rise can make up
    for what is beyond.
    """

    facts: PublicFacts

    @cached_property
    def level(self) -> tuple[Planned, Planned]:
        """The sizes of the residuals, and their mean."""
        return planned_of(budget.RESIDUAL_SIZES, self.facts), planned_of(budget.MEAN_RESIDUAL, self.facts)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.level

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and move the constant."""
        sizes, mean = self.level
        at = Scores(data, releases, state.center, state.concluded.effects, (0,), math.inf)
        terms = at.terms("score", np.eye(1))
        law = at.norms(sizes, terms, state.residual_scale)
        clip = law.best_clip(mean_noise(releases, mean), c.LEVEL_BIAS, rising=True)
        (offset,), _ = at.mean(mean, terms, clip)
        distance, step = state.concluded.distance, state.evidence.step
        if step is not None and step.settled:
            # A mean may lie beyond most responses, where these are skewed.
            distance = max(distance, clip.bound / c.REACH)
        return replace(state, conclusion=replace(state.concluded, offset=float(offset), distance=distance))


def _without_absent(
    state: State, at: Scores, rough: NoisyMatrix, unsure: frozenset[int]
) -> tuple[State, Scores, NoisyMatrix]:
    """Without the unsure features whose second moments about their means are no more than noise."""
    means = rough.values[0] / max(rough.values[0, 0], NO_VARIANCE) if state.constants else np.zeros(at.k)
    varies = np.diagonal(rough.values) - means * rough.values[0] > c.UNSURE * rough.noise
    places = [place for place, feature in enumerate(state.features, state.constants) if feature in unsure]
    stays = varies | ~np.isin(state.kept, places)
    state = replace(state, kept=state.kept[stays])
    at = replace(at, positions=tuple(map(int, state.kept)))
    return state, at, replace(rough, values=rough.values[np.ix_(stays, stays)])


def _start(state: State, facts: PublicFacts) -> NDArray[np.float64]:
    """The effects that the pursuit predicts by: for a mean with its offset, for what is typical without.

    One step is as good as the estimator only from nearby. Huber's constant is that of the bulk, and so is the residual
    scale by which it clips: at a mean residuals of a skewed response are larger.
    """
    effects = state.concluded.effects.copy()
    if state.constants and facts.family.estimand == MEAN:
        effects[0] += state.concluded.offset
    return effects
