"""The features of a fit on columns of numbers, without a copy of each, and how many of these may be selected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsparse.io.table_features import Feature


@dataclass(frozen=True, eq=False)
class NumericColumns(Sequence[Feature]):
    """Features that are columns of numbers, each made when it is asked for: a fit may have a million.

    With `gaps` every column has a second feature, which says whether it is missing.
    """

    n_columns: int
    names: Any  # None where they have none, and are numbered.
    # Public numbers, one for all or one for each; NaN where they are not known.
    center: Any
    scale: Any
    gaps: bool = False  # Whether cells may be missing.

    def __len__(self) -> int:
        return 2 * self.n_columns if self.gaps else self.n_columns

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        gap, place = divmod(range(len(self))[place], self.n_columns)
        name = str(place if self.names is None else self.names[place])
        if gap:
            return Feature(name, missing=True)
        units = (float(unit if np.ndim(unit) == 0 else unit[place]) for unit in (self.center, self.scale))
        center, scale = (None if np.isnan(unit) else unit for unit in units)
        return Feature(name, center, scale)

    def place_of(self, name: str) -> int:
        """The place of the feature of a name; the others are not made for it."""
        place = self._column_of(name)
        if place is None:
            missing = self._column_of(name.removesuffix(Feature("", missing=True).name))
            assert missing is not None  # it is the name of a feature
            place = self.n_columns + missing
        return place

    def _column_of(self, name: str) -> int | None:
        if self.names is None:
            return int(name) if name.isdecimal() else None
        places = np.flatnonzero(self.names == name)
        return int(places[0]) if len(places) else None

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))


def n_selectable(features: Sequence[Feature], exposure: str | None) -> int:
    """The number of features that could be selected: not a column that is the exposure, nor whether that is missing.

    Examples
    --------
    >>> n_selectable([Feature("age"), Feature("years")], "years"), n_selectable([Feature("age")], None)
    (1, 1)
    """
    # Columns of numbers are not made to be counted where there is no exposure: there may be a million.
    return len(features) if exposure is None else sum(feature.column != exposure for feature in features)
