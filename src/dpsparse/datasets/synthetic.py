"""Synthetic regression data as in the paper: sparse, with Student-t noise."""

import numpy as np
from numpy.typing import NDArray


def make_heavy_tailed(
    n_samples: int,
    n_features: int,
    sparsity: int,
    *,
    df: float = 3.0,
    correlation: float = 0.0,
    coef_scale: float = 1.0,
    random_state: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Sparse linear data with heavy-tailed noise.

    Rows are N(0, I), or AR(1) with column j equal to ``correlation`` times column j - 1 plus fresh noise, each of
    variance 1; a uniformly chosen support of ``sparsity`` features has normal coefficients; the noise is Student's t.

    Parameters
    ----------
    n_samples, n_features, sparsity : int
        Rows, features, nonzero coefficients.
    df : float, default=3.0
        Degrees of freedom of the noise: 3 is the paper's zeta = 1, 1.75 its zeta = 0.5, infinity is Gaussian.
    correlation : float, default=0.0
        Correlation of neighbouring features, in [0, 1).
    coef_scale : float, default=1.0
        Standard deviation of the coefficients.
    random_state : int or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Response.
    coef : ndarray of shape (n_features,)
        The true coefficients.

    Examples
    --------
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, coef = make_heavy_tailed(100, 20, 3, random_state=0)
    >>> X.shape, y.shape, int((coef != 0).sum())
    ((100, 20), (100,), 3)
    """
    if not 1 <= sparsity <= n_features:
        raise ValueError(f"sparsity={sparsity!r} must be from 1 to n_features={n_features!r}")
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation={correlation!r} must lie in [0, 1)")
    if not df > 0:
        raise ValueError(f"df={df!r} must be above 0; 3 is the paper's default")
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((n_samples, n_features))
    if correlation:
        fresh = np.sqrt(1 - correlation**2)
        for j in range(1, n_features):
            X[:, j] = correlation * X[:, j - 1] + fresh * X[:, j]
    support = rng.choice(n_features, sparsity, replace=False)
    coef = np.zeros(n_features)
    coef[support] = coef_scale * rng.standard_normal(sparsity)
    noise = rng.standard_normal(n_samples) if np.isinf(df) else rng.standard_t(df, n_samples)
    return X, X[:, support] @ coef[support] + noise, coef
