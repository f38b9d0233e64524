"""Forged histories: events that break one rule of the ledger each, in a chain whose every digest is right.

Whoever may write to the database can write a valid chain. A reader must repeat every decision, and refuse a history
that the rules do not allow. The totals of equal fits are then added up without the filter, in every account.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from scipy import stats

from dpsparse.audit.finding import Finding
from dpsparse.privacy.accounting.filter import Cost, PrivacyFilter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger.events import GENESIS, Event, LedgerError, LedgerState, canonical, cost_details

GRANT = Guarantee(1.0, 1e-5)
# More fits than any grant here admits.
_MOST = 200
COST = Cost(0.5, 1e-6, rho=0.01, mu=0.1, tv_slack=1e-12)


def check_forgeries() -> Iterator[Finding]:
    """Each forgery, an honest history, and totals."""
    yield _honest()
    for name, entries in FORGERIES.items():
        refused = _is_refused(chain(entries))
        yield Finding(f"forged history: {name}", "refused", "refused" if refused else "accepted", refused)
    for name, (costs, total) in TOTALS.items():
        yield _total(name, costs, total)


def chain(entries: list[tuple[str, str, str | None, dict[str, Any]]]) -> list[Event]:
    """Events with right numbers, links and digests, whatever they say."""
    events, head = [], GENESIS
    for number, (kind, dataset, fit, details) in enumerate(entries, 1):
        event = Event(number, dataset, fit, kind, canonical(details), head, "")
        event = replace(event, digest=event.expected_digest())
        events.append(event)
        head = event.digest
    return events


def _is_refused(events: list[Event]) -> bool:
    try:
        LedgerState(events)
    except LedgerError:
        return True
    return False


def grant(
    dataset: str = "people", fit: str | None = None, most: int = 2
) -> tuple[str, str, str | None, dict[str, Any]]:
    """A grant for people of up to two records."""
    entry = {"epsilon": GRANT.epsilon, "delta": GRANT.delta, "adjacency": GRANT.adjacency, "records_per_person": most}
    return "grant", dataset, fit, entry


def reserve(
    fit: str | None,
    cost: Cost = COST,
    dataset: str = "people",
    most: int = 2,
    account: str = "gaussian",
    **changed: Any,
) -> tuple[str, str, str | None, dict[str, Any]]:
    """A reservation, as a fit writes it."""
    return "reserve", dataset, fit, {**cost_details(cost), "records_per_person": most, "account": account, **changed}


def settle(kind: str, fit: str, dataset: str = "people") -> tuple[str, str, str, dict[Any, Any]]:
    """A charge or a refund."""
    return kind, dataset, fit, {}


# Each takes its share of the grant in the Gaussian account, and more in the others.
_HALF, _THIRD = (Cost(0.9, 1e-6, mu=mu, tv_slack=1e-12) for mu in (0.2, 0.17))
# Only its failures keep this one out of the zCDP account.
_FAILS = Cost(0.5, 1e-3, rho=0.01, failure_probability=2e-5, tv_slack=1.0)
_BASIC = Cost(0.4, 1e-6)
# Within the Gaussian account together, but the first is in the basic one.
_FIRST, _SECOND = Cost(0.2, 1e-9, mu=0.2), Cost(0.9, 1e-9, mu=0.1)
FORGERIES = {
    "a budget granted twice": [grant(), grant()],
    "a grant that is a fit's": [grant(fit="a")],
    "a fit reserved twice": [grant(), reserve("a"), reserve("a")],
    "a fit without a name": [grant(), reserve(None)],
    "a fit for people of fewer records": [grant(), reserve("a", most=1)],
    "a fit beyond the grant": [grant(), reserve("a", Cost(5.0, 1e-6), account="basic")],
    "fits beyond the grant together": [grant(), reserve("a", _HALF), reserve("b", _HALF)],
    "three fits beyond the grant together": [grant(), *(reserve(fit, _THIRD) for fit in "abc")],
    "a fit in an account of its own": [grant(), reserve("a"), reserve("b", _BASIC, account="basic")],
    "a fit that another account would admit": [
        *(grant(), reserve("a", _FIRST, account="basic")),
        reserve("b", _SECOND),
    ],
    "a fit whose failures exceed delta": [grant(), reserve("a", _FAILS, account="zcdp")],
    "a fit on what was never granted": [reserve("a")],
    "a fit of negative cost": [grant(), reserve("a", rho=-1.0)],
    "a fit of negative mu": [grant(), reserve("a", mu=-0.1)],
    "a fit of a negative slack": [grant(), reserve("a", excess=-1.0)],
    "a fit without a delta": [grant(), reserve("a", delta=None)],
    "a charge of an unknown fit": [grant(), settle("charge", "a")],
    "a fit charged twice": [grant(), reserve("a"), settle("charge", "a"), settle("charge", "a")],
    "a charge refunded": [grant(), reserve("a"), settle("charge", "a"), settle("refund", "a")],
    "a refund charged": [grant(), reserve("a"), settle("refund", "a"), settle("charge", "a")],
    "a fit refunded twice": [grant(), reserve("a"), settle("refund", "a"), settle("refund", "a")],
    "a charge to other people": [grant(), grant("others"), reserve("a"), settle("charge", "a", "others")],
    "a refund to other people": [grant(), grant("others"), reserve("a"), settle("refund", "a", "others")],
    "room from another's refund": [
        *(grant(), reserve("a", _HALF), reserve("b", replace(COST, mu=0.01)), settle("refund", "b")),
        reserve("c", _HALF),
    ],
    "an event of an unknown kind": [grant(), ("void", "people", None, {})],
}


def _honest() -> Finding:
    """A refund makes room again, and the account of the next first fit is its own."""
    history = [
        *(grant(), reserve("a"), settle("charge", "a"), reserve("b"), settle("refund", "b"), reserve("c")),
        *(grant("others"), reserve("d", dataset="others"), settle("refund", "d", "others")),
        reserve("e", _BASIC, "others", account="basic"),
    ]
    refused = _is_refused(chain(history))
    return Finding("an honest history", "accepted", "refused" if refused else "accepted", not refused)


def _gaussian_delta(costs: list[Cost]) -> float:
    mu, epsilon = math.sqrt(sum(cost.mu**2 for cost in costs)), GRANT.epsilon
    delta = stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2)
    return float(delta + (1 + math.exp(epsilon)) * sum(cost.tv_slack for cost in costs))


def _slack_delta(costs: list[Cost]) -> float:
    """A thousandth of delta is kept for the slack of both tables of a pair."""
    return (1 + math.exp(GRANT.epsilon)) * math.fsum(cost.tv_slack for cost in costs) / 1e-3


def _zcdp_delta(costs: list[Cost]) -> float:
    """Bun and Steinke's conversion, looser than ours, from below: the Gaussian of this rho; failures are added."""
    mu, epsilon = math.sqrt(2 * sum(cost.rho for cost in costs)), GRANT.epsilon
    delta = stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2)
    return float(delta + sum(cost.failure_probability for cost in costs))


