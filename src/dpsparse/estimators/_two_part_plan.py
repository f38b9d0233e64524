"""The releases of a fit in two parts and their prices, from public numbers alone.

In order of time: those about a raw table ("table"), a pursuit of whether the response is above 0 ("whether"), one of
how much it is where it is ("how much"), the names of a raw table's texts ("table"), and those about the overall mean
("level"). All read all rows: their costs add up. What those about the table leave is shared by the others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from dpsparse.algorithms.guarantee_shares import share_of, share_spent, within_mu, within_rho
from dpsparse.algorithms.overall_level import HOW_MUCH, LEVEL, SHARES, WHETHER, level_commitment
from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.privacy.accounting.meter import Commitment, in_part
from dpsparse.privacy.guarantee import Guarantee

TABLE = "table"


@dataclass(frozen=True)
class Schedules:
    """How schedules are made from guarantees: those of the two parts by name and, of a raw table, that of the table."""

    of: Callable[[str, Guarantee], Schedule]
    table: Callable[[Guarantee], Schedule] | None = None


@dataclass(frozen=True)
class TwoPartPlan:
    """All releases: those of the parts, those about the overall mean, and those about a raw table, if it is one.

    `shares` are the guarantees by which the parts and the level are planned.
    """

    shares: dict[str, Guarantee]
    parts: dict[str, Schedule]
    level: Commitment
    commitment: Commitment
    table: Schedule | None


def two_part_plan(guarantee: Guarantee, schedules: Schedules, tight: bool = True) -> TwoPartPlan:
    """The plan by the Gaussian account, or by zCDP where that fails, or is not `tight`."""
    by_mu = _plan(guarantee, schedules, by_mu=True) if tight else None
    if by_mu is not None and by_mu.commitment.is_within(guarantee):
        return by_mu
    return cast(TwoPartPlan, _plan(guarantee, schedules, by_mu=False))


def _plan(guarantee: Guarantee, schedules: Schedules, by_mu: bool) -> TwoPartPlan | None:
    """Shares of mu^2, or of rho, of what the releases about a table leave; None where they leave nothing."""
    table, rho = schedules.table(guarantee) if schedules.table else None, guarantee.rho_per_record
    if not by_mu:
        table = table and within_rho(table)
        # Where a release may fail, zCDP is converted at a delta that is a little smaller.
        rho *= 1 - (1e-3 if table else 1e-9)
    first, last = (table.preparation, table.naming) if table else ((), ())
    spent = share_spent(guarantee, (*first, *last), by_mu, rho)
    if not spent < 1:
        return None
    shares = {name: share_of(guarantee, (1 - spent) * share, len(SHARES), by_mu, rho) for name, share in SHARES.items()}
    parts = {name: schedules.of(name, shares[name]) for name in (WHETHER, HOW_MUCH)}
    parts = {
        name: within_mu(part, shares[name].mu_per_record) if by_mu else within_rho(part) for name, part in parts.items()
    }
    # Gaussian releases of rho = mu^2 / 2 together have that mu.
    of_level = shares[LEVEL]
    level = level_commitment((of_level.mu_per_record**2 / 2 if by_mu else of_level.rho_per_record) * (1 - 1e-9))
    slots = (
        *in_part(Commitment(first), None, TABLE),
        *(slot for name, part in parts.items() for slot in in_part(Commitment(part.pursuit), None, name)),
        *in_part(Commitment(last), None, TABLE),
        *in_part(level, None, LEVEL),
    )
    return TwoPartPlan(shares, parts, level, Commitment(slots), table)
