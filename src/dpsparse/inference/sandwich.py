"""The sandwich of M-estimation, J^-1 M J^-1, with privacy noise in J, in M and beside it.

J is the Jacobian of the score, M its variance. Where a release of either is noisy it is pulled toward what earlier
releases let one expect: J toward p G, M toward E[psi^2] E[v^2 x x']. As the noise falls the pull vanishes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference.gls import Estimate, Gradient
from dpsparse.inference.inference_constants import (
    INFLATION,
    INFLATION_WITHOUT_SANDWICH,
    NOT_WEAK_SHARE,
    VARIANCE_PART,
    WEAK_SHARE,
)
from dpsparse.inference.matrices import NoisyMatrix, positive_definite
from dpsparse.inference.weights import RowWeight


@dataclass(frozen=True)
class Jacobian:
    """The Jacobian in units in which a normal row's is the identity, as second moments are.

    `gram` of shape (k, k): used in place of the second moments from here on.
    `noise`: standard deviation of an entry.
    `relative_noise` of shape (k,): relative error of the diagonal of the inverse.
    `weak` of shape (k,): columns whose carriers mostly lie outside tau, so that the score says little of their effects.
    """

    gram: NDArray[np.float64]
    noise: float
    relative_noise: NDArray[np.float64]
    weak: NDArray[np.bool_]

    @classmethod
    def of(cls, released: NoisyMatrix, gram: NDArray[np.float64], slope: float, weight: RowWeight) -> "Jacobian":
        """From the released Jacobian, the second moments so far, the score's mean slope and the row weight."""
        unit = slope * np.sqrt(np.outer(weight.gain, weight.gain))
        relative = NoisyMatrix(released.values / unit, released.noise / unit[-1, -1])
        expected = np.diagonal(gram)
        weak = np.diagonal(relative.values) < np.minimum(
            WEAK_SHARE * expected + relative.noise, NOT_WEAK_SHARE * expected
        )
        pulled = relative.pulled(gram)
        values = pulled.values.copy()
        values[weak], values[:, weak] = gram[weak], gram[:, weak]
        values = positive_definite(values)
        inverse = np.asarray(np.linalg.inv(values), dtype=np.float64)
        return cls(values, pulled.noise, pulled.error_of_form(inverse) / np.diagonal(inverse), weak)


def covariance(
    estimate: Estimate,
    gradients: Sequence[Gradient],
    kept: NDArray[np.int64],
    gram: NDArray[np.float64],
    n_records: float,
    jacobian: Jacobian | None = None,
    variance: NoisyMatrix | None = None,
) -> NDArray[np.float64]:
    """The covariance of the kept columns' effects, inflated for the noise of the Jacobian and of the variance.

    Privacy noise is fresh in each gradient, so its variances add up; errors of the linear model are treated alike.
    Sampling errors come from the same records in every gradient, so they add up before they are squared, in units of
    the last gradient's.

    `gram` are the second moments of the columns of the last gradient, which holds the kept ones. `jacobian` and
    `variance` (of the score, in units of tau^2) are None where they were not released.
    """
    last, system = gradients[-1], estimate.system
    # In units of tau^2, for the square of a variance in large units may be no double.
    unit = last.tau**2
    expected = last.score_square / unit * np.sqrt(np.outer(last.weight.power, last.weight.power)) * gram
    inflation, is_kept = np.full(len(kept), INFLATION_WITHOUT_SANDWICH**2), np.isin(last.columns, kept)
    if variance is not None and jacobian is not None:
        pulled = variance.pulled(expected)
        expected = positive_definite(pulled.values)
        inverse = np.asarray(np.linalg.inv(gram), dtype=np.float64)
        noise = pulled.error_of_form(inverse) / np.einsum("ij,ik,kj->j", inverse, expected, inverse)
        inflation = 1 + INFLATION * (np.minimum(jacobian.relative_noise, 1.0) ** 2 + VARIANCE_PART * noise**2)[is_kept]
    size = np.sqrt([each.score_square / last.score_square for each in gradients])[system.gradient]
    by_column = (estimate.matrix * size) @ (system.columns[:, None] == last.columns)
    sampling = by_column @ expected @ by_column.T * unit / n_records
    beside = (estimate.matrix * (system.privacy_variance + estimate.model_variance)) @ estimate.matrix.T
    return np.asarray((sampling + beside) * np.sqrt(np.outer(inflation, inflation)))
