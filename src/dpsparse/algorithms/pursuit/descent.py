"""All effects at once, where every feature is taken: many noisy gradients, each followed by a short step.

Nothing here reads data. A step is the gradient times the inverse of the released second moments, whose eigenvalues are
at least what their noise alone can make: along directions that the noise hides, steps are too short rather than too
long. So features that go together are found in few steps, and the others as far as the noise lets one see them, which
is what early stopping does. No step may move the effects by more than a little by noise alone.

The effects of the second half of the steps are averaged. Their gradients are averaged too: near the root a gradient is
linear, so the average is the gradient at the average, with less noise.
"""

import math

import numpy as np

# How far a step goes: of the way to the root, if the second moments are right.
RATE = 0.6
# The least eigenvalue of the second moments, in units of a column's own.
LEAST_EIGENVALUE = 0.1
# The most that noise may move predictions in one step, in residual scales.
MOST_NOISE = 0.1


class Descent:
    """Effects of a constant and of all features, by preconditioned gradient steps.

    Parameters
    ----------
    moments : NoisyMatrix
        The released mean of v z z'.
    gain : ndarray
        What its diagonal is expected to be.
    """

    def __init__(self, moments, gain):
        values, self._vectors = np.linalg.eigh(moments.values)
        # The largest eigenvalue of a symmetric matrix of noise.
        hidden = moments.noise * math.sqrt(2 * len(values))
        self._eigenvalues = np.maximum(values, max(hidden, LEAST_EIGENVALUE * float(np.mean(gain))))
        self.start_average()

    def start_average(self):
        """Forget the effects and gradients so far, of which averages are made."""
        self._effects, self._gradients, self._count = 0.0, 0.0, 0

    def step(self, effects, gradient, noise, fraction, scale):
        """The next effects, from a gradient at the last ones.

        Parameters
        ----------
        effects, gradient : ndarray
            Where the gradient was taken, and what it is.
        noise : float
            Standard deviation of its entries.
        fraction : float
            The expected fraction of residuals within tau, where psi has slope 1.
        scale : float
            The residual scale.
        """
        lengths = RATE / (fraction * self._eigenvalues)
        by_noise = noise * float(np.linalg.norm(lengths))
        lengths *= min(1.0, MOST_NOISE * scale / by_noise)
        self._effects, self._gradients = self._effects + effects, self._gradients + gradient
        self._count += 1
        return effects + self._vectors @ (lengths * (self._vectors.T @ gradient))

    def average(self):
        """The averages of the effects and of their gradients, and the number of steps in them."""
        return self._effects / self._count, self._gradients / self._count, self._count
