"""Fit the constants of `dpsparse.plan` on simulations, and check them on settings that the fit never saw.

Run ``python benchmarks/calibrate_plan.py``. It draws settings at random: n from 1,000 to 50,000, d from 2 to 2,000 (to
100 where all features are taken), 1 to 15 effects or d of them, epsilon from 0.2 to 4, correlation of neighbours from 0
to 0.6 (none in four of ten), noise that is normal or t with 3 or 1.75 degrees of freedom; for effects on the mean,
which the last has none of, lognormal noise takes its place. Effects are normal numbers of the noise's size, which is
that of `plan`, drawn afresh for every fit. Each setting is fitted with standardised features and known units, and in
raw units that the fit is not told; for effects on the mean, and for typical ones. It prints the constants for
`planning/accuracy.py` to paste, and the residuals.

The constants minimise a robust loss of the logarithms of mean errors, each weighted by how well it was measured, plus
the loss of a probit model of selection: 200 settings of three fits each, for either estimand. Many settings tell more
than many fits of each. Widths follow, likewise. Simulations take about ten minutes of one core, and the fit
one. ``--holdout`` fits nothing: it prints how far the committed forecast lies from other settings, drawn by another
seed (``--drawn-by``), which have as many fits as it takes to measure their mean error to a twentieth, or 40. Forecasts
of effects on the mean are checked with and without a guess of the noise's typical size.
"""

import warnings
from dataclasses import dataclass, replace

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
    least_fits: int
    most_fits: int


TRAINING = Design(17, 2_000_000, (150, 50), (150, 50), 4e6, precision=0.0, least_fits=3, most_fits=3)
HOLDOUT = Design(18, 3_000_000, (30, 10), (16, 6), 2e6, precision=0.05, least_fits=8, most_fits=40)
TINY = Design(17, 4_000_000, (2, 2), (2, 2), 1e5, precision=1.0, least_fits=3, most_fits=3)
# What a forecast is expected to miss, beside the error of the measurement, as a logarithm.
SCATTER = 0.15
# Seeds of the noise, apart from those of the features.
NOISE_STREAM = 1512
# How much the constants are held to those that are committed, for a case's weight each.
PULL = 0.2
# A chance of being selected is not taken to be surer than this.
SURE = 0.005


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
        """The median width, as one fit that did not settle has any; nan where there was no interval."""
        return float(np.median(self.widths)) if self.widths else np.nan

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
    while len(case.errors) < design.least_fits or (
        len(case.errors) < design.most_fits and case.precision > design.precision
    ):
        error, widths, pairs = fit_once(task, first_seed + len(case.errors), known, estimand)
        case.errors.append(error)
        case.widths.extend(widths)
        case.pairs.extend(pairs)
    return case


def forecast(task, known, estimand):
    """The forecast in units of the noise, whose typical size is told."""
    law, size = noise_of(task, estimand)
    middle, far = law.median(), law.mean() + np.subtract(*law.ppf([0.75, 0.25]))
    spread = optimize.brentq(lambda t: law.cdf(middle + t) - law.cdf(middle - t) - 0.5, 0, far)
    return plan(
        task.n,
        task.d,
        task.sparsity,
        task.epsilon,
        task.delta,
        estimand=estimand,
        units_known=known,
        correlation=task.correlation,
        typical_noise=spread / stats.norm.ppf(0.75) / size if estimand == "mean" else None,
    )


@click.command()
@click.option("--jobs", default=2, show_default=True)
@click.option("--estimand", type=click.Choice(["mean", "typical", "both"]), default="both", show_default=True)
@click.option("--holdout", is_flag=True, help="Check the committed constants on settings that they were not fitted on.")
@click.option("--drawn-by", default=HOLDOUT.drawn_by, show_default=True, help="The seed of the settings of --holdout.")
@click.option("--tiny", is_flag=True, help="A few small settings, to try the script.")
def main(jobs, estimand, holdout, drawn_by, tiny):
    """Print fitted constants and residuals."""
    design = TINY if tiny else TRAINING
    if holdout:
        first_seed = HOLDOUT.first_seed + 2_000_000 * (drawn_by - HOLDOUT.drawn_by)
        design = replace(HOLDOUT, drawn_by=drawn_by, first_seed=first_seed)
    estimands = ["mean", "typical"] if estimand == "both" else [estimand]
    cases = Parallel(n_jobs=jobs)(
        delayed(measure)(task, known, each, design.first_seed + 100 * k, design)
        for each in estimands
        for k, task in enumerate(random_tasks(design))
        for known in (True, False)
        if k < design.measured[0] or 0 <= k - design.drawn[0] < design.measured[1]
    )
    if not holdout:
        calibrate(cases)
    for each in estimands:
        click.echo(f"\nEffects on the {each} response")
        check([case for case in cases if case.plan.estimand == each])


