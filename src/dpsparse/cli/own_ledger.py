"""A ledger that knows what a command reserved: after Ctrl-C, a fit that released nothing is given back."""

from typing import Any

from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.ledger.events import LedgerError
from dpsparse.privacy.ledger.ledger import PrivacyLedger, Reservation


class OwnLedger(PrivacyLedger):
    """The ledger of one command."""

    def __init__(self, location: str | PrivacyLedger) -> None:
        super().__init__(location)
        self._reserved: list[Reservation] = []

    def reserve(self, dataset: str, cost: Cost, **about: Any) -> Reservation:
        """Hold room for a fit, and remember it."""
        reservation = super().reserve(dataset, cost, **about)
        self._reserved.append(reservation)
        return reservation

    def give_back(self) -> bool:
        """Refund what was reserved and never charged; whether nothing that was reserved stays spent.

        A charge comes before the first release, and the ledger refuses to refund what was charged.
        """
        try:
            for reservation in self._reserved:
                reservation.refund()
        except LedgerError:
            return False
        return bool(self._reserved)
