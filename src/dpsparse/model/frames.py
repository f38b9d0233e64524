"""Predictions on data frames: columns are found by their names, and only those of selected features are needed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsparse.data.as_table import as_table
from dpsparse.data.predictions import linear_predictions
from dpsparse.data.validation import is_dask
from dpsparse.io.table_features import Feature, frame_features
from dpsparse.schema import listed, quoted

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


def predict_frame(model: "LinearModel", frame: Any, names: Sequence[str]) -> Any:
    """Predict the responses of a data frame's rows.

    The frame is of pandas, polars, pyarrow or dask, and has at least the columns of the selected features.
    """
    used = _used(model)
    present = set(names)
    for feature in used:
        if feature.name not in present and (feature.category is None or feature.column not in present):
            needed = listed(model.columns_needed)
            raise ValueError(f"X has no column {quoted(feature.column)}, which the model needs; it needs {needed}")
    if not used:
        # Without effects no column is needed; one tells dask the number of rows.
        constant = np.array(linear_predictions(np.empty((1, 0)), np.empty(0), model.intercept, model.prediction_range))
        if not is_dask(frame):
            return np.repeat(constant, len(frame))
        used = [Feature(names[0])]
    if all(feature.name in present for feature in used) and (is_dask(frame) or not hasattr(frame, "column_names")):
        return as_table(frame[[feature.name for feature in used]]).predict(_restricted(model, used))
    if is_dask(frame):
        raise ValueError("a dask frame needs categories as 0/1 columns, named like the features of the model")
    numbered = [replace(feature, column=str(place), category=None) for place, feature in enumerate(used)]
    return as_table(frame_features(frame, used)).predict(_restricted(model, used, numbered))


def _used(model: "LinearModel") -> list[Feature]:
    """The features with an effect, or with one of being missing; the first of all where there is none."""
    by_name = {model.features[place].name: model.features[place] for place in model._places}
    columns = {feature.column for feature in by_name.values() if feature.missing}
    used = [feature for feature in by_name.values() if not feature.missing]
    return used + [Feature(column) for column in columns if column not in by_name]


def _restricted(model: "LinearModel", used: list[Feature], names: list[Feature] | None = None) -> "LinearModel":
    """The model of the used features alone, under other names where these are given."""
    names = used if names is None else names
    gaps = [Feature(feature.column, missing=True) for feature in used if model.missing_coef_ is not None]
    new_gaps = [Feature(feature.column, missing=True) for feature in names if model.missing_coef_ is not None]
    renamed = {old.name: new.name for old, new in zip([*used, *gaps], [*names, *new_gaps], strict=True)}
    effects = tuple(replace(effect, feature=renamed[effect.feature]) for effect in model.effects)
    return replace(model, features=(*names, *new_gaps), effects=effects)
