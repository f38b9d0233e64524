"""Some of a table's records: a block, or those at some positions, as for a hold-out."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

TableBlock: TypeAlias = Any
"""A block as its table makes it: it has `first`, the number of records before it, and `n_records`."""


@dataclass(frozen=True)
class Rows:
    """A block of records.

    `first` is the number of records before it; `where` is how its table finds them.
    """

    first: int
    n_records: int
    where: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Selection:
    """Records whose position, divided by `modulus`, leaves one of `residues`.

    Residues are different numbers from 0 to `modulus` - 1. Positions count among the records `within`; None for all.
    """

    modulus: int
    residues: tuple[int, ...]
    within: "Selection | Positions | None" = None

    def __post_init__(self) -> None:
        known = sorted(set(self.residues))
        if self.modulus < 1 or not known or not 0 <= known[0] <= known[-1] < self.modulus:
            raise ValueError("residues must be numbers from 0 to modulus - 1")
        object.__setattr__(self, "residues", tuple(known))

    def count(self, n: int) -> int:
        """How many of the first `n` records of the table are selected."""
        n = n if self.within is None else self.within.count(n)
        return n // self.modulus * len(self.residues) + sum(r < n % self.modulus for r in self.residues)

    def mask(self, first: int, n: int) -> NDArray[np.bool_]:
        """Which of `n` records from position `first` on are selected."""
        if self.within is None:
            inside, positions = np.ones(n, dtype=bool), np.arange(first, first + n)
        else:
            inside = self.within.mask(first, n)
            positions = self.within.count(first) + np.cumsum(inside) - 1
        wanted = np.zeros(self.modulus, dtype=bool)
        wanted[list(self.residues)] = True
        return inside & wanted[positions % self.modulus]


@dataclass(frozen=True)
class Positions:
    """Records at some positions of the table, which rise."""

    places: NDArray[np.intp]

    def count(self, n: int) -> int:
        """How many of the first `n` records of the table are selected."""
        return int(np.searchsorted(self.places, n))

    def mask(self, first: int, n: int) -> NDArray[np.bool_]:
        """Which of `n` records from position `first` on are selected."""
        inside = np.zeros(n, dtype=bool)
        inside[self.places[self.count(first) : self.count(first + n)] - first] = True
        return inside
