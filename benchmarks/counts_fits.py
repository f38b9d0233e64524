"""Single fits of `counts.py`: each is one call with a seed, and gives plain numbers.

A fit's noise comes from its seed, so that runs can be repeated.
"""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
from counts_tables import arrays_of
from reference_fits import forward_selection, poisson_fit
from simulated import draw_column, moments
from sklearn.metrics import d2_tweedie_score

from dpsparse import PrivateSparsePoissonRegressor

LEVEL_OF_INTERVALS = 0.9
EFFECTS = np.array([0.5, 0.3, -0.2, 0.15, 0.1])
# An exponential of an exponential has no mean: the mixture's last law is lighter than that of other benchmarks.
MIXTURE = ("normal", "share .1", "share .5", "poisson 2", "exp .5")
# What nobody knows of features in unknown units.
UNIT, SHIFT = 3.7, 11.0
STREAM, POPULATION_STREAM, POPULATION = 3101, 3102, 100_000

arrays = cache(arrays_of)


@dataclass(frozen=True)
class Design:
    """A simulated table: five effects per true standard deviation, the first columns, among d of these laws.

    `over` is the variance of a rate in units of its square: 0 for a Poisson law, and otherwise a negative binomial one.
    """

    n: int = 10_000
    d: int = 60
    mean: float = 1.0
    over: float = 0.0
    law: str = "normal"
    known: bool = True

    def make(self, seed):
        """Features per standard deviation, responses and laws."""
        rng = np.random.default_rng([STREAM, seed])
        laws = MIXTURE if self.law == "mixture" else (self.law,)
        start = rng.integers(len(laws))
        laws = [laws[(j + start) % len(laws)] for j in range(self.d)]
        X = np.column_stack([_standard(rng, law, self.n) for law in laws])
        means = np.exp(X[:, : len(EFFECTS)] @ EFFECTS)
        means *= self.mean / means.mean()
        if self.over:
            means = means * rng.gamma(1 / self.over, self.over, self.n)
        return X, rng.poisson(means).astype(float), laws


def _standard(rng, law, n):
    mean, sd = moments(law)
    return (draw_column(rng, law, n) - mean) / sd


def in_population(laws, selected):
    """The coefficients of Poisson regression on the selected columns, among many records of the same laws."""
    rng = np.random.default_rng(POPULATION_STREAM)
    columns = list(dict.fromkeys([*range(len(EFFECTS)), *map(int, selected)]))
    X = np.column_stack([_standard(rng, laws[j], POPULATION) for j in columns])
    means = np.exp(X[:, : len(EFFECTS)] @ EFFECTS)
    return poisson_fit(X[:, [columns.index(j) for j in selected]], means).coef


def fit(X, y, epsilon, seed, sparsity=5, known=False):
    """A private fit; in known units features have mean 0 and standard deviation 1."""
    warnings.simplefilter("ignore")
    units = {"feature_center": 0.0, "feature_scale": 1.0} if known else {}
    return PrivateSparsePoissonRegressor(sparsity=sparsity, epsilon=epsilon, random_state=seed, **units).fit(X, y)


def against(model, target, selected):
    """How many 90 % intervals of the selected features there are, and how many hold their targets."""
    low, high = model.conf_int(LEVEL_OF_INTERVALS)[selected].T
    has = np.isfinite(low) & np.isfinite(high) & np.isfinite(target)
    return int(has.sum()), int((has & (low <= target) & (target <= high)).sum())


def simulated(design, epsilon, seed):
    """Errors, intervals, how many of the five were found, and the level."""
    X, y, laws = design.make(seed)
    beta = np.zeros(design.d)
    beta[: len(EFFECTS)] = EFFECTS
    unit, seen = (1.0, X) if design.known else (UNIT, X * UNIT + SHIFT)
    model = fit(seen, y, epsilon, seed, len(EFFECTS), design.known)
    selected = np.asarray(model.support_)
    root = in_population(laws, selected) / unit if len(selected) else np.zeros(0)
    intervals, held = against(model, root, selected)
    reference = poisson_fit(X[:, : len(EFFECTS)], y).coef
    return {
        "error": float(np.linalg.norm(model.coef_ * unit - beta)),
        "reference": float(np.linalg.norm(reference - EFFECTS)),
        "found": int((selected < len(EFFECTS)).sum()),
        "selected": len(selected),
        "intervals": intervals,
        "held": held,
        "level": float(model.predict(seen).mean() / y.mean()),
    }


def permuted(design, epsilon, seed):
    """Whether a fit on permuted responses calls an effect significant."""
    X, y, _ = design.make(seed)
    y = np.random.default_rng([STREAM + 2, seed]).permutation(y)
    return bool(fit(X if design.known else X * UNIT + SHIFT, y, epsilon, seed, 5, design.known).clear_.any())


def permuted_table(table, epsilon, sparsity, seed):
    """The same on a table."""
    X, y = arrays(table)
    return bool(fit(X, np.random.default_rng([STREAM + 2, seed]).permutation(y), epsilon, seed, sparsity).clear_.any())


def table(of, epsilon, sparsity, seed):
    """A fit on a table, nothing known: level and deviance explained on a held-out fifth, and coverage.

    Without privacy as many variables are chosen one after another, by squared errors, for a Poisson regression.
    """
    X, y = arrays(of)
    order = np.random.default_rng([STREAM + 3, seed]).permutation(len(y))
    test, train = np.split(order, [len(order) // 5])
    model = fit(X[train], y[train], epsilon, seed, sparsity)
    selected = np.asarray(model.support_)
    target = poisson_fit(X[np.ix_(train, selected)], y[train]) if len(selected) else None
    intervals, held = against(model, target.coef, selected) if target else (0, 0)
    error = model.coef_se_[selected] / target.error if target else np.full(1, np.nan)
    columns = {str(j): X[train][:, [j]] for j in range(X.shape[1])}
    chosen = [int(name) for name in forward_selection(columns, y[train], max(1, len(selected)))]
    open_fit = poisson_fit(X[np.ix_(train, chosen)], y[train])
    means = np.exp(open_fit.intercept + X[np.ix_(test, chosen)] @ open_fit.coef)
    return {
        "level": float(model.predict(X[train]).mean() / y[train].mean()),
        "d2": float(d2_tweedie_score(y[test], model.predict(X[test]), power=1)),
        "d2_open": float(d2_tweedie_score(y[test], means, power=1)),
        "wider": float(np.nanmedian(error)) if np.isfinite(error).any() else np.nan,
        "selected": len(selected),
        "intervals": intervals,
        "held": held,
    }
