"""Coverage of 90 % intervals of `evaluate` where responses are yes or no: Brier scores, log loss, AUC and calibration.

Run ``python benchmarks/evaluate_outcomes.py``: 400 evaluations in each cell, on new records, of probabilities that are
right, too extreme, not extreme enough, constant, or of two values, at shares of yes of .5, .2 and .07. What must be
covered are the scores of a sample of 2 million records. A cell is outside where an interval covers in less than .86 or
more than .97 of the evaluations.
"""

import math
import sys

import click
import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from dpsparse.algorithms.evaluation_outcomes import OutcomePlan, release_outcomes
from dpsparse.algorithms.outcome_estimates import brier_scores, log_losses
from dpsparse.inference.intervals import reach
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee, default_delta
from dpsparse.privacy.noise import SeededSource

SIZES = (1_000, 5_000, 50_000)
LEVELS = (0.0, -1.5, -3.0)
NAMES = ("model", "constant", "improvement", "log_loss", "auc")
LOW, HIGH, LEVEL = 0.86, 0.97, 0.9
# By how much a normal number moves the predicted log odds, and the true ones.
SPREADS = {"right": (1.2, 1.2), "too extreme": (1.6, 1.0), "too near": (0.8, 1.2), "constant": (0.0, 1.0)}


def records(law, level, n, rng):
    """Responses and predicted log odds."""
    z = rng.standard_normal(n)
    if law == "two values":
        predicted = true = level + (z > 1)
    else:
        predicted, true = (level + spread * z for spread in SPREADS[law])
    return (rng.random(n) < expit(true)).astype(float), predicted


def truth(y, log_odds, constant):
    """The scores of many records without noise."""
    places = np.arange(len(y))
    brier, loss = (of(log_odds)[y.astype(int), places].mean() for of in (brier_scores, log_losses))
    of_constant = np.mean((y - expit(constant)) ** 2)
    n_yes, ranks = y.sum(), rankdata(log_odds)
    auc = (ranks[y == 1].sum() - n_yes * (n_yes + 1) / 2) / (n_yes * (len(y) - n_yes))
    return dict(zip(NAMES, (brier, of_constant, of_constant - brier, loss, auc), strict=True))


def evaluated(y, log_odds, constant, epsilon, seed):
    """One evaluation with seeded noise."""
    guarantee = Guarantee(epsilon, default_delta(len(y)))
    meter, plan = Meter(guarantee, len(y), SeededSource(seed)), OutcomePlan(guarantee, len(y))
    meter.commit(plan.commitment)
    return release_outcomes(meter, plan, y, log_odds, constant)


@click.command()
@click.option("--runs", default=400, show_default=True)
@click.option("--epsilon", default=1.0, show_default=True)
@click.option("--first-seed", default=8_000, show_default=True)
@click.option("--population", default=2_000_000, show_default=True)
def main(runs, epsilon, first_seed, population):
    """Print coverage and the median half width in each cell; the status is 1 where one is outside its limits."""
    outside = []
    for place, law in enumerate((*SPREADS, "two values")):
        for level in LEVELS:
            rng = np.random.default_rng((first_seed, place, LEVELS.index(level)))
            expected = truth(*records(law, level, population, rng), level)
            for n in SIZES:
                scores = [
                    evaluated(*records(law, level, n, rng), level, epsilon, int(rng.integers(2**31)))
                    for _ in range(runs)
                ]
                cells = []
                for name in NAMES:
                    found = [each for each in (getattr(one, name) for one in scores) if each is not None]
                    half = [reach(LEVEL) * each.standard_error for each in found]
                    hits = [abs(e.value - expected[name]) <= h for e, h in zip(found, half, strict=True)]
                    covered = np.mean(hits) if len(found) > runs / 2 else math.nan
                    cells.append(f"{name} {covered:.3f} (+-{np.median(half) if half else math.nan:.4f})")
                    outside += [(law, level, n, name)] if covered < LOW or covered > HIGH else []
                click.echo(f"{law}, log odds {level:g}, n={n:,}: {', '.join(cells)}")
    click.echo(f"outside [{LOW}, {HIGH}]: {outside or 'none'}")
    sys.exit(bool(outside))


if __name__ == "__main__":
    main()
