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
    steeper: float = 1.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Effects and their precision after a mean score at these effects: a step of the extended Kalman filter.

    `slopes` are the derivative of the mean score J, and J / n its sampling variance. Where people have several rows,
    the derivative is J times `steeper`. Where noise hides a direction, the step goes along it no further than the
    precision so far allows.

    Examples
    --------
    >>> effects, precision = updated(np.zeros(1), np.eye(1), np.eye(1), np.array([0.6]), 1.0, np.inf)
    >>> effects, precision
    (array([0.3]), array([[2.]]))
    """
    gain = steeper * np.linalg.solve(noise**2 * np.eye(len(mean)) + slopes / n_records, slopes).T
    precision = precision + steeper * gain @ slopes
    return effects + np.linalg.solve(precision, gain @ mean), (precision + precision.T) / 2


@dataclass(frozen=True)
class Slopes:
    """The derivative of the mean score.

    `turn`: what makes rows white, roughly.
    `inner`: the slope moments in those coordinates.
    `noise`: the standard deviation of its diagonal.
    `steeper`: what they are multiplied by in the derivative of a person's score: the root of the mean number of their
      rows.
    """

    turn: NDArray[np.float64]
    inner: NDArray[np.float64]
    noise: float
    steeper: float = 1.0

    @classmethod
    def of(cls, turn: NDArray[np.float64], released: NoisyMatrix, steeper: float = 1.0) -> "Slopes":
        """From a release in white coordinates."""
        pulled = released.pulled(np.eye(len(turn)))
        return cls(turn, pulled.values, pulled.noise, steeper)

    @property
    def inverse(self) -> NDArray[np.float64]:
        """What makes a step of a mean score."""
        return np.asarray(self.turn.T @ np.linalg.inv(self.steeper * self.inner))

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


def squares_left_out(rows: Norms, bound: float) -> float:
    """The share of all squared norms that they leave out: what rows far from all others would tell of effects."""
    squares = rows.values * np.maximum(rows.values - bound, 0.0)
    return rows.mean(squares) / max(rows.mean(rows.values**2), c.NO_VARIANCE)


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
    slope: float,
    weighted_down: float = 0.0,
) -> OneStep:
    """From a start, the slope moments, second moments of scores, and their mean with its noise.

    `slope` is the mean slope, and `weighted_down` the share of the squared norms of rows that their weights leave out.
    Every effect has a bias of its own, in its own unit.
    """
    k, inverse, move = len(start), slopes.inverse, slopes.step(mean)
    variance = floored(moments.pulled(slopes.inner).values, c.LEAST_ROW_MOMENT)
    # The noise of slope moments tilts the step, by as much as it is long beyond its own noise.
    inner = np.linalg.solve(slopes.inner, mean)
    own = noise**2 * float(np.trace(np.linalg.inv(slopes.inner @ slopes.inner)))
    beyond = max(float(inner @ inner) - own, 0.0)
    length = max(beyond, c.LEAST_LENGTH * float(inner @ inner))
    covariance = variance / n_records + (noise**2 + slopes.noise**2 / 2 * length * (1 + 1 / k)) * np.eye(k)
    # A step that moves predictions leaves what a straight line does not see of the curve: for each effect in proportion
    # to its own move, and to itself, for all log odds grow with what is explained beside them.
    moved = np.sqrt(beyond / slope)
    curve = c.CURVATURE * moved * (np.abs(move) + np.abs(start + move) * moved)
    unit = np.sqrt(slope * np.einsum("ij,ij->i", inverse, slopes.turn.T))
    bias = np.hypot(c.MISFIT_OF_SQUARES * weighted_down * unit, curve)
    return OneStep(start + move, inverse @ covariance @ inverse.T, bias, np.inf)
