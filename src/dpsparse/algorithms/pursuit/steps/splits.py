"""A threshold for every feature that divides the records evenly, where features in unknown units are selected."""

from dataclasses import dataclass
from functools import cached_property

from dpsparse.algorithms.pursuit import budget, decisions, grids
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Releases
from dpsparse.algorithms.pursuit.state import State


@dataclass(frozen=True)
class SplitsStep:
    """Release the splits, then read the features by them."""

    facts: PublicFacts

    @cached_property
    def splits(self) -> Planned:
        """One pick for each feature."""
        return Planned("splits", budget.SPLITS.of(self.facts), "picks")

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.splits,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them."""
        slot = releases.slot(self.splits)
        if slot is not None and data.split_counts is not None:
            grid = grids.splits(decisions.split_nats(self.facts))
            data.candidates.set_splits(releases.splits(slot, data.split_counts, grid))
            data.open()
        return state
