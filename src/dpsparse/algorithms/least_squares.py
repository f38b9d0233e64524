"""Post-processing of releases: generalised least squares over noisy gradients, with standard errors.

Nothing here reads data. In public units let b be the effects on the chosen features, G the features' second
moments and r the residuals at b_t. A released gradient is, up to noise,

    g_t = mean of psi_tau(r) v(x) x  =  p_t a_k G[S_t, :] (b - b_t),

with v(x) the factor that clips a row's norm, p_t the fraction of |r| <= tau, and a_k = E[v x_j^2] / E[x_j^2], a
constant of the clip computed for normal rows. Each gradient has privacy noise of known scale, a sampling error, and a
model error in proportion to how far it had to look, |b - b_t|.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class RowClip:
    """A row clip: old features count `old_weight`, the newest 1, and the weighted row is cut to norm `bound`.

    `gain` is E[v w_j x_j^2] and `power` is E[v^2 w_j^2 x_j^2] for each feature of a standard normal row.
    """

    weights: np.ndarray
    bound: float
    gain: np.ndarray
    power: np.ndarray


@lru_cache(maxsize=256)
def row_clip(size, tightness, old_weight):
    """The clip of rows of `size` features at `tightness` times their typical weighted norm."""
    middle = (np.arange(400) + 0.5) / 400
    newest = stats.chi2(1).ppf(middle)[:, None]
    older = stats.chi2(size - 1).ppf(middle)[None] if size > 1 else np.zeros((1, 1))
    bound = tightness * np.sqrt(1 + old_weight**2 * (size - 1))
    cut = np.minimum(1, bound / np.sqrt(newest + old_weight**2 * older))

    def expectation(of_old, of_new):
        per_old = np.mean(of_old * older) / max(size - 1, 1)
        return np.append(np.full(size - 1, per_old), np.mean(of_new * newest))

    return RowClip(
        weights=np.append(np.full(size - 1, old_weight), 1.0),
        bound=float(bound),
        gain=expectation(cut * old_weight, cut),
        power=expectation((cut * old_weight) ** 2, cut**2),
    )


@dataclass(frozen=True)
class Gradient:
    """A released gradient on the first ``len(value)`` features, with what is needed to read it."""

    value: np.ndarray
    noise_scale: float
    at: np.ndarray
    tau: float
    fraction: float
    clip: RowClip

    def sampling_variance(self, n_records):
        """Variance of a mean of n clipped terms: E[psi^2] about tau^2 (1 - 2p/3) for residuals flat within tau."""
        return self.tau**2 * (1 - 2 * self.fraction / 3) * self.clip.power / n_records


@dataclass(frozen=True)
class Estimate:
    """Effects with their standard errors, before shrinkage."""

    effects: np.ndarray
    standard_errors: np.ndarray

    def shrunk(self):
        """Effects pulled to zero by their own error: b max(0, 1 - se^2 / b^2)."""
        ratio = np.divide(
            self.standard_errors, np.abs(self.effects), out=np.full_like(self.effects, np.inf), where=self.effects != 0
        )
        return self.effects * np.maximum(0.0, 1 - ratio**2)


def combine(gradients, gram, *, prior_scale, n_records, model_error, gram_noise=0.0):
    """Effects that agree best with all gradients, and their standard errors.

    Two rounds of reweighting: the model error of a gradient depends on the effects, which depend on it.

    Parameters
    ----------
    gradients : list of Gradient
        All releases so far.
    gram : ndarray of shape (k, k)
        The features' second moments, as far as known.
    prior_scale : float
        Effects are thought to be of this size at most; weak.
    n_records : int
        The public number of rows.
    model_error : float
        Relative error of a linearised gradient.
    gram_noise : float
        Standard deviation of an entry of `gram`.

    Returns
    -------
    Estimate
        Effects and standard errors.
    """
    size = len(gram)
    effects = None
    for _ in range(3):
        precision = np.eye(size) / prior_scale**2
        weighted = np.zeros(size)
        designs = []
        for gradient in gradients:
            known = len(gradient.value)
            design = gradient.fraction * gradient.clip.gain[:, None] * gram[:known]
            origin = np.append(gradient.at, np.zeros(size - known))
            variance = gradient.noise_scale**2 + gradient.sampling_variance(n_records)
            if effects is not None:
                away = effects - origin
                gain = gradient.fraction * gradient.clip.gain
                variance = variance + (model_error * design @ away) ** 2 + (gain * gram_noise) ** 2 * (away @ away)
            trust = design.T / variance
            precision += trust @ design
            weighted += trust @ (gradient.value + design @ origin)
            designs.append(trust)
        effects = np.linalg.solve(precision, weighted)
    return Estimate(effects, _standard_errors(gradients, designs, np.linalg.inv(precision), gram, n_records))


def _standard_errors(gradients, designs, covariance, gram, n_records):
    """Privacy noise is fresh in each gradient; sampling errors are those of the same records, so they add up."""
    size = len(gram)
    private = np.zeros(size)
    shared = np.zeros((size, size))
    for gradient, trust in zip(gradients, designs, strict=True):
        known = len(gradient.value)
        reach = covariance @ trust
        private += gradient.noise_scale**2 * (reach**2).sum(axis=1)
        shared[:, :known] += reach * np.sqrt(gradient.sampling_variance(n_records))
    sampling = np.einsum("ij,jk,ik->i", shared, gram, shared)
    return np.sqrt(private + np.maximum(sampling, 0.0))


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
