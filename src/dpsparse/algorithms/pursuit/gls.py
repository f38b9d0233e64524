"""Post-processing of releases: generalised least squares over noisy gradients.

Nothing here reads data. In public units let b be the effects of the selected features, G the features' second
moments and r the residuals at the effects b_t. A released gradient is, up to noise,

    g_t = mean of psi_tau(r) v(x) x  =  p_t A G[S_t, :] A (b - b_t).

S_t are the columns of the gradient, v(x) is the weight of a row, and p_t is the fraction of |r| <= tau. A^2 is the
diagonal matrix of a_j = E[v x_j^2], constants of the weight for standard normal rows; for these G is the identity. G is
released with the same weight, so nothing rests on normal rows: A only turns it from one set of columns to another. An
intercept is one more column, the constant 1. Each gradient has privacy noise of known scale, a sampling error, and a
model error in proportion to the offset |b - b_t|.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import stats

# Relative error of a linearised gradient, and what it grows by for every tau that an effect is off.
MODEL_ERROR, SATURATION = 0.15, 0.3
# Released correlations below this many standard deviations become 0; the least eigenvalue of a matrix of correlations.
KEEP_ABOVE, EIGENVALUE_FLOOR = 2.5, 0.1


@dataclass(frozen=True)
class RowWeight:
    """The weight v(x) = min(1, inner / |x|) min(1, outer / |x|) of a row x, with E[v x_j^2] and E[v^2 x_j^2].

    Both expectations, `gain` and `power`, are for standard normal features; with an intercept the row starts with the
    constant 1.
    """

    inner: float
    outer: float
    gain: np.ndarray
    power: np.ndarray


@lru_cache(maxsize=256)
def row_weight(size, inner, outer, with_intercept):
    """The weight of rows of `size` entries, its bounds in units of their typical norm, the square root of `size`."""
    features = size - with_intercept
    # 4000 quantiles of |x|^2 stand for its distribution in the expectations below.
    squared = stats.chi2(features).ppf((np.arange(4000) + 0.5) / 4000) if features else np.zeros(1)
    inner, outer = inner * np.sqrt(size), outer * np.sqrt(size)
    norm = np.sqrt(squared + with_intercept)
    weight = np.minimum(1, inner / norm) * np.minimum(1, outer / norm)

    def second_moments(weight):
        of_features = np.full(features, np.mean(weight * squared) / max(features, 1))
        return np.append(np.full(int(with_intercept), np.mean(weight)), of_features)

    return RowWeight(float(inner), float(outer), second_moments(weight), second_moments(weight**2))


@dataclass(frozen=True)
class Gradient:
    """A released gradient on some columns, with the public numbers and releases that its model needs.

    `columns` are positions among the constant and the selected features, `origin` the effects b_t of all columns at
    which the gradient was taken.
    """

    columns: np.ndarray
    value: np.ndarray
    noise_scale: float
    origin: np.ndarray
    tau: float
    fraction: float
    weight: RowWeight

    @cached_property
    def gain(self):
        """Expected change of each entry for a unit of offset in its own effect: p_t a_j."""
        return self.fraction * self.weight.gain

    @cached_property
    def psi_squared(self):
        """E[psi^2], which is tau^2 (1 - 2p/3) for residuals that are uniform within tau."""
        return self.tau**2 * (1 - 2 * self.fraction / 3)


@dataclass(frozen=True)
class GradientSystem:
    """The linear system target = design @ effects + error of all gradients, with a row for each of their entries.

    Nothing in it depends on the effects. `gradient` and `columns` say which gradient and which column a row belongs to;
    `origins` has the origin of each gradient.
    """

    gradient: np.ndarray
    columns: np.ndarray
    gain: np.ndarray
    design: np.ndarray
    origins: np.ndarray
    target: np.ndarray
    privacy_variance: np.ndarray
    sampling_variance: np.ndarray
    tau: np.ndarray
    gram: np.ndarray

    @classmethod
    def of(cls, gradients, gram, n_records):
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
            sampling_variance=np.concatenate([each.psi_squared * each.weight.power for each in gradients])
            * np.diagonal(gram)[columns]
            / n_records,
            tau=np.array([each.tau for each in gradients]),
            gram=gram,
        )

    def variance(self, effects, gram_noise):
        """Variance of each row's error, given the effects of all columns."""
        return self.privacy_variance + self.sampling_variance + self.model_variance(effects, gram_noise)

    def model_variance(self, effects, gram_noise):
        """The part of the variance that is due to the linear model and to noise in the second moments."""
        offset = effects - self.origins
        predicted = (self.design * offset[self.gradient]).sum(axis=1)
        # Beyond tau a gradient saturates: what it says of far effects is a lower bound.
        far = np.abs(offset).max(axis=1) / self.tau
        by_model = (MODEL_ERROR**2 + (SATURATION * far[self.gradient]) ** 2) * predicted**2
        # Noise on the diagonal has twice the variance of that off it.
        squares = (offset * offset).sum(axis=1)[self.gradient] + offset[self.gradient, self.columns] ** 2
        return by_model + self.gain**2 * gram_noise**2 * squares


