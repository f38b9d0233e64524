"""Spending from a ledger: reserve before the data are read, charge before a release, refund only an unused fit.

`reserved` reserves and refunds. The charge comes later and elsewhere: `Meter.charge` makes it at the first release.
docs/privacy.md lists the whole order, from `fit` to the ledger.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpsparse.privacy.accounting.bisection import narrow
from dpsparse.privacy.accounting.filter import PrivacyFilter, round_down
from dpsparse.privacy.accounting.meter import BudgetExceeded, Commitment, Meter
from dpsparse.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from dpsparse.estimators._types import LedgerLocation
    from dpsparse.privacy.ledger.ledger import PrivacyLedger


CommitmentFor = Callable[[Guarantee], Commitment]


@contextmanager
def reserved(
    ledger: "LedgerLocation", dataset: str, meter: Meter, commitment_for: CommitmentFor, **about: Any
) -> Iterator[None]:
    """Reserve the cost of a committed fit; refund it where the block, which only validates the data, fails.

    The meter charges the reservation before the first release. `commitment_for` gives the fit's commitment for any
    guarantee, `about` are public facts for the ledger's history.
    """
    from dpsparse.privacy.ledger.events import LedgerError

    ledger = _opened(ledger)
    guarantee, commitment = meter.guarantee, meter.commitment
    assert commitment is not None  # the fit has committed
    try:
        about |= {"adjacency": guarantee.adjacency, "records_per_person": guarantee.records_per_person}
        if guarantee.rows is not None:
            about |= {"records_per_person": None, "rows": guarantee.rows}
        reservation = ledger.reserve(dataset, commitment.cost(guarantee), **about)
    except BudgetExceeded as refusal:
        fits = _largest_epsilon(ledger.balance(dataset), guarantee, commitment_for)
        remedy = f"epsilon={fits:g} would fit" if fits else "at this delta no useful epsilon would fit"
        granted = ledger.balance(dataset).grant.delta
        if guarantee.delta > granted:
            remedy += f"; more would fit with delta={granted:g}, the grant's: give that"
        raise BudgetExceeded(f"{refusal}; {remedy}") from None
    meter.hold(reservation)
    try:
        yield
    except BaseException as error:
        try:
            reservation.refund()
        except LedgerError as trouble:
            error.add_note(f"The reservation could not be refunded and stays spent: {trouble}")
        raise


def granted_delta(ledger: "LedgerLocation", dataset: str | None) -> float | None:
    """The delta at which a ledger adds up the fits on a dataset; None without a ledger."""
    return None if ledger is None or dataset is None else _opened(ledger).balance(dataset).grant.delta


def _opened(ledger: "LedgerLocation") -> "PrivacyLedger":
    """A ledger as it was given: a caller's own may watch what becomes of its reservations."""
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

    assert ledger is not None  # a fit without one reserves nothing
    return ledger if isinstance(ledger, PrivacyLedger) else PrivacyLedger(ledger)


def _largest_epsilon(balance: PrivacyFilter, guarantee: Guarantee, commitment_for: CommitmentFor) -> float:
    """The largest epsilon, to three digits, at which this fit would be admitted; 0 if no useful one is."""

    def fits(epsilon: float) -> bool:
        smaller = replace(guarantee, epsilon=epsilon)
        commitment = commitment_for(smaller)
        return commitment.is_within(smaller) and balance.admits(commitment.cost(smaller))

    least = guarantee.epsilon / 1000
    if not fits(least):
        return 0.0
    low, _ = narrow(
        fits, least, guarantee.epsilon, lambda low, high: high > 1.001 * low, lambda low, high: (low * high) ** 0.5
    )
    rounded = round_down(low)
    return rounded if fits(rounded) else 0.0
