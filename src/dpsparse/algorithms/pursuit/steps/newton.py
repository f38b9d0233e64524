"""Steps of Newton's on the columns so far, for residuals that are bounded by their link."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit import newton_budget as budget
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Releases, skip_all
from dpsparse.algorithms.pursuit.state import Conclusion, State
from dpsparse.algorithms.pursuit.steps.scored import Scores, largest_root
from dpsparse.algorithms.pursuit.updates import prior_precision
from dpsparse.inference.bounded_step import updated
from dpsparse.inference.tails import Clip


@dataclass(frozen=True)
class NewtonStep:
    """One step; `place` of `count` counts from 1. It needs `columns` features, and is passed over with fewer."""

    facts: PublicFacts
    place: int
    count: int
    columns: int

    @cached_property
    def moments(self) -> Planned:
        """The derivative of the mean score."""
        price = budget.SLOPE_MOMENTS
        return Planned(f"{price.release} {self.place}", price.of(self.facts) / self.count)

    @cached_property
    def score(self) -> Planned:
        """The mean score."""
        return Planned(f"{budget.MEAN_SCORES.release} {self.place}", 0.0, is_final=True)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.moments, self.score

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and step: no further than is plausible, and along no direction that is not known."""
        if len(state.columns) < self.columns:
            skip_all(releases, self.planned())
            return state
        family, scale = self.facts.family, state.residual_scale
        bound = family.selection_tau(scale, self.facts.known)
        slope = family.mean_slope(scale, bound)
        at = Scores(
            data,
            releases,
            state.center,
            state.effects,
            tuple(map(int, state.kept)),
            bound,
            float(c.NEWTON_NORM * np.sqrt(len(state.kept))),
        )
        norm = at.row_bound
        rows = at.terms("slope", np.eye(at.k))
        moments = at.second_moments(self.moments, rows, norm * largest_root(slope))
        mean, noise = at.mean(self.score, at.terms("score", np.eye(at.k)), Clip(float(norm * bound)))
        slopes = moments.pulled(slope * np.eye(at.k)).values
        effects, before = state.effects.copy(), prior_precision(state)
        effects[state.kept], precision = updated(effects[state.kept], before, slopes, mean, noise, releases.n_responses)
        return replace(state, effects=effects, evidence=replace(state.evidence, precision=precision))


@dataclass(frozen=True)
class ConcludeStep:
    """What a pursuit without a scale concludes before the step to its reference: its effects as they are."""

    def planned(self) -> tuple[Planned, ...]:
        """Nothing."""
        return ()

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Take the effects."""
        return replace(state, conclusion=Conclusion(np.inf, effects=state.effects, explains=False))
