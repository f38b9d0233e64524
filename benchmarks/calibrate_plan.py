"""Fit the constants of `dpsparse.plan` on simulations, and check them on settings that the fit never saw.

Run ``python benchmarks/calibrate_plan.py``. It draws settings at random: n from 1,000 to 50,000, d from 2 to 2,000 (to
100 where all features are taken), 1 to 15 effects or d of them, epsilon from 0.2 to 4, correlation of neighbours from 0
to 0.6 (none in four of ten), noise that is normal or t with 3 or 1.75 degrees of freedom; for effects on the mean,
which the last has none of, lognormal noise takes its place. ``--estimand`` says which effects. They are normal numbers
of the noise's size, which is that of `plan`, drawn afresh for every fit. Each setting is fitted with standardised
features and known units, and in raw units that the fit is not told. It prints the constants for `planning/accuracy.py`
and the residuals.

The constants minimise a robust loss of the logarithms of mean errors and of interval widths, each weighted by how well
it was measured, and the loss of a probit model of detection. ``--holdout`` fits nothing: it prints how far the
committed forecast lies from other settings, drawn by another seed. The pursuit's constants are those of 827 fits of the
training settings, most of them with four to six fits and the largest ones without any; those of the step to the
estimand's estimator are of 34 settings that take it, five fits each, for each estimand. More would change them a
little.
"""

import warnings
from dataclasses import dataclass

import click
import numpy as np
from joblib import Parallel, delayed
from scipy import optimize, stats
from tasks import Task

from dpsparse import PrivateSparseRegressor, plan
from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.families.estimands import ESTIMANDS
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.planning import Plan, accuracy


@dataclass(frozen=True)
class Design:
    """Settings to draw: by which seed, how many that select features and that take all, and the most cells of X.

    The first of each kind are `measured`. Fits of a setting have seeds from `first_seed` on, 100 apart. They end once
    the relative standard error of the mean error is `precision`, or after `most_fits`.
    """

    drawn_by: int
    first_seed: int
    drawn: tuple[int, int]
    measured: tuple[int, int]
    cells: float
    precision: float
    most_fits: int


TRAINING = Design(17, 2_000_000, (70, 24), (70, 24), 4e6, precision=0.15, most_fits=8)
HOLDOUT = Design(18, 3_000_000, (30, 10), (16, 6), 2e6, precision=0.08, most_fits=12)
TINY = Design(17, 4_000_000, (2, 2), (2, 2), 1e5, precision=1.0, most_fits=4)
LEAST_FITS = 4
# What a forecast is expected to miss, beside the error of the measurement, as a logarithm.
SCATTER = 0.15
# Seeds of the noise, apart from those of the features.
NOISE_STREAM = 1512
# How much the constants are held to those that are committed, for a case's weight each.
PULL = 0.15


@dataclass(frozen=True)
class Case:
    """A forecast, and what was measured in units of the noise: errors, widths and (effect, detected) pairs."""

    plan: Plan
    errors: list
    widths: list
    pairs: list

    @property
    def error(self):
        """The mean error."""
        return float(np.mean(self.errors))

    @property
    def precision(self):
        """The relative standard error of the mean error."""
        return float(np.std(self.errors, ddof=1) / np.sqrt(len(self.errors)) / self.error)

    @property
    def width(self):
        """The mean width; nan where there was no interval."""
        return float(np.mean(self.widths)) if self.widths else np.nan

    @property
    def facts(self):
        """What the fit does."""
        p = self.plan
        return PublicFacts(
            p.n,
            p.d,
            p.sparsity,
            p.guarantee.rho_per_record,
            units_known="all" if p.units_known else "none",
            family=RobustLinear(estimand=ESTIMANDS[p.estimand]),
        )

    @property
    def group(self):
        """Of the figures that are printed."""
        if not decisions.features_pay(self.facts):
            return "too small"
        units = "known" if self.plan.units_known else "unknown"
        kind = "selected" if decisions.selects(self.facts) else "all taken"
        return f"{kind}, {units}{', step' if decisions.reaches_reference(self.facts) else ''}"


def random_task(rng, take_all, cells):
    """A setting whose X has at most this many cells."""
    while True:
        n, d = int(10 ** rng.uniform(3, 4.7)), round(10 ** rng.uniform(0.3, 2.0 if take_all else 3.3))
        if n * d <= cells:
            break
    sparsity = d if take_all else min(d, int(rng.integers(1, 16)))
    correlation = rng.uniform(0, 0.6) if rng.uniform() < 0.6 else 0.0
    epsilon = 10 ** rng.uniform(np.log10(0.2), np.log10(4))
    return Task(n, d, sparsity, rng.choice([1.75, 3.0, np.inf]), correlation, epsilon, np.nan)


