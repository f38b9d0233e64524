"""Units that several pursuits on the same records share: one of them releases them, the others take them over.

The pursuit that leads fills the slots of a schedule for all of them (`Schedule.shared`): those about the response, and
those about each feature that it selects. The pursuits after it have no such slots. They select among the features whose
units are released by then, or public, and read them in these units. Which features these are, and their units, are
releases: what a later pursuit does with them is post-processing.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.pursuit_constants import BELOW_MEDIAN
from dpsparse.algorithms.pursuit.state import ResponseUnit, State
from dpsparse.data.public_units import PublicUnits


class SharedUnits:
    """What was released once for several pursuits.

    `response_center`, `response_scale`: public numbers; None for what the pursuit that leads is to release.
    `response`: centre and scale of the response.
    `features` (dict of int to FeatureUnit): units of the features that were selected by the pursuit that led.
    """

    def __init__(self, response_center: float | None = None, response_scale: float | None = None) -> None:
        self.response = ResponseUnit(response_center, response_scale)
        self.features: dict[int, FeatureUnit] = {}

    def add(self, state: State) -> None:
        """Take in what a pursuit has released, also of features that it dropped."""
        self.response = state.response.released
        self.features |= {column.feature: column.unit for column in state.columns if column.unit.learned}


def with_released(units: PublicUnits, released: Mapping[int, FeatureUnit], n_features: int) -> PublicUnits:
    """Public units of the features, with released ones in their place."""
    center, scale = (np.array(np.broadcast_to(each, n_features)) for each in (units.center, units.scale))
    for feature, unit in released.items():
        if feature < n_features:
            center[feature], scale[feature] = unit.center, unit.scale
    return PublicUnits(center, scale)


def splits(units: PublicUnits, released: Mapping[int, FeatureUnit], n_features: int) -> NDArray[np.float64]:
    """Thresholds of the features: their released medians, or public centres.

    A median that is above the mean may be a lump of most values, and those below it are to be told from these.
    """
    points = np.array(np.broadcast_to(units.filled()[0], n_features))
    for feature, unit in released.items():
        if feature < n_features:
            below = BELOW_MEDIAN if unit.median > 0 else 0.0
            points[feature] = unit.center + (unit.median - below) * unit.scale
    return points


def selectable(units: PublicUnits, released: Mapping[int, FeatureUnit], n_features: int) -> NDArray[np.int64]:
    """The features whose centre and scale are public or released, in order."""
    center, scale = (np.broadcast_to(each, n_features) for each in (units.center, units.scale))
    public = np.flatnonzero(~(np.isnan(center) | np.isnan(scale)))
    return np.union1d(public, np.array(list(released), dtype=np.int64))
