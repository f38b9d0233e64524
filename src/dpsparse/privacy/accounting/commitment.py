"""The plan of a fit: every release it will make, and their cost, stated before it reads the data.

A fit that has committed can be charged for nothing else, in no other order. That makes its cost a public number: a
ledger can reserve it first, and the Gaussian account, which needs to know what comes later, applies.

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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from dpsparse.privacy.accounting.compose import Composition, compose
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.accounting.release import Slot
from dpsparse.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Commitment:
    """A whole sequence of planned releases, in order of time.

    Examples
    --------
    >>> from dpsparse.privacy.accounting.commitment import Commitment
    >>> from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, Slot
    >>> from dpsparse.privacy.guarantee import Guarantee
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
