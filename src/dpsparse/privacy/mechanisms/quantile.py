"""Quantiles: a private pick among the points of a public grid."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse.privacy import sensitivity as sensitivities
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.mechanisms.selection import exponential_pick
from dpsparse.privacy.noise import Integers


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

    Parameters
    ----------
    meter : Meter
        Charged before anything is drawn.
    counts_below : ndarray of int64
        For each grid point the number of records at or below it.
    grid : ndarray
        The points, from public numbers alone.
    target : int
        The count wanted: n // 2 for a median.
    rho : float
        The price of the pick.
    name : str
        Its name in the record.

    Returns
    -------
    float
        A grid point.
    """
    utility = -np.abs(np.asarray(counts_below, dtype=np.int64) - target)
    unit = sensitivities.quantile_utility(meter.guarantee.adjacency)
    return float(grid[exponential_pick(meter, utility, sensitivity=unit, rho=rho, name=name)])
