"""What a private pursuit publishes: the releases of its result in the caller's units, as attributes and as a model."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from dpsparse.algorithms.pursuit.result import FeatureEffects, PursuitResult
from dpsparse.estimators._private import as_dtype
from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL
from dpsparse.inference.intervals import p_value
from dpsparse.inference.significance import critical_value, joint_p_value, significant
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.numeric_columns import NumericColumns, n_selectable
from dpsparse.model.released import LinearModel
from dpsparse.model.unread_responses import UnreadResponsesWarning, unread
from dpsparse.model.variables import Variable
from dpsparse.privacy.accounting.meter import Meter

if TYPE_CHECKING:
    from dpsparse.estimators._pursuit import PursuitEstimator


@np.errstate(all="ignore")
def set_results(
    estimator: "PursuitEstimator",
    result: PursuitResult,
    features: Sequence[Feature],
    dtype: DTypeLike,
    meter: Meter,
    **described: Any,
) -> None:
    """Set the fitted attributes of an estimator.

    `features` are all that could be selected; the first ones are those of the table, `n_features_in_` of them.
    `described` are further fields of `LinearModel`: of the response, and of categories.
    """
    estimand = estimator._family.estimand
    size, d, selected = len(features), estimator.n_features_in_, result.features
    exposure = described.get("exposure")
    tested = n_selectable(features, exposure)
    height = critical_value(tested)
    errors = np.where(selected.trusted, selected.standard_errors, np.nan)
    # Where nothing was learned no error is trusted; a nearly exact fit has errors, and is tested.
    clear = significant(selected.effects, errors, tested) & result.predictions.explains
    # "auto" keeps all that it selected, so that intervals are of the effects that predict, or none where nothing is
    # explained: a choice among them after the fit would need a fit of its own.
    none = estimator.sparsity == "auto" and result.selected and not result.predictions.explains
    coef = selected.shrunk_effects
    kept = np.arange(0 if none else len(coef))
    kept = kept[~np.isin(selected.support[kept], list(result.left_out))]
    kept = _by_variable(kept, [features[place] for place in selected.support[kept]])
    chosen, center, scale = selected.support[kept], selected.center[kept], selected.scale[kept]
    coef = coef[kept]
    shrunk = as_dtype(coef / scale, dtype)
    estimates, errors_in_units = selected.effects[kept] / scale, errors[kept] / scale
    estimator.support_ = chosen
    estimator.coef_, missing_coef = np.split(_spread(size, chosen, shrunk, 0), [d])
    estimator.coef_se_ = _spread(size, chosen, errors_in_units, np.nan)[:d]
    estimator.pvalues_ = _spread(size, chosen, list(map(p_value, estimates, errors_in_units)), np.nan)[:d]
    estimator.clear_ = _spread(size, chosen, clear[kept], False)[:d]
    if size > d:
        estimator.missing_coef_ = missing_coef
        estimator.center_ = _spread(size, chosen, center, 0.0)[:d]
    trusted = errors[selected.trusted]
    estimator.noise_floor_ = float(height * np.median(trusted)) if len(trusted) else np.nan
    # The mean prediction stays where it is without the features that were dropped.
    at_zero = result.predictions.constant - coef @ (selected.mean[kept] + center / scale)
    estimator.intercept_ = float(at_zero) if estimator.fit_intercept else 0.0
    estimator.median_shift_ = float(result.predictions.median_shift) if estimator.fit_intercept else None
    estimator.median_slope_ = float(result.predictions.median_slope)
    estimator.calibration_slope_ = float(result.predictions.calibration_slope)
    estimator.prediction_range_ = (
        None if result.predictions.range is None else tuple(map(float, result.predictions.range))
    )
    estimator.explains_ = bool(result.predictions.explains)
    estimator.equation_ = result.equation
    names = [features[place].name for place in chosen]
    estimator.units_ = {name: (float(c), float(s)) for name, c, s in zip(names, center, scale, strict=True)}
    known = np.isfinite(estimates) & np.isfinite(errors_in_units)
    effects = [
        Effect(
            feature=name,
            coef=float(shrunk[k]),
            estimate=float(estimates[k]) if known[k] else None,
            standard_error=float(errors_in_units[k]) if known[k] else None,
            clear=bool(clear[place]),
            trusted=bool(selected.trusted[place]),
            center=float(center[k]) if selected.learned[place] else None,
            scale=float(scale[k]) if selected.learned[place] else None,
            doubt=selected.doubts[place] or None,
        )
        for k, (place, name) in enumerate(zip(kept, names, strict=True))
    ]
    estimator._publish(
        LinearModel(
            estimator=type(estimator).__name__,
            features=features,
            effects=tuple(effects),
            intercept=estimator.intercept_,
            privacy=meter.record(),
            noise_floor=estimator.noise_floor_ if np.isfinite(estimator.noise_floor_) else None,
            response_scale_known=bool(result.response.scale_known),
            prediction_range=estimator.prediction_range_,
            explains=estimator.explains_,
            reason=result.reason,
            nearly_exact=bool(result.response.nearly_exact),
            cut=float(result.response.cut) if np.isfinite(result.response.cut) else None,
            lumped=bool(result.response.lumped),
            constant=result.predictions.alone,
            response_scale=result.response.scale,
            spread_explained=result.response.spread_explained,
            median_shift=estimator.median_shift_,
            median_slope=estimator.median_slope_,
            calibration_slope=estimator.calibration_slope_,
            left_out={features[place].name: why for place, why in result.left_out.items()},
            responses=result.response.count,
            estimand=None if estimand is None else estimand.name,
            variables=_variables(selected, kept, features, exposure) if result.predictions.explains else (),
            correlations=_correlations(selected.covariance, kept[known & selected.trusted[kept]]),
            **described,
        )
    )
    if result.response.count is not None and result.response.count.is_short:
        warnings.warn(unread(estimator.released_), UnreadResponsesWarning, stacklevel=4)


def _by_variable(places: NDArray[np.int64], features: Sequence[Feature]) -> NDArray[np.int64]:
    """Places in order of the first one of each variable, so that its effects stand together, the parts of a spline too.

    Categories stay in the order of selection; parts of a spline have an order of their own.
    """
    first = {feature.variable: k for k, feature in reversed(list(enumerate(features)))}

    def key(k: int) -> tuple[int, int, str]:
        name = features[k].column if features[k].part_of is not None else ""
        return first[features[k].variable], len(name), name

    order = sorted(range(len(features)), key=key)
    return places[order]


def _variables(
    selected: FeatureEffects, kept: NDArray[np.int64], features: Sequence[Feature], exposure: str | None
) -> tuple[Variable, ...]:
    """The columns with several effects that can be tested, each tested as a whole, but for what is not reliable."""
    places: dict[str, list[int]] = {}
    without: dict[str, list[str]] = {}
    for place in kept:
        feature = features[selected.support[place]]
        if selected.trusted[place]:
            places.setdefault(feature.variable, []).append(int(place))
        else:
            without.setdefault(feature.variable, []).append(feature.name)
    # Each column but the exposure had a chance. Columns of numbers are not made to be counted: there may be a million.
    if isinstance(features, NumericColumns):
        n_columns = features.n_columns - (n_selectable(features, exposure) < len(features))
    else:
        n_columns = len({feature.variable for feature in features})
    level = FAMILY_WISE_LEVEL / n_columns
    variables = []
    for column, own in places.items():
        if len(own) > 1:
            p_value = joint_p_value(selected.effects[own], selected.covariance[np.ix_(own, own)])
            names = tuple(features[selected.support[place]].name for place in own)
            variables.append(Variable(column, names, p_value, p_value < level, tuple(without.get(column, ()))))
    return tuple(variables)


def _correlations(covariance: NDArray[np.float64], places: NDArray[np.int64]) -> tuple[tuple[float, ...], ...]:
    """The correlations of the errors of some effects: for each those with the effects before it."""
    own = covariance[np.ix_(places, places)]
    deviations = np.sqrt(np.diagonal(own))
    # Where a variance is 0 or too large for a double, nothing is known of its correlations.
    relative = np.clip(np.nan_to_num(own / deviations / deviations[:, None], posinf=0.0, neginf=0.0), -1.0, 1.0)
    return tuple(tuple(row[:k].tolist()) for k, row in enumerate(relative))


def _spread(size: int, places: NDArray[np.int64], values: ArrayLike, elsewhere: float) -> NDArray[Any]:
    """An array with some values at some places, and one value elsewhere."""
    values = np.asarray(values)
    full = np.full(size, elsewhere, dtype=values.dtype)
    full[places] = values
    return full
