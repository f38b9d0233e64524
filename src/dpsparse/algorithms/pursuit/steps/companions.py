"""A variable as a whole: the features that come with a selected one, such as the other categories of a column."""

from dataclasses import dataclass, replace

import numpy as np

from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Releases
from dpsparse.algorithms.pursuit.state import Column, State


@dataclass(frozen=True)
class CompanionsStep:
    """Add the features that come with the selected ones, up to `most` columns; nothing is released.

    Which they are follows from releases about the table. Their effects start at 0, and their units are those of their
    released shares, or those of a selected feature of the same number. Those of which nothing tells whether any record
    has them come where `unsure`, for a step that looks.
    """

    most: int
    unsure: bool = True

    def planned(self) -> tuple[Planned, ...]:
        """Nothing."""
        return ()

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Add them, those of the first feature first."""
        for feature in data.companions.of(state.features[column - state.constants] for column in state.kept_features):
            if len(state.kept) >= self.most:
                break
            if feature in data.companions.unsure and not self.unsure:
                continue
            unit = data.companions.unit(feature, {column.feature: column.unit for column in state.columns})
            data.records.add(feature)
            data.records.rescale(unit.center, unit.scale)
            state = _with_column(state, feature, unit)
        return state


def _with_column(state: State, feature: int, unit: FeatureUnit) -> State:
    concluded = state.concluded
    return replace(
        state,
        columns=(*state.columns, Column(feature, unit)),
        effects=np.append(state.effects, 0.0),
        kept=np.append(state.kept, len(state.effects)),
        conclusion=replace(concluded, effects=np.append(concluded.effects, 0.0)),
    )
