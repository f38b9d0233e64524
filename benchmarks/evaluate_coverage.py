"""Coverage of 90 % intervals of `evaluate`: the model's error, the constant's, the improvement, and R2.

Run ``python benchmarks/evaluate_coverage.py``: 2,000 evaluations of a fitted model in each cell, on new records, a
tenth of them without a response. What must be covered is E min(|error|, c) and E clip(improvement, -b, b) at the c and
b that each evaluation released, and 1 less the ratio of E min(|error|, c)^2, computed from a sample of 8 million
records. Coverage must lie in [.87, .95]; that of R2, whose sampling error is estimated without fourth moments, may be
larger.
"""

import sys
import warnings

import click
import numpy as np

from dpsparse import PrivateSparseRegressor, evaluate
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.inference.intervals import reach

SIZES = (500, 5_000, 50_000)
COEF = np.array([1.0, 0.7, 0.5, 0.0, 0.0])
MISSING = 0.1
LOW, HIGH = 0.87, 0.95
NAMES = ("model", "constant", "improvement", "r2")
LEVEL = 0.9

ERRORS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "t with 2.5 degrees of freedom": lambda rng, n: rng.standard_t(2.5, n),
    "skewed": lambda rng, n: rng.lognormal(size=n) - np.exp(0.5),
}


def records(errors, n, rng):
    """Features and responses of n people."""
    X = rng.standard_normal((n, len(COEF)))
    return X, 2.0 + X @ COEF + ERRORS[errors](rng, n)


class Truth:
    """The means that intervals must cover, from a large sample of a fitted model's errors."""

    def __init__(self, model, errors, rng, population, times=8):
        parts = [self._errors(model, *records(errors, population // times, rng)) for _ in range(times)]
        self._model, self._constant = (np.concatenate(each) for each in zip(*parts, strict=True))
        self._seen = {}

    @staticmethod
    def _errors(model, X, y):
        return np.abs(y - model.predict(X)), np.abs(y - model.constant_prediction)

    def __call__(self, found):
        """The three means at the cut and the bound of one evaluation, and R2."""
        at = {("cut", found.cut), ("bound", found.bound)}
        for kind, limit in at - self._seen.keys():
            if kind == "cut":
                clipped = [np.minimum(each, limit) for each in (self._model, self._constant)]
                squares = [np.mean(each**2) for each in clipped]
                means = [*(each.mean() for each in clipped), 1 - squares[0] / squares[1]]
            else:
                means = [np.clip(self._constant - self._model, -limit, limit).mean()]
            self._seen[kind, limit] = means
        model, constant, r2 = self._seen["cut", found.cut]
        return [model, constant, *self._seen["bound", found.bound], r2]


def coverage(model, truth, errors, n, runs, epsilon, rng):
    """The share of evaluations whose intervals cover, and the median half width over what is estimated.

    An evaluation too noisy for an R2 has none; where most are, those that have one are no fair sample, and not judged.
    """
    hits, known, widths = np.zeros(len(NAMES)), np.zeros(len(NAMES)), []
    for _ in range(runs):
        X, y = records(errors, n, rng)
        y[rng.random(n) < MISSING] = np.nan
        found = evaluate(model, X, y, epsilon=epsilon, random_state=int(rng.integers(2**31)))
        estimates, means = [getattr(found, name) for name in NAMES], np.array(truth(found))
        values = np.array([np.nan if each is None else each.value for each in estimates])
        half = reach(LEVEL) * np.array([np.nan if each is None else each.standard_error for each in estimates])
        hits += np.abs(values - means) <= half
        known += np.isfinite(values)
        widths.append(half / means)
    return np.where(known < runs / 2, np.nan, hits / np.maximum(known, 1)), np.nanmedian(widths, axis=0)


@click.command()
@click.option("--runs", default=2_000, show_default=True)
@click.option("--epsilon", default=0.5, show_default=True)
@click.option("--first-seed", default=7_000, show_default=True)
@click.option("--population", default=8_000_000, show_default=True)
def main(runs, epsilon, first_seed, population):
    """Print coverage in each cell; the status is 1 where one is outside its limits."""
    warnings.simplefilter("ignore")
    outside = []
    for place, errors in enumerate(ERRORS):
        rng = np.random.default_rng(first_seed + place)
        public = {"sparsity": 3, "epsilon": 1.0, "random_state": first_seed + place, **STANDARDIZED}
        model = PrivateSparseRegressor(**public).fit(*records(errors, 5_000, rng)).released_
        truth = Truth(model, errors, rng, population)
        for n in SIZES:
            covered, widths = coverage(model, truth, errors, n, runs, epsilon, rng)
            cells = ", ".join(
                f"{name} {share:.1%} (+-{width:.1%})" for name, share, width in zip(NAMES, covered, widths, strict=True)
            )
            click.echo(f"{errors}, n={n:,}: {cells}")
            outside += [
                (errors, n, name)
                for name, share in zip(NAMES, covered, strict=True)
                if share < LOW or share > (1.0 if name == "r2" else HIGH)
            ]
    click.echo(f"outside [{LOW}, {HIGH}]: {outside or 'none'}")
    sys.exit(bool(outside))


if __name__ == "__main__":
    main()
