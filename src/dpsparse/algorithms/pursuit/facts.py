"""What is publicly known before a fit: data, no decisions.

Which releases a fit of these facts makes is decided in `decisions`, what each of them costs in `budget`.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from dpsparse.engine.people import ONE_ROW, RowsPerPerson
from dpsparse.families import Family, Scaled
from dpsparse.families.robust_linear import ROBUST_LINEAR

Known = Literal["all", "some", "none"]


@dataclass(frozen=True)
class PublicFacts:
    """Public numbers, which everything that a fit does follows from.

    `n`, `d`, `sparsity`: people, features, features in the result. Each of n records is a person, unless they have
      several.
    `rho`: what a record may cost by zCDP.
    `units_known`: of which features centre and scale are public.
    `center_known`, `scale_known`: whether the response's centre and scale are public.
    `fit_intercept`: whether there is an intercept.
    `missing`: whether features and responses may be missing.
    `most_splits`: how many features may need a split, where that is not d: those of a raw table that are not 0/1.
    `sharing`: the units that this fit has in common with others, where it has.
    `family`: what a response is.
    `rows`: how many rows a person has.
    `categories`: whether columns may be categories.
    """

    n: int
    d: int
    sparsity: int
    rho: float
    units_known: Known = "all"
    center_known: bool = False
    scale_known: bool = False
    fit_intercept: bool = True
    missing: bool = False
    most_splits: int | None = None
    sharing: "Sharing | None" = None
    family: Family = ROBUST_LINEAR
    rows: RowsPerPerson = ONE_ROW
    categories: bool = False

    @cached_property
    def size(self) -> float:
        """N = n sqrt(rho), the size of the table as privacy sees it.

        Rows of a person add up in scores: these have the noise of so many times as many people.
        """
        return self.rows.root * self.n * math.sqrt(self.rho)

    @cached_property
    def counted_size(self) -> float:
        """The same for counts, quantiles and means: one row of each person, or their mean, is all there is to them."""
        return self.n * math.sqrt(self.rho)

    @property
    def scaled(self) -> Scaled:
        """What the family says of residuals that have a scale."""
        scaled = self.family.scaled
        assert scaled is not None, "residuals that their link bounds have no scale"
        return scaled

    @property
    def amounts(self) -> bool:
        """Whether responses are above 0, and most records may have none."""
        return self.family.scaled is not None and self.family.scaled.amounts

    @property
    def known(self) -> bool:
        """Whether the units of all features are public."""
        return self.units_known == "all"

    @property
    def of_units(self) -> "PublicFacts":
        """The facts by which units are learned and priced: those of all fits together where they share units."""
        return self if self.sharing is None else self.sharing.facts

    @property
    def releases_for_others(self) -> bool:
        """Whether the fit makes the releases that it shares with others."""
        return self.sharing is not None and self.sharing.n_selectable is None

    @property
    def takes_over_units(self) -> bool:
        """Whether the units of all features that may be selected were released before, or are public."""
        return self.sharing is not None and not self.releases_for_others and not self.known

    @property
    def width(self) -> int:
        """How many features compete in a selection, each counted once."""
        return self._at_most_selectable(self.d)

    @property
    def n_candidates(self) -> int:
        """How many features may be selected: those of the table and, where cells may be missing, whether each is."""
        return self._at_most_selectable(2 * self.d if self.missing else self.d)

    @property
    def n_split(self) -> int:
        """How many features may need a split."""
        return self.d if self.most_splits is None else self.most_splits

    def _at_most_selectable(self, count: int) -> int:
        if self.sharing is None or self.sharing.n_selectable is None:
            return count
        return min(count, self.sharing.n_selectable)


@dataclass(frozen=True)
class Sharing:
    """Units that several fits on the same records have in common: one leads and releases them, the others follow.

    `facts`: those by which the shared releases are decided and priced. The fits themselves do not pay for them.
    `n_selectable`: the most features that a fit which follows may select: those with public or released units. None for
      the fit that leads.
    """

    facts: PublicFacts
    n_selectable: int | None = None
