"""Shares of a guarantee for several fits that are accounted for as one, and schedules that stay within them."""

import math
from collections.abc import Sequence
from dataclasses import replace

from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.release import Slot
from dpsparse.privacy.guarantee import Guarantee

# What is left of a price for rounding, far above that of a double.
_ROUNDED = 1 - 1e-9


def mu_to_divide(guarantee: Guarantee) -> float:
    """The mu of a record, less what may be lost to rounding where it is divided."""
    return guarantee.mu_per_record * _ROUNDED


def share_spent(guarantee: Guarantee, slots: Sequence[Slot], by_mu: bool, rho: float) -> float:
    """The share of mu^2, or of `rho`, that some releases cost.

    Alone they cost at least as much as among other releases: a pick costs less the more follows it.
    """
    if by_mu:
        return (compose_gdp([slot.mechanism for slot in slots]) / mu_to_divide(guarantee)) ** 2
    return math.fsum(slot.rho for slot in slots) / rho


def share_of(guarantee: Guarantee, share: float, count: int, by_mu: bool, rho: float | None = None) -> Guarantee:
    """A share of mu^2 or of rho as a guarantee, at 1/count of delta, where any share still has an epsilon above 0."""
    part = replace(guarantee, delta=guarantee.delta / count)
    if by_mu:
        spent = {"rho": math.inf, "mu": mu_to_divide(guarantee) * math.sqrt(share)}
    else:
        spent = {"rho": share * (rho or guarantee.rho_per_record)}
    return replace(part, epsilon=part.epsilon_spent(**spent))


def within_mu(schedule: Schedule, mu: float) -> Schedule:
    """A schedule within mu: one that fills rho may cost more in the Gaussian account, where picks are most of it."""
    excess = schedule.commitment.composed.mu / mu
    return replace(schedule, factor=schedule.factor / excess**2 * _ROUNDED) if 1 < excess < math.inf else schedule


def within_rho(schedule: Schedule) -> Schedule:
    """A schedule within rho, not stretched to fill the Gaussian account."""
    return replace(schedule, factor=min(schedule.factor, 1.0))
