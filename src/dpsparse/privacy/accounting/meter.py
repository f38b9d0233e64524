"""What a fit will spend, and spending it: the commitment to every release, and the meter that holds the fit to it.

A commitment is stated before the data are read. A fit that has committed can be charged for nothing else, in no other
order. That makes its cost a public number: a ledger can reserve it first, and the Gaussian account, which needs to know
what comes later, applies.

A meter is charged before every release. Every slot of a commitment is used once, in order. The next one is either
charged or skipped, and the record keeps a skipped slot at its whole price. A meter opened before a fork is charged on
one side of it alone: each side would draw noise of its own for the same charge.

**A slot may be skipped, and stays paid.** Claim. Let a fit pass over some of its slots, each time deciding from public
numbers and earlier releases alone. Then it costs no more than its commitment. Proof. A skipped slot is a release of a
constant: whatever came before, its two laws are the same, and its privacy loss is 0. Given any state, the decision is
the same on both tables, so the fit is one of those that the composition allows, with a slot's price replaced by 0. In
zCDP and in pure composition the price is at least 0. In the Gaussian account a step takes mu^2 = b of the later
releases to at least b (`Mechanism.mu_squared`), and D_mu rises with mu: the claim of the induction holds a fortiori.
QED. The cost does *not* fall. Which slots were skipped is itself seen only as the fit goes on, so a lower cost would
depend on the releases, and neither (epsilon, delta) nor mu bounds a mixture of runs that each claim another cost. A
refund would also let the fit spend the difference on releases that the plan did not hold.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from dpsparse.privacy.accounting.compose import Composition, compose, compose_parallel
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.privacy.accounting.release import Release, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import NoiseSource


@dataclass(frozen=True)
class Commitment:
    """A whole sequence of planned releases, in order of time.

    Examples
    --------
    >>> from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, Slot
    >>> slots = Slot("pick", ExponentialMechanism(0.004)), Slot("mean", GaussianMechanism(0.01, tv_slack=1e-15))
    >>> planned = Commitment(slots)
    >>> planned.is_within(Guarantee(1.0, 1e-6)), planned.is_within(Guarantee(0.5, 1e-6))
    (True, False)
    """

    # One for each release. A fit that stops early has released a part of what it paid for, which cannot cost more.
    slots: tuple[Slot, ...]

    @cached_property
    def composed(self) -> Composition:
        """Its cost to a single record, in every account."""
        return compose(self.slots)

    def is_within(self, guarantee: Guarantee) -> bool:
        """Whether a guarantee covers it, by one of three sound accounts."""
        return self.composed.is_within(guarantee)

    def cost(self, guarantee: Guarantee) -> Cost:
        """Its cost to a person, by group privacy (`protection`).

        `tv_slack` and `failure_probability` compare two runs on the same table, however many records a person has.
        """
        if not self.is_within(guarantee):
            raise ValueError("the guarantee does not cover this commitment")
        person, composed = guarantee.protects, self.composed
        is_pure = composed.pure_epsilon <= guarantee.pure_epsilon_per_record
        delta = 0.0 if is_pure else guarantee.delta
        return Cost(
            guarantee.epsilon,
            delta,
            person.rho(composed.rho),
            person.mu(composed.mu),
            composed.tv_slack,
            composed.failure_probability,
        )


# What is put before the names of releases: one text for all, or one for each name.
Prefix = str | Callable[[str], str]


def in_part(commitment: Commitment, part: int | None, name: Prefix) -> tuple[Slot, ...]:
    """The slots of a commitment on all of its rows, once these are a part of a larger table; `name` is put first.

    The part is None where the rows are still all of them, and the commitment is one of several.
    """
    if any(slot.part is not None for slot in commitment.slots):
        raise ValueError("a fit that divides its rows cannot be part of another")
    return tuple(replace(slot, name=part_name(name, slot.name), part=part) for slot in commitment.slots)


def part_name(prefix: Prefix, name: str) -> str:
    """The name of a release of one fit among several."""
    return f"{prefix if isinstance(prefix, str) else prefix(name)}: {name}"


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
