"""Quantiles: a private pick among the points of a public grid."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse.privacy import sensitivity as sensitivities
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.mechanisms.selection import exponential_pick
from dpsparse.privacy.noise import Integers

# In integer units of a utility.
_LARGEST_PRIOR = 2.0**60


def release_quantile(
    meter: Meter,
    counts_below: Integers,
    grid: npt.NDArray[np.floating[Any]],
    *,
    target: int,
    rho: float,
    name: str,
) -> float:
    """Pick a point of a public grid whose count of records at or below it is near `target`, for `rho`.

    An exponential-mechanism pick with utility -|count - target|, of sensitivity 1 in both relations.

    The meter is charged before anything is drawn. For each grid point there is the number of records at or below it;
    the points are from public numbers alone. The target is n // 2 for a median.
    """
    utility = -np.abs(np.asarray(counts_below, dtype=np.int64) - target)
    unit = sensitivities.quantile_utility(meter.guarantee.adjacency)
    return float(grid[exponential_pick(meter, utility, sensitivity=unit, rho=rho, name=name)])


def release_point(
    meter: Meter,
    utility: Integers,
    grid: npt.NDArray[np.floating[Any]],
    *,
    sensitivity: int,
    rho: float,
    name: str,
    log_prior: npt.NDArray[np.float64],
) -> float:
    """Pick a point of a public grid by its utility and a public prior, for `rho`.

    An exponential-mechanism pick with probability proportional to exp(log_prior + epsilon0 utility / (2 sensitivity)).
    The prior is added to the utility as a public integer, so the utility's sensitivity stays what it is.

    The meter is charged before anything is drawn. The utility of each grid point moves by at most `sensitivity` between
    neighbours. The points and their log priors are from public numbers and earlier releases alone.
    """
    bonus = prior_levels(log_prior, sensitivity, rho)
    scores = np.asarray(utility, dtype=np.int64) + bonus
    return float(grid[exponential_pick(meter, scores, sensitivity=sensitivity, rho=rho, name=name)])


def prior_levels(log_prior: npt.NDArray[np.float64], sensitivity: int, rho: float) -> Integers:
    """A log prior in integer units of a utility, rounded to the nearest: `exponential_pick` at `rho` gives it back.

    Units are clipped at +-2^60, so that utilities, far below 2^53, are added without overflow whatever `rho` is: a sum
    that wrapped around would move by 2^64 where a utility moves by 1.

    Examples
    --------
    >>> prior_levels(np.array([0.0, -1.0]), 1, 0.5)
    array([ 0, -1])
    """
    units = np.rint(log_prior * (2 * sensitivity / math.sqrt(8 * rho)))
    levels: Integers = np.clip(units, -_LARGEST_PRIOR, _LARGEST_PRIOR).astype(np.int64)
    return levels
