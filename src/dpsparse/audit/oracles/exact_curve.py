"""The true worst-case privacy curve of a sequence of Gaussian releases and picks, straight from its recursion.

It shares no code with `gdp`, which bounds this curve. In reverse time, from D(x) = max(0, 1 - e^x):

- a Gaussian release of rho: D(x) <- E[D(x - L)], L normal of variance m^2 = 2 rho and mean m^2 / 2;
- a pick of rho: D(x) <- sup_t p_t D(x - t) + (1 - p_t) D(x - t + e0), e0 = sqrt(8 rho), with
  p_t e^-t + (1 - p_t) e^(e0 - t) = 1.

D is a piecewise linear function on a uniform grid. Its expectation under a normal law is exact (the weight of a node
is the expectation of its hat function); the supremum runs over all t of the grid. Everything is off by O(step^2),
so the same computation with twice the step shows the size of the error.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.special import ndtr

from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, RepeatedPicks

# The grid reaches this many standard deviations (of a Gaussian that costs twice as much) to both sides of 0.
_REACH = 12.0


def _hat_weights(m: float, step: float) -> tuple[NDArray[np.float64], int]:
    """The weights of E[f(L)] over nodes k * step, for f linear between nodes; and the first k."""
    mean = m**2 / 2
    first, last = math.floor((mean - 10 * m) / step) - 1, math.ceil((mean + 10 * m) / step) + 1
    z = (step * np.arange(first - 1, last + 2) - mean) / m
    # Second differences of E[(L - u)+], each tail taken from its own side so that nothing cancels badly.
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    beyond = np.where(z > 0, m * (density - z * ndtr(-z)), m * (density + z * ndtr(z)))
    weights = np.diff(beyond, 2) / step
    # E[(L - u)+] = E[(u - L)+] + mean - u: the kink of the switch at z = 0 is put back.
    k = np.arange(first, last + 1)
    zero = mean / step
    weights += np.maximum(0.0, 1 - np.abs(k - zero))
    return weights, first


class _Grid:
    def __init__(self, step: float, reach: float) -> None:
        self.step = step
        self.size = 2 * math.ceil(reach / step) + 1
        self.x = step * (np.arange(self.size) - self.size // 2)

    def widened(self, curve: NDArray[np.float64], below: int, above: int) -> NDArray[np.float64]:
        """The curve with `below` and `above` more nodes: 1 - e^x far left, 0 far right."""
        left = -np.expm1(self.x[0] - self.step * np.arange(below, 0, -1))
        return np.concatenate([left, curve, np.zeros(above)])

    def after_gaussian(self, curve: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
        weights, first = _hat_weights(math.sqrt(2 * rho), self.step)
        last = first + len(weights) - 1
        wide = self.widened(curve, max(last, 0), max(-first, 0))
        out = fftconvolve(wide, weights)
        # out[i] = sum_k weights[k - first] wide[i - (k - first)]; node n of the result sits at i = n + below - first.
        start = max(last, 0) - first
        cut: NDArray[np.float64] = np.maximum(out[start : start + self.size], 0.0)
        return cut

    def after_pick(self, curve: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
        epsilon0 = math.sqrt(8 * rho)
        window = epsilon0 / self.step
        margin = math.ceil(window) + 1
        wide = self.widened(curve, margin, margin)
        best = np.zeros(self.size)
        for t in (*range(math.floor(window) + 1), window):
            down = self._shifted(wide, margin, -t)
            up = self._shifted(wide, margin, window - t)
            low, high = math.exp(-t * self.step), math.exp(epsilon0 - t * self.step)
            share = (high - 1) / (high - low)
            np.maximum(best, share * down + (1 - share) * up, out=best)
        return best

    def _shifted(self, wide: NDArray[np.float64], margin: int, nodes: float) -> NDArray[np.float64]:
        whole = math.floor(nodes)
        part = nodes - whole
        start = margin + whole
        here = wide[start : start + self.size]
        return here if part == 0 else (1 - part) * here + part * wide[start + 1 : start + 1 + self.size]


def _curve(
    mechanisms: list[ExponentialMechanism | GaussianMechanism], step: float, reach: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    grid = _Grid(step, reach)
    steps = {GaussianMechanism: grid.after_gaussian, ExponentialMechanism: grid.after_pick}
    curve = np.maximum(0.0, -np.expm1(grid.x))
    for mechanism in reversed(mechanisms):
        curve = steps[type(mechanism)](curve, mechanism.rho)
    return np.asarray(grid.x, dtype=np.float64), curve


def _one_by_one(
    mechanisms: list[ExponentialMechanism | GaussianMechanism | RepeatedPicks],
) -> Iterator[ExponentialMechanism | GaussianMechanism]:
    """The same sequence with picks of one release as releases of their own."""
    for mechanism in mechanisms:
        if isinstance(mechanism, RepeatedPicks):
            yield from [ExponentialMechanism(mechanism.rho / mechanism.count)] * int(mechanism.count)
        else:
            yield mechanism


def exact_delta(
    mechanisms: list[ExponentialMechanism | GaussianMechanism | RepeatedPicks],
    epsilons: list[float],
    steps_per_unit: int = 120,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The exact delta of a sequence at each epsilon, and an estimate of its numerical error.

    `mechanisms`: in order of time; their rho alone is read.
    `epsilons`: where to evaluate.
    `steps_per_unit`: grid steps in the smaller of the total standard deviation and the largest pick parameter.
    Returns `deltas`, `errors`: the error is the change from a grid of twice the step.
    """
    single = list(_one_by_one(mechanisms))
    total = math.sqrt(2 * sum(mechanism.rho for mechanism in single))
    picks = [mechanism.rho for mechanism in single if isinstance(mechanism, ExponentialMechanism)]
    largest = max((math.sqrt(8 * rho) for rho in picks), default=total)
    step = min(total, largest) / steps_per_unit
    reach = _REACH * math.sqrt(2) * total + total**2 + max(map(abs, epsilons))
    fine, coarse = (np.interp(epsilons, *_curve(single, width, reach)) for width in (step, 2 * step))
    return fine, np.abs(fine - coarse)
