"""Noisy counts of records, in steps so fine that their noise is as good as continuous."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import Slot
from dpsparse.privacy.mechanisms.gaussian import release_vector
from dpsparse.privacy.mechanisms.partition import RECORD_STEPS


@dataclass(frozen=True)
class NoisyCounts:
    """Counts of records, and the standard deviation of their noise."""

    values: NDArray[np.float64]
    noise: float


def release_counts(meter: Meter, slot: Slot, counts: ArrayLike, sensitivity: float) -> NoisyCounts:
    """Release counts of records, of any shape, with Gaussian noise; `sensitivity` is their l2 sensitivity, in records.

    The meter is charged before anything is drawn.
    """
    exact = np.asarray(counts, dtype=np.int64)
    steps, change = RECORD_STEPS * exact.ravel(), RECORD_STEPS * sensitivity
    noisy = release_vector(meter, steps, sensitivity=change, rho=slot.rho, name=slot.name)
    return NoisyCounts((noisy.values / RECORD_STEPS).reshape(exact.shape), float(noisy.scale[0] / RECORD_STEPS))
