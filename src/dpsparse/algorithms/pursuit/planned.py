"""Releases that a step plans: each becomes a slot of the commitment once all prices are known."""

import math
from dataclasses import dataclass
from typing import Literal

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.constants import LEAST_NUMBERS
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.shares import Fixed, Formula
from dpsparse.engine.vector_sums import VECTOR_LEVELS
from dpsparse.privacy.accounting.release import (
    ExponentialMechanism,
    GaussianMechanism,
    Mechanism,
    RepeatedPicks,
    Slot,
)

NOTHING = Fixed(0.0)


@dataclass(frozen=True)
class Planned:
    """A release that a step will make, or skip.

    Parameters
    ----------
    name : str
        Its name in the record of a fit.
    share : float
        Its share of rho; 0 where it is not made.
    mechanism : {"noise", "pick", "picks"}
        Gaussian noise on a vector; one pick by the exponential mechanism; one for each feature.
    is_final : bool
        Whether it is one of the releases that share what all others leave.
    extra : Formula
        The part that it has of what is left, beside its share.
    about_units : bool
        Whether it tells a unit, of the response or of a feature: several fits can have it in common.
    """

    name: str
    share: float
    mechanism: Literal["noise", "pick", "picks"] = "noise"
    is_final: bool = False
    extra: Formula = NOTHING
    about_units: bool = False

    def slot(self, rho: float, facts: PublicFacts) -> Slot:
        """The slot of this release at a price."""
        return Slot(self.name, self._priced(rho, facts))

    def _priced(self, rho: float, facts: PublicFacts) -> Mechanism:
        if self.mechanism == "picks":
            return RepeatedPicks(rho, count=facts.n_split)
        if self.mechanism == "pick":
            return ExponentialMechanism(rho)
        # The coarsest noise and the most numbers: no released vector has fewer levels, no Gram matrix more entries, and
        # a calibration has four.
        k = decisions.n_picks(facts) + 1
        scale, size = VECTOR_LEVELS / math.sqrt(2 * rho), max(k * (k + 1) // 2, LEAST_NUMBERS)
        return GaussianMechanism.drawn(scale=scale, size=size, rho=rho)


def of_unit(name: str, share: float, facts: PublicFacts, mechanism: Literal["noise", "pick"] = "pick") -> Planned:
    """A release about a unit: a fit that shares units with others does not pay for it."""
    return Planned(name, 0.0 if facts.sharing else share, mechanism, about_units=True)
