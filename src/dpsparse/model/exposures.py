"""Models of the log of a mean, and the exposure to which their means are in proportion."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsparse.families.estimands import LOG_MEAN
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


def is_log_mean(model: "LinearModel") -> bool:
    """Whether effects are on the log of a mean."""
    return model.estimand == LOG_MEAN.name


def exposure_feature(column: str) -> Feature:
    """The exposure of a table of cells, as a number."""
    return Feature(column, kind=Kind.number.value)


def exposure_name(model: "LinearModel") -> str | None:
    """The column of records that is their exposure; None where there is none, or it was given beside them."""
    if model.exposure is None or model.reads_cells or model.exposure in model.feature_names:
        return model.exposure
    return None


def exposure_column(model: "LinearModel") -> "LinearModel | None":
    """The model whose prediction is the exposure of a record of numbers; None where that is no column of records."""
    name = exposure_name(model)
    if name is None:
        return None
    effects = (Effect(name, 1.0),)
    return replace(model, effects=effects, intercept=0.0, prediction_range=None, exposure=None, calibration_slope=1.0)


def where_positive(values: Any) -> Any:
    """Values, with NaN for those that are not above 0."""
    with np.errstate(all="ignore"):
        return np.where(values > 0, values, np.nan)
