"""Public centres and scales of the features: numbers the caller knows, never read off the data."""

import numbers

import numpy as np

from dpsparse.data.validation import LARGEST, check_number


def scale_from_bounds(low, high):
    """Public centre and scale of features that usually lie in [low, high].

    The centre is the middle and the scale a quarter of the width: give the range in which about 95 % of people lie, not
    the extremes. For a 0/1 feature with a known share p use centre p and scale sqrt(p (1 - p)) instead; for counts that
    are mostly 0, a centre and scale near their mean and standard deviation. The promise never depends on these numbers;
    accuracy does, and a centre that is off by more than the feature's spread makes it a stand-in for the intercept.

    Parameters
    ----------
    low, high : float or array-like of shape (n_features,)
        Public numbers, never read off the data.

    Returns
    -------
    center, scale : float, ndarray or dict
        For `feature_center` and `feature_scale`; by name if `low` is a Series.

    Examples
    --------
    >>> from dpsparse import scale_from_bounds
    >>> scale_from_bounds(18, 98)
    (58.0, 20.0)
    """
    index = getattr(low, "index", None)
    try:
        low, high = np.broadcast_arrays(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError("low and high must be numbers, or one number each for every feature in order") from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError("low and high must be finite with low < high for every feature")
    center, scale = low + (high - low) / 2, (high - low) / 4
    if hasattr(index, "tolist"):
        return dict(zip(index, center.tolist(), strict=True)), dict(zip(index, scale.tolist(), strict=True))
    return (float(center), float(scale)) if center.ndim == 0 else (center, scale)


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
        problem = f"lacks {missing[0]!r}" if missing else f"names {unknown[0]!r}, which is no column of X"
        raise ValueError(f"{name} {problem}; it must name each column of X once")
    return [by_name[column] for column in columns]
