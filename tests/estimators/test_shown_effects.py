"""Every effect that people read lies in the interval beside it, whatever was fitted and wherever it is shown."""

import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

from dpsparse import DPIHTH, DPIHTL, DPSLR, PrivateSparseRegressor, fit_and_evaluate, read_table, tune
from dpsparse.cli.output import model_facts
from dpsparse.report.fit_page import fit_page

KNOWN = {"feature_center": 0.0, "feature_scale": 1.0}
NUMBER = r"(-?[\d,]+\.?\d*(?:e[+-]?\d+)?)"


@cache
def table(n=4_000, d=14):
    """Correlated columns, some nearly equal, with responses that are heavy-tailed."""
    rng = np.random.default_rng(26)
    common = rng.standard_normal((n, 1))
    X = 0.8 * common + 0.6 * rng.standard_normal((n, d))
    X[:, 1] = X[:, 0] + 0.2 * rng.standard_normal(n)
    y = 3 + 2 * X[:, 0] - 1.5 * X[:, 2] + X[:, 3] + 0.4 * X[:, 4] + rng.standard_t(3, n)
    return X, y


def regressor(**options):
    return PrivateSparseRegressor(**{"sparsity": 4, "epsilon": 2.0, "random_state": 7} | options)


def on_arrays(estimator, response=None, gaps=False):
    X, y = table()
    if gaps:
        X = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    return estimator.fit(X, y if response is None else response(y)).released_


def on_a_raw_table(**options):
    X, y = table()
    frame = pd.DataFrame(X[:, :5], columns=list("abcde"))
    frame["region"] = np.where(X[:, 0] > 0.5, "north", np.where(X[:, 3] > 0, "east", "south"))
    frame["y"] = y
    return regressor(**options).fit(read_table(frame, "y")).released_


FITS = {
    "given units": lambda: on_arrays(regressor(**KNOWN)),
    "unknown units": lambda: on_arrays(regressor()),
    "auto": lambda: on_arrays(regressor(sparsity="auto", max_sparsity=8)),
    "auto, given units": lambda: on_arrays(regressor(sparsity="auto", max_sparsity=8, **KNOWN)),
    "auto, all features": lambda: on_arrays(regressor(sparsity="auto", **KNOWN)),
    "all features": lambda: on_arrays(regressor(sparsity=14)),
    "small epsilon": lambda: on_arrays(regressor(epsilon=0.3)),
    "no intercept": lambda: on_arrays(regressor(fit_intercept=False)),
    "gaps": lambda: on_arrays(regressor(missing="center"), gaps=True),
    "gaps, auto": lambda: on_arrays(regressor(missing="center", sparsity="auto", max_sparsity=8), gaps=True),
    "0/1": lambda: on_arrays(regressor(), lambda y: (y > np.median(y)).astype(float)),
    "0/1, auto": lambda: on_arrays(regressor(sparsity="auto", max_sparsity=8), lambda y: (y > 6).astype(float)),
    "raw table": on_a_raw_table,
    "raw table, auto": lambda: on_a_raw_table(sparsity="auto"),
    "tuned": lambda: tune([regressor(sparsity=3), regressor(sparsity=6)], *table())[0].released_,
    "held out": lambda: fit_and_evaluate(regressor(), *table())[0].released_,
    "DP-IHT-H": lambda: on_arrays(DPIHTH(sparsity=3, epsilon=4.0, random_state=1)),
    "DP-IHT-L": lambda: on_arrays(DPIHTL(sparsity=3, epsilon=4.0, random_state=1)),
    "DP-SLR": lambda: on_arrays(DPSLR(sparsity=3, epsilon=4.0, random_state=1)),
}
QUICK = ("given units", "0/1", "DP-IHT-H")


@cache
def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITS[name]()


def as_number(text):
    return float(text.replace(",", ""))


def shown(model):
    """Effect and interval wherever both are shown: text, tables, pictures, sentences and JSON."""
    interval = rf"\[{NUMBER}, {NUMBER}\]"
    for line in model.summary().splitlines():
        if match := re.search(rf"{NUMBER} +{NUMBER} +{NUMBER} +<?{NUMBER}   {interval}", line):
            _, effect, _, _, *ends = map(as_number, match.groups())
            yield "summary", effect, ends
    for name, text in (("notebook", model.as_html()), ("report", fit_page(model))):
        for match in re.finditer(rf">{NUMBER}</td><td[^>]*>{interval}<", text):
            effect, *ends = map(as_number, match.groups())
            yield name, effect, ends
    # Both ends have the sign that is said: higher, or lower.
    sentence = rf"is associated with {NUMBER} (?:higher|lower) .*? \(between {NUMBER} and {NUMBER}"
    for match in re.finditer(sentence, fit_page(model)):
        effect, *ends = map(as_number, match.groups())
        yield "sentence", effect, ends
    for effect in model_facts(model)["effects"]:
        if effect["interval"] is not None:
            yield "JSON", effect["effect"], list(effect["interval"].values())


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FITS]
)
def test_no_effect_is_shown_outside_its_interval(name):
    model = fitted(name)
    places = [place for place, effect, (low, high) in shown(model)]
    outside = [each for each in shown(model) if not each[2][0] <= each[1] <= each[2][1]]
    assert outside == []
    with_interval = [effect for effect in model.effects if effect.interval is not None]
    # As many as there are, in every place: the page has them in two tables. Scores have three to five.
    told = () if model.scores is None else (model.scores.r2, model.scores.squared_error)
    n_scores = 0 if model.scores is None else 3 + sum(each is not None for each in told)
    assert places.count("summary") == places.count("JSON") == len(with_interval)
    assert places.count("notebook") == len(with_interval) + n_scores
    if model.explains:
        assert places.count("report") == 2 * len(with_interval) + n_scores
    assert places.count("sentence") == sum(effect.clear for effect in model.effects)


@pytest.mark.slow
def test_what_predictions_use_differs_and_stands_apart():
    """Otherwise the test above could not fail."""
    with_interval = [each for name in FITS for each in fitted(name).effects if each.interval is not None]
    shrunk = [each for each in with_interval if abs(each.coef - each.estimate) > 0.1 * each.standard_error]
    assert len(with_interval) > 40
    assert len(shrunk) > 20
    model = next(fitted(name) for name in FITS if set(fitted(name).effects) & set(shrunk))
    assert "for prediction" in model.summary()
    assert "used for prediction" in fit_page(model)
    assert "used for prediction" in model.as_html()
