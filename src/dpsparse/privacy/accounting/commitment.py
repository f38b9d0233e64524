"""What a fit will release, and its price, stated before it reads the data.

A fit that has committed can be charged for nothing else, in no other order. That makes its cost a public number: a
ledger can reserve it first, and the tight account, which needs to know what comes later, applies.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeVar

from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.accounting.gdp import excess_fits, mu_of_pure_pieces, mu_of_sequence
from dpsparse.privacy.guarantee import Guarantee

Kind = Literal["pick", "gaussian", "laplace"]


class Priced(Protocol):
    """Anything with a price and a part of the rows."""

    @property
    def part(self) -> int | None:
        """The disjoint part of the rows it reads; None for all."""


_Item = TypeVar("_Item", bound=Priced)


def total(items: Iterable[Priced], price: str) -> float:
    """Sequential composition over all rows and within a part; the dearest of the disjoint parts.

    A record lies in one part. Given the releases of the other parts, which do not read it, its part's
    releases are the only ones that depend on it, so the parts cost the most that one of them costs, even when
    later parts adapt to earlier releases.
    """
    by_part: dict[int | None, list[float]] = {None: []}
    for item in items:
        by_part.setdefault(item.part, []).append(getattr(item, price))
    common = by_part.pop(None)
    return math.fsum(common) + max((math.fsum(prices) for prices in by_part.values()), default=0.0)


def releases_per_record(items: Iterable[_Item]) -> list[list[_Item]]:
    """For each disjoint part of the rows, in order of time, what can depend on a record that lies in it.

    The releases of other parts have a privacy loss of 0 for that record, whatever came before, and may stand anywhere
    among the others: they add nothing to `gaussian_account`'s induction. So the dearest of these lists bounds all.
    """
    common: list[_Item] = []
    by_part: dict[int, list[_Item]] = {}
    for item in items:
        if item.part is None:
            for seen in (common, *by_part.values()):
                seen.append(item)
        else:
            by_part.setdefault(item.part, list(common)).append(item)
    return list(by_part.values()) or [common]


@dataclass(frozen=True)
class Price:
    """The price of one release to a single record; the fields are those of `record.Release`."""

    kind: Kind
    rho: float
    pure_epsilon: float = math.inf
    part: int | None = None


@dataclass(frozen=True)
class Commitment:
    """A whole sequence of releases, in order of time.

    Parameters
    ----------
    prices : tuple of Price
        One for each release. A fit that stops early has released a part of what it paid for, which cannot cost more.
    excess : float
        The most by which its discrete Gaussians differ from rounded ones, all together, in total variation.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> from dpsparse.privacy.accounting.commitment import Commitment, Price
    >>> planned = Commitment((Price("pick", 0.004), Price("gaussian", 0.01)), excess=1e-15)
    >>> planned.is_within(Guarantee(1.0, 1e-6)), planned.is_within(Guarantee(0.5, 1e-6))
    (True, False)
    """

    prices: tuple[Price, ...]
    excess: float = 0.0

    @cached_property
    def rho(self) -> float:
        """Its zCDP to a record."""
        return total(self.prices, "rho")

    @cached_property
    def pure_epsilon(self) -> float:
        """Its pure differential privacy to a record."""
        return total(self.prices, "pure_epsilon")

    @cached_property
    def mu(self) -> float:
        """Its Gaussian differential privacy to a record, but for `excess`; infinite where no bound is known."""
        return max(map(self._mu_of, releases_per_record(self.prices)))

    def _mu_of(self, prices: list[Price]) -> float:
        kinds = {price.kind for price in prices}
        if kinds == {"laplace"}:
            return mu_of_pure_pieces(math.fsum(price.rho for price in prices))
        if "laplace" in kinds or math.isinf(self.excess):
            return math.inf
        return mu_of_sequence([(price.kind, price.rho) for price in prices])

    def is_within(self, guarantee: Guarantee) -> bool:
        """Whether the promise covers it, by one of three sound accounts."""
        return (
            self.rho <= guarantee.rho_per_record
            or self.pure_epsilon <= guarantee.pure_epsilon_per_record
            or (self.mu <= guarantee.mu_per_record and excess_fits(self.excess, guarantee.epsilon, guarantee.delta))
        )

    def cost(self, guarantee: Guarantee) -> Cost:
        """What it costs a person of `promise.records_per_person` = m records.

        Group privacy: m^2 rho (Bun and Steinke 2016, Proposition 1.9), m mu (Dong, Roth and Su 2022, Theorem 2.14),
        m times a pure epsilon; the excess is between two runs on the same table, whoever is in it.
        """
        if not self.is_within(guarantee):
            raise ValueError("the promise does not cover this commitment")
        m = guarantee.records_per_person
        is_pure = self.pure_epsilon <= guarantee.pure_epsilon_per_record
        delta = 0.0 if is_pure else guarantee.delta
        return Cost(guarantee.epsilon, delta, m**2 * self.rho, m * self.mu, self.excess)
