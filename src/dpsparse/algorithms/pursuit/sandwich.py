"""Post-processing of releases: the sandwich of M-estimation, J^-1 M J^-1, with privacy noise in J, in M and beside it.

J is the Jacobian of the score, M its variance. Where a release of either is noisy it is pulled toward what earlier
releases let one expect: J toward p G, M toward E[psi^2] E[v^2 x x']. As the noise falls the pull vanishes.
"""

from dataclasses import dataclass

import numpy as np

from dpsparse.algorithms.pursuit.gls import floored, positive_definite

# Relative spread of a released matrix about what is expected: of its diagonal, and of the rest.
ON_DIAGONAL, REST = 0.6, 0.2
# The least that a released matrix is taken to be, relative to what is expected.
LEAST_RATIO = 0.05
# Without a Jacobian and a variance, errors are inflated by this.
WITHOUT = 1.05


@dataclass(frozen=True)
class NoisyMatrix:
    """A released symmetric matrix, as a mean over records, and the standard deviation of its diagonal."""

    values: np.ndarray
    noise: float

    def pulled(self, expected):
        """The matrix pulled toward an expected one by its noise, as a `PulledMatrix`.

        The diagonal first, column by column; the rest in the basis of the expected matrix's eigenvectors, each entry
        relative to the two eigenvalues. Noise is the same in every direction, so a direction in which columns are
        nearly collinear, of small eigenvalue, keeps what is expected.
        """
        diagonal = np.diagonal(expected)
        trust = 1 / (1 + (self.noise / (ON_DIAGONAL * diagonal)) ** 2)
        ratio = np.maximum(1 + trust * (np.diagonal(self.values) / diagonal - 1), LEAST_RATIO)
        base = expected * np.sqrt(np.outer(ratio, ratio))
        values, vectors = np.linalg.eigh(base)
        root = np.sqrt(np.maximum(values, 1e-6 * values[-1]))
        basis, turn = vectors * root, vectors / root
        noise = np.where(np.eye(len(root)) > 0, self.noise, self.noise / np.sqrt(2)) / np.outer(root, root)
        offset = turn.T @ self.values @ turn - np.eye(len(root))
        trust = 1 / (1 + (noise / REST) ** 2)
        relative = floored(np.eye(len(root)) + trust * offset, LEAST_RATIO)
        return PulledMatrix(basis @ relative @ basis.T, basis, trust * noise**2)


@dataclass(frozen=True)
class PulledMatrix:
    """A matrix B R B' whose middle has independent errors of the variances `variance`."""

    values: np.ndarray
    basis: np.ndarray
    variance: np.ndarray

    def error_of_form(self, vectors):
        """The standard deviation of v' A v for each column v of `vectors`."""
        squares = (self.basis.T @ vectors) ** 2
        return np.sqrt(np.einsum("ik,ij,jk->k", squares, self.variance, squares))

    @property
    def noise(self):
        """The typical standard deviation of an entry."""
        squares = self.basis**2
        return float(np.sqrt(np.mean(squares @ self.variance @ squares.T)))


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
        unit = fraction * np.sqrt(np.outer(weight.gain, weight.gain))
        relative = NoisyMatrix(released.values / unit, released.noise / unit[-1, -1])
        expected = np.diagonal(gram)
        weak = np.diagonal(relative.values) < np.minimum(0.25 * expected + relative.noise, 0.5 * expected)
        pulled = relative.pulled(gram)
        values = pulled.values.copy()
        values[weak], values[:, weak] = gram[weak], gram[:, weak]
        values = positive_definite(values)
        inverse = np.linalg.inv(values)
        return cls(values, pulled.noise, pulled.error_of_form(inverse) / np.diagonal(inverse), weak)


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
    gram : ndarray of shape (m, m)
        The second moments of the columns of the last gradient, which holds the kept ones.
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
    inflation, is_kept = np.full(len(kept), WITHOUT**2), np.isin(last.columns, kept)
    if variance is not None:
        released = NoisyMatrix(variance.values * last.tau**2, variance.noise * last.tau**2)
        pulled = released.pulled(expected)
        expected = positive_definite(pulled.values)
        inverse = np.linalg.inv(gram)
        noise = pulled.error_of_form(inverse) / np.einsum("ij,ik,kj->j", inverse, expected, inverse)
        # A standard error with a relative error of r covers as one of a t law with 1 / (2 r^2) degrees of freedom does,
        # whose 90 % interval is wider by (1.645^2 + 1) r^2 / 2. An error of the variance is half of that in its root.
        inflation = 1 + 4 * (np.minimum(jacobian.relative_noise, 1.0) ** 2 + 0.25 * noise**2)[is_kept]
    size = np.sqrt([each.psi_squared / last.psi_squared for each in gradients])[system.gradient]
    by_column = (estimate.matrix * size) @ (system.columns[:, None] == last.columns)
    sampling = by_column @ expected @ by_column.T / n_records
    beside = (estimate.matrix * (system.privacy_variance + estimate.model_variance)) @ estimate.matrix.T
    return (sampling + beside) * np.sqrt(np.outer(inflation, inflation))
