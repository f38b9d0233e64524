"""Cost and benefit of a choice by `tune`, against the default and against the best candidate in hindsight.

Run ``python benchmarks/tuning.py``: l2 errors, medians over 20 seeds from 3000 on. "In hindsight" is the candidate of
the smallest median when each has the whole budget and all rows: nobody knows it beforehand.
Every fit is told that the features are standardised, except by candidates that differ in their units.
"""

import warnings

import click
import numpy as np

from dpsparse import PrivateSparseRegressor, tune
from dpsparse.data.units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed

SPARSITIES = [{"sparsity": s} for s in (2, 5, 15)]
# Features measured in units of which only the order of magnitude is known.
UNITS = [{"feature_scale": scale} for scale in (0.1, 1.0, 10.0)]
# n, d, true sparsity, epsilon, what the features are multiplied by, candidates.
SETTINGS = {
    "2 effects": (10_000, 200, 2, 0.5, 1.0, SPARSITIES),
    "5 effects": (10_000, 200, 5, 0.5, 1.0, SPARSITIES),
    "15 effects": (10_000, 200, 15, 0.5, 1.0, SPARSITIES),
    "15 effects, epsilon 2": (10_000, 200, 15, 2.0, 1.0, SPARSITIES),
    "units 10 times too small": (10_000, 200, 5, 0.5, 10.0, UNITS),
    "units 10 times too large": (10_000, 200, 5, 0.5, 0.1, UNITS),
}


def errors(setting, seed):
    """Errors of the default, "auto", tune, each candidate with the whole budget, and whether tune chose its best."""
    n, d, sparsity, epsilon, factor, options = setting
    X, y, coef = make_heavy_tailed(n, d, sparsity, random_state=seed)

    def error(model):
        return float(np.linalg.norm(model.coef_ * factor - coef))

    def model(**option):
        return PrivateSparseRegressor(epsilon=epsilon, random_state=seed, **(STANDARDIZED | option))

    tuned = tune([model(**option) for option in options], X * factor, y)
    reached = [error(candidate) for candidate in tuned.candidates]
    return {
        "default": error(model().fit(X * factor, y)),
        "auto": error(model(sparsity="auto", max_sparsity=15).fit(X * factor, y)),
        "tune": reached[tuned.index],
        "its best": min(reached),
        **{k: error(model(**option).fit(X * factor, y)) for k, option in enumerate(options)},
    }


@click.command()
@click.option("--first-seed", default=3000, show_default=True)
@click.option("--seeds", default=20, show_default=True)
def main(first_seed, seeds):
    """Print a table, one line for each setting."""
    warnings.simplefilter("ignore")
    click.echo("| setting | default | auto | tune | the best it fitted | candidate in hindsight | chose its best |")
    click.echo("|---|---|---|---|---|---|---|")
    for name, setting in SETTINGS.items():
        rows = [errors(setting, seed) for seed in range(first_seed, first_seed + seeds)]
        median = {key: float(np.median([row[key] for row in rows])) for key in rows[0]}
        hindsight = min(median[k] for k in range(len(setting[-1])))
        right = sum(row["tune"] == row["its best"] for row in rows)
        shown = [median[key] for key in ("default", "auto", "tune", "its best")] + [hindsight]
        click.echo(f"| {name} | {' | '.join(f'{value:.3f}' for value in shown)} | {right} of {seeds} |")


if __name__ == "__main__":
    main()
