"""Releasing numbers privately: vectors, Gram matrices, quantiles."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse.privacy import sensitivity as sensitivities
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.record import Release
from dpsparse.privacy.mechanisms.selection import exponential_pick
from dpsparse.privacy.noise import Integers


@dataclass(frozen=True)
class NoisyRelease:
    """Noisy integers and the standard deviation of their noise, one for each entry."""

    values: Integers
    scale: npt.NDArray[np.float64]


def gaussian_scale(sensitivity: float, rho: float) -> float:
    """The standard deviation at which Gaussian noise costs rho: sensitivity / sqrt(2 rho), rounded up.

    Proof. Independent discrete Gaussian noise of scale s on an integer vector of l2 sensitivity D is D^2 / (2 s^2)-zCDP
    (Canonne, Kamath and Steinke 2020, Theorem 14), as its continuous twin is.

    Examples
    --------
    >>> from dpsparse.privacy.mechanisms.gaussian import gaussian_scale
    >>> round(gaussian_scale(2.0, 0.5), 9)
    2.0
    """
    return sensitivity / math.sqrt(2 * rho) * (1 + 1e-15)


def release_vector(meter: Meter, sums: Integers, *, sensitivity: float, rho: float, name: str) -> NoisyRelease:
    """Release an integer vector of l2 sensitivity `sensitivity` with Gaussian noise, for `rho`."""
    scale = gaussian_scale(sensitivity, rho)
    words = f"Gaussian noise on {len(sums)} numbers" if len(sums) > 1 else "Gaussian noise on a number"
    meter.charge(Release(name, "gaussian", words, sensitivity, scale, rho, size=len(sums)))
    return NoisyRelease(meter.source.gaussian(sums, scale), np.full(len(sums), scale))


def release_gram(meter: Meter, gram: Integers, *, sensitivity: float, rho: float, name: str) -> NoisyRelease:
    """Release a symmetric integer matrix of Frobenius sensitivity `sensitivity`, for `rho`.

    The upper triangle alone is drawn, with scale s on the diagonal and s/sqrt 2 off it, and mirrored. Proof. For a
    symmetric change C the zCDP costs of independent entries add to
    sum_i C_ii^2 / (2 s^2) + sum_{i<j} C_ij^2 / (2 s^2 / 2) = |C|_F^2 / (2 s^2).
    """
    size = len(gram)
    scale = gaussian_scale(sensitivity, rho)
    words = f"Gaussian noise on a {size} x {size} Gram matrix"
    meter.charge(Release(name, "gaussian", words, sensitivity, scale, rho, size=size * (size + 1) // 2))
    off_diagonal = scale / math.sqrt(2) * (1 + 1e-15)
    noisy = np.zeros((size, size), dtype=np.int64)
    rows, columns = np.triu_indices(size, 1)
    noisy[rows, columns] = meter.source.gaussian(gram[rows, columns], off_diagonal)
    noisy += noisy.T
    np.fill_diagonal(noisy, meter.source.gaussian(np.diagonal(gram), scale))
    scales = np.full((size, size), off_diagonal)
    np.fill_diagonal(scales, scale)
    return NoisyRelease(noisy, scales)


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
        What it may cost.
    name : str
        What the record calls it.

    Returns
    -------
    float
        A grid point.
    """
    utility = -np.abs(np.asarray(counts_below, dtype=np.int64) - target)
    unit = sensitivities.quantile_utility(meter.guarantee.adjacency)
    return float(grid[exponential_pick(meter, utility, sensitivity=unit, rho=rho, name=name)])
