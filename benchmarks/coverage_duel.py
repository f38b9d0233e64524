"""Coverage and width of 90 % intervals beside BinAgg's, on designs with few features and on real tables.

Run ``python benchmarks/coverage_duel.py`` (15 minutes on one core), then ``python -m peers report``, which puts the
numbers into docs/comparison.md. Simulated designs have known effects. A real table is the population: every repeat
draws as many records from it with replacement, and the truth is least squares on the table. All methods see the same
records; all but "ours, nothing known" are given exact units, and the rivals exact bounds too. Effects are on the mean,
all features are kept. Widths are over those of least squares with its sandwich, in the median over effects.
"""

import json
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from peers.adapters import binagg, noisy_statistics
from peers.problem import NORMAL_MAD, exact_feature_units, robust_units
from peers.settings.tables import CHOSEN, load

from dpsparse import PrivateSparseRegressor
from dpsparse.inference.intervals import reach
from dpsparse.privacy.accounting.gdp import largest_mu

RESULTS = Path(__file__).parent / "results" / "coverage_duel.json"
LEVEL = 0.9
DELTA = 1e-6
EPSILONS = (1.0, 3.0)
FIRST_SEED = 90_000
REPEATS = 60
TABLES = ("airfoil", "wine", "diabetes", "CPS1988", "randhie", "diamonds on carat")


class Population(NamedTuple):
    """Where records come from: `draw` makes features and responses, `effects` are the truth."""

    draw: object
    effects: np.ndarray


def simulated(n, d, correlation, noise):
    """Normal features of mean 1, equally correlated; effects 1.5, -2, .5, and half of them again."""
    effects = np.resize([1.5, -2.0, 0.5], d) * np.repeat([1.0, 0.5, 0.25], 3)[:d]

    def draw(rng):
        shared = rng.standard_normal((n, 1))
        X = 1 + np.sqrt(1 - correlation) * rng.standard_normal((n, d)) + np.sqrt(correlation) * shared
        errors = rng.standard_normal(n) if noise == "normal" else rng.standard_t(3, n)
        return X, X @ effects + errors

    return Population(draw, effects)


def of_table(name):
    """A table as a population."""
    X, y = load(next(table for table in CHOSEN if table.name == name))
    rows = np.column_stack([np.ones(len(X)), X])
    effects = np.linalg.lstsq(rows, y)[0][1:]

    def draw(rng):
        drawn = rng.integers(len(y), size=len(y))
        return X[drawn], y[drawn]

    return Population(draw, effects)


def populations(tables=TABLES):
    """All of them by name; tables that are not there are left out."""
    found = {
        "normal 500 x 3": simulated(500, 3, 0.0, "normal"),
        "normal 2000 x 3": simulated(2_000, 3, 0.0, "normal"),
        "normal 10000 x 3": simulated(10_000, 3, 0.0, "normal"),
        "t3 noise 5000 x 5": simulated(5_000, 5, 0.0, "t3"),
        "correlation .5, 5000 x 8": simulated(5_000, 8, 0.5, "normal"),
    }
    for name in tables:
        try:
            found[name] = of_table(name)
        except (ImportError, OSError) as missing:
            click.echo(f"{name} is left out: {missing}")
    return found


def least_squares(X, y):
    """Effects and their errors by the sandwich."""
    rows = np.column_stack([np.ones(len(X)), X])
    inverse = np.linalg.pinv(rows.T @ rows)
    coef = inverse @ (rows.T @ y)
    scores = rows * (y - rows @ coef)[:, None]
    return coef[1:], np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))[1:]


def ours(X, y, epsilon, seed, known):
    """Low and high ends of our intervals; not a number where the fit gives none."""
    units = {}
    if known:
        center, scale = exact_feature_units(X)
        response_center, response_scale = robust_units(y)
        units = {"feature_center": center, "feature_scale": scale, "response_center": response_center,
                 "response_scale": response_scale * NORMAL_MAD}  # fmt: skip
    model = PrivateSparseRegressor(
        sparsity=X.shape[1], estimand="mean", epsilon=epsilon, delta=DELTA, random_state=seed, **units
    ).fit(X, y)
    return model.conf_int(LEVEL).T


