"""Spending: a meter is charged before every release, and refuses what the fit has not committed to.

Every slot of a commitment is used once, in order. The next one is either charged or skipped, and a skipped slot stays
paid (`commitment` proves that this is sound): the record keeps it at its whole price. A meter opened before a fork is
charged on one side of it alone: each side would draw noise of its own for the same charge.
"""

import os
from dataclasses import replace
from typing import Protocol

from dpsparse.privacy.accounting.commitment import Commitment, Prefix, part_name
from dpsparse.privacy.accounting.compose import compose, compose_parallel
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.privacy.accounting.release import Release
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import NoiseSource

# Also without a ledger: the two sides of a fork would have different noise, and two models, for one guarantee.
_FORKED = "a fit is charged only in the process that began it; after a fork, call fit anew in the child"

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


# Process numbers are reused: a grandchild may have that of an ancestor that has ended. The count of forks is not.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class OpenedHere:
    """A check that the process is still the one in which this object was made.

    In another process it raises `error`, with a line that has the remedy.

    Examples
    --------
    >>> from dpsparse.privacy.accounting.meter import OpenedHere
    >>> OpenedHere(RuntimeError, "charge where you opened").require()
    """

    def __init__(self, error: type[RuntimeError], message: str) -> None:
        self._error, self._message = error, message
        self._process = os.getpid(), _forks

    def require(self) -> None:
        """Refuse to go on in any other process."""
        if (os.getpid(), _forks) != self._process:
            raise self._error(self._message)


class BudgetExceeded(RuntimeError):
    """A release would cost more than the guarantee covers; nothing was released."""


class Reservation(Protocol):
    """Room in a ledger, held for one fit; `ledger.Reservation` is one."""

    def charge(self) -> None:
        """Make the cost final and durable; a second call does nothing, and is refused in another process."""
        ...


class Meter:
    """The spending of one fit: charged before each release, it refuses what the guarantee does not cover."""

    def __init__(self, guarantee: Guarantee, n_records: int, source: NoiseSource) -> None:
        self.guarantee = guarantee
        self.n_records = n_records
        self.source = source
        self.commitment: Commitment | None = None
        self._releases: tuple[Release, ...] = ()
        self._reservation: Reservation | None = None
        self._opened = OpenedHere(RuntimeError, _FORKED)

    def commit(self, commitment: Commitment) -> None:
        """Commit to a whole sequence of releases; nothing else can be charged from here on. Repeating it is a no-op."""
        if self.commitment == commitment:
            return
        if self._releases or self.commitment is not None:
            raise RuntimeError("a fit commits once, before its first release")
        if not commitment.is_within(self.guarantee):
            raise BudgetExceeded(
                f"the planned releases need rho {commitment.composed.rho:.4g}, more than the guarantee's "
                f"{self.guarantee.rho_per_record:.4g}; raise epsilon or release less"
            )
        self.commitment = commitment

    def hold(self, reservation: Reservation) -> None:
        """Spend from a ledger: the reservation is charged, durably, before the first release."""
        if self._releases or self.commitment is None or not self.source.private:
            raise RuntimeError("a reservation needs a commitment, a private source and no release before it")
        self._reservation = reservation

    def charge(self, *releases: Release) -> None:
        """Pay for releases about to be made, all or none, and only in the process that opened the meter.

        The first payment charges the reservation, if there is one: on return it is on disk.
        """
        self._opened.require()
        after = (*self._releases, *releases)
        if not (self._is_committed(releases, self.commitment) if self.commitment else self._is_within(after)):
            raise BudgetExceeded(
                f"'{releases[0].name}' needs rho {compose_parallel(releases, 'rho'):.4g} beside the "
                f"{compose_parallel(self._releases, 'rho'):.4g} spent, more than the guarantee's "
                f"{self.guarantee.rho_per_record:.4g} or not what the fit committed to; raise epsilon or release less"
            )
        self._pay(after)

    def skip(self, name: str) -> None:
        """Pass over the next slot of the commitment, which must have this name: it stays paid, and nothing is released.

        The decision may rest on public numbers and on earlier releases alone.
        """
        self._opened.require()
        slots = self.commitment.slots[len(self._releases) :] if self.commitment else ()
        if not slots or slots[0].name != name:
            raise RuntimeError(f"'{name}' is not the next release that the fit committed to; it cannot be skipped")
        self._pay((*self._releases, slots[0].skipped()))

    def _pay(self, after: tuple[Release, ...]) -> None:
        if self._reservation is not None:
            self._reservation.charge()
        self._releases = after

    def _is_committed(self, releases: tuple[Release, ...], commitment: Commitment) -> bool:
        """Whether these releases fill the next slots of the commitment; earlier ones were checked at their charge."""
        slots = commitment.slots[len(self._releases) :]
        return len(releases) <= len(slots) and all(
            slot.pays_for(release) for slot, release in zip(slots, releases, strict=False)
        )

    def _is_within(self, releases: tuple[Release, ...]) -> bool:
        return compose(releases).is_within_by_sums(self.guarantee)

    def record(self) -> PrivacyRecord:
        """The account so far."""
        return PrivacyRecord(
            guarantee=self.guarantee,
            n_records=self.n_records,
            releases=self._releases,
            noise=self.source.name,
            private=self.source.private,
        )


class MeterShare(Meter):
    """A share of a meter, for a fit on one part of its rows, or on all: whatever is charged here is charged there.

    The whole meter has committed to the slots of all its shares in order, and refuses anything else.

    The whole pays before every release; `guarantee` is the one by which the share is planned. Parts are disjoint; None
    is for all rows, where what several shares cost adds up. `name` is put before the names of the releases; it is a
    function of the name where the share pays for several.
    """

    def __init__(self, whole: Meter, guarantee: Guarantee, n_records: int, *, part: int | None, name: Prefix) -> None:
        super().__init__(guarantee, n_records, whole.source)
        self._whole, self._part, self._name = whole, part, name

    def charge(self, *releases: Release) -> None:
        """Pay from the whole meter for releases about to be made, all or none; it refuses another process."""
        self._whole.charge(
            *(replace(release, name=part_name(self._name, release.name), part=self._part) for release in releases)
        )
        self._releases = (*self._releases, *releases)

    def skip(self, name: str) -> None:
        """Pass over the next slot, here and in the whole meter; it stays paid."""
        self._whole.skip(part_name(self._name, name))
        skipped = self._whole.record().releases[-1]
        self._releases = (*self._releases, replace(skipped, name=name, part=None))
