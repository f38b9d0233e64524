"""Quantization: features and weights as integer levels, so that private sums are exact.

A record's term is an integer, computed by itself in one fixed order of operations: centre, scale, clip, round, with
NaN as 0 and a clip again in integers. Products of a feature level (at most 127)
and a weight level (at most 2^16) over n records stay below 2^53, where float64 and int64 both add integers exactly in
any order: blocking, threads and engines cannot change a bit of a sum.

Gaps. A cell that is not finite is missing: a *gap*. It has level 0, lies at 0 in units, and counts nowhere. A record
whose response is NaN is *blank*: it adds 0 to every sum, the constant's included. Feature d + j of d features says
whether feature j is missing: 1 or 0. No value takes the place of a gap, and no record is left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpsparse.engine.arrays import Array, as_float64, like, module_of, quotient, zero_for_nan


def indicators(values: Array) -> Array:
    """1 where a value is missing and 0 elsewhere, in the dtype of the values.

    Examples
    --------
    >>> indicators(np.array([2.0, np.nan, -np.inf, 0.0]))
    array([0., 1., 1., 0.])
    """
    missing = ~module_of(values).isfinite(values)
    return missing.astype(values.dtype) if isinstance(values, np.ndarray) else missing.to(values.dtype)


def feature_of(table: Array, feature: int) -> Array:
    """The values of a feature of a table of d features; of feature d + j the indicators of feature j."""
    n_features = table.shape[1]
    return table[:, feature] if feature < n_features else indicators(table[:, feature - n_features])


def as_column(values: Array, y: Array) -> Array:
    """Values in float64, with NaN for gaps and for blank records."""
    values, xp = as_float64(values), module_of(y)
    return xp.where(xp.isfinite(values) & ~xp.isnan(y), values, like(np.nan, y))


FEATURE_LEVELS = 127
WEIGHT_LEVELS = 2**16
EXACT_BELOW = 2**53


def check_exact(n_records: int) -> None:
    """Raise OverflowError if a sum over n records could leave the range of exact integers."""
    if FEATURE_LEVELS * WEIGHT_LEVELS * n_records >= EXACT_BELOW:
        most = (EXACT_BELOW - 1) // (FEATURE_LEVELS * WEIGHT_LEVELS)
        raise OverflowError(f"{n_records} records are more than exact sums allow ({most})")


@dataclass(frozen=True)
class Quantizer:
    """Features as levels -127..127: (x - center) / scale, clipped at +-`clip_bound`, in steps of bound / 127.

    Examples
    --------
    >>> Quantizer(2.0).levels(np.array([-1e300, -1.0, 0.0, 0.01, np.nan, 2.0]))
    array([-127.,  -64.,    0.,    1.,    0.,  127.])
    """

    clip_bound: float  # in units of `scale`
    # Public numbers, one or one for each feature; never computed from the data.
    center: float | NDArray[np.float64] = 0.0
    scale: float | NDArray[np.float64] = 1.0
    of_gaps: bool = False  # Whether x is 1 where a feature is missing and 0 elsewhere, rather than the feature itself.

    @property
    def step(self) -> float:
        """The size of one level, in units of `scale`."""
        return self.clip_bound / FEATURE_LEVELS

    def of(self, columns: Any) -> "Quantizer":
        """The quantizer of some of the columns."""
        center, scale = self.center_and_scale(columns)
        return Quantizer(self.clip_bound, center, scale, self.of_gaps)

    def of_values(self) -> "Quantizer":
        """The same for values that have been made indicators already."""
        return replace(self, of_gaps=False)

    def levels(self, values: NDArray[Any], columns: Any = slice(None)) -> NDArray[Any]:
        """Integer levels of an array, in its own float dtype. `columns` says which features its columns are."""
        cells = indicators(values) if self.of_gaps else values
        return rounded(cells, *self.center_and_rate(values.dtype, columns))

    def center_and_rate(self, dtype: DTypeLike, columns: Any = slice(None)) -> tuple[NDArray[Any], NDArray[Any]]:
        """The numbers that `levels` subtracts and multiplies by, in the dtype of its arithmetic."""
        center, scale = self.center_and_scale(columns)
        with np.errstate(all="ignore"):
            return center.astype(dtype), np.asarray(1.0 / (self.step * scale), dtype=dtype)

    def per_feature(self, dtype: DTypeLike, n_features: int) -> list[NDArray[Any]]:
        """`center_and_rate` as two arrays with a number for every feature."""
        return [np.ascontiguousarray(np.broadcast_to(each, n_features)) for each in self.center_and_rate(dtype)]

    def compact(self, dtype: DTypeLike, n_features: int) -> Sequence[Any]:
        """`per_feature`, or one number each where all features share it: it is not read again with every row."""
        center, rate = self.center_and_rate(dtype)
        return self.per_feature(dtype, n_features) if center.ndim or rate.ndim else (center[()], rate[()])

    def units(self, values: Array, columns: Any = slice(None)) -> Array:
        """Values in public units, (x - center) / scale, in float64 and not rounded to levels."""
        return in_units(values, *self.center_and_scale(columns))

    def clipped(self, values: Array, columns: Any = slice(None)) -> Array:
        """Values in public units, clipped; 0 for a gap."""
        center, scale = self.center_and_scale(columns)
        as_they_are = center.ndim == scale.ndim == 0 and center == 0 and scale == 1
        units = as_float64(values) if as_they_are else self.units(values, columns)
        xp = module_of(values)
        return xp.where(xp.isfinite(values), units.clip(-self.clip_bound, self.clip_bound), 0.0)

    def center_and_scale(self, columns: Any = slice(None)) -> tuple[NDArray[np.float64], ...]:
        """The numbers that `units` subtracts and divides by."""
        both = (np.asarray(self.center, dtype=np.float64), np.asarray(self.scale, dtype=np.float64))
        return tuple(value if value.ndim == 0 else value[columns] for value in both)


def in_units(values: Array, center: Array | float, scale: Array | float) -> Array:
    """Values in some units, (x - center) / scale, in float64: one subtraction, then one quotient."""
    with np.errstate(all="ignore"):
        return quotient(as_float64(values) - like(center, values), like(scale, values))


def rounded(values: NDArray[Any], center: Any, rate: Any) -> NDArray[Any]:
    """Levels of values: (x - center) * rate, clipped at +-127 and rounded to the nearest; 0 for a gap."""
    # Overflow is clipped like any large value; a warning would reveal something of a record.
    with np.errstate(all="ignore"):
        levels: NDArray[Any] = values - center
        levels *= rate
        np.clip(levels, -FEATURE_LEVELS, FEATURE_LEVELS, out=levels)
        np.rint(levels, out=levels)
        levels[np.isnan(levels) | ~np.isfinite(values)] = 0
    return levels


def weight_levels(weights: Array, bound: float, most: int = WEIGHT_LEVELS) -> Array:
    """Weights in [-bound, bound] as integer levels -most..most in float64; NaN becomes 0.

    Examples
    --------
    >>> weight_levels(np.array([-3.0, 0.5, np.nan]), 1.0)
    array([-65536.,  32768.,      0.])
    """
    with np.errstate(all="ignore"):
        levels = as_float64(weights) * (most / bound)
    return zero_for_nan(levels.clip(-most, most).round())


def level_shift(level: float) -> tuple[int, int]:
    """The levels of a bound and of a `level` in [-1, 1], in its units, so that both together are at most 2^16.

    Weights of at most the first, less the second, then stay within +-2^16: first (1 + |level|) <= 2^16, so the second,
    which is rounded, is at most the whole number 2^16 - first.

    Examples
    --------
    >>> level_shift(0.0), level_shift(-0.5)
    ((65536, 0), (43690, -21845))
    """
    most = math.floor(WEIGHT_LEVELS / (1 + abs(level)))
    return most, round(level * most)
