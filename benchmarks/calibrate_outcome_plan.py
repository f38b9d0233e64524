"""The constants of `plan` for a yes/no response, fitted on simulations, or checked on others.

Run ``python benchmarks/calibrate_outcome_plan.py`` to simulate the settings of `FITTED` and fit the constants of
`planning.outcome_accuracy`; with ``--holdout`` the settings of `HELD_OUT` are simulated and compared with forecasts.
Features are normal. Effects have sizes from b / e to b e, evenly in logs, with b near what can be found; a curve of the
share that is found, over the log of the size, gives the size that is found in 80 %. Standard errors are medians over
features that are found.
"""

import math
import warnings

import click
import numpy as np
from scipy.optimize import brentq, least_squares
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from dpsparse import PrivateSparseClassifier, plan
from dpsparse.data.public_units import STANDARDIZED

# Records, features, effects, epsilon, share of yes; each with known and with unknown units.
FITTED = (
    (3_000, 60, 5, 1.0, 0.5),
    (10_000, 60, 5, 1.0, 0.2),
    (10_000, 60, 5, 1.0, 0.05),
    (30_000, 60, 5, 1.0, 0.5),
    (10_000, 500, 3, 1.0, 0.3),
    (10_000, 30, 2, 0.3, 0.5),
    (20_000, 30, 8, 0.5, 0.2),
    (30_000, 20, 1, 0.3, 0.1),
    (5_000, 5, 5, 1.0, 0.5),
    (20_000, 8, 8, 1.0, 0.1),
    (10_000, 12, 12, 0.5, 0.3),
    (20_000, 40, 3, 1.0, 0.02),
    (40_000, 60, 4, 1.0, 0.05),
)
HELD_OUT = (
    (5_000, 100, 4, 1.0, 0.3),
    (20_000, 40, 3, 0.5, 0.05),
    (15_000, 200, 5, 2.0, 0.5),
    (40_000, 30, 6, 0.2, 0.25),
    (8_000, 10, 10, 1.0, 0.2),
)


def level(share, spread):
    """The log odds about which normal ones of this spread give the share of yes."""
    z = np.random.default_rng(0).standard_normal(4_000)
    return brentq(lambda at: expit(at + spread * z).mean() - share, -30, 30)


def simulated(setting, known, size, fits, seed):
    """The effect that is found in 80 % of fits, NaN where all features are taken, and the median standard error."""
    n, d, sparsity, epsilon, share = setting
    rng, sizes, found, errors = np.random.default_rng(seed), [], [], []
    for _ in range(fits):
        effects = size * np.exp(rng.uniform(-1, 1, sparsity)) * rng.choice([-1, 1], sparsity)
        X = rng.standard_normal((n, d))
        log_odds = level(share, np.linalg.norm(effects)) + X[:, :sparsity] @ effects
        units = STANDARDIZED if known else {}
        model = PrivateSparseClassifier(
            sparsity=sparsity, epsilon=epsilon, random_state=int(rng.integers(2**31)), **units
        ).fit(X, rng.random(n) < expit(log_odds))
        sizes += np.log(np.abs(effects)).tolist()
        found += np.isin(np.arange(sparsity), model.support_).tolist()
        errors += model.coef_se_[:sparsity].tolist()
    return found_in_most(sizes, found) if d > sparsity else math.nan, float(np.nanmedian(errors))


def found_in_most(sizes, found):
    """The size that is found in 80 %, from logs of sizes and whether each was; NaN where all were, or none."""
    if not 0 < sum(found) < len(found):
        return math.nan
    curve = LogisticRegression(C=100).fit(np.array(sizes)[:, None], found)
    return math.exp((math.log(4) - curve.intercept_[0]) / curve.coef_[0, 0])


def forecast(setting, known):
    """The forecast of a setting."""
    *shape, share = setting
    return plan(*shape, share_of_yes=share, units_known=known)


def fitted(rows):
    """The constants by which forecasts are nearest to what was simulated; without noise they are the estimator's."""
    from dpsparse.planning import score_accuracy as formulas

    before = formulas.OUTCOME_ERROR.copy(), formulas.OUTCOME_EFFECT.copy()

    def misses(logs):
        b, c, e, unknown, rare, rare_error = np.exp(logs)
        formulas.OUTCOME_ERROR.update(privacy=b, rare=rare_error)
        formulas.OUTCOME_EFFECT.update(privacy=c, sampling=e, unknown=unknown, rare=rare)
        result = []
        for setting, known, power, error in rows:
            at = forecast(setting, known)._accuracy
            result.append(math.log(at.standard_error / error))
            result.append(0.0 if math.isnan(power) else math.log(at.smallest_effect / power))
        return result

    logs = least_squares(misses, np.log([5.0, 1.0, 2.0, 0.4, 0.1, 0.1])).x
    formulas.OUTCOME_ERROR.update(before[0])
    formulas.OUTCOME_EFFECT.update(before[1])
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
        names = ("error: privacy", "effect: privacy", "sampling", "unknown", "rare", "error: rare")
        click.echo(", ".join(f"{name} {value:.3f}" for name, value in zip(names, fitted(rows), strict=True)))


if __name__ == "__main__":
    main()
