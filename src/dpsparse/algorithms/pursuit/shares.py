"""The few shapes that a share of rho has, as a function of public facts; each prints as the method's table shows it.

N = n sqrt(rho) is the size of a table as privacy sees it.
"""

import math
from collections.abc import Sized
from dataclasses import dataclass
from typing import Protocol

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.decisions import clip
from dpsparse.algorithms.pursuit.facts import PublicFacts


class Formula(Protocol):
    """A share of rho from public facts; it prints as it stands in the method's table."""

    def of(self, facts: PublicFacts) -> float:
        """The share."""


@dataclass(frozen=True)
class Share:
    """``clip(per_N2 / N^2, least, most)``; in unknown units the first is at least ``unknown_per_N2 / N^2``.

    For few features of a tiny table it may be more, ``together`` for all of them.
    It is for counts, quantiles and means over people: more rows of each make none of them more precise.
    """

    per_N2: float
    least: float
    most: float
    unknown_per_N2: float = 0.0
    together: float = 0.0

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        N = facts.counted_size
        in_unknown_units = 0.0 if facts.known else 1 / N**2
        few = self.together / max(1, decisions.n_picks(facts)) if decisions.tiny(facts) else 0.0
        most = max(self.most, few)
        return clip(max(self.per_N2 / N**2, self.unknown_per_N2 * in_unknown_units), self.least, most)

    def __str__(self) -> str:
        if self.together:
            few = f"in tiny tables to {self.together:g} for all features"
            return f"{self.per_N2:,g} / N², {self.least:g} to {self.most:g}; {few}"
        if not self.unknown_per_N2:
            return f"{self.per_N2:,g} / N², {self.least:g} to {self.most:g}"
        if not self.per_N2:
            return f"{self.least:g}; with unknown units {self.unknown_per_N2:,g} / N², {self.least:g} to {self.most:g}"
        with_unknown = f"(unknown units: {self.unknown_per_N2:,g} / N²)"
        return f"{self.per_N2:,g} / N² {with_unknown}, {self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class Fixed:
    """The same share for all facts."""

    share: float

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        return self.share

    def __str__(self) -> str:
        return f"{self.share:g}"


@dataclass(frozen=True)
class PartOf:
    """``part`` of the share of another release, ``name``."""

    part: float
    share: Formula
    name: str

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        return self.part * self.share.of(facts)

    def __str__(self) -> str:
        return f"{self.part:g} of the {self.name}'s"


@dataclass(frozen=True)
class Abundant:
    """``scarce + change * abundance``: abundance is 0 where privacy noise dominates and 1 where sampling noise does.

    Where units are public, it is the first number.
    """

    scarce: float
    change: float

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        return self.scarce if facts.known else self.scarce + self.change * decisions.abundance(facts)

    def __str__(self) -> str:
        return f"{self.scarce:g}; with unknown units {self.scarce + self.change:g} where N is large"


@dataclass(frozen=True)
class Scarce:
    """``base + extra * clip(2 - N / size, 0, 1)``: more in small tables."""

    base: float
    extra: float
    size: float

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        return self.base + self.extra * clip(2 - facts.size / self.size, 0, 1)

    def __str__(self) -> str:
        return f"{self.base:g}, and up to {self.extra:g} more below N = {2 * self.size:g}"


@dataclass(frozen=True)
class Picks:
    """``base + rate * log2(h / typical)`` within limits, h the noise-to-signal ratio of a pick.

    Without units there is more to learn after a pick; where features are few, picks need less: the share is then at
    most ``unknown_base + unknown_rate * log d``.
    """

    base: float
    rate: float
    typical: float
    least: float
    most: float
    most_unknown: float
    unknown_base: float
    unknown_rate: float

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        share = self.base + self.rate * math.log2(decisions.noise_to_signal(facts) / self.typical)
        few = self.unknown_base + self.unknown_rate * math.log(facts.width)
        return clip(share, self.least, self.most if facts.known else min(self.most_unknown, few))

    def __str__(self) -> str:
        return (
            f"{self.base:g} + {self.rate:g} log2(h / {self.typical:g}), {self.least:g} to {self.most:g}; with unknown "
            f"units to {self.most_unknown:g} or {self.unknown_base:g} + {self.unknown_rate:g} log d"
        )


@dataclass(frozen=True)
class Splits:
    """2 nats^2 / N^2 for each feature: an even split then leads a useless one by that many nats."""

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        return decisions.splits_share(facts)

    def __str__(self) -> str:
        return f"2 · {c.LEAST_NATS}² d / N² at least, {c.SPLITS_SHARE:g} at most"


def median_share(n: float, rho: float, grid: Sized, least: float, most: float) -> float:
    """The share at which a median by exponential mechanism is safe from the far ends of its grid.

    A point beyond all data has a utility of n/2 less than the median, so all points of the grid together have odds of
    at most exp(log |grid| - e0 n / 4), e0^2 = 8 share rho: these are kept to e^-6, within public limits on the share.
    """
    epsilon0 = c.OF_A_MEDIAN * (math.log(len(grid)) + c.SAFE_MEDIAN_NATS) / n
    return clip(epsilon0**2 / (c.BOUNDED_RANGE * rho), least, most)
