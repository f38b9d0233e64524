"""Post-processing of releases: generalised least squares over noisy gradients, with standard errors.

Nothing here reads data. In public units let b be the effects of the selected features, G the features' second
moments and r the residuals at the effects b_t. A released gradient is, up to noise,

    g_t = mean of psi_tau(r) v(x) x  =  p_t A G[S_t, :] A (b - b_t).

S_t are the columns of the gradient, v(x) is the factor that clips a row's norm, and p_t is the fraction of
|r| <= tau. A^2 is the diagonal matrix of a_j = E[v x_j^2], constants of the clip for standard normal rows; for these
G is the identity. An intercept is one more column, the constant 1. Each gradient has privacy noise of known scale, a
sampling error, and a model error in proportion to the offset |b - b_t|.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class RowClip:
    """Clip of a row x to norm `bound`: v(x) = min(1, bound / |x|), with `gain` E[v x_j^2] and `power` E[v^2 x_j^2].

    Both expectations are for standard normal features; with an intercept the row starts with the constant 1.
    """

    bound: float
    gain: np.ndarray
    power: np.ndarray


@lru_cache(maxsize=256)
def row_clip(size, tightness, with_intercept):
    """The clip of rows of `size` entries at `tightness` times their typical norm, the square root of `size`."""
    features = size - with_intercept
    # 4000 quantiles of |x|^2 stand for its distribution in the expectations below.
    squared = stats.chi2(features).ppf((np.arange(4000) + 0.5) / 4000)
    bound = tightness * np.sqrt(size)
    factor = np.minimum(1, bound / np.sqrt(squared + with_intercept))

    def second_moments(weight):
        of_features = np.full(features, np.mean(weight * squared) / features)
        return np.append(np.full(int(with_intercept), np.mean(weight)), of_features)

    return RowClip(float(bound), second_moments(factor), second_moments(factor**2))


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
    clip: RowClip

    @cached_property
    def gain(self):
        """Expected change of each entry for a unit of offset in its own effect: p_t a_j."""
        return self.fraction * self.clip.gain

    @cached_property
    def sampling_variance(self):
        """Variance of a record's term: E[psi^2] is tau^2 (1 - 2p/3) for residuals that are uniform within tau."""
        return self.tau**2 * (1 - 2 * self.fraction / 3) * self.clip.power


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
            sampling_variance=np.concatenate([each.sampling_variance for each in gradients]) / n_records,
            gram=gram,
        )

    def variance(self, effects, model_error, gram_noise):
        """Variance of each row's error, given the effects of all columns."""
        offset = effects - self.origins
        predicted = (self.design * offset[self.gradient]).sum(axis=1)
        by_gram = self.gain**2 * (gram_noise**2 * (offset * offset).sum(axis=1))[self.gradient]
        return self.privacy_variance + self.sampling_variance + (model_error * predicted) ** 2 + by_gram


@dataclass(frozen=True)
class Estimate:
    """Effects before shrinkage, with the matrices that their standard errors are computed from."""

    effects: np.ndarray
    precision: np.ndarray
    weights: np.ndarray
    system: GradientSystem

    @cached_property
    def standard_errors(self):
        """Standard errors of the effects.

        Privacy noise is fresh in each gradient, so its variances add up. Sampling errors come from the same records in
        every gradient, so they add up before they are squared.
        """
        system = self.system
        estimator_matrix = np.linalg.solve(self.precision, self.weights)
        belongs_to = system.columns[:, None] == np.arange(len(system.gram))
        by_column = (estimator_matrix * np.sqrt(system.sampling_variance)) @ belongs_to
        sampling = ((by_column @ system.gram) * by_column).sum(axis=1)
        return np.sqrt(estimator_matrix**2 @ system.privacy_variance + np.maximum(sampling, 0.0))

    def shrunk(self):
        """Effects shrunk toward zero by their own error: b max(0, 1 - se^2 / b^2)."""
        ratio = np.divide(
            self.standard_errors, np.abs(self.effects), out=np.full_like(self.effects, np.inf), where=self.effects != 0
        )
        return self.effects * np.maximum(0.0, 1 - ratio**2)


def solve_gls(gradients, gram, kept, *, prior_scale, n_records, model_error, gram_noise=0.0):
    """Generalised least squares: the effects that agree best with all gradients, and their standard errors.

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
    model_error : float
        Relative error of a linearised gradient.
    gram_noise : float
        Standard deviation of an entry of `gram`.

    Returns
    -------
    Estimate
        Effects and standard errors of the kept columns.
    """
    system = GradientSystem.of(gradients, gram, n_records)
    design, effects = system.design[:, kept], np.zeros(len(gram))
    variance, prior = system.privacy_variance + system.sampling_variance, np.diag(1 / prior_scale[kept] ** 2)
    for round_ in range(3):
        if round_:
            variance = system.variance(effects, model_error, gram_noise)
        weights = design.T / variance
        precision = weights @ design + prior
        effects[kept] = np.linalg.solve(precision, weights @ system.target)
    return Estimate(effects[kept], precision, weights, system)


def clean_gram(noisy, noise_scale, *, keep_above, scale_error, floor):
    """A usable matrix of second moments from a noisy one: thresholded, shrunk, and positive definite.

    Parameters
    ----------
    noisy : ndarray of shape (k, k)
        The released second moments.
    noise_scale : float
        Standard deviation of the noise on the diagonal; off the diagonal it is smaller by sqrt 2.
    keep_above : float
        Off-diagonal entries below this many standard deviations become 0; the others are shrunk by their noise.
    scale_error : float
        How far the diagonal may be from 1, by the error of the public scales: noise beyond this pulls it toward 1.
    floor : float
        The smallest eigenvalue allowed.

    Returns
    -------
    ndarray of shape (k, k)
        The cleaned matrix.
    """
    off_noise = noise_scale / np.sqrt(2)
    diagonal = 1 + (np.diagonal(noisy) - 1) / (1 + (noise_scale / scale_error) ** 2)
    off = noisy - np.diag(np.diagonal(noisy))
    off = np.where(np.abs(off) > keep_above * off_noise, off, 0.0)
    off *= np.maximum(0.0, 1 - off_noise**2 / np.maximum(off**2, 1e-300))
    values, vectors = np.linalg.eigh(off + np.diag(diagonal))
    return (vectors * np.maximum(values, floor)) @ vectors.T
