"""Cost and benefit of a choice by `tune`, against the default and against the best candidate in hindsight.

Run ``python benchmarks/tuning.py``: l2 errors, medians over 20 seeds from 3000 on. "In hindsight" is the candidate of
the smallest median when each has the whole budget and all rows: nobody knows it beforehand. Effects are on the typical
response: noise is symmetric, so that they are the coefficients. Every fit is told that the features are standardised,
except by candidates that differ in their units. ``--units unknown`` fits tables of `simulated.py`, whose units no fit
is told; the errors are per true standard deviation there.
"""

import warnings
from functools import partial

import click
import numpy as np
from simulated import ROWS

from dpsparse import PrivateSparseRegressor, tune
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed

SPARSITIES = [{"sparsity": s} for s in (2, 5, 15)]
# Features measured in units of which only the order of magnitude is known.
UNITS = [{"feature_scale": scale} for scale in (0.1, 1.0, 10.0)]


def standardized(n, d, sparsity, factor, seed):
    """Features, response, coefficients, and the unit of each; the features are normal, times a factor."""
    X, y, coef = make_heavy_tailed(n, d, sparsity, random_state=seed)
    return X * factor, y, coef / factor, factor


def in_any_unit(row, seed):
    """The same for a row of `honesty.py`."""
    X, y, truth = ROWS[row].make(seed)
    return X, y, truth.coef, truth.sd


# How a table is made from a seed, epsilon, candidates.
SETTINGS = {
    "known": {
        "2 effects": (partial(standardized, 10_000, 200, 2, 1.0), 0.5, SPARSITIES),
        "5 effects": (partial(standardized, 10_000, 200, 5, 1.0), 0.5, SPARSITIES),
        "15 effects": (partial(standardized, 10_000, 200, 15, 1.0), 0.5, SPARSITIES),
        "15 effects, epsilon 2": (partial(standardized, 10_000, 200, 15, 1.0), 2.0, SPARSITIES),
        "units 10 times too small": (partial(standardized, 10_000, 200, 5, 10.0), 0.5, UNITS),
        "units 10 times too large": (partial(standardized, 10_000, 200, 5, 0.1), 0.5, UNITS),
    },
    "unknown": {
        "normal": (partial(in_any_unit, "normal"), 1.0, SPARSITIES),
        "normal, epsilon 0.5": (partial(in_any_unit, "normal"), 0.5, SPARSITIES),
        "mixture": (partial(in_any_unit, "mixture"), 1.0, SPARSITIES),
        "mixture, epsilon 0.5": (partial(in_any_unit, "mixture"), 0.5, SPARSITIES),
    },
}


def errors(setting, public, seed):
    """Errors of the default, "auto", tune, each candidate with the whole budget, and whether tune chose its best."""
    make, epsilon, options = setting
    X, y, coef, unit = make(seed)

    def error(model):
        return float(np.linalg.norm((model.coef_ - coef) * unit))

    def model(**option):
        return PrivateSparseRegressor(estimand="typical", epsilon=epsilon, random_state=seed, **(public | option))

    tuned = tune([model(**option) for option in options], X, y)
    reached = [error(candidate) for candidate in tuned.candidates]
    return {
        "default": error(model().fit(X, y)),
        "auto": error(model(sparsity="auto", max_sparsity=15).fit(X, y)),
        "tune": reached[tuned.index],
        "its best": min(reached),
        **{k: error(model(**option).fit(X, y)) for k, option in enumerate(options)},
    }


@click.command()
@click.option("--units", type=click.Choice(list(SETTINGS)), default="known", show_default=True)
@click.option("--first-seed", default=3000, show_default=True)
@click.option("--seeds", default=20, show_default=True)
def main(units, first_seed, seeds):
    """Print a table, one line for each setting."""
    warnings.simplefilter("ignore")
    click.echo("| setting | default | auto | tune | the best it fitted | candidate in hindsight | chose its best |")
    click.echo("|---|---|---|---|---|---|---|")
    public = STANDARDIZED if units == "known" else {}
    for name, setting in SETTINGS[units].items():
        rows = [errors(setting, public, seed) for seed in range(first_seed, first_seed + seeds)]
        median = {key: float(np.median([row[key] for row in rows])) for key in rows[0]}
        hindsight = min(median[k] for k in range(len(setting[-1])))
        right = sum(row["tune"] == row["its best"] for row in rows)
        shown = [median[key] for key in ("default", "auto", "tune", "its best")] + [hindsight]
        click.echo(f"| {name} | {' | '.join(f'{value:.3f}' for value in shown)} | {right} of {seeds} |")


if __name__ == "__main__":
    main()
