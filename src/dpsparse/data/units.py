"""Public centres and scales of the features: numbers the caller knows, never read off the data."""

import numbers

import numpy as np

from dpsparse.data.validation import LARGEST, check_number

# Of features known to be standardised: `PrivateSparseRegressor(**STANDARDIZED)`.
STANDARDIZED = {"feature_center": 0.0, "feature_scale": 1.0}


def public_units(center, scale, columns):
    """Centres and scales as floats or arrays in the order of X's columns, checked."""
    center = _per_feature("feature_center", center, columns)
    scale = _per_feature("feature_scale", scale, columns)
    if not (np.abs(center) <= LARGEST).all():
        raise ValueError(f"feature_center must lie within +-{LARGEST:g} for every feature")
    if not ((scale >= 1 / LARGEST) & (scale <= LARGEST)).all():
        raise ValueError(
            f"feature_scale must be above 0 for every feature, from {1 / LARGEST:g} to {LARGEST:g}; "
            "use 1 where nothing better is known"
        )
    return center, scale


def _per_feature(name, value, columns):
    if hasattr(value, "items"):
        value = _by_name(name, dict(value.items()), columns)
    if isinstance(value, numbers.Real):
        check_number(name, value, remedy="give public numbers")
        return np.float64(value)
    try:
        value = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or one number for each feature") from None
    if value.shape != (len(columns),) or not np.isfinite(value).all():
        raise ValueError(f"{name} has shape {value.shape}; give a number or {len(columns)} finite numbers")
    return value


def _by_name(name, by_name, columns):
    """Values of a dict or Series in the order of X's columns."""
    missing = [column for column in columns if column not in by_name]
    unknown = [column for column in by_name if column not in set(columns)]
    if missing or unknown:
        problem = f"lacks {missing[0]!r}" if missing else f"names {unknown[0]!r}, but X has no such column"
        raise ValueError(f"{name} {problem}; it must name each column of X once")
    return [by_name[column] for column in columns]
