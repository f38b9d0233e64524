"""One step to the maximum of a likelihood, for residuals that are bounded by their link.

b = b0 + J^-1 E[w z r], with J = E[w s z z'], s the slope of the mean and w the weight of a row. Everything is in
coordinates in which rough slope moments make rows white. Under the model the variance of a score is its slope, so that
a released variance is pulled toward J by its noise. Everything here is computed from releases.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference import inference_constants as c
from dpsparse.inference.matrices import NoisyMatrix, floored
from dpsparse.inference.one_step import OneStep
from dpsparse.inference.tails import Norms


def updated(
    effects: NDArray[np.float64],
    precision: NDArray[np.float64],
    slopes: NDArray[np.float64],
    mean: NDArray[np.float64],
    noise: float,
    n_records: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Effects and their precision after a mean score at these effects: a step of the extended Kalman filter.

    `slopes` are the derivative of the mean score J, and J / n its sampling variance. Where noise hides a direction, the
    step goes along it no further than the precision so far allows.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.inference.bounded_step import updated
    >>> effects, precision = updated(np.zeros(1), np.eye(1), np.eye(1), np.array([0.6]), 1.0, np.inf)
    >>> effects, precision
    (array([0.3]), array([[2.]]))
    """
    gain = np.linalg.solve(noise**2 * np.eye(len(mean)) + slopes / n_records, slopes).T
    precision = precision + gain @ slopes
    return effects + np.linalg.solve(precision, gain @ mean), (precision + precision.T) / 2


@dataclass(frozen=True)
class Slopes:
    """The derivative of the mean score.

    Parameters
    ----------
    turn : ndarray
        What makes rows white, roughly.
    inner : ndarray
        The slope moments in those coordinates.
    noise : float
        The standard deviation of its diagonal.
    """

    turn: NDArray[np.float64]
    inner: NDArray[np.float64]
    noise: float

    @classmethod
    def of(cls, turn: NDArray[np.float64], released: NoisyMatrix) -> "Slopes":
        """From a release in white coordinates."""
        pulled = released.pulled(np.eye(len(turn)))
        return cls(turn, pulled.values, pulled.noise)

    @property
    def inverse(self) -> NDArray[np.float64]:
        """What makes a step of a mean score."""
        return np.asarray(self.turn.T @ np.linalg.inv(self.inner))

    def step(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """The step of a mean score."""
        return np.asarray(self.inverse @ mean)

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """The slope moments in the columns' own units."""
        root = np.linalg.inv(self.turn)
        return np.asarray(root @ self.inner @ root.T)


def left_out(rows: Norms, bound: float) -> float:
    """The share of all norms that weights of min(1, bound / norm) leave out."""
    return rows.beyond(bound) / max(rows.mean(rows.values), c.NO_VARIANCE)


def row_bound(rows: Norms, noise: float, slope: float) -> float:
    """The norm with the least noise^2 + bias^2, if rows that are weighted down have other effects."""
    costs = [(noise * bound) ** 2 + slope * (c.MISFIT * left_out(rows, bound)) ** 2 for bound in rows.values]
    return float(rows.values[int(np.argmin(costs))])


def bounded_step(
    start: NDArray[np.float64],
    slopes: Slopes,
    moments: NoisyMatrix,
    mean: NDArray[np.float64],
    noise: float,
    n_records: float,
    weighted_down: float = 0.0,
) -> OneStep:
    """From a start, the slope moments, second moments of scores, and their mean with its noise.

    `weighted_down` is the share of the norms of rows that their weights leave out.
    """
    k, inverse, move = len(start), slopes.inverse, slopes.step(mean)
    variance = floored(moments.pulled(slopes.inner).values, c.LEAST_ROW_MOMENT)
    # The noise of slope moments tilts the step, by as much as it is long beyond its own noise.
    inner = np.linalg.solve(slopes.inner, mean)
    own = noise**2 * float(np.trace(np.linalg.inv(slopes.inner @ slopes.inner)))
    length = max(float(inner @ inner) - own, c.LEAST_LENGTH * float(inner @ inner))
    covariance = variance / n_records + (noise**2 + slopes.noise**2 / 2 * length * (1 + 1 / k)) * np.eye(k)
    # A step that is long beyond its noise leaves what a straight line does not see of the curve.
    curve = c.CURVATURE * max(0.0, float(move @ move) - noise**2 * float(np.sum(inverse**2)))
    bias = np.full(k, np.hypot(c.MISFIT * weighted_down, curve))
    return OneStep(start + move, inverse @ covariance @ inverse.T, bias, np.inf)
