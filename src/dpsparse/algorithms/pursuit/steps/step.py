"""What a step is."""

from typing import Protocol

from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases
from dpsparse.algorithms.pursuit.state import State


class Step(Protocol):
    """A step of a fit, from public facts alone."""

    def planned(self) -> tuple[Planned, ...]:
        """The releases that it will make or skip, in order of time."""

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them; everything but the releases is computed from releases and public numbers."""
