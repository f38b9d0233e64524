"""Effects by generalised least squares over noisy gradients.

In public units let b be the effects of the selected features, G the features' second
moments and r the residuals at the effects b_t. A released gradient is, up to noise,

    g_t = mean of psi(r) v(x) x  =  p_t A G[S_t, :] A (b - b_t).

psi is the bounded score of a family of responses, p_t its mean slope; S_t are the columns of the gradient, and v(x) is
the weight of a row. The mean is over people. A person with m rows adds their terms over sqrt m, about as long as one of
them, but sqrt m times as steep: the right side is times the mean of sqrt m then. A^2 is the
diagonal matrix of a_j = E[v x_j^2], constants of the weight for standard normal rows; for these G is the identity. G is
released with the same weight, so nothing rests on normal rows: A only turns it from one set of columns to another. An
intercept is one more column, the constant 1. Each gradient has privacy noise of known scale, a sampling error, and a
model error in proportion to the offset |b - b_t|.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference.inference_constants import MODEL_ERROR, ROUNDS, SATURATION
from dpsparse.inference.weights import RowWeight


@dataclass(frozen=True)
class Gradient:
    """A released gradient on some columns, with the public numbers and releases that its model needs.

    `columns` are positions among the constant and the selected features, `origin` the effects b_t of all columns at
    which the gradient was taken. `tau` is how far an effect may be off before the score saturates, `slope` its mean
    slope p_t, `score_square` the mean of psi^2, `steeper` the mean root of the number of a person's rows.
    """

    columns: NDArray[np.int64]
    value: NDArray[np.float64]
    noise_scale: float
    origin: NDArray[np.float64]
    tau: float
    slope: float
    score_square: float
    weight: RowWeight
    steeper: float = 1.0

    @cached_property
    def gain(self) -> NDArray[np.float64]:
        """Expected change of each entry for a unit of offset in its own effect: p_t a_j, for people with one row."""
        return self.steeper * self.slope * self.weight.gain


@dataclass(frozen=True)
class GradientSystem:
    """The linear system target = design @ effects + error of all gradients, with a row for each of their entries.

    Nothing in it depends on the effects. `gradient` and `columns` say which gradient and which column a row belongs to;
    `origins` has the origin of each gradient.
    """

    gradient: NDArray[np.int64]
    columns: NDArray[np.int64]
    gain: NDArray[np.float64]
    design: NDArray[np.float64]
    origins: NDArray[np.float64]
    target: NDArray[np.float64]
    privacy_variance: NDArray[np.float64]
    sampling_variance: NDArray[np.float64]
    tau: NDArray[np.float64]
    gram: NDArray[np.float64]

    @classmethod
    def of(cls, gradients: Sequence[Gradient], gram: NDArray[np.float64], n_records: float) -> "GradientSystem":
        """The system of some gradients, given the second moments of the columns."""
        gradient = np.repeat(np.arange(len(gradients)), [len(each.columns) for each in gradients])
        columns = np.concatenate([each.columns for each in gradients])
        gain = np.concatenate([each.gain for each in gradients])
        roots = np.sqrt(gain)
        # A column outside the gradient takes the gain of the gradient's last feature.
        all_roots = np.empty((len(gradients), len(gram)))
        all_roots[:] = np.sqrt([[each.gain[-1]] for each in gradients])
        all_roots[gradient, columns] = roots
        origins = np.zeros_like(all_roots)
        for origin, each in zip(origins, gradients, strict=True):
            origin[: len(each.origin)] = each.origin
        design = roots[:, None] * gram[columns] * all_roots[gradient]
        return cls(
            gradient=gradient,
            columns=columns,
            gain=gain,
            design=design,
            origins=origins,
            target=np.concatenate([each.value for each in gradients]) + (design * origins[gradient]).sum(axis=1),
            privacy_variance=np.array([each.noise_scale for each in gradients])[gradient] ** 2,
            sampling_variance=np.concatenate([each.score_square * each.weight.power for each in gradients])
            * np.diagonal(gram)[columns]
            / n_records,
            tau=np.array([each.tau for each in gradients]),
            gram=gram,
        )

    def variance(self, effects: NDArray[np.float64], gram_noise: float) -> NDArray[np.float64]:
        """Variance of each row's error, given the effects of all columns."""
        return self.privacy_variance + self.sampling_variance + self.model_variance(effects, gram_noise)

    def model_variance(self, effects: NDArray[np.float64], gram_noise: float) -> NDArray[np.float64]:
        """The part of the variance that is due to the linear model and to noise in the second moments."""
        offset = effects - self.origins
        predicted = (self.design * offset[self.gradient]).sum(axis=1)
        # Beyond tau a gradient saturates: what it says of far effects is a lower bound.
        far = np.abs(offset).max(axis=1) / self.tau
        by_model = (MODEL_ERROR**2 + (SATURATION * far[self.gradient]) ** 2) * predicted**2
        # Noise on the diagonal has twice the variance of that off it.
        squares = (offset * offset).sum(axis=1)[self.gradient] + offset[self.gradient, self.columns] ** 2
        return np.asarray(by_model + self.gain**2 * gram_noise**2 * squares)


@dataclass(frozen=True)
class Estimate:
    """Effects before shrinkage, with the matrices that their standard errors are computed from."""

    effects: NDArray[np.float64]
    precision: NDArray[np.float64]
    weights: NDArray[np.float64]
    system: GradientSystem
    model_variance: NDArray[np.float64]

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The estimator as a linear map of the gradients' entries."""
        return np.asarray(np.linalg.solve(self.precision, self.weights), dtype=np.float64)


def solve_gls(
    gradients: Sequence[Gradient],
    gram: NDArray[np.float64],
    kept: NDArray[np.int64],
    others: NDArray[np.float64] | None = None,
    *,
    prior_scale: NDArray[np.float64],
    n_records: float,
    gram_noise: float = 0.0,
) -> Estimate:
    """Generalised least squares: the effects that agree best with all gradients.

    The model error of a gradient depends on the effects, and these depend on it: a first solve without it is followed
    by two rounds of reweighting.

    `gram` are the second moments of all columns, `gram_noise` the standard deviation of an entry. Effects of the `kept`
    columns are estimated; `others` has those of the other columns and 0 for these, and is 0 unless it is given.
    `prior_scale` is the standard deviation of a weak normal prior on each effect, centred at 0.
    """
    system = GradientSystem.of(gradients, gram, n_records)
    effects = np.zeros(len(gram)) if others is None else others.copy()
    design, target = system.design[:, kept], system.target - system.design @ effects
    variance, prior = system.privacy_variance + system.sampling_variance, np.diag(1 / prior_scale[kept] ** 2)
    for round_ in range(ROUNDS):
        if round_:
            variance = system.variance(effects, gram_noise)
        weights = design.T / variance
        precision = weights @ design + prior
        effects[kept] = np.linalg.solve(precision, weights @ target)
    return Estimate(effects[kept], precision, weights, system, system.model_variance(effects, gram_noise))
