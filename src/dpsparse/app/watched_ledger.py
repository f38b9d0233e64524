"""A ledger whose reservation can be given back as long as nothing was released: what `cancel` rests on.

The order is that of every fit: reserve, then charge, durably, before the first release. Here the charge first passes a
gate. Either the gate was closed before, then the reservation is refunded and the fit ends without a release; or it is
passed, and from then on nothing can be cancelled. One lock decides which, so that both never happen.
"""

from typing import Any

from dpsparse.app.gate import Cancelled, Gate
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.ledger.events import LedgerState
from dpsparse.privacy.ledger.ledger import PrivacyLedger, Reservation


class WatchedLedger(PrivacyLedger):
    """A ledger for one fit of the page.

    The job's name is noted in the ledger: after a crash it tells what became of the fit.
    """

    def __init__(self, location: PrivacyLedger, gate: Gate, job: str) -> None:
        super().__init__(location)
        self._gate, self._job = gate, job

    def reserve(self, dataset: str, cost: Cost, **about: Any) -> "_Watched":
        """Hold room for the fit, unless it was cancelled already."""
        if self._gate.closed:
            raise Cancelled
        return _Watched(super().reserve(dataset, cost, job=self._job, **about), self._gate)


class _Watched(Reservation):
    """A reservation that passes the gate before it is charged."""

    def __init__(self, reservation: Reservation, gate: Gate) -> None:
        vars(self).update(vars(reservation))
        self._gate = gate

    def charge(self) -> None:
        """Make the cost final; or, where the fit was cancelled, give the room back and end it."""
        if not self._gate.enter():
            self.refund()
            raise Cancelled
        super().charge()


def charge_of(state: LedgerState, job: str) -> str | None:
    """What a ledger says of a fit of the page: "reserved", "charged" or "refunded"; None where it does not know it."""
    for event in state.events:
        if event.kind == "reserve" and event.details.get("job") == job:
            return state.fits[str(event.fit)].state
    return None
