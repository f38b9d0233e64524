"""All effects at once, where every feature is taken: many noisy gradients, each followed by a short step.

Nothing here reads data. A step is the gradient times the inverse of the released second moments, whose eigenvalues are
at least what their noise alone can make: along directions that the noise hides, steps are too short rather than too
long. So features that go together are found in few steps, and the others as far as the noise lets one see them, which
is what early stopping does. No step may move the effects by more than a little by noise alone.

The effects of the second half of the steps are averaged. Their gradients are averaged too: near the root a gradient is
linear, so the average is the gradient at the average, with less noise. Where it is clearly more than noise the steps
stopped too early: effects move on then (`Descent.further`). Where that is seen on the way, steps may be noisier from
there on (`Descent.bolder`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.pursuit_constants import (
    BOLDER,
    LEAST_EIGENVALUE_FURTHER,
    LEAST_EIGENVALUE_OF_STEPS,
    MOST_NOISE,
    NATS_FURTHER,
    RATE,
    VARIANCES_FURTHER,
)
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.one_step import shrunk_to_sphere


@dataclass(frozen=True)
class Descent:
    """Preconditioned gradient steps for a constant and all features, and what is averaged of them so far.

    `moments` are the released second moments, `expected` is what their diagonal is expected to be on average, and
    `squares` are the mean squares of the columns. `noise` is the standard deviation of the last gradient's entries,
    `boldness` how much noisier than others steps may be, and `recent` are gradients added up since that was last asked.
    """

    moments: NoisyMatrix
    expected: float
    squares: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    vectors: NDArray[np.float64]
    effects: NDArray[np.float64] | float = 0.0
    gradients: NDArray[np.float64] | float = 0.0
    count: int = 0
    noise: float = math.inf
    boldness: float = 1.0
    recent: NDArray[np.float64] | float = 0.0
    n_recent: int = 0

    @classmethod
    def of(cls, moments: NoisyMatrix, gain: NDArray[np.float64], squares: NDArray[np.float64]) -> "Descent":
        """From the released mean of v z z', what its diagonal is expected to be, and the mean squares of the columns.

        In the unit of a rare feature its mean square is below 1, and noise in its effect moves predictions less.
        """
        values, vectors = np.linalg.eigh(moments.values)
        # The largest eigenvalue of a symmetric matrix of noise.
        hidden = moments.noise * math.sqrt(2 * len(values))
        expected = float(np.mean(gain))
        least = max(hidden, LEAST_EIGENVALUE_OF_STEPS * expected)
        return cls(moments, expected, np.minimum(squares, 1.0), np.maximum(values, least), vectors)

    def averaging_from_here(self) -> "Descent":
        """Forget the effects and gradients so far, of which averages are made."""
        return replace(self, effects=0.0, gradients=0.0, count=0)

    def bolder(self) -> "Descent":
        """Steps may be noisier from here on where the mean of recent gradients is clearly more than noise.

        Then they are too short, and it counts for more than what their noise does.
        """
        mean = np.asarray(self.recent) * (self.n_recent**-0.5 / self.noise)
        bold = BOLDER if _nats(mean) >= NATS_FURTHER else 1.0
        return replace(self.looking_from_here(), boldness=bold * self.boldness)

    def looking_from_here(self) -> "Descent":
        """Forget the gradients so far, by which steps may be bolder."""
        return replace(self, recent=0.0, n_recent=0)

    def step(
        self,
        effects: NDArray[np.float64],
        gradient: NDArray[np.float64],
        noise: float,
        slope: float,
        residual_scale: float,
    ) -> tuple["Descent", NDArray[np.float64]]:
        """What is averaged from here on, and the next effects, from a gradient at the last ones.

        `noise` is the standard deviation of the gradient's entries, `slope` the expected mean slope of the score.
        """
        lengths = RATE / (slope * self.eigenvalues)
        by_noise = noise * math.sqrt(self.squares @ (self.vectors**2 @ lengths**2))
        lengths *= min(1.0, self.boldness * MOST_NOISE * residual_scale / by_noise)
        taken = replace(
            self,
            effects=self.effects + effects,
            gradients=self.gradients + gradient,
            count=self.count + 1,
            noise=noise,
            recent=self.recent + gradient,
            n_recent=self.n_recent + 1,
        )
        return taken, effects + self.vectors @ (lengths * (self.vectors.T @ gradient))

    def average(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """The averages of the effects and of their gradients, and the noise of the latter."""
        effects, gradients = np.asarray(self.effects / self.count), np.asarray(self.gradients / self.count)
        return effects, gradients, self.noise / math.sqrt(self.count)

    def further(self, gradient: NDArray[np.float64], noise: float, slope: float) -> NDArray[np.float64]:
        """How far effects move on from where a gradient, with noise of this standard deviation, was taken.

        What they lack has a normal prior of one variance for all effects, that under which the gradient is most likely
        (type-II maximum likelihood); 0 where noise explains it about as well. `slope` is the mean slope of the score.
        Second moments are pulled toward a sphere by their noise: their least eigenvalues are not as small as they seem.
        They are no less on average than expected, so that moves are too short rather than too long.
        """
        values, vectors = np.linalg.eigh(shrunk_to_sphere(self.moments))
        mean = max(float(np.mean(values)), self.expected)
        steep = np.maximum(values + mean - np.mean(values), LEAST_EIGENVALUE_FURTHER * mean)
        # In units of the noise, so that no square overflows.
        seen = vectors.T @ gradient / noise
        signals = np.outer(np.append(0.0, np.geomspace(*VARIANCES_FURTHER)), (steep / np.max(steep)) ** 2)
        likely = -np.sum(np.log1p(signals) + seen**2 / (1 + signals), axis=1) / 2
        best = int(np.argmax(likely))
        if likely[best] < likely[0] + NATS_FURTHER:
            return np.zeros_like(gradient)
        signal = signals[best]
        return np.asarray(vectors @ (signal / (1 + signal) * seen * (noise / (slope * steep))))


def _nats(values: NDArray[np.float64]) -> float:
    """By how much values, in standard deviations of their noise, are likelier with the best larger variance."""
    square = float(np.mean(values**2))
    return len(values) / 2 * (square - 1 - math.log(square)) if square > 1 else 0.0
