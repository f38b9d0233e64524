"""Select one more feature; or take the next one, where all are taken."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit import budget, decisions, newton_budget
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Releases, skip_all
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.updates import with_column, with_constant_moved
from dpsparse.engine import queries
from dpsparse.privacy.accounting.release import Slot


@dataclass(frozen=True)
class SelectStep:
    """Select a feature by the exponential mechanism on the features' scores; `place` counts from 1."""

    facts: PublicFacts
    place: int

    @cached_property
    def level(self) -> Planned:
        """The mean of the clipped residuals."""
        return Planned(f"level {self.place}", budget.each(budget.LEVEL, self.facts))

    @cached_property
    def pick(self) -> Planned:
        """The feature."""
        rises = np.linspace(1, budget.PICK_RISE, decisions.n_picks(self.facts))
        picks = budget.PICKS if self.facts.family.scaled else newton_budget.PICKS
        share = picks.of(self.facts) * rises[self.place - 1] / rises.sum()
        return Planned(f"pick {self.place}", share, "pick")

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.level, self.pick

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, unless no feature is left."""
        if not data.has_more(state.features):
            skip_all(releases, self.planned())
            return state
        level, slot = 0.0, releases.slot(self.level)
        if slot is not None:
            level = _level(slot, data, releases, state)
        with data.reporter.step() as on_progress:
            scores, features, taken = data.scored.scores(state, data.companions, level, on_progress)
        selected = int(features[releases.pick(releases.due(self.pick), scores, taken)])
        if slot is not None:
            tau = data.scored.tau(state)
            state = with_constant_moved(state, self.facts.family.constant_step(level * tau, state.residual_scale))
        return with_column(state, selected, data.add_column(selected))


def _level(slot: Slot, data: Data, releases: Releases, state: State) -> float:
    """The mean of the clipped residuals, which scores leave out: it would select features that hardly vary."""
    tau = data.scored.tau(state)
    sums = data.records.evaluate(queries.mean_residual_sums, state.center, state.effects, tau)
    mean, _ = releases.mean(slot, sums, 1.0)
    return float(np.clip(mean[0], -1, 1))


@dataclass(frozen=True)
class TakeStep:
    """Take the feature at a place, which counts from 1; nothing is released."""

    facts: PublicFacts
    place: int

    def planned(self) -> tuple[Planned, ...]:
        """Nothing."""
        return ()

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Add the feature, if there is one."""
        if self.place > len(data.candidates.features):
            return state
        feature = int(data.candidates.features[self.place - 1])
        return with_column(state, feature, data.add_column(feature))
