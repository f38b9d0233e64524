"""The line of log odds on predicted ones: the last step where many effects are fitted by Newton steps alone.

Each of many effects stops a little short of where it tends to, and noise that they share moves all of them: predictions
are right in their order, and too near to their middle, or too far from it. One step along the predictions themselves
mends both. It has two numbers, whatever the number of features, and so little noise.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import newton_budget as budget
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.log_odds import Spread, spread_of
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, skip_all
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.scored import Scores
from dpsparse.inference.bounded_step import updated
from dpsparse.inference.tails import Clip


@dataclass(frozen=True)
class OddsLineStep:
    """Move the constant, and stretch or shrink all effects together."""

    facts: PublicFacts

    @cached_property
    def score(self) -> Planned:
        """The mean score of the constant and of the predictions."""
        price = budget.ODDS_LINE
        return Planned(price.release, price.of(self.facts))

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.score,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and step: no further than is plausible."""
        concluded, kept = state.concluded, state.kept
        gram = state.moments.gram[np.ix_(kept, kept)]
        spread = spread_of(concluded.effects[kept], gram, state.constants)
        if not spread.deviation > 0:
            skip_all(releases, self.planned())
            return state
        bound = self.facts.family.selection_tau(state.residual_scale, self.facts.known)
        line = _line(concluded.effects[kept], spread, state.constants)
        row_bound = math.hypot(state.constants, c.LINE_REACH)
        at = Scores(data, releases, state.center, concluded.effects, tuple(map(int, kept)), bound, row_bound)
        mean, noise = at.mean(self.score, at.terms("score", line), Clip(row_bound * bound))
        used = [*range(state.constants), state.constants]
        slopes = _slopes(spread, state.center, bound)[-len(used) :, -len(used) :]
        prior = np.diag([*np.full(state.constants, c.LINE_SPREAD**-2), (spread.deviation * c.LINE_SPREAD) ** -2])
        start, steeper = np.zeros(len(used)), math.sqrt(self.facts.rows.mean)
        move, _ = updated(start, prior, slopes, mean[used], noise, releases.n_responses, steeper)
        stretched = max(1 + float(move[-1]) / spread.deviation, c.LEAST_STRETCH)
        effects = concluded.effects.copy()
        effects[state.kept_features] *= stretched
        if state.constants:
            effects[0] += float(move[0]) + spread.of_features * (1 - stretched)
        distance = spread_of(effects[kept], gram, state.constants).reach
        return replace(state, conclusion=replace(concluded, effects=effects, distance=distance))


def _line(effects: NDArray[np.float64], spread: Spread, constants: int) -> NDArray[np.float64]:
    """What makes of a row the constant and the prediction in deviations from its middle; nothing else."""
    matrix = np.zeros((len(effects), len(effects)))
    matrix[:constants, :constants] = np.eye(constants)
    matrix[constants, constants:] = effects[constants:] / spread.deviation
    matrix[constants, :constants] = -spread.of_features / spread.deviation
    return matrix


def _slopes(spread: Spread, center: float, bound: float) -> NDArray[np.float64]:
    """The derivative of the mean score by both, if predicted log odds are normal."""
    rows = np.stack([np.ones_like(c.LINE_POINTS), c.LINE_POINTS])
    return np.asarray((rows * spread.slopes(center, bound)) @ rows.T)
