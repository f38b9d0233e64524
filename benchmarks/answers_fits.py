"""Single fits of `answers.py`: each is one call with a seed, and gives plain numbers.

A fit knows nothing about the table: no units, no bounds. Its noise comes from its seed, so that runs can be repeated.
"""

import warnings
from functools import cache

import numpy as np
from answers_tables import arrays_of, frame_of
from reference_fits import forward_selection, least_squares_predictions, statsmodels_fit
from scipy import stats

from dpsparse import PrivateSparseRegressor
from dpsparse.data.raw_data import read_table

LEVEL_OF_INTERVALS = 0.9
REACH = stats.norm.ppf((1 + LEVEL_OF_INTERVALS) / 2)
# Text of fewer training records than this share is put together with the most frequent one in reference fits.
COMMON = 0.01

arrays = cache(arrays_of)
frames = cache(frame_of)


@cache
def reference(table, estimand):
    """The non-private coefficients and their errors on the whole table."""
    return statsmodels_fit(*arrays(table), estimand)


def fit(X, y, epsilon, estimand, seed, sparsity=None):
    """A private fit that takes all features, or selects `sparsity` of them."""
    warnings.simplefilter("ignore")
    options = {"sparsity": sparsity or X.shape[1], "epsilon": epsilon, "estimand": estimand, "random_state": seed}
    return PrivateSparseRegressor(**options).fit(X, y)


def fit_file(frame, target, epsilon, estimand, seed, sparsity):
    """A private fit on a data frame as people have it, with text and gaps."""
    warnings.simplefilter("ignore")
    options = {"sparsity": sparsity, "epsilon": epsilon, "estimand": estimand, "random_state": seed}
    return PrivateSparseRegressor(**options).fit(read_table(frame, target)).released_


def against(model, target, error=1.0):
    """How the intervals of a fit stand to coefficients: counts, widths and distances in units of `error`.

    Effects without a coefficient to compare with are not counted.
    """
    low, high = model.conf_int(LEVEL_OF_INTERVALS).T
    has = np.isfinite(low) & np.isfinite(target)
    off = np.abs((low + high) / 2 - target) / error
    shown = [(effect.value, effect.interval) for effect in model.released_.effects if effect.interval]
    return {
        "effects": int(np.isfinite(target).sum()),
        "intervals": int(has.sum()),
        "held": int((has & (low <= target) & (target <= high)).sum()),
        "widths": ((high - low) / (2 * REACH) / error)[has].tolist(),
        "distances": off[has].tolist(),
        "outside": sum(not low <= value <= high for value, (low, high) in shown),
    }


def coverage(table, epsilon, estimand, bootstrap, seed):
    """Do intervals hold the coefficients that statsmodels gives for the same columns of the whole table?"""
    X, y = arrays(table)
    whole = reference(table, estimand)
    if bootstrap:
        rows = np.random.default_rng([2801, seed]).integers(len(y), size=len(y))
        X, y = X[rows], y[rows]
    return against(fit(X, y, epsilon, estimand, seed), whole.coef, whole.error)


def level(table, epsilon, seed):
    """Mean prediction over mean response, of the records of the fit."""
    X, y = arrays(table)
    return float(fit(X, y, epsilon, "mean", seed).predict(X).mean() / y.mean())


