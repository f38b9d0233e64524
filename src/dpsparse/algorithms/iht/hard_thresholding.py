"""Iterative hard thresholding without privacy: the reference for private fits."""

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.losses import Huber


def huber_iht(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    sparsity: int,
    *,
    tau: float = 1.0,
    step: float = 0.5,
    n_steps: int = 100,
) -> NDArray[np.float64]:
    """Minimise the Huber loss over coefficients with `sparsity` nonzeros, by gradient steps and hard thresholding.

    Not private. It fits no intercept and does not scale the features.

    There are at most `n_steps` steps: the loop ends early when a step changes nothing.

    Examples
    --------
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
