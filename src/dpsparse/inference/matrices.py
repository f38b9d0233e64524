"""Released second moments, Jacobians and variances, pulled toward what is expected by their noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference.inference_constants import (
    DIAGONAL_SPREAD,
    KEEP_ABOVE,
    LEAST_EIGENVALUE,
    LEAST_EIGENVALUE_OF_MANY,
    LEAST_RATIO,
    LEAST_RELEASED_EIGENVALUE,
    LEAST_SECOND_MOMENT,
    NO_RELATIVE_EIGENVALUE,
    NO_RELATIVE_VARIANCE,
    NO_VARIANCE,
    NOISY_CORRELATION,
    REST_SPREAD,
)


def clean_gram(
    noisy: NDArray[np.float64], noise_scale: float, expected: NDArray[np.float64], trust: float
) -> NDArray[np.float64]:
    """A usable matrix of second moments from a noisy one: thresholded, shrunk, and positive definite.

    `noise_scale` is the standard deviation of the noise on the diagonal, which is smaller by sqrt 2 off it. `expected`
    is the diagonal that earlier releases let one expect; noise beyond `trust`, relatively, pulls it there.
    """
    pull = 1 / (1 + (noise_scale / (trust * expected)) ** 2)
    diagonal = np.maximum(expected + pull * (np.diagonal(noisy) - expected), LEAST_SECOND_MOMENT * expected)
    root = np.sqrt(np.outer(diagonal, diagonal))
    correlations, noise = noisy / root, noise_scale / np.sqrt(2) / root
    keep_above = np.where(noise < NOISY_CORRELATION, KEEP_ABOVE, KEEP_ABOVE + 1)
    correlations = np.where(np.abs(correlations) > keep_above * noise, correlations, 0.0)
    correlations *= np.maximum(0.0, 1 - noise**2 / np.maximum(correlations**2, NO_VARIANCE))
    np.fill_diagonal(correlations, 1.0)
    return np.asarray(floored(correlations, LEAST_EIGENVALUE) * root)


def positive_definite(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """A symmetric matrix whose correlations have no eigenvalue below a small one."""
    root = np.sqrt(np.maximum(np.diagonal(matrix), NO_RELATIVE_VARIANCE * np.abs(matrix).max()))
    return floored(matrix / np.outer(root, root), LEAST_RELEASED_EIGENVALUE) * np.outer(root, root)


def floored(correlations: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """A symmetric matrix with its eigenvalues raised to a floor."""
    values, vectors = np.linalg.eigh(correlations)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def shrunk_spectrum(released: "NoisyMatrix") -> NDArray[np.float64]:
    """Second moments of many columns, of which noise hides all but a few directions.

    About the mean eigenvalue noise alone makes eigenvalues of up to sigma sqrt(4 k), sigma its standard deviation off
    the diagonal. One at a distance y has the least expected squared error at sqrt(y^2 - 4 k sigma^2), and those
    within noise at the mean: this is the optimal shrinkage of a matrix of few directions and symmetric noise.

    Examples
    --------
    >>> shrunk_spectrum(NoisyMatrix(np.diag([9.0, 1.0, 2.0, 0.0]), 1.0)).round(2)
    array([[8.29, 0.  , 0.  , 0.  ],
           [0.  , 3.  , 0.  , 0.  ],
           [0.  , 0.  , 3.  , 0.  ],
           [0.  , 0.  , 0.  , 2.  ]])
    """
    values, vectors = np.linalg.eigh(released.values)
    center = max(float(np.mean(values)), NO_VARIANCE)
    far = values - center
    kept = np.sign(far) * np.sqrt(np.maximum(far**2 - 2 * len(values) * released.noise**2, 0.0))
    return np.asarray((vectors * np.maximum(center + kept, LEAST_EIGENVALUE_OF_MANY * center)) @ vectors.T)


@dataclass(frozen=True)
class NoisyMatrix:
    """A released symmetric matrix, as a mean over records, and the standard deviation of its diagonal."""

    values: NDArray[np.float64]
    noise: float

    def pulled(self, expected: NDArray[np.float64]) -> "PulledMatrix":
        """The matrix pulled toward an expected one by its noise.

        The diagonal first, column by column; the rest in the basis of the expected matrix's eigenvectors, each entry
        relative to the two eigenvalues. Noise is the same in every direction, so a direction in which columns are
        nearly collinear, of small eigenvalue, keeps what is expected.
        """
        diagonal = np.diagonal(expected)
        trust = 1 / (1 + (self.noise / (DIAGONAL_SPREAD * diagonal)) ** 2)
        ratio = np.maximum(1 + trust * (np.diagonal(self.values) / diagonal - 1), LEAST_RATIO)
        base = expected * np.sqrt(np.outer(ratio, ratio))
        values, vectors = np.linalg.eigh(base)
        root = np.sqrt(np.maximum(values, NO_RELATIVE_EIGENVALUE * values[-1]))
        basis, turn = vectors * root, vectors / root
        noise = np.where(np.eye(len(root)) > 0, self.noise, self.noise / np.sqrt(2)) / np.outer(root, root)
        offset = turn.T @ self.values @ turn - np.eye(len(root))
        trust = 1 / (1 + (noise / REST_SPREAD) ** 2)
        relative = floored(np.eye(len(root)) + trust * offset, LEAST_RATIO)
        return PulledMatrix(basis @ relative @ basis.T, basis, trust * noise**2)


@dataclass(frozen=True)
class PulledMatrix:
    """A matrix B R B' whose middle has independent errors of the variances `variance`."""

    values: NDArray[np.float64]
    basis: NDArray[np.float64]
    variance: NDArray[np.float64]

    def error_of_form(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """The standard deviation of v' A v for each column v of `vectors`."""
        squares = (self.basis.T @ vectors) ** 2
        return np.asarray(np.sqrt(np.einsum("ik,ij,jk->k", squares, self.variance, squares)))

    @property
    def noise(self) -> float:
        """The typical standard deviation of an entry."""
        squares = self.basis**2
        return float(np.sqrt(np.mean(squares @ self.variance @ squares.T)))