def check(cases):
    """How far the forecast lies from the simulations."""
    groups = {"every setting": cases}
    if cases[0].plan.typical_noise is not None:
        groups["typical noise not told"] = [replace(c, plan=replace(c.plan, typical_noise=None)) for c in cases]
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
    for name in [each for each in ("every setting", "typical noise not told") if each in groups]:
        members = groups[name]
        near = [f for c in selecting(members) for b, f in c.pairs if 0.85 < b / c.plan.smallest_effect < 1.2]
        click.echo(f"selected at the effect that is forecast to be in 4 fits of 5: {np.mean(near):.0%} of {len(near)}")
        ratios = [case.plan.interval_width / case.width for case in members if case.plan.has_intervals]
        click.echo(
            f"width: forecast / simulated, percentiles {np.nanquantile(ratios, [0.1, 0.5, 0.9]).round(2)} ({name})"
        )


def selecting(cases):
    """Those in which features are selected."""
    return [case for case in cases if case.plan.smallest_effect < np.inf and decisions.selects(case.facts)]


def calibrate(cases):
    """Fit all constants, and print them."""
    cases = [case for case in cases if decisions.features_pay(case.facts)]
    fitted = (accuracy.EFFECT, accuracy.NEIGHBOURS, accuracy.ERROR, accuracy.UNIT, accuracy.STEP)
    chosen = selecting(cases)
    minimise(fitted, lambda: np.concatenate([*errors_missed(cases), *(selection_missed(case) for case in chosen)]))
    wide = [case for case in cases if case.width > 0]
    steps = [case for case in wide if decisions.reaches_reference(case.facts)]
    others = [case for case in wide if not decisions.reaches_reference(case.facts)]
    members = [
        (accuracy.WIDTH_SELECTED, selecting(others)),
        (accuracy.WIDTH_TAKEN, [case for case in others if not decisions.selects(case.facts)]),
    ]
    for name, constants in accuracy.WIDTH_STEP.items():
        members.append((constants, [case for case in steps if case.plan.estimand == name]))
    for constants, of_these in members:
        if of_these:
            minimise([constants], lambda of_these=of_these: np.concatenate(widths_missed(of_these)))
    for name in ("EFFECT", "NEIGHBOURS", "ERROR", "UNIT", "STEP", "WIDTH_SELECTED", "WIDTH_TAKEN", "WIDTH_STEP"):
        constants = getattr(accuracy, name)
        for part, numbers in constants.items() if name == "WIDTH_STEP" else [("", constants)]:
            rounded = {each: float(f"{value:.4g}") for each, value in numbers.items()}
            click.echo(f"{name}{part and f'[{part!r}]'} = {rounded}")


def minimise(fitted, misses):
    """Least squares over the logarithms of positive constants in dictionaries; those of 0 are none."""
    places = [(constants, name) for constants in fitted for name, value in constants.items() if value > 0]
    start = np.log([constants[name] for constants, name in places])

    def objective(logs):
        for (constants, name), value in zip(places, np.exp(logs).tolist(), strict=True):
            constants[name] = value
        return np.concatenate([misses(), PULL * (logs - start)])

    objective(optimize.least_squares(objective, start, bounds=(start - 4, start + 4)).x)


def robust(expected, measured, precision):
    """The root of a loss: squares where they agree, absolute values beyond."""
    deviation = np.log(expected / measured) / np.hypot(SCATTER, precision)
    return [np.sign(deviation) * np.sqrt(2 * (np.sqrt(1 + deviation**2) - 1))]


def errors_missed(cases):
    """How far forecasts of errors are off."""
    return [robust(case.plan.expected_error, case.error, case.precision) for case in cases]


def widths_missed(cases):
    """How far forecasts of widths are off."""
    return [robust(case.plan.interval_width, case.width, 0.1) for case in cases]


def selection_missed(case):
    """The roots of the loss of each selection: of a chance Phi(0.84 + slope log(effect / minimum)), 80 % there."""
    effects, selected = np.array(case.pairs, dtype=float).T
    ratios = np.log(np.maximum(effects, 1e-9) / case.plan.smallest_effect)
    chance = stats.norm.cdf(stats.norm.ppf(accuracy.POWER) + accuracy.EFFECT["slope"] * ratios).clip(SURE, 1 - SURE)
    return np.sqrt(-np.log(np.where(selected > 0, chance, 1 - chance))) * np.where(selected > 0, 1, -1)


if __name__ == "__main__":
    main()
