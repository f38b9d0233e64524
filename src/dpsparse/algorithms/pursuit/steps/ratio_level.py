"""The level of predictions whose effects are ratios: the mean residual, as a step of the constant."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dpsparse.algorithms.pursuit import counts_budget, reference_budget
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, mean_noise
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.scored import Scores, planned_of
from dpsparse.algorithms.pursuit.updates import with_constant_moved
from dpsparse.inference.tails import Tails


@dataclass(frozen=True)
class RatioLevelStep:
    """The mean residual, in units of the mean response: 1 less it is the mean prediction, which is to be 1.

    Before the last steps it moves the pursuit's constant, and after them that of predictions.
    """

    sizes: Planned
    mean: Planned
    tails: Tails
    rows: float  # that people count as, on average

    @classmethod
    def before(cls, facts: PublicFacts) -> Self:
        """Of the pursuit's effects."""
        sizes, mean = counts_budget.FIRST_RESIDUAL_SIZES, counts_budget.FIRST_MEAN_RESIDUAL
        planned = Planned(sizes.release, sizes.of(facts), numbers=c.MOST_BINS)
        return cls(planned, Planned(mean.release, mean.of(facts)), facts.family.tails, facts.rows.mean)

    @classmethod
    def after(cls, facts: PublicFacts) -> Self:
        """Of the effects of predictions."""
        prices = reference_budget.RESIDUAL_SIZES, reference_budget.MEAN_RESIDUAL
        sizes, mean = (planned_of(price, facts) for price in prices)
        return cls(sizes, mean, facts.family.tails, facts.rows.mean)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.sizes, self.mean

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and move the constant."""
        concluded = state.conclusion
        effects = state.effects if concluded is None else concluded.effects
        at = Scores(data, releases, state.center, effects, (0,), math.inf, tails=self.tails)
        terms = at.terms("score", np.eye(1))
        law = at.norms(self.sizes, terms, state.residual_scale)
        clip = law.best_clip(mean_noise(releases, self.mean), c.COUNTS_BIAS, rising=True)
        (total,), _ = at.mean(self.mean, terms, clip)
        # A person's score is the sum of their residuals over this root.
        mean = total / math.sqrt(self.rows)
        step = float(np.clip(-math.log(max(1 - mean, c.LEAST_LEVEL)), -c.MOST_LEVEL_STEP, c.MOST_LEVEL_STEP))
        if concluded is None:
            return with_constant_moved(state, step)
        # A record of which more is predicted counts as if it were that, in the mean and in predictions.
        return replace(state, conclusion=replace(concluded, offset=step, distance=max(clip.bound, c.LEAST_CEILING)))