def random_tasks(design):
    """All settings of a design."""
    rng = np.random.default_rng(design.drawn_by)
    kinds = [False] * design.drawn[0] + [True] * design.drawn[1]
    return [random_task(rng, take_all, design.cells) for take_all in kinds]


def raw_units(d, seed):
    """Centres and scales as tables have them: scales from 0.01 to 100, centres up to 30 scales from 0."""
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 2, d)
    return scale * 10 ** rng.uniform(-1, 1.5, d) * rng.choice([-1.0, 1.0], d), scale


def noise_of(task, estimand):
    """The law of the noise, and its size as `plan` takes it."""
    if estimand == "mean" and task.df < 2:
        law = stats.lognorm(1)
        return law, law.std()
    return stats.norm() if np.isinf(task.df) else stats.t(task.df), task.noise_size(estimand)


def fit_once(task, seed, known, estimand):
    """Error, widths, and (effect, detected) pairs of a fit, in units of the noise."""
    law, unit = noise_of(task, estimand)
    X, _, coef = task.make(seed)
    # Effects of the noise's size, as the forecast assumes.
    coef = coef * unit
    # A constant beside it, such as the mean of lognormal noise, is the intercept's.
    y = X @ coef + law.rvs(task.n, random_state=np.random.default_rng([NOISE_STREAM, seed]))
    scale = 1.0
    if not known:
        center, scale = raw_units(task.d, seed)
        X *= scale
        X += center
    model = PrivateSparseRegressor(
        sparsity=task.sparsity,
        estimand=estimand,
        epsilon=task.epsilon,
        delta=task.delta,
        random_state=seed,
        **(STANDARDIZED if known else {}),
    ).fit(X, y)
    error = np.linalg.norm(model.coef_ * scale - coef) / unit
    # Of the level that forecasts are of.
    low, high = model.conf_int().T * scale
    # An effect without an interval has no width.
    widths = list((high - low)[np.isfinite(high - low)] / unit)
    return error, widths, [(abs(coef[j]) / unit, j in model.support_) for j in np.flatnonzero(coef)]


def measure(task, known, estimand, first_seed, design):
    """Fit a setting until its mean error is known well enough."""
    warnings.simplefilter("ignore")
    case = Case(forecast(task, known, estimand), [], [], [])
    while len(case.errors) < LEAST_FITS or (len(case.errors) < design.most_fits and case.precision > design.precision):
        error, widths, pairs = fit_once(task, first_seed + len(case.errors), known, estimand)
        case.errors.append(error)
        case.widths.extend(widths)
        case.pairs.extend(pairs)
    return case


def forecast(task, known, estimand):
    """The forecast in units of the noise."""
    return plan(
        task.n,
        task.d,
        task.sparsity,
        task.epsilon,
        task.delta,
        estimand=estimand,
        units_known=known,
        correlation=task.correlation,
    )


@click.command()
@click.option("--jobs", default=2, show_default=True)
@click.option("--estimand", type=click.Choice(["mean", "typical"]), default="mean", show_default=True)
@click.option("--holdout", is_flag=True, help="Check the committed constants on settings that they were not fitted on.")
@click.option("--tiny", is_flag=True, help="A few small settings, to try the script.")
def main(jobs, estimand, holdout, tiny):
    """Print fitted constants and residuals."""
    design = TINY if tiny else HOLDOUT if holdout else TRAINING
    cases = Parallel(n_jobs=jobs)(
        delayed(measure)(task, known, estimand, design.first_seed + 100 * k, design)
        for k, task in enumerate(random_tasks(design))
        for known in (True, False)
        if k < design.measured[0] or 0 <= k - design.drawn[0] < design.measured[1]
    )
    if not holdout:
        calibrate(cases)
    check(cases)


