"""Single fits of `classifiers.py`: each is one call with a seed, and gives plain numbers.

A fit's noise comes from its seed, so that runs can be repeated.
"""

import warnings
from dataclasses import dataclass
from functools import cache, partial

import classifiers_rivals as rivals
import numpy as np
from classifiers_tables import arrays_of
from reference_fits import lasso_logistic, logistic_fit
from scipy.optimize import brentq
from scipy.special import expit
from simulated import EFFECTS, draw_column, moments
from sklearn.metrics import log_loss, roc_auc_score

from dpsparse import PrivateSparseClassifier

LEVEL_OF_INTERVALS = 0.9
MIXTURE = ("share .1", "poisson 1", "exp 1")
# What nobody knows of features in unknown units.
UNIT, SHIFT = 3.7, 11.0
STREAM, POPULATION_STREAM, POPULATION = 2901, 2902, 100_000
# A linear predictor beyond this is no evidence of anything.
LARGEST_LOG_ODDS = 12.0

arrays = cache(arrays_of)


@dataclass(frozen=True)
class Design:
    """A simulated table: five log odds per true standard deviation, the first columns, among d of these laws."""

    n: int = 10_000
    d: int = 60
    share: float = 0.5
    law: str = "normal"
    known: bool = True

    def laws(self, rng):
        """A law for each column; those of the mixture take turns, from a random one on."""
        laws = MIXTURE if self.law == "mixture" else (self.law,)
        start = rng.integers(len(laws))
        return [laws[(j + start) % len(laws)] for j in range(self.d)]

    def make(self, seed):
        """Features per standard deviation, responses, laws and the constant."""
        rng = np.random.default_rng([STREAM, seed])
        laws = self.laws(rng)
        X = np.column_stack([_standard(rng, law, self.n) for law in laws])
        odds = X[:, : len(EFFECTS)] @ EFFECTS
        constant = brentq(lambda constant: expit(constant + odds).mean() - self.share, -20, 20)
        return X, (rng.random(self.n) < expit(constant + odds)).astype(float), laws, constant


def _standard(rng, law, n):
    mean, sd = moments(law)
    return (draw_column(rng, law, n) - mean) / sd


def in_population(laws, constant, selected):
    """The coefficients of logistic regression on the selected columns, among many records of the same laws.

    Responses are probabilities, which leaves less noise than draws. Where features are left out, the others' log odds
    are smaller than those that made the responses.
    """
    rng = np.random.default_rng(POPULATION_STREAM)
    columns = list(dict.fromkeys([*range(len(EFFECTS)), *map(int, selected)]))
    X = np.column_stack([_standard(rng, laws[j], POPULATION) for j in columns])
    chances = expit(constant + X[:, : len(EFFECTS)] @ EFFECTS)
    return logistic_fit(X[:, [columns.index(j) for j in selected]], chances).coef


def fit(X, y, epsilon, seed, sparsity=5, known=False):
    """A private fit; in known units features have mean 0 and standard deviation 1."""
    warnings.simplefilter("ignore")
    units = {"feature_center": 0.0, "feature_scale": 1.0} if known else {}
    return PrivateSparseClassifier(sparsity=sparsity, epsilon=epsilon, random_state=seed, **units).fit(X, y)


def against(model, target, selected):
    """How many 90 % intervals of the selected features there are, and how many hold their targets."""
    low, high = model.conf_int(LEVEL_OF_INTERVALS)[selected].T
    has = np.isfinite(low) & np.isfinite(high) & np.isfinite(target)
    return int(has.sum()), int((has & (low <= target) & (target <= high)).sum())


def simulated(design, epsilon, seed):
    """Errors, intervals and how many of the five were found."""
    X, y, laws, constant = design.make(seed)
    beta = np.zeros(design.d)
    beta[: len(EFFECTS)] = EFFECTS
    unit = 1.0 if design.known else UNIT
    model = fit(X if design.known else X * UNIT + SHIFT, y, epsilon, seed, len(EFFECTS), design.known)
    selected = np.asarray(model.support_)
    active = selected[selected < len(EFFECTS)]
    root = in_population(laws, constant, selected) / unit if len(selected) else np.zeros(0)
    intervals, held = against(model, root, selected)
    of_beta, held_beta = against(model, beta[active] / unit, active)
    reference = logistic_fit(X[:, : len(EFFECTS)], y).coef
    return {
        "error": float(np.linalg.norm(model.coef_ * unit - beta)),
        "reference": float(np.linalg.norm(reference - EFFECTS)),
        "found": len(active),
        "selected": len(selected),
        "intervals": intervals,
        "held": held,
        "intervals_beta": of_beta,
        "held_beta": held_beta,
        "false": int(model.clear_[selected[selected >= len(EFFECTS)]].sum()),
    }


