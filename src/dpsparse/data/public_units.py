"""Public centres and scales of the features: numbers the caller knows, never read off the data.

What is not given is unknown, and NaN here: a fit that can do without it learns it within its guarantee.
"""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.validation import LARGEST, check_number

Known = Literal["all", "none", "some"]

STANDARDIZED: dict[str, Any] = {"feature_center": 0.0, "feature_scale": 1.0}
"""Parameters of an estimator on features that are standardised, as simulated ones are."""


@dataclass(frozen=True, eq=False)
class PublicUnits:
    """What is publicly known of the features' units.

    Examples
    --------
    >>> units = public_units({"age": 50.0}, None, ["age", "income"])
    >>> units.known(), units.of(0), units.of(1)
    ('some', (50.0, nan), (nan, nan))
    """

    # One number for all features or one for each; NaN where it is not given, a float NaN where none is.
    center: Any
    scale: Any

    def known(self) -> Known:
        """Whether both centre and scale are given of all features, neither of any, or something between."""
        return _known(~np.isnan(self.center), ~np.isnan(self.scale))

    def of(self, feature: int) -> tuple[float, float]:
        """Centre and scale of one feature, given by its place; NaN where not given."""
        center, scale = (unit if np.ndim(unit) == 0 else unit[feature] for unit in (self.center, self.scale))
        return float(center), float(scale)

    def filled(self) -> tuple[Any, Any]:
        """Centres and scales, with 0 and 1 where not given."""
        return np.nan_to_num(self.center), np.nan_to_num(self.scale, nan=1.0)


def units_known(center: Any, scale: Any, n_features: int) -> Known:
    """The `known()` of units given by the caller, before the names of the columns are read.

    The prices of a fit depend on it, and are committed to before anything is read. Names that X lacks are refused
    later, by `public_units`.

    Examples
    --------
    >>> units_known(0.0, 1.0, 3), units_known(None, None, 3), units_known({"age": 50.0}, 1.0, 3)
    ('all', 'none', 'some')
    """
    return _known(_given("feature_center", center, n_features), _given("feature_scale", scale, n_features))


def n_units_known(center: Any, scale: Any, n_features: int) -> int:
    """Of how many features, at most, both centre and scale are given, before the names of the columns are read.

    Examples
    --------
    >>> n_units_known({"age": 50.0, "height": 170.0}, {"age": 20.0}, 3)
    1
    """
    given = _given("feature_center", center, n_features), _given("feature_scale", scale, n_features)
    return min(int(np.count_nonzero(np.broadcast_to(each, n_features))) for each in given)


def public_units(center: Any, scale: Any, columns: Any) -> PublicUnits:
    """Centres and scales in the order of X's columns, checked.

    `center` and `scale` are one number, one for each feature, or numbers by name; unknown where there is None, NaN in
    an array or in a Series, or no entry in a dict. `columns` are the names of X's columns, or their numbers.
    """
    center = _per_feature("feature_center", center, columns)
    scale = _per_feature("feature_scale", scale, columns)
    if not ((np.abs(center) <= LARGEST) | np.isnan(center)).all():
        raise ValueError(f"feature_center must lie within +-{LARGEST:g} for every feature")
    if not (((scale >= 1 / LARGEST) & (scale <= LARGEST)) | np.isnan(scale)).all():
        raise ValueError(
            f"feature_scale must be above 0 for every feature, from {1 / LARGEST:g} to {LARGEST:g}; "
            "leave it out where nothing is known"
        )
    return PublicUnits(center, scale)


def _known(center_given: Any, scale_given: Any) -> Known:
    if np.all(center_given) and np.all(scale_given):
        return "all"
    return "some" if np.any(center_given) or np.any(scale_given) else "none"


def _given(name: str, value: Any, n_features: int) -> Any:
    """For which features a number is given; for a dict or Series, their number alone counts."""
    if hasattr(value, "items"):
        numbers_given = _numbers(name, list(dict(value.items()).values()))
        count = np.count_nonzero(~np.isnan(numbers_given))
        return np.arange(n_features) < count
    return ~np.isnan(_per_feature(name, value, range(n_features)))


def _per_feature(name: str, value: Any, columns: Any) -> Any:
    """A float for all features or an array of one for each; NaN where not given."""
    if value is None:
        return np.float64(np.nan)
    if hasattr(value, "items"):
        value = _by_name(name, dict(value.items()), columns)
    if isinstance(value, numbers.Real):
        check_number(name, value, remedy="give public numbers, or None to have them learned")
        return np.float64(value)
    value = _numbers(name, value)
    if value.shape != (len(columns),) or np.isinf(value).any():
        raise ValueError(
            f"{name} has shape {value.shape}; give a number or {len(columns)} finite numbers, None for those that are "
            "not known"
        )
    return np.float64(np.nan) if np.isnan(value).all() else value


def _numbers(name: str, values: Any) -> NDArray[np.float64]:
    """An array of floats; None becomes NaN."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, one number for each feature, or None") from None


def _by_name(name: str, by_name: Any, columns: Sequence[Any]) -> list[Any]:
    """Values of a dict or Series in the order of X's columns; None for those that it does not name."""
    names = set(columns)
    unknown = [column for column in by_name if column not in names]
    if unknown:
        raise ValueError(f"{name} names {unknown[0]!r}, but X has no such column; check its spelling")
    if len(names) < len(columns):
        raise ValueError(f"{name} goes by name, but two columns of X have the same name; give it by position")
    return [by_name.get(column) for column in columns]
