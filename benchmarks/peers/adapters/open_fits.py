"""Non-private references: least squares, Huber's regression, adaptive Huber lasso, lasso, hard thresholding."""

import math
import warnings

import numpy as np
from reference_fits import huber_iht
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV

from dpsparse import AdaHuber
from peers.problem import Line, exact_feature_units


def ols(X, y, budget, rng):
    """Least squares with an intercept, on standardised features so that units do not spoil the numbers."""
    center, scale = exact_feature_units(X)
    coef = np.linalg.lstsq((X - center) / scale, y - y.mean(), rcond=None)[0] / scale
    return Line(coef, float(y.mean() - coef @ center))


def huber(X, y, budget, rng):
    """Huber's regression, clipped at 1.345 normalized median sizes of the residuals."""
    from reference_fits import huber_fit

    keep = np.ptp(X, axis=0) > 0
    intercept, coef = huber_fit(X[:, keep], y)
    every = np.zeros(X.shape[1])
    every[keep] = coef
    return Line(every, float(intercept))


def ada_huber(X, y, budget, rng):
    """Adaptive Huber lasso (Sun, Zhou and Fan 2020), thresholded to the number of features asked for and refitted.

    Its penalty is the theory's sqrt(log d / n), for data in exact units: cross-validation would take hours on the
    largest designs, and the refit removes its bias.
    """
    lam = math.sqrt(math.log(max(2, X.shape[1])) / len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AdaHuber(lam=lam, sparsity=min(budget.sparsity, X.shape[1])).fit(X, y)
    return Line(model.coef_, float(model.intercept_))


def lasso(X, y, budget, rng):
    """scikit-learn's lasso, its penalty by 5-fold cross-validation over 30 values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LassoCV(alphas=30, cv=5, random_state=int(rng.integers(2**32))).fit(X, y)
    return Line(model.coef_, float(model.intercept_))


def iht(X, y, budget, rng):
    """Huber iterative hard thresholding (tau 1, step 0.5) on centred units."""
    sparsity = min(budget.sparsity, X.shape[1])
    # A step of 0.5 diverges where correlated features have a large eigenvalue; then the step is cut.
    for step in (0.5, 0.1, 0.02):
        coef = huber_iht(X, y, sparsity, step=step)
        if np.abs(y - X @ coef).mean() <= np.abs(y).mean():
            return Line(coef, 0.0)
    return Line(np.zeros(X.shape[1]), 0.0)