def split(table, seed):
    """The training records of a whole file, and a held-out fifth."""
    frame = frames(table).drop(columns=list(table.drop))
    order = np.random.default_rng([2803, seed]).permutation(len(frame))
    return [frame.iloc[np.sort(part)] for part in (order[len(order) // 5 :], order[: len(order) // 5])]


def auto(table, epsilon, sparsity, seed):
    """Squared errors on a held-out fifth of "auto", of so many variables, and of the mean."""
    train, test = split(table, seed)
    y, y_test = (part[table.response].to_numpy(float) for part in (train, test))
    models = {asked: fit_file(train, table.response, epsilon, "mean", seed, asked) for asked in ("auto", sparsity)}
    auto, fixed = (float(((y_test - model.predict(test)) ** 2).mean()) for model in models.values())
    return {"auto": auto, "fixed": fixed, "mean": float(((y_test - y.mean()) ** 2).mean())}


def squared_errors(table, epsilon, sparsity, seed):
    """Squared errors on a held-out fifth: ours on the file, OLS on our variables, forward selection of as many."""
    train, test = split(table, seed)
    model = fit_file(train, table.response, epsilon, "mean", seed, sparsity)
    y, y_test = (part[table.response].to_numpy(float) for part in (train, test))
    columns = {feature.name: feature.column for feature in model.features}
    ours = {columns[effect.feature] for effect in model.effects}
    groups = variables(train, test, table.response)
    chosen = forward_selection({name: known for name, (known, _) in groups.items()}, y, len(ours))

    def error(predicted):
        return float(((y_test - predicted) ** 2).mean())

    def least_squares(names):
        parts = [groups[name] for name in sorted(names) if name in groups]
        if not parts:
            return error(np.full(len(y_test), y.mean()))
        return error(least_squares_predictions(np.hstack([a for a, _ in parts]), y, np.hstack([b for _, b in parts])))

    return {
        "ours": error(model.predict(test)),
        "same variables": least_squares(ours),
        "forward": least_squares(chosen),
        "mean": error(np.full(len(y_test), y.mean())),
        "variables": len(ours),
    }


def variables(train, test, target):
    """Columns of each variable, of training and held-out records: levels of text but the most frequent one, and gaps.

    A gap in a number is at the mean; that it is one is a column of its own where it is common.
    """
    import pandas as pd

    found = {}
    for name in train.columns.drop(target):
        gaps = [part[name].isna().to_numpy(float)[:, None] for part in (train, test)]
        if pd.api.types.is_numeric_dtype(train[name]):
            center = train[name].mean() if train[name].notna().any() else 0.0
            parts = [part[name].fillna(center).to_numpy(float)[:, None] for part in (train, test)]
        else:
            shares = train[name].astype(str).where(train[name].notna()).value_counts(normalize=True)
            levels = [text for text in shares.index[1:] if shares[text] >= COMMON]
            parts = [
                np.column_stack([np.zeros((len(part), 0)), *((part[name].astype(str) == text) for text in levels)])
                for part in (train, test)
            ]
        if COMMON <= gaps[0].mean() <= 1 - COMMON:
            parts = [np.hstack(pair) for pair in zip(parts, gaps, strict=True)]
        if parts[0].shape[1] and np.ptp(parts[0], axis=0).any():
            found[name] = tuple(part.astype(float) for part in parts)
    return found


EFFECTS = np.array([1.0, 0.6, -0.4, 0.3, 0.2])


def simulated(n, epsilon, seed):
    """A table on which the mean and the bulk move by different amounts: y = 1 + b'x + exp(.5 x1) (noise less its mean).

    The noise is lognormal.
    """
    rng = np.random.default_rng([2804, seed])
    X = rng.standard_normal((n, len(EFFECTS)))
    noise = np.exp(rng.standard_normal(n)) - np.exp(0.5)
    y = 1 + X @ EFFECTS + np.exp(0.5 * X[:, 0]) * noise
    model = fit(X, y, epsilon, "mean", seed)
    ols = statsmodels_fit(X, y, "mean")
    return against(model, EFFECTS, ols.error) | {
        "error": float(np.linalg.norm(model.coef_ - EFFECTS)),
        "OLS": float(np.linalg.norm(ols.coef - EFFECTS)),
    }


def codes(n, share, estimand, epsilon, seed):
    """A survey: earnings by age, schooling, hours and children, of whom some people have 98, which is a code."""
    rng = np.random.default_rng([2807, seed])
    age, school, hours = rng.normal(40, 6, n), rng.normal(12, 2.5, n), rng.normal(1_200, 900, n).clip(0)
    children = rng.poisson(2, n).astype(float)
    skewed = rng.standard_t(3, n) * 6_000 + rng.exponential(4_000, n)
    y = 8 * hours + 1_500 * school - 1_500 * children + 100 * age + skewed
    children[rng.random(n) < share] = 98
    X = np.column_stack([age, school, hours, children, rng.random(n) < 0.6])
    ols = statsmodels_fit(X, y, estimand)
    return against(fit(X, y, epsilon, estimand, seed), ols.coef, ols.error)


def permuted(table, epsilon, estimand, as_file, sparsity, seed):
    """Whether a fit on permuted responses calls an effect significant; on the whole file, or on the chosen features."""
    rng = np.random.default_rng([2805, seed])
    if as_file:
        frame = frames(table)
        frame = frame.assign(**{table.response: rng.permutation(frame[table.response].to_numpy())})
        model = fit_file(frame, table.response, epsilon, estimand, seed, sparsity)
    else:
        X, y = arrays(table)
        model = fit(X, rng.permutation(y), epsilon, estimand, seed).released_
    return any(effect.clear for effect in model.effects)


def refused(table, n, epsilon, seed):
    """A fit on so few records: its intervals, and whether its summary says that a mean cannot be had."""
    X, y = arrays(table)
    rows = np.random.default_rng([2806, seed]).permutation(len(y))[:n]
    model = fit(X[rows], y[rows], epsilon, "mean", seed)
    said = "cannot be had" in model.summary() or not model.released_.explains
    return {"intervals": int(np.isfinite(model.conf_int()).all(axis=1).sum()), "said": said}


def worked(table, epsilon, estimand, seed):
    """Effects with their 90 % intervals and the reference's, one by one; then mean prediction and mean response."""
    X, y = arrays(table)
    model, whole = fit(X, y, epsilon, estimand, seed), reference(table, estimand)
    found = {"estimand": estimand, "epsilon": epsilon}
    intervals = model.conf_int(LEVEL_OF_INTERVALS).tolist()
    for name, ours, coef, error in zip(table.features, intervals, whole.coef, whole.error, strict=True):
        yield found | {
            "feature": name,
            "interval": ours,
            "reference": float(coef),
            "reference_interval": [float(coef - REACH * error), float(coef + REACH * error)],
        }
    yield found | {
        "feature": "all",
        "mean_prediction": float(model.predict(X).mean()),
        "mean_response": float(y.mean()),
        "median_response": float(np.median(y)),
    }