def rival(X, y, method):
    """Intervals of a method for data in exact units, in the units of the data."""
    center, scale = exact_feature_units(X)
    response_center, response_scale = robust_units(y)
    coef, errors = method((X - center) / scale, (y - response_center) / response_scale)
    factor = response_scale / scale
    return factor * (coef - reach(LEVEL) * errors), factor * (coef + reach(LEVEL) * errors)


def with_binagg(epsilon, rng, **options):
    """BinAgg's effects and errors, without the intercept's."""

    def method(X, y):
        bounds = np.column_stack([X.min(axis=0), X.max(axis=0)])
        found = binagg.estimate(X, y, bounds, np.abs(y).max(), largest_mu(epsilon, DELTA), rng, **options)
        return found.coef[:-1], found.errors[:-1]

    return method


def with_statistics(epsilon, rng):
    """dp-statsmodels' effects and errors, without the intercept's."""

    def method(X, y):
        found = noisy_statistics.estimate(X, y, np.abs(X).max(), np.abs(y).max(), epsilon, DELTA, rng)
        return found.coef[1:], found.errors[1:]

    return method


def intervals(X, y, epsilon, seed):
    """Low and high ends by method."""
    rng = np.random.default_rng([seed, 1])
    return {
        "ours, units known": ours(X, y, epsilon, seed, known=True),
        "ours, nothing known": ours(X, y, epsilon, seed, known=False),
        "BinAgg": rival(X, y, with_binagg(epsilon, rng)),
        "BinAgg, whole correction": rival(X, y, with_binagg(epsilon, rng, whole=True)),
        "BinAgg's package (sqrt(d) too little noise)": rival(X, y, with_binagg(epsilon, rng, sound=False)),
        "dp-statsmodels": rival(X, y, with_statistics(epsilon, rng)),
    }


def duel(name, population, epsilon, repeats):
    """One row a method: effects asked for, given an interval, covered, and the median width over least squares'."""
    hits, widths = {}, {}
    for seed in range(FIRST_SEED, FIRST_SEED + repeats):
        X, y = population.draw(np.random.default_rng(seed))
        plain = 2 * reach(LEVEL) * least_squares(X, y)[1]
        for method, (low, high) in intervals(X, y, epsilon, seed).items():
            given = np.isfinite(low) & np.isfinite(high)
            inside = (low <= population.effects) & (population.effects <= high)
            hits.setdefault(method, []).append(np.where(given, inside, np.nan))
            widths.setdefault(method, []).append(np.where(given, (high - low) / plain, np.nan))
    rows = []
    for method, seen in hits.items():
        covered, given = np.array(seen), np.isfinite(seen)
        # Effects of one repeat share its noise: the error is that of the repeats' shares.
        some = given.any(axis=1)
        shares = np.nanmean(covered[some], axis=1) if some.any() else np.array([np.nan])
        rows.append({
            "population": name, "epsilon": epsilon, "method": method, "repeats": repeats, "given": given.mean(),
            "covered": np.nanmean(covered) if given.any() else None,
            "error": shares.std() / np.sqrt(len(shares)) if given.any() else None,
            "width": np.nanmedian(widths[method]) if given.any() else None,
        })  # fmt: skip
    return rows


def line(row):
    """A row as text."""
    text = f"{row['population']:<26} {row['epsilon']:g}  {row['method']:<44} given {row['given']:.0%}"
    if row["covered"] is None:
        return text
    return f"{text}  covered {row['covered']:.3f} +- {row['error']:.3f}  width {row['width']:.3g}"


@click.command()
@click.option("--only", multiple=True, help="Populations; all unless given.")
@click.option("--epsilon", "epsilons", multiple=True, type=float, default=EPSILONS, show_default=True)
@click.option("--repeats", default=REPEATS, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="File of the results.")
def main(only, epsilons, repeats, out):
    """Print and keep coverage and widths."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("ignore")
    rows = []
    for name, population in populations(TABLES if not only else [table for table in TABLES if table in only]).items():
        if only and name not in only:
            continue
        for epsilon in epsilons:
            rows += duel(name, population, epsilon, repeats)
            out.write_text(json.dumps(rows, indent=1) + "\n")
            for row in rows[-6:]:
                click.echo(line(row))


if __name__ == "__main__":
    main()
