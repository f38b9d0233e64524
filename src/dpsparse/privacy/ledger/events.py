"""The events of a ledger, the chain that binds them, and their sum.

Events are never changed or removed. Each carries the SHA-256 of the one before it, and its own, over all its
fields: an edit, a deletion, an insertion or a reordering breaks the chain. `LedgerState` reads events in order, checks
the chain and repeats every decision, so a ledger is either read whole or refused.

The limits of a chain: whoever may write to the database can drop the newest events, or write a whole new chain. Only
the digest of the newest event, kept elsewhere, shows that. `dpsparse budget show` prints it and
`dpsparse budget verify --head` checks that the ledger still contains it.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from dpsparse.privacy.accounting.filter import Cost, PrivacyFilter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger.location import granted_name
from dpsparse.privacy.protection import Adjacency

GENESIS = "0" * 64


class LedgerError(RuntimeError):
    """A ledger could not be reached, read or trusted; nothing was released."""


@dataclass(frozen=True)
class Event:
    """One line of a ledger."""

    number: int  # 1 for the first
    dataset: str
    fit: str | None  # the fit's id; None for a grant
    kind: str
    payload: str  # the details as canonical JSON
    # SHA-256 of the event before, and of this one.
    previous: str
    digest: str

    def expected_digest(self) -> str:
        """The digest that belongs to the other fields."""
        fields = [self.number, self.dataset, self.fit, self.kind, self.payload, self.previous]
        return hashlib.sha256(json.dumps(fields).encode()).hexdigest()

    @property
    def details(self) -> dict[str, Any]:
        """The payload as a dict."""
        details: dict[str, Any] = json.loads(self.payload)
        return details


@dataclass(frozen=True)
class Fit:
    """A fit in the ledger, and its state: reserved, charged or refunded."""

    dataset: str
    cost: Cost
    state: str


def canonical(details: dict[str, Any]) -> str:
    """JSON with sorted keys, no blanks, and null for infinity."""
    finite = {key: None if value == math.inf else value for key, value in details.items()}
    return json.dumps(finite, sort_keys=True, separators=(",", ":"), allow_nan=False)


def cost_details(cost: Cost) -> dict[str, float]:
    """A cost as the entries of a payload; older ledgers have no failure probability, and none is written for 0."""
    entries = asdict(cost)
    entries["excess"] = entries.pop("tv_slack")
    if not cost.failure_probability:
        del entries["failure_probability"]
    return entries


def _cost_of(details: dict[str, Any]) -> Cost:
    def number(value: float | None) -> float:
        return math.inf if value is None else float(value)

    numbers = {name: number(details[name]) for name in ("epsilon", "delta", "rho", "mu")}
    failure = number(details.get("failure_probability", 0.0))
    return Cost(**numbers, tv_slack=number(details["excess"]), failure_probability=failure)


@lru_cache(maxsize=1024)
def _grant(epsilon: float, delta: float, adjacency: Adjacency) -> Guarantee:
    """One object for each grant, so that its limits are computed once and not at every read."""
    return Guarantee(epsilon, delta, adjacency)


class LedgerState:
    """All events of a ledger, checked one by one, and the balance of every dataset.

    The events are from the first on.

    Examples
    --------
    >>> state = LedgerState([])
    >>> granted = state.write("trial-7", None, "grant", {"epsilon": 1.0, "delta": 1e-6, "adjacency": "replace-one",
    ...     "records_per_person": 1})
    >>> state.filters["trial-7"].epsilon_left
    1.0
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: list[Event] = []
        self.filters: dict[str, PrivacyFilter] = {}
        self.records_per_person: dict[str, int] = {}
        self.fits: dict[str, Fit] = {}
        for event in events:
            self.read(event)

    @property
    def head(self) -> str:
        """The digest of the newest event."""
        return self.events[-1].digest if self.events else GENESIS

    def name_of(self, dataset: object) -> str:
        """The name here that this spelling means; see `granted_name`."""
        return granted_name(dataset, self.filters)

    def write(self, dataset: str, fit: str | None, kind: str, details: dict[str, Any]) -> Event:
        """Append an event that the rules allow."""
        event = Event(len(self.events) + 1, dataset, fit, kind, canonical(details), self.head, "")
        event = replace(event, digest=event.expected_digest())
        self.read(event)
        return event

    def read(self, event: Event) -> None:
        """Check an event, and apply it; LedgerError where it was changed by hand."""
        number = len(self.events) + 1
        if event.number != number:
            raise LedgerError(f"event {number} is missing or out of order: the ledger was changed by hand")
        try:
            intact = event.previous == self.head and event.digest == event.expected_digest()
        except (TypeError, ValueError):
            intact = False
        if not intact:
            raise LedgerError(f"event {number} does not match its digest: the ledger was changed by hand")
        try:
            refusal = getattr(self, f"apply_{event.kind}", _unknown)(event)
        except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError):
            refusal = "is not in a form this version writes"
        if refusal:
            raise LedgerError(f"event {number} {refusal}: the ledger was not written by dpsparse alone")
        self.events.append(event)

    def apply_grant(self, event: Event) -> str | None:
        """Apply a grant; give the reason where the rules do not allow it."""
        if event.dataset in self.filters or event.fit is not None:
            return "grants a budget twice"
        details = event.details
        self.filters[event.dataset] = PrivacyFilter(
            _grant(float(details["epsilon"]), float(details["delta"]), details["adjacency"])
        )
        self.records_per_person[event.dataset] = int(details["records_per_person"])
        return None

    def apply_reserve(self, event: Event) -> str | None:
        """Apply a reservation."""
        current, cost = self.filters[event.dataset], _cost_of(event.details)
        if event.fit is None or event.fit in self.fits:
            return "reserves for a fit that is known"
        if event.details["records_per_person"] < self.records_per_person[event.dataset]:
            return "is for people with fewer records than were granted for"
        if event.details["account"] != current.account_with(cost) or not current.admits(cost):
            return "reserves more than was left"
        self.filters[event.dataset] = replace(current, costs=(*current.costs, cost), account=current.account_with(cost))
        self.fits[event.fit] = Fit(event.dataset, cost, "reserved")
        return None

    def apply_charge(self, event: Event) -> str | None:
        """Apply a charge."""
        return self._settle(event, "charged")

    def apply_refund(self, event: Event) -> str | None:
        """Apply a refund."""
        refusal = self._settle(event, "refunded")
        if refusal is None:
            current, costs = self.filters[event.dataset], list(self.filters[event.dataset].costs)
            costs.remove(self.fits[str(event.fit)].cost)
            self.filters[event.dataset] = replace(current, costs=tuple(costs))
        return refusal

    def _settle(self, event: Event, state: str) -> str | None:
        fit = self.fits[str(event.fit)]
        if fit.state != "reserved" or fit.dataset != event.dataset:
            return f"is for a fit that is {fit.state}"
        self.fits[str(event.fit)] = replace(fit, state=state)
        return None


def _unknown(event: Event) -> str:
    return "is of an unknown kind"
