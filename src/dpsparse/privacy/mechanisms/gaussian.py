"""Gaussian noise on integer vectors and Gram matrices."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import GaussianMechanism, Release
from dpsparse.privacy.noise import Integers


@dataclass(frozen=True)
class NoisyRelease:
    """Noisy integers and the standard deviation of their noise, one for each entry."""

    values: Integers
    scale: npt.NDArray[np.float64]


def gaussian_scale(sensitivity: float, rho: float) -> float:
    """The standard deviation at which Gaussian noise costs rho: sensitivity / sqrt(2 rho), rounded up.

    Proof. Independent discrete Gaussian noise of scale s on an integer vector of l2 sensitivity D is D^2 / (2 s^2)-zCDP
    (Canonne, Kamath and Steinke 2020, Theorem 14), as continuous Gaussian noise is.

    Examples
    --------
    >>> round(gaussian_scale(2.0, 0.5), 9)
    2.0
    """
    return sensitivity / math.sqrt(2 * rho) * (1 + 1e-15)


def release_vector(meter: Meter, sums: Integers, *, sensitivity: float, rho: float, name: str) -> NoisyRelease:
    """Release an integer vector of l2 sensitivity `sensitivity` with Gaussian noise, for `rho`."""
    scale, size = gaussian_scale(sensitivity, rho), len(sums)
    words = f"Gaussian noise on {size} numbers" if size > 1 else "Gaussian noise on a number"
    meter.charge(_release(name, words, sensitivity, scale, rho, size))
    return NoisyRelease(meter.source.gaussian(sums, scale), np.full(size, scale))


def release_gram(meter: Meter, gram: Integers, *, sensitivity: float, rho: float, name: str) -> NoisyRelease:
    """Release a symmetric integer matrix of Frobenius sensitivity `sensitivity`, for `rho`.

    The upper triangle alone is drawn, with scale s on the diagonal and s/sqrt 2 off it, and mirrored. Proof. For a
    symmetric change C the zCDP costs of independent entries add to
    sum_i C_ii^2 / (2 s^2) + sum_{i<j} C_ij^2 / (2 s^2 / 2) = |C|_F^2 / (2 s^2).
    """
    size = len(gram)
    scale = gaussian_scale(sensitivity, rho)
    words = f"Gaussian noise on a {size} x {size} Gram matrix"
    meter.charge(_release(name, words, sensitivity, scale, rho, size * (size + 1) // 2))
    off_diagonal = scale / math.sqrt(2) * (1 + 1e-15)
    noisy = np.zeros((size, size), dtype=np.int64)
    rows, columns = np.triu_indices(size, 1)
    noisy[rows, columns] = meter.source.gaussian(gram[rows, columns], off_diagonal)
    noisy += noisy.T
    np.fill_diagonal(noisy, meter.source.gaussian(np.diagonal(gram), scale))
    scales = np.full((size, size), off_diagonal)
    np.fill_diagonal(scales, scale)
    return NoisyRelease(noisy, scales)


def _release(name: str, words: str, sensitivity: float, scale: float, rho: float, size: int) -> Release:
    mechanism = GaussianMechanism.drawn(scale=scale, size=size, rho=rho, words=words)
    return Release(name, mechanism, sensitivity, scale, size=size)
