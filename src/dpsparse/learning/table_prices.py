"""What the releases about a raw table cost, from public numbers alone, and their slots.

At a share s of rho a count in C histograms is known to sqrt(C / (s rho)) records; a share in proportion to
C / (rho n^2) therefore keeps that noise at a fixed share of the records, within limits at both ends.
"""

import math
from dataclasses import dataclass

from dpsparse.io.cells.grammar import N_BUCKETS, CellClass
from dpsparse.privacy.accounting.gdp import TV_SLACK_SHARE
from dpsparse.privacy.accounting.release import GaussianMechanism, PartitionSelection, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.partition import RECORD_STEPS

# The most numbers that a release draws for one column.
_NUMBERS = {"kinds": len(CellClass), "distinct values": 1, "categories": N_BUCKETS}
SLOTS = tuple(_NUMBERS)
# The share of the columns that may be text which prices assume to be text: they are fixed before the vote.
_TEXT_SHARE = 1 / 3
# Names are priced for this many selected columns of text at most.
_MOST_NAMED = 3
# Of the share of delta that the Gaussian account keeps for slack, names have one part in PARTS, at EPSILONS times the
# fit's epsilon and at epsilon 3 at least. Beyond MOST the exponential leaves nothing.
_EPSILONS, _MOST_EPSILON, _PARTS = 3, 60.0, 20


@dataclass(frozen=True)
class TableShare:
    """The share of rho of a release about a raw table: ``clip(per_count / (rho n^2), least, most)`` a column.

    `counts` says of which columns there are that many histograms.
    """

    release: str
    counts: str
    per_count: float
    least: float
    most: float
    reason: str

    def of(self, count: float, n: int, rho: float) -> float:
        """The share."""
        return min(max(self.per_count * count / (rho * n**2), self.least), self.most)

    def __str__(self) -> str:
        return f"{self.per_count:,g} / N² for each of the {self.counts}, {self.least:g} to {self.most:g}"


KINDS = TableShare(
    "kinds",
    "columns",
    4_000,
    0.002,
    0.05,
    "Noise of a sixtieth of the records in each class: gaps in a thirtieth of them are seen, and kinds need less.",
)
DISTINCT_VALUES = TableShare(
    "distinct values",
    "columns that may be text, a third of them",
    200,
    0.001,
    0.01,
    "Noise of a twentieth of the records, where a fifth decides.",
)
CATEGORIES = TableShare(
    "categories",
    "columns that may be text, a third of them",
    3e4,
    0.005,
    0.05,
    "Buckets of 2 % of the records are candidates.",
)
NAMES = TableShare(
    "names",
    "selected columns, three at most",
    4e4,
    0.004,
    0.03,
    "Names of 3 % of the records, if two selected columns are text.",
)
TABLE_SHARES = (KINDS, DISTINCT_VALUES, CATEGORIES, NAMES)


@dataclass(frozen=True)
class TableReleases:
    """The releases about a raw table, as a fit plans them.

    `preparation`: names and shares of rho of the releases, before all others, that tell what the columns are.
    `naming`, `failure`: the share of rho and the failure probability of the release of the selected features' names; 0
      for none.
    """

    preparation: tuple[tuple[str, float], ...] = ()
    naming: float = 0.0
    failure: float = 0.0


def preparation_shares(n: int, rho: float, n_columns: int, n_maybe_text: int, sparsity: int) -> dict[str, float]:
    """Shares of rho of the releases about a raw table, by name; 0 where there is nothing to release.

    `n_columns` are those of features, and the response; `n_maybe_text` the columns of features that vote or are
    declared as text.

    Examples
    --------
    >>> shares = preparation_shares(10_000, 0.03, 20, 19, 5)
    >>> [name for name, share in shares.items() if share > 0.02]
    ['kinds', 'categories', 'names']
    """
    texts, named = max(1.0, _TEXT_SHARE * n_maybe_text), min(sparsity, _MOST_NAMED)
    counts = {KINDS: float(n_columns), DISTINCT_VALUES: texts, CATEGORIES: texts, NAMES: float(named)}
    is_needed = {KINDS: True, DISTINCT_VALUES: n_maybe_text > 0, CATEGORIES: n_maybe_text > 0, NAMES: n_maybe_text > 0}
    return {price.release: price.of(count, n, rho) if is_needed[price] else 0.0 for price, count in counts.items()}


def names_failure(guarantee: Guarantee) -> float:
    """The failure probability of a fit's names: small in the share of delta that the Gaussian account keeps.

    A twentieth of that share at three times the fit's epsilon, and at epsilon 3 at least: so seven fits of epsilon 1
    in a grant of epsilon 3 use a third of it, and discreteness has the rest. Small probabilities are cheap, since the
    threshold grows with the square root of their logarithm.

    Examples
    --------
    >>> names_failure(Guarantee(1.0, 1e-6)) < 1e-11
    True
    """
    epsilon = min(_EPSILONS * max(1.0, guarantee.epsilon), _MOST_EPSILON)
    return TV_SLACK_SHARE * guarantee.delta / (1 + math.exp(epsilon)) / _PARTS


def preparation_slot(name: str, rho: float, n: int, failure: float | None = None) -> Slot:
    """The slot of a release about a raw table; of names with a failure probability.

    However many columns take part, discreteness is at most that of one column under "zero-out-one": the number of
    draws grows like the number of columns, and so does the variance of their noise. Twice the draws cover rounding.
    """
    scale = RECORD_STEPS / math.sqrt(2 * rho)
    if name == NAMES.release and failure is not None:
        return Slot(name, PartitionSelection.drawn(scale=scale, size=2 * n, rho=rho, failure_probability=failure))
    return Slot(name, GaussianMechanism.drawn(scale=scale, size=2 * _NUMBERS[name], rho=rho))
