"""Post-processing of releases: generalised least squares over noisy gradients, with standard errors.

Nothing here reads data. In public units let b be the effects on the chosen features, G the features' second
moments and r the residuals at b_t. A released gradient is, up to noise,

    g_t = mean of psi_tau(r) v(x) x  =  p_t A G[S_t, :] A (b - b_t),

with S_t its features, v(x) the factor that clips a row's norm, p_t the fraction of |r| <= tau, and A^2 the diagonal
matrix of a_j = E[v x_j^2], constants of the clip for standard normal rows: G is the identity for these. An intercept
is one more feature, the constant 1. Each gradient has privacy noise of known scale, a sampling
error, and a model error in proportion to how far it had to look, |b - b_t|.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class RowClip:
    """Rows x cut to norm `bound`: v(x) = min(1, bound / |x|), with `gain` E[v x_j^2] and `power` E[v^2 x_j^2].

    Both are for standard normal features, behind a leading 1 if the rows have an intercept.
    """

    bound: float
    gain: np.ndarray
    power: np.ndarray


@lru_cache(maxsize=256)
def row_clip(size, tightness, with_intercept):
    """The clip of rows of `size` entries at `tightness` times their typical norm."""
    features = size - with_intercept
    squared = stats.chi2(features).ppf((np.arange(4000) + 0.5) / 4000)
    bound = tightness * np.sqrt(size)
    cut = np.minimum(1, bound / np.sqrt(squared + with_intercept))

    def second_moments(weight):
        of_features = np.full(features, np.mean(weight * squared) / features)
        return np.append(np.full(int(with_intercept), np.mean(weight)), of_features)

    return RowClip(float(bound), second_moments(cut), second_moments(cut**2))


@dataclass(frozen=True)
class Gradient:
    """A released gradient on some of the picks, with what is needed to read it.

    `picks` are positions in the order of picking, `at` the effects of all picks when it was taken.
    """

    picks: np.ndarray
    value: np.ndarray
    noise_scale: float
    at: np.ndarray
    tau: float
    fraction: float
    clip: RowClip

    @cached_property
    def gain(self):
        """What it gains on each of its picks for a unit of distance."""
        return self.fraction * self.clip.gain

    @cached_property
    def sampling_variance(self):
        """Variance of a clipped term: E[psi^2] about tau^2 (1 - 2p/3) for residuals flat within tau."""
        return self.tau**2 * (1 - 2 * self.fraction / 3) * self.clip.power


@dataclass(frozen=True)
class GradientSystem:
    """What of some gradients does not depend on the effects, with one entry for each of their numbers.

    `of` says which gradient a number belongs to, `picks` which of the picks; `origins` has a row for each gradient.
    """

    of: np.ndarray
    picks: np.ndarray
    gain: np.ndarray
    design: np.ndarray
    origins: np.ndarray
    target: np.ndarray
    private: np.ndarray
    sampling: np.ndarray
    gram: np.ndarray

    @classmethod
    def make(cls, gradients, gram, n_records):
        """Readings of gradients, given second moments."""
        of = np.repeat(np.arange(len(gradients)), [len(each.picks) for each in gradients])
        picks = np.concatenate([each.picks for each in gradients])
        gain = np.concatenate([each.gain for each in gradients])
        roots = np.sqrt(gain)
        # Columns that a gradient does not read count as its last feature.
        spread = np.empty((len(gradients), len(gram)))
        spread[:] = np.sqrt([[each.gain[-1]] for each in gradients])
        spread[of, picks] = roots
        origins = np.zeros_like(spread)
        for origin, each in zip(origins, gradients, strict=True):
            origin[: len(each.at)] = each.at
        design = roots[:, None] * gram[picks] * spread[of]
        return cls(
            of=of,
            picks=picks,
            gain=gain,
            design=design,
            origins=origins,
            target=np.concatenate([each.value for each in gradients]) + (design * origins[of]).sum(axis=1),
            private=np.array([each.noise_scale for each in gradients])[of] ** 2,
            sampling=np.concatenate([each.sampling_variance for each in gradients]) / n_records,
            gram=gram,
        )

    def variance(self, effects, model_error, gram_noise):
        """Variance of each number, given the effects of all picks."""
        away = effects - self.origins
        off = (self.design * away[self.of]).sum(axis=1)
        by_gram = self.gain**2 * (gram_noise**2 * (away * away).sum(axis=1))[self.of]
        return self.private + self.sampling + (model_error * off) ** 2 + by_gram


@dataclass(frozen=True)
class Estimate:
    """Effects before shrinkage, with what their standard errors are made of."""

    effects: np.ndarray
    precision: np.ndarray
    trust: np.ndarray
    readings: GradientSystem

    @cached_property
    def standard_errors(self):
        """Privacy noise is fresh in each gradient; sampling errors are those of the same records, so they add up."""
        readings = self.readings
        reach = np.linalg.solve(self.precision, self.trust)
        each_pick = readings.picks[:, None] == np.arange(len(readings.gram))
        shared = (reach * np.sqrt(readings.sampling)) @ each_pick
        sampling = ((shared @ readings.gram) * shared).sum(axis=1)
        return np.sqrt(reach**2 @ readings.private + np.maximum(sampling, 0.0))

    def shrunk(self):
        """Effects pulled to zero by their own error: b max(0, 1 - se^2 / b^2)."""
        ratio = np.divide(
            self.standard_errors, np.abs(self.effects), out=np.full_like(self.effects, np.inf), where=self.effects != 0
        )
        return self.effects * np.maximum(0.0, 1 - ratio**2)


def combine(gradients, gram, kept, *, prior_scale, n_records, model_error, gram_noise=0.0):
    """Effects that agree best with all gradients, and their standard errors.

    Two rounds of reweighting: the model error of a gradient depends on the effects, which depend on it.

    Parameters
    ----------
    gradients : list of Gradient
        All releases so far.
    gram : ndarray of shape (k, k)
        The second moments of the picks, as far as known.
    kept : ndarray of int
        The picks whose effects may differ from zero.
    prior_scale : ndarray of shape (k,)
        Effects are thought to be of about this size; weak.
    n_records : int
        The public number of rows.
    model_error : float
        Relative error of a linearised gradient.
    gram_noise : float
        Standard deviation of an entry of `gram`.

    Returns
    -------
    Estimate
        Effects and standard errors of the kept picks.
    """
    readings = GradientSystem.make(gradients, gram, n_records)
    on_kept, effects = readings.design[:, kept], np.zeros(len(gram))
    variance, prior = readings.private + readings.sampling, np.diag(1 / prior_scale[kept] ** 2)
    for k in range(3):
        if k:
            variance = readings.variance(effects, model_error, gram_noise)
        trust = on_kept.T / variance
        precision = trust @ on_kept + prior
        effects[kept] = np.linalg.solve(precision, trust @ readings.target)
    return Estimate(effects[kept], precision, trust, readings)


def clean_gram(noisy, noise_scale, *, keep_above, trust_scale, floor):
    """A usable second-moment matrix from a noisy one: thresholded, shrunk, and positive definite.

    Parameters
    ----------
    noisy : ndarray of shape (k, k)
        Noise of standard deviation `noise_scale` on the diagonal, 1/sqrt 2 of it off it.
    noise_scale : float
        See above.
    keep_above : float
        Off-diagonal entries below this many standard deviations are taken as 0, the others shrunk by their noise.
    trust_scale : float
        The public scales are trusted to this relative error: the diagonal is pulled toward 1 accordingly.
    floor : float
        The smallest eigenvalue allowed.

    Returns
    -------
    ndarray of shape (k, k)
        The cleaned matrix.
    """
    off_scale = noise_scale / np.sqrt(2)
    diagonal = 1 + (np.diagonal(noisy) - 1) / (1 + (noise_scale / trust_scale) ** 2)
    off = noisy - np.diag(np.diagonal(noisy))
    off = np.where(np.abs(off) > keep_above * off_scale, off, 0.0)
    off *= np.maximum(0.0, 1 - off_scale**2 / np.maximum(off**2, 1e-300))
    values, vectors = np.linalg.eigh(off + np.diag(diagonal))
    return (vectors * np.maximum(values, floor)) @ vectors.T
