"""The features of a fit on columns of numbers, without a copy of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsparse.io.features import Feature


@dataclass(frozen=True, eq=False)
class NumericColumns(Sequence[Feature]):
    """Features that are columns of numbers, each made when it is asked for: a fit may have a million.

    Parameters
    ----------
    n_features : int
        How many there are.
    names : array of str or None
        Their names; None where they have none, and are numbered.
    center, scale : float or array
        Public numbers, one for all or one for each; NaN where they are not known.
    """

    n_features: int
    names: Any
    center: Any
    scale: Any

    def __len__(self) -> int:
        return self.n_features

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(self.n_features)))
        place = range(self.n_features)[place]
        units = (float(unit if np.ndim(unit) == 0 else unit[place]) for unit in (self.center, self.scale))
        center, scale = (None if np.isnan(unit) else unit for unit in units)
        return Feature(str(place if self.names is None else self.names[place]), center, scale)

    def place_of(self, name: str) -> int:
        """The place of the feature of a name; the others are not made for it."""
        return int(name) if self.names is None else int(np.flatnonzero(self.names == name)[0])

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))
