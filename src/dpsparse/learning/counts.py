"""Noisy counts of records, in steps so fine that their noise is as good as continuous."""

from dataclasses import dataclass

import numpy as np

from dpsparse.privacy.mechanisms.gaussian import release_vector
from dpsparse.privacy.mechanisms.partition import RECORD_STEPS


@dataclass(frozen=True)
class NoisyCounts:
    """Counts of records with noise.

    Parameters
    ----------
    values : ndarray of float64
        The counts.
    noise : float
        The standard deviation of their noise.
    """

    values: np.ndarray
    noise: float


def release_counts(meter, slot, counts, sensitivity):
    """Release counts of records with Gaussian noise.

    Parameters
    ----------
    meter : Meter
        Charged before anything is drawn.
    slot : Slot
        The name and the price.
    counts : ndarray of int64
        Of any shape.
    sensitivity : float
        Their l2 sensitivity, in records.

    Returns
    -------
    NoisyCounts
        Of the same shape.
    """
    counts = np.asarray(counts, dtype=np.int64)
    steps, change = RECORD_STEPS * counts.ravel(), RECORD_STEPS * sensitivity
    noisy = release_vector(meter, steps, sensitivity=change, rho=slot.rho, name=slot.name)
    return NoisyCounts((noisy.values / RECORD_STEPS).reshape(counts.shape), float(noisy.scale[0] / RECORD_STEPS))
