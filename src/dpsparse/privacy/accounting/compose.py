"""Composition: what several releases cost a single record together, in every account.

`compose` is the one function that adds releases up, for plans (`Commitment`) and for records (`PrivacyRecord`) alike.

**Parts.** A record lies in one of the disjoint parts of the rows. Given the releases of the other parts, which do not
read it, only the releases of its own part and those on all rows depend on it, so the parts together cost the most that
one of them costs, even when later parts adapt to earlier releases. In the Gaussian account the releases of other parts
have a privacy loss of 0 for that record, whatever came before, and may stand anywhere among the others: they add
nothing to the induction in `gdp`.

**Failures.** Let f_i be the failure probability of release i: whatever came before, on every table an event of
probability at most f_i may happen, and conditioned on its absence the release costs what it says. An independent coin
can enlarge such an event until its probability is exactly f_i, which leaves the law without it unchanged. Let M* be
the run whose releases are conditioned not to fail, with laws P* and Q* on two neighbouring tables, and P and Q those of
the real run. Along a run with outputs o, w(o) = prod (1 - f_i) is a function of o alone, the same on all tables, even
where later releases are chosen by earlier ones. A run without a failure has the law w dP*, and the probability of any
failure is at most F = sum f_i.
(zCDP.) If M* is (e, d)-DP, then P(S) <= int_S w dP* + F <= e^e int_S w dQ* + d + F <= e^e Q(S) + d + F, since
(e, d)-DP holds for functions between 0 and 1 as it does for events: rho is converted at delta - F. (Gaussian.) The run
and M* differ by at most F in total variation on every table, so F is added to `tv_slack`. (Pure.) There is no pure
epsilon where F > 0. The sums run over all releases, whatever part they read: an upper bound.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

from dpsparse.privacy.accounting.gdp import tv_slack_fits
from dpsparse.privacy.accounting.release import Mechanism
from dpsparse.privacy.guarantee import Guarantee


class Priced(Protocol):
    """A slot or a release: a mechanism at its price, on a part of the rows."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism, at its price."""

    @property
    def part(self) -> int | None:
        """The disjoint part of the rows that it reads; None for all."""


_Item = TypeVar("_Item", bound=Priced)


@dataclass(frozen=True)
class Composition:
    """The cost of slots or releases to a single record, in every account."""

    items: tuple[Priced, ...]  # In order of time.

    @cached_property
    def rho(self) -> float:
        """Their zCDP in a run without failures."""
        return compose_parallel(self.items, "rho")

    @cached_property
    def pure_epsilon(self) -> float:
        """Their pure differential privacy; infinite where one may fail."""
        return compose_parallel(self.items, "pure_epsilon") if not self.failure_probability else math.inf

    @cached_property
    def mu(self) -> float:
        """Their mu of Gaussian differential privacy, up to `tv_slack`; infinite where no bound is known."""
        if math.isinf(self.tv_slack):
            return math.inf
        return max(compose_gdp([item.mechanism for item in seen]) for seen in releases_per_record(self.items))

    @cached_property
    def tv_slack(self) -> float:
        """The most by which they differ from ideal releases in total variation, failures included.

        Slacks are of discrete noise: the sum of their squares bounds half of a KL divergence (`discreteness_slack`).
        """
        return math.hypot(*(item.mechanism.tv_slack for item in self.items)) + self.failure_probability

    @cached_property
    def failure_probability(self) -> float:
        """The probability, at most, that any of them fails."""
        return math.fsum(item.mechanism.failure_probability for item in self.items)

    def is_within(self, guarantee: Guarantee) -> bool:
        """Whether a guarantee covers them, by one of three sound accounts."""
        return self.is_within_by_sums(guarantee) or (
            self.mu <= guarantee.mu_per_record and self.tv_slack_fits(guarantee)
        )

    def is_within_by_sums(self, guarantee: Guarantee) -> bool:
        """Whether a guarantee covers them by zCDP or pure composition, whose sums need not know what comes later."""
        return self._rho_fits(guarantee) or self.pure_epsilon <= guarantee.pure_epsilon_per_record

    def _rho_fits(self, guarantee: Guarantee) -> bool:
        if not self.failure_probability:
            return self.rho <= guarantee.rho_per_record
        return guarantee.epsilon_spent(self.rho, failure_probability=self.failure_probability) <= guarantee.epsilon

    def tv_slack_fits(self, guarantee: Guarantee) -> bool:
        """Whether `tv_slack` stays within the share of the guarantee's delta that is kept for it."""
        return tv_slack_fits(self.tv_slack, guarantee.epsilon, guarantee.delta)


def compose(items: Iterable[Priced]) -> Composition:
    """The cost of slots or releases, in order of time, to a single record.

    Examples
    --------
    >>> from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, Slot
    >>> cost = compose([Slot("pick", ExponentialMechanism(0.01)), Slot("mean", GaussianMechanism(0.02))])
    >>> round(cost.rho, 9), round(cost.mu, 3)
    (0.03, 0.251)
    """
    return Composition(tuple(items))


def compose_parallel(items: Iterable[Priced], price: str) -> float:
    """Add up a price over all rows and within each part, and take the most costly of the disjoint parts."""
    by_part: dict[int | None, list[float]] = {None: []}
    for item in items:
        by_part.setdefault(item.part, []).append(getattr(item.mechanism, price))
    common = by_part.pop(None)
    return math.fsum(common) + max((math.fsum(prices) for prices in by_part.values()), default=0.0)


def releases_per_record(items: Iterable[_Item]) -> list[list[_Item]]:
    """For each disjoint part of the rows, in order of time, the releases that can depend on a record in it."""
    common: list[_Item] = []
    by_part: dict[int, list[_Item]] = {}
    for item in items:
        if item.part is None:
            for seen in (common, *by_part.values()):
                seen.append(item)
        else:
            by_part.setdefault(item.part, list(common)).append(item)
    return list(by_part.values()) or [common]


def compose_gdp(mechanisms: Sequence[Mechanism], *, certify: bool = True) -> float:
    """The mu whose curve bounds that of a sequence of releases, in order of time; infinite where none is known.

    Examples
    --------
    >>> from dpsparse.privacy.accounting.release import GaussianMechanism
    >>> round(compose_gdp([GaussianMechanism(0.5)]), 9)
    1.0
    """
    squared = 0.0
    for mechanism in reversed(mechanisms):
        squared = mechanism.mu_squared(squared, certify=certify)
    return math.sqrt(squared) * (1 + 1e-12)


def largest_factor(mechanisms: Sequence[Mechanism], mu: float) -> float:
    """The largest factor, from 1 to 2, by which every rho can be multiplied so that the sequence stays within mu.

    Without certificates mu^2 is in proportion to the factor, for every step of `compose_gdp` is linear in the
    prices. The sequence with that factor is then certified; the factor is 1 where that fails.
    """
    squared = compose_gdp(mechanisms, certify=False) ** 2
    factor = min(2.0, max(1.0, mu**2 / squared * (1 - 1e-9))) if squared else 2.0
    stretched = [replace(mechanism, rho=factor * mechanism.rho) for mechanism in mechanisms]
    return factor if compose_gdp(stretched) <= mu else 1.0
