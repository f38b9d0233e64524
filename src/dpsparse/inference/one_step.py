"""One step from rough effects to those of a reference estimator: least squares, or Huber's M-estimator.

b = b0 + G^-1 E[z psi(r)], with G = E[psi'(r) z z'] (Bickel, 1975). Scores are whitened by their own variance before
their norm is clipped, so that one clip serves all directions; a histogram of norms tells what a clip leaves out, which
bounds the bias. Everything here is computed from releases.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference import inference_constants as c
from dpsparse.inference.matrices import NoisyMatrix, floored
from dpsparse.inference.tails import Clip, Norms


def power(matrix: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """A power of a symmetric positive definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * values**exponent) @ vectors.T)


@dataclass(frozen=True)
class Whitening:
    """The second moments of rows, G = root root', and what makes them white.

    Parameters
    ----------
    root : ndarray
        A root of G.
    rough : ndarray
        The inverse root of the rough second moments, in whose coordinates `inner` was released.
    inner : ndarray
        G in those coordinates.
    noise : float
        The standard deviation of its diagonal.
    left_out : float
        The share of the second moments that the clip of rows leaves out.
    steeper : float
        What G is multiplied by in the derivative of a person's score: the root of the mean number of their rows.
    cubed : float
        The mean cubed norm of white rows, in units of what it is where all are as long as each other.
    """

    root: NDArray[np.float64]
    rough: NDArray[np.float64]
    inner: NDArray[np.float64]
    noise: float
    left_out: float
    steeper: float = 1.0
    cubed: float = 1.0

    @classmethod
    def of(
        cls, rough: NDArray[np.float64], released: NoisyMatrix, rows: Norms, clip: Clip, steeper: float = 1.0
    ) -> Self:
        """From rough second moments, those in their coordinates, and the law of squared norms there."""
        inner = usable_moments(released, c.ROW_MOMENT_DEVIATIONS, shrinks=steeper > 1)
        root = power(rough, 0.5) @ power(inner, 0.5)
        left_out = rows.beyond(clip.bound) / max(np.trace(inner), c.NO_VARIANCE)
        cubed = rows.mean(np.minimum(rows.values, rows.farthest) ** c.CUBED) / len(root) ** c.CUBED
        return cls(root, power(rough, -0.5), inner, released.noise, left_out, steeper, cubed)

    @property
    def inverse_root(self) -> NDArray[np.float64]:
        """What makes rows white."""
        return np.asarray(np.linalg.inv(self.root))

    @property
    def of_scores(self) -> NDArray[np.float64]:
        """What makes white the rows that scores are of."""
        return self.inverse_root

    @property
    def second_moments(self) -> NDArray[np.float64]:
        """G itself."""
        return np.asarray(self.root @ self.root.T)

    @property
    def step(self) -> NDArray[np.float64]:
        """What makes a step of the mean score of white rows."""
        return self._step

    def solve(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """The steps that some mean scores lead to."""
        return np.asarray(self._step @ (self.inverse_root @ vectors))

    def whiten(self, variance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A root of the variance of scores, from that of the scores of white rows, and what makes scores white."""
        root = self.root @ power(variance, 0.5)
        return root, np.asarray(np.linalg.inv(root))

    def with_unseen(self, covariance: NDArray[np.float64], error: float) -> NDArray[np.float64]:
        """The covariance of effects, where what scores do not tell of has this error."""
        return covariance

    @property
    def _step(self) -> NDArray[np.float64]:
        return np.asarray(self.inverse_root.T / self.steeper)


class AboutMeans(Whitening):
    """The same where scores are of features about their means, and the first column is the constant.

    A step then leaves the mean prediction where it is, and no clip is spent on the constant. In white coordinates these
    rows are what is orthogonal to the first row of the root: features about their means are uncorrelated with the
    constant, and that row has the second moments of white rows with it.
    """

    @property
    def of_scores(self) -> NDArray[np.float64]:
        """What makes white the rows that scores are of."""
        return np.asarray(self._directions.T @ self.inverse_root)

    @property
    def step(self) -> NDArray[np.float64]:
        """What makes a step of the mean score of white rows."""
        return np.asarray(self._step @ self._directions)

    def whiten(self, variance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A root of the variance of scores, from that of the scores of white rows, and what makes scores white."""
        return self.root @ self._directions @ power(variance, 0.5), power(variance, -0.5) @ self.of_scores

    def with_unseen(self, covariance: NDArray[np.float64], error: float) -> NDArray[np.float64]:
        """The covariance of effects, where the mean prediction has this error."""
        covariance = covariance.copy()
        covariance[0, 0] += error**2
        return covariance

    @property
    def _directions(self) -> NDArray[np.float64]:
        return np.asarray(np.linalg.qr(self.root[:1].T, mode="complete")[0][:, 1:])


def rough_moments(released: NoisyMatrix, shrinks: bool = False) -> NDArray[np.float64]:
    """Rough second moments, with no eigenvalue below what noise alone makes of as many columns."""
    return usable_moments(released, np.sqrt(len(released.values)), shrinks)


def raised(rough: NDArray[np.float64], released: NoisyMatrix) -> NDArray[np.float64]:
    """Rough second moments, raised along directions in which rows that they make white are surely longer."""
    values, vectors = np.linalg.eigh(released.values)
    longer = np.where(values > 1 + c.FAR_ROW_DEVIATIONS * released.noise, values, 1.0)
    root = power(rough, 0.5)
    return np.asarray(root @ (vectors * longer) @ vectors.T @ root)


def usable_moments(released: NoisyMatrix, deviations: float, shrinks: bool) -> NDArray[np.float64]:
    """Second moments of rows, with no eigenvalue below so many standard deviations of their noise.

    Those of people are shrunk to a sphere: they have the noise of as many terms as there are people, while scores have
    that of more.
    """
    values = shrunk_to_sphere(released) if shrinks else released.values
    return floored(values, max(released.noise * deviations, c.LEAST_ROW_MOMENT))


def shrunk_to_sphere(released: NoisyMatrix) -> NDArray[np.float64]:
    """A released matrix, pulled toward a multiple of the identity by as much of its spread as is noise.

    Linear shrinkage, as Ledoit and Wolf's, with a noise that is known: of variance s^2 on the diagonal and s^2 / 2 off
    it, it adds k (k + 1) / 2 s^2 to the squared distance from the multiple of the identity, about.
    """
    k = len(released.values)
    sphere = np.eye(k) * max(np.trace(released.values) / k, 0.0)
    spread = released.values - sphere
    largest = float(np.max(np.abs(spread)))
    if not largest:
        return np.asarray(sphere)
    # In units of the largest entry: the fourth power of a response's unit may be no double.
    noise = min(1.0, released.noise / largest / float(np.linalg.norm(spread / largest)))
    return np.asarray(sphere + max(0.0, 1 - noise**2 * k * (k + 1) / 2) * spread)


def score_root(released: NoisyMatrix, whitening: Whitening) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A root of the variance of scores from its release in white coordinates, and what makes scores white."""
    values = shrunk_to_sphere(released)
    mean = float(np.mean(np.maximum(np.linalg.eigvalsh(values), 0.0)))
    floor = max(c.SCORE_NOISE * released.noise, c.LEAST_SCORE_VARIANCE * mean, c.NO_VARIANCE)
    return whitening.whiten(floored(values, floor))


@dataclass(frozen=True)
class OneStep:
    """The step: effects, their covariance, a bound on the bias that clips leave, and where residuals are clipped.

    `settled` is False where it led further than its errors and those of its start let one expect: a few rows or
    responses that lie far from all others pull it, and its errors cannot be relied on. `noisy` says that there are too
    many columns for so few records: second moments are mostly noise. `sampling` is the part of the covariance that a
    fit without privacy has, too; 0 where it is not told apart.
    """

    effects: NDArray[np.float64]
    covariance: NDArray[np.float64]
    bias: NDArray[np.float64]
    tau: float
    settled: bool = True
    noisy: bool = False
    sampling: NDArray[np.float64] | float = 0.0

    @classmethod
    def of(
        cls,
        tau: float,
        start: NDArray[np.float64],
        whitening: Whitening,
        root: NDArray[np.float64],
        scores: Norms,
        clip: Clip,
        mean: NDArray[np.float64],
        noise: float,
        left_out: float = c.LEFT_OUT,
    ) -> "OneStep":
        """From a start, second moments of rows, a root of the scores' variance, and their mean in its units.

        `tau` is where residuals are clipped, `scores` the law of the white norms, `clip` theirs, `noise` the mean's;
        for `left_out` see `Tails`.
        """
        k, directions, n = *root.shape, scores.n_records
        turn = whitening.solve(root)
        move = turn @ mean
        spread = turn @ turn.T
        sampling = scores.mean(clip.of(scores.values) ** 2) / directions / n
        # The noise of second moments tilts the step, by as much as it is long beyond its own noise: most along the step
        # itself, of which the noise's diagonal tells.
        straight = np.linalg.inv(whitening.rough)
        along = straight @ move
        own = noise**2 * float(np.trace(straight @ spread @ straight))
        beyond_noise = max(1 - own / max(float(along @ along), c.NO_VARIANCE), c.LEAST_LENGTH)
        tilt = whitening.rough @ np.linalg.inv(whitening.inner)
        steps = np.eye(k) * float(along @ along) + np.outer(along, along)
        tilted = tilt @ steps @ tilt.T * whitening.noise**2 / 2 * beyond_noise
        # A clip of the norm leaves out the same in every white direction, as far as is known.
        clipped = np.sqrt(np.diagonal(spread) / directions) * left_out * scores.beyond(clip.bound)
        bias = np.hypot(clipped, whitening.left_out * move)
        return cls(start + move, spread * (sampling + noise**2) + tilted, bias, tau, sampling=spread * sampling)

    @property
    def with_large_bias(self) -> NDArray[np.float64]:
        """The covariance, with what of the bound on the bias is beyond so many errors that it may be most of all."""
        large = np.maximum(0.0, self.bias - c.LARGE_BIAS * np.sqrt(np.diagonal(self.covariance)))
        return np.asarray(self.covariance + np.diag(large**2))

    def curved(self, start: NDArray[np.float64], whitening: Whitening) -> "OneStep":
        """The same, with a bias for what a straight line does not see of the curve of an exponential."""
        return self._with_left(c.EXPONENTIAL_CURVE * self._squared_length(start, whitening), whitening)

    def clipped_anew(
        self, start: NDArray[np.float64], before: NDArray[np.float64], whitening: Whitening, drift: float
    ) -> "OneStep":
        """The same, with a bias for what the step leaves, as other residuals are clipped after it, and at another tau.

        A step is left with its square in units of tau, in white units: far below its length if the fit is near already,
        and more where few rows are far longer than others. And while the scale of residuals moves, by `drift` in its
        logarithm before this step, effects go on moving with it: in the step's direction. `before` is the covariance of
        the start's noise, which the step takes back. A step that may be noise alone leaves nothing.
        """
        noise, whole = self.covariance - self.sampling + before, self._whole_length(start, whitening)
        length = math.sqrt(max(0.0, whole - c.MAY_BE_NOISE * self._spread(noise, whitening)))
        left = c.CLIPPED_CURVE * whitening.cubed * length**2 / self.tau + length * abs(drift) / c.SCALE_DRIFT
        along = np.abs(self.effects - start) * left / max(math.sqrt(whole), c.NO_VARIANCE)
        return replace(self, bias=np.hypot(self.bias, along))

    def _squared_length(self, start: NDArray[np.float64], whitening: Whitening) -> float:
        """The squared length of the step in white units, without that of its noise."""
        return max(0.0, self._whole_length(start, whitening) - self._spread(self.covariance, whitening))

    def _whole_length(self, start: NDArray[np.float64], whitening: Whitening) -> float:
        return float(np.sum((whitening.root.T @ (self.effects - start)) ** 2))

    def _spread(self, covariance: NDArray[np.float64], whitening: Whitening) -> float:
        straight = whitening.root.T
        return float(np.trace(straight @ covariance @ straight.T))

    def _with_left(self, left: float, whitening: Whitening) -> "OneStep":
        """The same, with a bias of this length in white units, at most along the step."""
        scale = np.sqrt(np.diagonal(np.linalg.inv(whitening.second_moments)))
        return replace(self, bias=np.hypot(self.bias, left * scale))

    def since(self, start: NDArray[np.float64], errors: NDArray[np.float64]) -> "OneStep":
        """The same, and whether it has settled, from the start and its standard errors."""
        expected = np.sqrt(errors**2 + np.diagonal(self.covariance) + self.bias**2)
        return replace(self, settled=bool(np.all(np.abs(self.effects - start) <= c.UNSETTLED * expected)))
