"""The releases of `tune` and their prices, from public numbers alone.

Four kinds of slots, in order of time. Those about a raw table ("table") and about units ("units") belong to the whole:
their prices are functions of the guarantee, of the numbers of records and columns and of the candidate that leads,
whatever the number of candidates is. What they leave is shared evenly by the candidates' own slots ("candidate k").
The slots on rows held out ("held out") have a part of their own.

The candidate that leads is fitted first and fills the slots about units: of those whose units are not all public, or
of all where there is none, the one that selects the most features. Its own slots and those of the whole take turns:
a unit is released when its feature has been selected.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from dpsparse.algorithms.guarantee_shares import mu_to_divide, share_of, share_spent, within_mu, within_rho
from dpsparse.algorithms.pursuit.grids import SIZES
from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.algorithms.pursuit.shares import median_share
from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.meter import Commitment, in_part
from dpsparse.privacy.accounting.release import ExponentialMechanism, Slot
from dpsparse.privacy.accounting.zcdp import split
from dpsparse.privacy.guarantee import Guarantee

# Every fifth row is held out.
HELD_OUT_EVERY = 5
TRAINING, HELD_OUT = 0, 1
HELD_OUT_NAME, TABLE_NAME, UNITS_NAME = "held out", "table", "units"
# Units are priced as in a fit with this share of the guarantee. With k candidates of 1/k each, errors of the fits are
# smallest near 1/sqrt(k): better units help all of them.
UNITS_SHARE = 0.5


@dataclass(frozen=True)
class Schedules:
    """How schedules are made from guarantees, for candidates on one table."""

    order: list[int]  # The candidates' places in order of time; the first one leads.
    # Gives the schedule of a candidate from its place, its guarantee, the schedule of the whole and whether it leads.
    of: Callable[..., Schedule]
    units: Callable[[Guarantee], Schedule]  # Gives the schedule of which units are released once, from a guarantee.
    # Gives the schedule of which the releases about a raw table are made once, from a guarantee.
    table: Callable[[Guarantee], Schedule] | None = None


@dataclass(frozen=True)
class Plan:
    """All releases, and who makes them.

    `share` is the guarantee of each fit, `schedules` are those of the fits by place, `picks` the two releases on rows
    held out, `table` the schedule that has the releases about a raw table, if it is one.
    """

    share: Guarantee
    schedules: dict[int, Schedule]
    picks: Commitment
    commitment: Commitment
    table: Schedule | None


def n_held_out(n: int) -> int:
    """How many of n rows are held out."""
    return len(range(HELD_OUT_EVERY - 1, n, HELD_OUT_EVERY))


def in_order(known: Sequence[bool], picks: Sequence[int]) -> list[int]:
    """The candidates' places in order of time, from whether each has public units alone, and how many it selects."""
    return sorted(range(len(known)), key=lambda k: (known[k], -picks[k]))


def name_of(k: int, schedule: Schedule) -> Callable[[str], str]:
    """Gives the first part of the name of a release made while candidate k is fitted: its own, or the whole's."""
    shared = {slot.name for slot in schedule.of_units.shared} if schedule.of_units else set()
    return lambda name: UNITS_NAME if name in shared else f"candidate {k}"


def plan_for(guarantee: Guarantee, n: int, schedules: Schedules) -> Plan:
    """The plan by the Gaussian account, or by zCDP where that fails."""
    by_mu = _plan(guarantee, n, schedules, by_mu=True)
    if by_mu is not None and by_mu.commitment.is_within(guarantee):
        return by_mu
    return cast(Plan, _plan(guarantee, n, schedules, by_mu=False))


def _plan(guarantee: Guarantee, n: int, schedules: Schedules, by_mu: bool) -> Plan | None:
    """Even shares of mu^2, or of rho, of what the slots of the whole leave; None where they leave nothing."""
    count, rho = len(schedules.order), guarantee.rho_per_record
    table = schedules.table(guarantee) if schedules.table else None
    whole = schedules.units(share_of(guarantee, UNITS_SHARE, 2, by_mu))
    if not by_mu:
        table, whole = table and within_rho(table), within_rho(whole)
        # Where a release may fail, zCDP is converted at a delta that is a little smaller.
        rho *= 1 - (1e-3 if table else 1e-9)
    first, last = (table.preparation, table.naming) if table else ((), ())
    of_whole = (*first, *whole.shared, *last)
    spent = share_spent(guarantee, of_whole, by_mu, rho)
    if not spent < 1:
        return None
    share = share_of(guarantee, (1 - spent) / count, count, by_mu, rho)
    fits = {k: schedules.of(k, share, whole, leads=k == schedules.order[0]) for k in schedules.order}
    fits = {k: within_mu(fit, share.mu_per_record) if by_mu else within_rho(fit) for k, fit in fits.items()}
    picks = picks_for(guarantee, n_held_out(n))
    slots = (
        *in_part(Commitment(first), TRAINING, TABLE_NAME),
        *(slot for k, fit in fits.items() for slot in in_part(Commitment(fit.pursuit), TRAINING, name_of(k, fit))),
        *in_part(Commitment(last), TRAINING, TABLE_NAME),
        *in_part(picks, HELD_OUT, HELD_OUT_NAME),
    )
    return Plan(share, fits, picks, Commitment(slots), table)


def picks_for(guarantee: Guarantee, n_records: int) -> Commitment:
    """The two picks on rows held out, which have the whole guarantee of these rows."""
    rho, mu = guarantee.rho_per_record, mu_to_divide(guarantee)
    # A quartile is as near to the end of its grid as a median of half the records.
    bound = median_share(n_records / 2, rho, SIZES, 0.1, 0.5)
    shares = split(rho, {"bound": bound, "choice": 1 - bound})
    mu_of_picks = compose_gdp([ExponentialMechanism(share) for share in shares.values()])
    factor = min(1.0, (mu / mu_of_picks) ** 2) if mu_of_picks < math.inf else 1.0
    prices = [factor * share for share in shares.values()]
    mechanisms = [ExponentialMechanism(price, math.sqrt(8 * price)) for price in prices]
    return Commitment((Slot("size of regrets", mechanisms[0]), Slot("choice", mechanisms[1])))
