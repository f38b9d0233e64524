"""The weight of a row: long rows count for less, so that no record moves a sum by much."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpsparse.inference.inference_constants import CACHED_WEIGHTS, QUANTILES


@dataclass(frozen=True)
class RowWeight:
    """The weight v(x) = min(1, inner / |x|) min(1, outer / |x|) of a row x, with E[v x_j^2] and E[v^2 x_j^2].

    Both expectations, `gain` and `power`, are for standard normal features; with an intercept the row starts with the
    constant 1.
    """

    inner: float
    outer: float
    gain: NDArray[np.float64]
    power: NDArray[np.float64]


@lru_cache(maxsize=CACHED_WEIGHTS)
def row_weight(size: int, inner: float, outer: float, with_intercept: int) -> RowWeight:
    """The weight of rows of `size` entries, its bounds in units of their typical norm, the square root of `size`."""
    features = size - with_intercept
    # Quantiles of |x|^2 stand for its distribution in the expectations below.
    squared = stats.chi2(features).ppf((np.arange(QUANTILES) + 0.5) / QUANTILES) if features else np.zeros(1)
    inner, outer = inner * np.sqrt(size), outer * np.sqrt(size)
    norm = np.sqrt(squared + with_intercept)
    weight = np.minimum(1, inner / norm) * np.minimum(1, outer / norm)

    def second_moments(weight: NDArray[np.float64]) -> NDArray[np.float64]:
        of_features = np.full(features, np.mean(weight * squared) / max(features, 1))
        return np.append(np.full(int(with_intercept), np.mean(weight)), of_features)

    return RowWeight(float(inner), float(outer), second_moments(weight), second_moments(weight**2))
