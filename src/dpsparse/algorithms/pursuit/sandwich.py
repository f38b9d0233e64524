"""Post-processing of releases: the sandwich of M-estimation, J^-1 M J^-1, with privacy noise in J, in M and beside it.

J is the Jacobian of the score, M its variance. Where a release of either is noisy it is pulled toward what earlier
releases let one expect: J toward p G, M toward E[psi^2] E[v^2 x x']. As the noise falls the pull vanishes.
"""

from dataclasses import dataclass

import numpy as np

from dpsparse.algorithms.pursuit.gls import positive_definite

# Relative spread of the Jacobian about p G, on and off its diagonal.
ON_DIAGONAL, OFF_DIAGONAL = 0.6, 0.2
# Without a Jacobian and a variance, errors are inflated by this.
WITHOUT = 1.05


@dataclass(frozen=True)
class NoisyMatrix:
    """A released symmetric matrix, as a mean over records, and the standard deviation of its diagonal."""

    values: np.ndarray
    noise: float

    def pulled(self, expected, spread):
        """The matrix pulled toward an expected one, each entry by its noise against `spread`, and the weights used."""
        size = len(self.values)
        noise = np.where(np.eye(size) > 0, self.noise, self.noise / np.sqrt(2))
        weight = spread**2 / (spread**2 + noise**2)
        return expected + weight * (self.values - expected), weight


@dataclass(frozen=True)
class Jacobian:
    """The Jacobian in units in which a normal row's is the identity, as second moments are.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        Used in place of the second moments from here on.
    noise : float
        Standard deviation of an entry.
    relative_noise : ndarray of shape (k,)
        Relative error of the diagonal of the inverse.
    weak : ndarray of bool of shape (k,)
        Columns whose carriers mostly lie outside tau, so that the score says little of their effects.
    """

    gram: np.ndarray
    noise: float
    relative_noise: np.ndarray
    weak: np.ndarray

    @classmethod
    def of(cls, released, gram, fraction, weight):
        """From the released Jacobian, the second moments so far, the fraction within tau and the row weight."""
        size = len(gram)
        unit = fraction * np.sqrt(np.outer(weight.gain, weight.gain))
        relative = NoisyMatrix(released.values / unit, released.noise / unit[-1, -1])
        expected = np.diagonal(gram)
        diagonal = np.eye(size) > 0
        spread = np.where(diagonal, ON_DIAGONAL, OFF_DIAGONAL) * np.sqrt(np.outer(expected, expected))
        pulled, trust = relative.pulled(gram, spread)
        weak = np.diagonal(relative.values) < np.minimum(0.25 * expected + relative.noise, 0.5 * expected)
        pulled[weak], pulled[:, weak] = gram[weak], gram[:, weak]
        pulled = positive_definite(pulled)
        by_diagonal = relative.noise * np.sqrt(np.diagonal(trust)) * np.diagonal(np.linalg.inv(pulled))
        noise = float(np.mean(np.sqrt(trust)) * relative.noise / np.sqrt(2))
        return cls(pulled, noise, by_diagonal, weak)


def covariance(estimate, gradients, kept, gram, n_records, jacobian=None, variance=None):
    """The covariance of the kept columns' effects.

    Privacy noise is fresh in each gradient, so its variances add up; errors of the linear model are treated alike.
    Sampling errors come from the same records in every gradient, so they add up before they are squared, in units of
    the last gradient's.

    Parameters
    ----------
    estimate : Estimate
        Of the kept columns.
    gradients : list of Gradient
        All of them.
    kept : ndarray of int
        The kept columns.
    gram : ndarray of shape (k, k)
        Their second moments.
    n_records : int
        The public number of rows.
    jacobian : Jacobian or None
        Where it was released.
    variance : NoisyMatrix or None
        The released variance of the score, in units of tau^2.

    Returns
    -------
    ndarray of shape (k, k)
        Inflated for the noise of the Jacobian and of the variance.
    """
    last, system = gradients[-1], estimate.system
    expected = last.psi_squared * np.sqrt(np.outer(last.weight.power, last.weight.power)) * gram
    inflation = np.full(len(kept), WITHOUT**2)
    if variance is not None:
        released = NoisyMatrix(variance.values * last.tau**2, variance.noise * last.tau**2)
        score_variance, trust = released.pulled(expected, np.sqrt(np.outer(*[np.diagonal(expected)] * 2)))
        expected = positive_definite(score_variance)
        noise = np.diagonal(trust) * released.noise / np.maximum(np.diagonal(expected), 1e-300)
        # A standard error with a relative error of r covers as one of a t law with 1 / (2 r^2) degrees of freedom does,
        # whose 90 % interval is wider by (1.645^2 + 1) r^2 / 2. An error of the variance is half of that in its root.
        inflation = 1 + 4 * (np.minimum(jacobian.relative_noise, 1.0) ** 2 + 0.25 * noise**2)
    size = np.sqrt([each.psi_squared / last.psi_squared for each in gradients])[system.gradient]
    by_column = (estimate.matrix * size) @ (system.columns[:, None] == kept)
    sampling = by_column @ expected @ by_column.T / n_records
    beside = (estimate.matrix * (system.privacy_variance + estimate.model_variance)) @ estimate.matrix.T
    return (sampling + beside) * np.sqrt(np.outer(inflation, inflation))
