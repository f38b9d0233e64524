"""What a fit may spend: a meter is charged before every release and refuses what was not committed to."""

from typing import Protocol

from dpsparse.privacy.accounting.commitment import Commitment, total
from dpsparse.privacy.accounting.record import PrivacyRecord, Release, excess_of
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import NoiseSource
from dpsparse.privacy.process import OpenedHere

# Also without a ledger: the two sides of a fork would have different noise, and two models, for one promise.
_FORKED = "a fit is charged only in the process that began it; after a fork, call fit anew in the child"


class BudgetExceeded(RuntimeError):
    """A release would cost more than the promise covers; nothing was released."""


class Reservation(Protocol):
    """Room in a ledger, held for one fit."""

    def charge(self) -> None:
        """Make the cost final and durable; a second call does nothing, and is refused in another process."""
        ...


class Meter:
    """Counts a fit's spending: charged before each release, and refuses what the promise does not cover.

    Parameters
    ----------
    promise : Promise
        The most a fit may spend.
    n_records : int
        The public number of rows.
    source : NoiseSource
        Where the noise comes from.
    """

    def __init__(self, guarantee: Guarantee, n_records: int, source: NoiseSource) -> None:
        self.guarantee = guarantee
        self.n_records = n_records
        self.source = source
        self.commitment: Commitment | None = None
        self._releases: tuple[Release, ...] = ()
        self._reservation: Reservation | None = None
        self._opened = OpenedHere(RuntimeError, _FORKED)

    def commit(self, commitment: Commitment) -> None:
        """Commit to a whole sequence of releases; nothing else can be charged from here on."""
        if self._releases or self.commitment not in (None, commitment):
            raise RuntimeError("a fit commits once, before its first release")
        if not commitment.is_within(self.guarantee):
            raise BudgetExceeded(
                f"the planned releases need rho {commitment.rho:.4g}, more than the promise's "
                f"{self.guarantee.rho_per_record:.4g}; raise epsilon or release less"
            )
        self.commitment = commitment

    def hold(self, reservation: Reservation) -> None:
        """Spend from a ledger: the reservation is charged, durably, before the first release."""
        if self._releases or self.commitment is None or not self.source.private:
            raise RuntimeError("a reservation needs a commitment, a private source and no release before it")
        self._reservation = reservation

    def charge(self, *releases: Release) -> None:
        """Pay for releases about to be made, all or none, and only in the process that opened the meter."""
        self._opened.require()
        after = (*self._releases, *releases)
        if not (self._is_committed(releases, self.commitment) if self.commitment else self._is_within(after)):
            raise BudgetExceeded(
                f"'{releases[0].name}' needs rho {total(releases, 'rho'):.4g} beside the "
                f"{total(self._releases, 'rho'):.4g} spent, more than the promise's "
                f"{self.guarantee.rho_per_record:.4g} or not what the fit committed to; raise epsilon or release less"
            )
        if self._reservation is not None:
            self._reservation.charge()
        self._releases = after

    def _is_committed(self, releases: tuple[Release, ...], commitment: Commitment) -> bool:
        """Whether these are the next of the commitment's; those before were found to be its first."""
        planned = commitment.prices[len(self._releases) :]
        return (
            len(releases) <= len(planned)
            and all(
                (made.kind, made.rho, made.part) == (price.kind, price.rho, price.part)
                and made.pure_epsilon <= price.pure_epsilon
                for made, price in zip(releases, planned, strict=False)
            )
            and excess_of((*self._releases, *releases)) <= commitment.excess
        )

    def _is_within(self, releases: tuple[Release, ...]) -> bool:
        return (
            total(releases, "rho") <= self.guarantee.rho_per_record
            or total(releases, "pure_epsilon") <= self.guarantee.pure_epsilon_per_record
        )

    def record(self) -> PrivacyRecord:
        """The account so far."""
        return PrivacyRecord(
            guarantee=self.guarantee,
            n_records=self.n_records,
            releases=self._releases,
            noise=self.source.name,
            private=self.source.private,
        )