def check(cases):
    """How far the forecast lies from the simulations."""
    groups = {"every setting": cases}
    for case in cases:
        groups.setdefault(case.group, []).append(case)
    click.echo(f"Mean errors are measured to {np.mean([case.precision for case in cases]):.1%}.")
    for name, members in groups.items():
        ratios = np.array([case.plan.expected_error / case.error for case in members])
        within = [f"{np.mean(np.abs(np.log(ratios)) < np.log(factor)):.0%} within {factor}" for factor in (1.3, 1.6, 2)]
        click.echo(
            f"{name + ',':26} {len(members):3d}: {', '.join(within)}; forecast / simulated, 10th, 50th, 90th "
            f"percentile {np.quantile(ratios, [0.1, 0.5, 0.9]).round(2)}"
        )
    selecting = [case for case in cases if decisions.selects(case.facts) and decisions.features_pay(case.facts)]
    near = [f for case in selecting for b, f in case.pairs if 0.85 < b / case.plan.smallest_effect < 1.2]
    click.echo(f"selected at the effect that is forecast to be in 4 fits of 5: {np.mean(near):.0%} of {len(near)}")
    ratios = [case.plan.interval_width / case.width for case in cases if case.plan.has_intervals]
    click.echo(f"width: forecast / simulated, percentiles {np.nanquantile(ratios, [0.1, 0.5, 0.9]).round(2)}")


def calibrate(cases):
    """Fit all constants, and print them."""
    cases = [case for case in cases if decisions.features_pay(case.facts)]
    stepping = [case for case in cases if decisions.reaches_reference(case.facts)]
    wide = [case for case in stepping if case.width > 0]
    for name in {case.plan.estimand for case in stepping}:
        minimise(accuracy.WIDTH_STEP[name], lambda: robust([(c.plan.interval_width, c.width, 0.1) for c in wide]))
        minimise(accuracy.STEP[name], lambda: robust([(c.plan.expected_error, c.error, c.precision) for c in stepping]))
    cases = [case for case in cases if case not in stepping and case.plan.has_intervals]
    selecting = [case for case in cases if decisions.selects(case.facts)]
    taking = [case for case in cases if not decisions.selects(case.facts)]
    minimise(accuracy.EFFECT, lambda: detection_loss(selecting))
    for constants, members in ((accuracy.WIDTH_SELECTED, selecting), (accuracy.WIDTH_TAKEN, taking)):
        members = [case for case in members if case.width > 0]
        minimise(constants, lambda members=members: robust([(c.plan.interval_width, c.width, 0.1) for c in members]))
    for constants, members in ((accuracy.SELECTED, selecting), (accuracy.TAKEN, taking)):
        minimise(
            constants, lambda members=members: robust([(c.plan.expected_error, c.error, c.precision) for c in members])
        )
    for name in ("EFFECT", "SELECTED", "TAKEN", "WIDTH_SELECTED", "WIDTH_TAKEN", "STEP", "WIDTH_STEP"):
        constants = getattr(accuracy, name)
        for part, numbers in constants.items() if "STEP" in name else [("", constants)]:
            rounded = {each: float(f"{value:.4g}") for each, value in numbers.items()}
            click.echo(f"{name}{part and f'[{part!r}]'} = {rounded}")


def minimise(constants, loss):
    """Minimise a loss over the logarithms of positive constants in a dictionary; those of 0 are none.

    That of pairs is held: log d of at most 2,000 features is hard to tell from it. It stems from settings with 20,000.
    """
    names = [name for name, value in constants.items() if value > 0 and name != "pairs"]
    start = np.log([constants[name] for name in names])

    def objective(logs):
        constants.update(zip(names, np.exp(logs).tolist(), strict=True))
        return loss() + np.sum((PULL * (logs - start)) ** 2)

    objective(optimize.minimize(objective, start, method="L-BFGS-B").x)


def robust(forecasts):
    """The loss of (forecast, measured, relative precision): squares where they agree, absolute values beyond."""
    expected, measured, precision = np.reshape(forecasts, (-1, 3)).T
    deviations = np.log(expected / measured) / np.hypot(SCATTER, precision)
    return np.sum(2 * (np.sqrt(1 + deviations**2) - 1))


def detection_loss(cases):
    """Detected with probability Phi(0.84 + slope log(effect / minimum)): 80 % at the minimum."""
    total = 0.0
    for case in cases:
        effects, detected = np.array(case.pairs, dtype=float).T
        chance = stats.norm.cdf(0.8416 + 1.3 * np.log(np.maximum(effects, 1e-9) / case.plan.smallest_effect))
        chance = np.clip(chance, 1e-3, 1 - 1e-3)
        total -= np.sum(detected * np.log(chance) + (1 - detected) * np.log(1 - chance))
    return total


if __name__ == "__main__":
    main()
