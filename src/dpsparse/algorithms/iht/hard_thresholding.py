"""Iterative hard thresholding without privacy: the reference for private fits."""

import numpy as np

from dpsparse.algorithms.losses import Huber


def huber_iht(X, y, sparsity, *, tau=1.0, step=0.5, n_steps=100):
    """Minimise the Huber loss over coefficients with `sparsity` nonzeros, by gradient steps and hard thresholding.

    Not private. It fits no intercept and does not scale the features.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Response.
    sparsity : int
        Nonzeros kept in each step.
    tau : float, default=1.0
        Threshold of the loss.
    step : float, default=0.5
        Step size.
    n_steps : int, default=100
        The largest number of steps; the loop ends early when a step changes nothing.

    Returns
    -------
    ndarray of shape (n_features,)
        Coefficients.

    Examples
    --------
    >>> from dpsparse.algorithms.iht.hard_thresholding import huber_iht
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, coef = make_heavy_tailed(2000, 50, 3, random_state=0)
    >>> bool(abs(huber_iht(X, y, 3) - coef).max() < 0.2)
    True
    """
    loss = Huber(tau)
    coef = np.zeros(X.shape[1])
    for _ in range(n_steps):
        support = np.flatnonzero(coef)
        psi = loss.psi(y - X[:, support] @ coef[support])
        moved = coef + step / len(y) * (X.T @ psi)
        kept = np.argpartition(-np.abs(moved), sparsity - 1)[:sparsity]
        after = np.zeros_like(coef)
        after[kept] = moved[kept]
        if np.abs(after - coef).max() <= 1e-12:
            break
        coef = after
    return after
