"""Releases that a step plans: each becomes a slot of the commitment once all prices are known."""

import math
from dataclasses import dataclass
from typing import Literal

from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_constants import LEAST_NUMBERS
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
    of_reference : bool
        Whether its share is of what the step to the reference estimator may cost, beside rho.
    of_whole : bool
        Whether its share is of both together: people read it, and it needs no more where a step follows.
    numbers : int
        The most numbers that it draws, where these are more than a matrix of the selected features has.
    """

    name: str
    share: float
    mechanism: Literal["noise", "pick", "picks"] = "noise"
    is_final: bool = False
    extra: Formula = NOTHING
    about_units: bool = False
    of_reference: bool = False
    of_whole: bool = False
    numbers: int = LEAST_NUMBERS

    def slot(self, rho: float, n_picks: int, n_split: int) -> Slot:
        """The slot of this release at a price, in a fit that selects `n_picks` features and may split `n_split`."""
        return Slot(self.name, self._priced(rho, n_picks, n_split))

    def _priced(self, rho: float, n_picks: int, n_split: int) -> Mechanism:
        if self.mechanism == "picks":
            return RepeatedPicks(rho, count=n_split)
        if self.mechanism == "pick":
            return ExponentialMechanism(rho)
        # The coarsest noise and the most numbers: no released vector has fewer levels, no Gram matrix more entries, and
        # a calibration has four.
        k = n_picks + 1
        scale, size = VECTOR_LEVELS / math.sqrt(2 * rho), max(k * (k + 1) // 2, self.numbers)
        return GaussianMechanism.drawn(scale=scale, size=size, rho=rho)


def of_unit(name: str, share: float, facts: PublicFacts, mechanism: Literal["noise", "pick"] = "pick") -> Planned:
    """A release about a unit: a fit that shares units with others does not pay for it."""
    return Planned(name, 0.0 if facts.sharing else share, mechanism, about_units=True)
