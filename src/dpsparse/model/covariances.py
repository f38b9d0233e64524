"""The covariance of the errors of a model's effects, from the errors and the correlations that were released."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel
    from dpsparse.model.two_parts import TwoParts

_NO_COVARIANCE = "vcov needs the correlations of a fit's effects, which {why}: fit PrivateSparseRegressor again"


def covariance(model: "LinearModel") -> NDArray[np.float64]:
    """Effects by effects; NaN for those that are not reliable."""
    if all(effect.standard_error is None for effect in model.effects):
        raise ValueError(_NO_COVARIANCE.format(why="this model has not (see effects_)"))
    return _own(model) if model.parts is None else _of_parts(model.parts, [each.feature for each in model.effects])


def _own(model: "LinearModel") -> NDArray[np.float64]:
    if model.correlations is None:
        raise ValueError(_NO_COVARIANCE.format(why="the file of this model does not have"))
    whole = np.full((len(model.effects), len(model.effects)), np.nan)
    known = [k for k, effect in enumerate(model.effects) if effect.interval is not None]
    errors = np.array([model.effects[k].standard_error for k in known])
    lower = np.zeros((len(known), len(known)))
    for k, row in enumerate(model.correlations):
        lower[k, :k] = row
    whole[np.ix_(known, known)] = (lower + lower.T + np.eye(len(known))) * np.outer(errors, errors)
    return whole


def _of_parts(parts: "TwoParts", names: list[str]) -> NDArray[np.float64]:
    """Of average marginal effects, by the delta method, as their standard errors are.

    An effect is the mean slope times that on the odds, and the share times that on the amount; the parts have noise of
    their own.
    """
    level = parts.level
    total = np.zeros((len(names), len(names)))
    for part, weight, weight_error in (
        (parts.whether, level.mean_slope, parts.slope_error),
        (parts.how_much, level.share, parts.share_error),
    ):
        # A feature that a part has not selected has no effect in it, and no error.
        places = [names.index(effect.feature) for effect in part.effects]
        own, effects = np.zeros_like(total), np.zeros(len(names))
        if places:
            own[np.ix_(places, places)] = _own(part)
            effects[places] = [np.nan if each.interval is None else each.value for each in part.effects]
        # What is not reliable is not known beside any other either.
        unknown = np.isnan(effects)
        own[unknown] = own[:, unknown] = np.nan
        total += weight**2 * own + weight_error**2 * np.outer(effects, effects)
    return total
