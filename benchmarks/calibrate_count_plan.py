"""The constants of `plan` for counts and costs, fitted on simulations, or checked on others.

Run ``python benchmarks/calibrate_count_plan.py`` to simulate the settings of `FITTED` and fit the constants of
`planning.count_accuracy`; with ``--holdout`` the settings of `HELD_OUT` are simulated and compared with forecasts.
Features are normal, and responses negative binomial. See `calibrate_outcome_plan.py` for how effects are drawn and what
is found in 80 %.
"""

import math
import warnings

import click
import numpy as np
from calibrate_outcome_plan import found_in_most
from scipy.optimize import least_squares

from dpsparse import PrivateSparsePoissonRegressor, plan
from dpsparse.data.public_units import STANDARDIZED

# Records, features, effects, epsilon, mean, overdispersion; each with known and with unknown units.
FITTED = (
    (3_000, 60, 5, 1.0, 1.0, 1.0),
    (10_000, 60, 5, 1.0, 5.0, 6.0),
    (10_000, 60, 5, 1.0, 0.3, 1.5),
    (30_000, 60, 5, 1.0, 2.0, 1.0),
    (10_000, 500, 3, 1.0, 1.0, 2.0),
    (10_000, 30, 2, 0.3, 3.0, 1.0),
    (20_000, 30, 8, 0.5, 5.0, 10.0),
    (20_000, 8, 8, 1.0, 1.0, 2.0),
    (10_000, 12, 12, 0.5, 3.0, 3.0),
)
HELD_OUT = (
    (5_000, 100, 4, 1.0, 2.0, 2.0),
    (20_000, 40, 3, 0.5, 0.5, 1.0),
    (15_000, 200, 5, 2.0, 4.0, 8.0),
    (40_000, 30, 6, 0.2, 3.0, 4.0),
    (8_000, 10, 10, 1.0, 1.0, 1.0),
)


def simulated(setting, known, size, fits, seed):
    """The effect that is found in 80 % of fits, NaN where all features are taken, and the median standard error."""
    n, d, sparsity, epsilon, mean, over = setting
    rng, sizes, found, errors = np.random.default_rng(seed), [], [], []
    for _ in range(fits):
        effects = size * np.exp(rng.uniform(-1, 1, sparsity)) * rng.choice([-1, 1], sparsity)
        X = rng.standard_normal((n, d))
        means = mean * np.exp(X[:, :sparsity] @ effects - effects @ effects / 2)
        # Of a rate that varies the variance is m + (over - 1) m at the mean.
        shape = mean / max(over - 1, 1e-9)
        rates = means * rng.gamma(shape, 1 / shape, n) if over > 1 else means
        units = STANDARDIZED if known else {}
        model = PrivateSparsePoissonRegressor(
            sparsity=sparsity, epsilon=epsilon, random_state=int(rng.integers(2**31)), **units
        ).fit(X, rng.poisson(rates))
        sizes += np.log(np.abs(effects)).tolist()
        found += np.isin(np.arange(sparsity), model.support_).tolist()
        errors += model.coef_se_[:sparsity].tolist()
    return found_in_most(sizes, found) if d > sparsity else math.nan, float(np.nanmedian(errors))


def forecast(setting, known):
    """The forecast of a setting."""
    *shape, mean, over = setting
    return plan(*shape, mean_response=mean, overdispersion=over, units_known=known)


def fitted(rows):
    """The constants by which forecasts are nearest to what was simulated."""
    from dpsparse.planning import score_accuracy as formulas

    before = formulas.COUNT_ERROR.copy(), formulas.COUNT_EFFECT.copy()

    def misses(logs):
        a, b, c, e, unknown = np.exp(logs)
        formulas.COUNT_ERROR.update(sampling=a, privacy=b)
        formulas.COUNT_EFFECT.update(privacy=c, sampling=e, unknown=unknown)
        result = []
        for setting, known, power, error in rows:
            at = forecast(setting, known)._accuracy
            result.append(math.log(at.standard_error / error))
            result.append(0.0 if math.isnan(power) else math.log(at.smallest_effect / power))
        return result

    logs = least_squares(misses, np.log([1.0, 5.0, 1.0, 2.0, 0.4])).x
    formulas.COUNT_ERROR.update(before[0])
    formulas.COUNT_EFFECT.update(before[1])
    return np.exp(logs)


@click.command()
@click.option("--fits", default=24, show_default=True)
@click.option("--holdout", is_flag=True)
@click.option("--first-seed", default=100, show_default=True)
@click.option("--settings", default=None, type=int, help="How many of the settings; all of them without it.")
def main(fits, holdout, first_seed, settings):
    """Print forecasts over what was simulated, and the constants."""
    warnings.simplefilter("ignore")
    rows = []
    for place, setting in enumerate((HELD_OUT if holdout else FITTED)[:settings]):
        for known in (True, False):
            at = forecast(setting, known)
            power, error = simulated(setting, known, at.smallest_effect, fits, (first_seed, place, known))
            rows.append((setting, known, power, error))
            of_power, of_error = at.smallest_effect / power, at._accuracy.standard_error / error
            click.echo(f"{setting}, units {at.units}: effect {of_power:.2f}, standard error {of_error:.2f}")
    if not holdout:
        names = ("error: sampling", "privacy", "effect: privacy", "sampling", "unknown")
        click.echo(", ".join(f"{name} {value:.3f}" for name, value in zip(names, fitted(rows), strict=True)))


if __name__ == "__main__":
    main()