def permuted(design, epsilon, seed):
    """Whether a fit on permuted responses calls an effect significant."""
    X, y, _, _ = design.make(seed)
    y = np.random.default_rng([STREAM + 2, seed]).permutation(y)
    return bool(fit(X if design.known else X * UNIT + SHIFT, y, epsilon, seed, 5, design.known).clear_.any())


def permuted_table(table, epsilon, sparsity, seed):
    """The same on a table."""
    X, y = arrays(table)
    return bool(fit(X, np.random.default_rng([STREAM + 2, seed]).permutation(y), epsilon, seed, sparsity).clear_.any())


def halves(table, seed):
    """Training records and a held-out fifth."""
    X, y = arrays(table)
    order = np.random.default_rng([STREAM + 3, seed]).permutation(len(y))
    test, train = np.split(order, [len(order) // 5])
    return X[train], y[train], X[test], y[test]


def measures(y, odds):
    """AUC and log loss of some log odds."""
    odds = np.clip(odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    return {"auc": float(roc_auc_score(y, odds)), "loss": float(log_loss(y, expit(odds)))}


def table(of, epsilon, sparsity, seed):
    """A fit on a table, nothing known: ours, without privacy as many variables, and whether intervals hold Logit's."""
    X, y, X_test, y_test = halves(of, seed)
    model = fit(X, y, epsilon, seed, sparsity)
    selected = np.asarray(model.support_)
    chosen = lasso_logistic(X, y, max(1, len(selected)))
    lasso = logistic_fit(X[:, chosen], y)
    target = logistic_fit(X[:, selected], y).coef if len(selected) else np.zeros(0)
    intervals, held = against(model, target, selected)
    descent = rivals.noisy_descent(*rivals.standardized(X, X_test), y, epsilon, rivals.delta_of(len(y)), seed)
    return {
        "ours": measures(y_test, model.decision_function(X_test)),
        "lasso": measures(y_test, lasso.intercept + X_test[:, chosen] @ lasso.coef),
        "descent": measures(y_test, descent),
        "constant": measures(y_test, np.full(len(y_test), np.log(y.mean() / (1 - y.mean())))),
        "selected": len(selected),
        "intervals": intervals,
        "held": held,
    }


def against_rivals(of, epsilon, sparsity, seed):
    """AUC and log loss of ours in known units and of the rivals with exact ones."""
    X, y, X_test, y_test = halves(of, seed)
    Z, Z_test = rivals.standardized(X, X_test)
    ours = fit(Z, y, epsilon, seed, sparsity, known=True).decision_function(Z_test)
    found = {"ours": measures(y_test, ours)}
    for name, rival in rivals.RIVALS.items():
        found[name] = measures(y_test, rival(Z, Z_test, y, epsilon, rivals.delta_of(len(y)), seed))
    return found


def _extreme(X, y, X_test, y_test, target, epsilon, seed):
    """A fit in unknown units: finite or not, its largest coefficient, its intervals and its AUC."""
    model = fit(X, y, epsilon, seed)
    selected = np.asarray(model.support_)
    intervals, held = against(model, target(selected), selected) if len(selected) else (0, 0)
    return {
        "finite": bool(np.isfinite(model.coef_).all() and np.isfinite(model.intercept_)),
        "largest": float(np.abs(model.coef_).max()),
        "intervals": intervals,
        "held": held,
        "auc": measures(y_test, model.decision_function(X_test))["auc"],
    }


def _of_design(design, epsilon, seed):
    X, y, laws, constant = design.make(seed)
    X_test, y_test, *_ = design.make(seed + 10**6)
    return _extreme(X, y, X_test, y_test, lambda chosen: in_population(laws, constant, chosen), epsilon, seed)


def rare(epsilon, seed):
    """One yes in a hundred."""
    return _of_design(Design(share=0.01, known=False), epsilon, seed)


def small(n, epsilon, seed):
    """Few records of few features."""
    return _of_design(Design(n=n, d=10, known=False), epsilon, seed)


def separated(epsilon, seed):
    """The first feature tells yes from no; logistic regression without privacy has no finite answer."""
    X, X_test = (np.random.default_rng([STREAM + 4, seed, part]).standard_normal((10_000, 10)) for part in (0, 1))
    y, y_test = ((each[:, 0] > 0).astype(float) for each in (X, X_test))

    def target(selected):
        # No finite interval holds its log odds; those of the others are 0.
        return np.where(selected == 0, np.inf, 0.0)

    return _extreme(X, y, X_test, y_test, target, epsilon, seed)


EXTREMES = {
    "one yes in a hundred": rare,
    "a feature tells yes from no": separated,
    **{f"{n:,} records": partial(small, n) for n in (500, 1_000, 3_000)},
}