def _basic_delta(costs: list[Cost]) -> float:
    """The sum of the deltas, or 1 where the epsilons exceed the grant."""
    return math.fsum(cost.delta for cost in costs) if math.fsum(c.epsilon for c in costs) <= 1 + 1e-12 else 1.0


# Costs that take turns, and the delta of a number of them at the grant's epsilon.
TOTALS = {
    "Gaussian account": ([Cost(0.9, 1e-5, mu=0.05, tv_slack=1e-15), Cost(0.9, 1e-5, mu=0.03)], _gaussian_delta),
    "slack": ([Cost(0.9, 1e-5, mu=1e-9, tv_slack=4e-10)], _slack_delta),
    "zCDP": ([Cost(0.9, 1e-5, rho=0.002), Cost(0.9, 1e-5, rho=0.001)], _zcdp_delta),
    "failures": ([Cost(0.9, 1e-5, rho=1e-6, failure_probability=1e-6)], _zcdp_delta),
    "epsilons": ([Cost(0.3, 1e-9), Cost(0.2, 0.0)], _basic_delta),
    "deltas": ([Cost(0.01, 1e-6)], _basic_delta),
    "an account for each fit": ([_FIRST, _SECOND], _basic_delta),
}


def _total(name: str, costs: list[Cost], delta_of: Callable[..., Any]) -> Finding:
    current, admitted = PrivacyFilter(GRANT), list[Any]()
    while len(admitted) < _MOST:
        cost = costs[len(admitted) % len(costs)]
        if not current.admits(cost):
            break
        admitted.append(cost)
        current = replace(current, costs=tuple(admitted), account=current.account_with(cost))
    delta = delta_of(admitted) if admitted else 1.0
    good = 0 < len(admitted) < _MOST and delta <= GRANT.delta * (1 + 1e-9)
    evidence = f"{len(admitted)} fits: {delta:.4g}"
    return Finding(f"filter, {name}", f"delta {GRANT.delta:g} in all", evidence, bool(good))