@dataclass(frozen=True)
class Estimate:
    """Effects before shrinkage, with the matrices that their standard errors are computed from."""

    effects: np.ndarray
    precision: np.ndarray
    weights: np.ndarray
    system: GradientSystem
    model_variance: np.ndarray

    @cached_property
    def matrix(self):
        """The estimator as a linear map of the gradients' entries."""
        return np.linalg.solve(self.precision, self.weights)


def solve_gls(gradients, gram, kept, *, prior_scale, n_records, gram_noise=0.0):
    """Generalised least squares: the effects that agree best with all gradients.

    The model error of a gradient depends on the effects, and these depend on it: a first solve without it is followed
    by two rounds of reweighting.

    Parameters
    ----------
    gradients : list of Gradient
        All gradients released so far.
    gram : ndarray of shape (k, k)
        The second moments of the columns, as far as they are known.
    kept : ndarray of int
        The columns whose effects may differ from zero.
    prior_scale : ndarray of shape (k,)
        Standard deviation of a normal prior on each effect, centred at 0; weak.
    n_records : int
        The public number of rows.
    gram_noise : float
        Standard deviation of an entry of `gram`.

    Returns
    -------
    Estimate
        Effects of the kept columns.
    """
    system = GradientSystem.of(gradients, gram, n_records)
    design, effects = system.design[:, kept], np.zeros(len(gram))
    variance, prior = system.privacy_variance + system.sampling_variance, np.diag(1 / prior_scale[kept] ** 2)
    for round_ in range(3):
        if round_:
            variance = system.variance(effects, gram_noise)
        weights = design.T / variance
        precision = weights @ design + prior
        effects[kept] = np.linalg.solve(precision, weights @ system.target)
    return Estimate(effects[kept], precision, weights, system, system.model_variance(effects, gram_noise))


def clean_gram(noisy, noise_scale, expected, trust):
    """A usable matrix of second moments from a noisy one: thresholded, shrunk, and positive definite.

    Parameters
    ----------
    noisy : ndarray of shape (k, k)
        The released second moments.
    noise_scale : float
        Standard deviation of the noise on the diagonal; off the diagonal it is smaller by sqrt 2.
    expected : ndarray of shape (k,)
        The diagonal that earlier releases let one expect.
    trust : float
        How far, relatively, the diagonal may be from that: noise beyond this pulls it there.

    Returns
    -------
    ndarray of shape (k, k)
        The cleaned matrix.
    """
    pull = 1 / (1 + (noise_scale / (trust * expected)) ** 2)
    diagonal = np.maximum(expected + pull * (np.diagonal(noisy) - expected), 0.2 * expected)
    root = np.sqrt(np.outer(diagonal, diagonal))
    correlations, noise = noisy / root, noise_scale / np.sqrt(2) / root
    keep_above = np.where(noise < 0.08, KEEP_ABOVE, KEEP_ABOVE + 1)
    correlations = np.where(np.abs(correlations) > keep_above * noise, correlations, 0.0)
    correlations *= np.maximum(0.0, 1 - noise**2 / np.maximum(correlations**2, 1e-300))
    np.fill_diagonal(correlations, 1.0)
    return floored(correlations, EIGENVALUE_FLOOR) * root


def positive_definite(matrix):
    """A symmetric matrix whose correlations have no eigenvalue below a small one."""
    root = np.sqrt(np.maximum(np.diagonal(matrix), 1e-12 * np.abs(matrix).max()))
    return floored(matrix / np.outer(root, root), 0.05) * np.outer(root, root)


def floored(correlations, floor):
    """A symmetric matrix with its eigenvalues raised to a floor."""
    values, vectors = np.linalg.eigh(correlations)
    return (vectors * np.maximum(values, floor)) @ vectors.T
