"""Fits by person, for people with several rows: errors, coverage, real panels and time.

Run ``python benchmarks/people.py``. Simulated people have normal features, five effects among forty features and t3
noise, of which a share (the intraclass correlation) is a person's own. Features have mean 0 and variance 1, which no
fit knows, or with ``--units any`` lie 0, 2 or 20 standard deviations from 0, in units from a hundredth to a hundred.
Errors are l2 distances from the true effects for a standard deviation of each feature, over those of Huber's regression
(with ``--estimand mean`` of least squares) on the true features without privacy. Coverage is that of 90 % intervals of
correctly selected features; on real panels, whose features are all taken, of the coefficients of OLS, whose errors
would be clustered by person. Skewed noise that grows with a feature is what clips bias most: coverage there is of the
population's coefficients, those of that feature apart.
"""

import time
import warnings

import click
import numpy as np
from people_panels import HELD_OUT, PANELS, arrays_of
from reference_fits import huber_fit
from scipy.stats import median_abs_deviation, norm

from dpsparse import PrivateSparseRegressor

EFFECTS = np.array([1.0, 0.6, -0.4, 0.3, 0.2])
D = 40
# Those under skewed noise.
SKEWED_EFFECTS = np.array([1.0, 0.5, -0.5])
SIZES = {
    "2,000 people, 5 rows each": lambda rng: np.full(2_000, 5),
    "2,000 people, 1 to 500 rows (Zipf)": lambda rng: np.minimum(rng.zipf(1.7, 2_000), 500),
    "5,000 people, 2 rows each": lambda rng: np.full(5_000, 2),
    "1,000 people, 20 rows each": lambda rng: np.full(1_000, 20),
}
# The quantile of 90 % intervals.
NINETY = 1.645


def simulated(rng, sizes, correlation, shared=0.0, neighbors=0.0):
    """Features, responses and people; a share of the features' variance is a person's own, too.

    Features next to each other are correlated by `neighbors`, and others by its powers.
    """
    person = np.repeat(np.arange(len(sizes)), sizes)
    own, n = rng.standard_normal((len(sizes), D)), len(person)
    X = np.sqrt(1 - shared) * rng.standard_normal((n, D)) + np.sqrt(shared) * own[person]
    if neighbors:
        X @= np.linalg.cholesky(neighbors ** np.abs(np.subtract.outer(np.arange(D), np.arange(D)))).T
    noise = np.sqrt(correlation) * rng.standard_t(3, len(sizes))[person]
    noise += np.sqrt(1 - correlation) * rng.standard_t(3, n)
    return X, X[:, :5] @ EFFECTS + noise, person


def units_of(seed, units):
    """Where the features lie, in standard deviations, and how large these are."""
    rng = np.random.default_rng(seed)
    return (rng.choice([0, 2, 20], D), 10.0 ** rng.integers(-2, 3, D)) if units == "any" else (np.zeros(D), np.ones(D))


def plain_effects(X, y, estimand):
    """Effects of the true features without privacy: least squares for those on the mean, and Huber's for others."""
    if estimand == "mean":
        return np.linalg.lstsq(np.column_stack([np.ones(len(y)), X[:, :5]]), y, rcond=None)[0][1:]
    return huber_fit(X[:, :5], y)[1]


def one(seed, sizes, correlation, shared, epsilon, estimand, units, neighbors):
    """Errors without privacy, by person and with records_per_person; hits of intervals; features found."""
    rng = np.random.default_rng(seed)
    X, y, person = simulated(rng, sizes(rng), correlation, shared, neighbors)
    plain = np.linalg.norm(plain_effects(X, y, estimand) - EFFECTS)
    center, scale = units_of(seed, units)
    X, truth = (X + center) * scale, np.append(EFFECTS, np.zeros(D - 5))
    options = {"sparsity": 5, "epsilon": epsilon, "random_state": seed, "estimand": estimand}
    fit = PrivateSparseRegressor(**options).fit(X, y, person=person)
    most = int(np.bincount(person).max())
    group = PrivateSparseRegressor(**options, records_per_person=most).fit(X, y)
    right = fit.support_[fit.support_ < 5]
    low, high = (fit.conf_int(0.9) * scale[:, None])[right].T
    known = np.isfinite(low)
    hits = ((low <= truth[right]) & (truth[right] <= high))[known].tolist()
    return plain, *(np.linalg.norm(each.coef_ * scale - truth) for each in (fit, group)), hits, len(right)


def report_simulated(name, correlation, shared, seeds, estimand, units, neighbors):
    """Print a line on one kind of people, at epsilon 1."""
    runs = [one(seed, SIZES[name], correlation, shared, 1.0, estimand, units, neighbors) for seed in seeds]
    plain, by_person, group = (np.mean([run[k] for run in runs]) for k in range(3))
    hits = [hit for run in runs for hit in run[3]]
    share = np.mean(hits) if hits else np.nan
    features = (f", features {shared:g}" if shared else "") + (f", neighbors {neighbors:g}" if neighbors else "")
    typical = np.median([run[1] for run in runs]) / np.median([run[0] for run in runs])
    whose = "OLS's" if estimand == "mean" else "Huber's"
    click.echo(
        f"{name}, correlation {correlation:g}{features}, {estimand}, {units} units: error {by_person:.3f} "
        f"(at most {max(run[1] for run in runs):.2f}), {by_person / plain:.2f} of {whose} (medians {typical:.2f}), "
        f"{by_person / group:.2f} of group privacy's; covered {share:.2f} of {len(hits)} "
        f"(se {np.sqrt(share * (1 - share) / max(1, len(hits))):.2f}); found {np.mean([run[4] for run in runs]):.1f}"
    )


def skewed(rng, n_people, own, shared):
    """Eight features of people with five rows each; lognormal noise, a share of it their own, grows with the first."""
    person = np.repeat(np.arange(n_people), 5)
    n = len(person)
    X = np.sqrt(1 - shared) * rng.standard_normal((n, 8))
    X += np.sqrt(shared) * rng.standard_normal((n_people, 8))[person]
    noise = np.sqrt(1 - own) * rng.lognormal(size=n) + np.sqrt(own) * rng.lognormal(size=n_people)[person]
    noise -= (np.sqrt(1 - own) + np.sqrt(own)) * np.exp(0.5)
    return X, X[:, :3] @ SKEWED_EFFECTS + noise * np.exp(0.4 * X[:, 0]), person


def report_skewed(n_people, own, shared, seeds, estimand, population):
    """Print how often intervals hold, of the feature with which noise grows and of the others."""
    truth = np.append(SKEWED_EFFECTS, np.zeros(5))
    if estimand == "typical":
        truth = huber_fit(*skewed(np.random.default_rng(1), population, own, shared)[:2])[1]
    hits = []
    for seed in seeds:
        X, y, person = skewed(np.random.default_rng(seed), n_people, own, shared)
        fit = PrivateSparseRegressor(sparsity=8, epsilon=1.0, random_state=seed, estimand=estimand)
        low, high = fit.fit(X, y, person=person).conf_int(0.9).T
        hits.append(np.where(np.isfinite(low), (low <= truth) & (truth <= high), np.nan))
    hits = np.array(hits, dtype=float)
    click.echo(
        f"skewed noise, {n_people:,} people, 5 rows each, own {own:g}, features {shared:g}, {estimand}: covered "
        f"{np.nanmean(hits[:, 0]):.2f} of the feature's that it grows with, {np.nanmean(hits[:, 1:]):.2f} of others'"
    )


def resampled(rng, person):
    """Rows of as many people, drawn with replacement, and who has them: one drawn twice is two people."""
    order, counts = np.argsort(person, kind="stable"), np.unique(person, return_counts=True)[1]
    of_each = np.split(order, np.cumsum(counts)[:-1])
    drawn = rng.integers(len(counts), size=len(counts))
    return np.concatenate([of_each[who] for who in drawn]), np.repeat(np.arange(len(drawn)), counts[drawn])


def exact_coverage(sampling, privacy):
    """How often an exact interval holds the coefficient of the same rows, whose sampling error it allows for, too."""
    return np.nanmean(2 * norm.cdf(NINETY * np.hypot(1, sampling / privacy)) - 1)


def largest_shares(X, residuals, number):
    """The largest share that one person has in the clustered variance of each coefficient."""
    Z = np.column_stack([np.ones(len(X)), X])
    scores = np.zeros((number.max() + 1, Z.shape[1]))
    np.add.at(scores, number, Z * residuals[:, None])
    influence = (scores @ np.linalg.inv(Z.T @ Z))[:, 1:] ** 2
    return influence.max(0) / influence.sum(0)


def report_panel(name, seeds):
    """Print how often intervals hold the coefficients of OLS, and how wide they are beside clustered ones.

    Fits are on the same rows, whose sampling error OLS shares, and on bootstrap samples of the people. An exact
    interval has the clustered variance and that of fits to the same rows, which is privacy's.
    """
    import statsmodels.api as sm

    panel = (PANELS | HELD_OUT)[name]
    X, y, person = arrays_of(panel)
    number = np.unique(person, return_inverse=True)[1]
    ols = sm.OLS(y, sm.add_constant(X)).fit(cov_type="cluster", cov_kwds={"groups": number})
    truth, sampling = ols.params[1:], ols.bse[1:]
    held, widths, effects = {False: [], True: []}, [], []
    for seed in seeds:
        for bootstrap in held:
            rows, ids = resampled(np.random.default_rng([30, seed]), person) if bootstrap else (slice(None), person)
            fit = PrivateSparseRegressor(sparsity=X.shape[1], epsilon=panel.epsilon, random_state=seed)
            low, high = fit.fit(X[rows], y[rows], person=ids).conf_int(0.9).T
            inside = (low <= truth) & (truth <= high)
            held[bootstrap].append(np.where(np.isfinite(low), inside, np.nan))
            widths.append((high - low) / (2 * NINETY * sampling))
            effects += [] if bootstrap else [(low + high) / 2]
    same, drawn = (f"{np.nanmean(each):.2f} (each {', '.join(_by_effect(each))})" for each in held.values())
    # Typical deviations, which single fits that go astray do not move.
    privacy = np.maximum(median_abs_deviation(effects, scale="normal", nan_policy="omit"), 1e-300)
    exact, wide = exact_coverage(sampling, privacy), np.nanmedian(np.hypot(1, privacy / sampling))
    with_interval = np.isfinite(widths)
    click.echo(
        f"{name}, {number.max() + 1:,} people with {len(y):,} rows, epsilon {panel.epsilon:g}: intervals hold {same} "
        f"coefficients of OLS, exact ones {exact:.2f}, and {drawn} on bootstrap samples; {np.nanmedian(widths):.1f} "
        f"times as wide as clustered ones, exact ones {wide:.1f}; {np.mean(with_interval):.2f} of effects with an "
        f"interval (each {_listed(with_interval.mean(0))}); one person makes up to "
        f"{_listed(largest_shares(X, ols.resid, number))} of the variance"
    )


def _by_effect(held):
    """The share held of each effect, in hundredths; - where it never has an interval."""
    return [f"{np.nanmean(each):.2f}" if np.isfinite(each).any() else "-" for each in np.transpose(held)]


def _listed(shares):
    return ", ".join(f"{share:.2f}" for share in shares)


def report_time(n, repeats):
    """Print how much more a fit by person computes, with one row and with five rows a person, in turns."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, D)), rng.standard_normal(n)
    ids = {
        "no ids": None,
        "one row": np.arange(n),
        "five rows": np.arange(n) % (n // 5),
        "five adjoining rows": np.arange(n) // 5,
    }
    seconds = {name: [] for name in ids}
    for _ in range(repeats + 1):
        for name, person in ids.items():
            start = time.process_time()
            PrivateSparseRegressor(sparsity=5, epsilon=1.0, random_state=0).fit(X, y, person=person)
            seconds[name].append(time.process_time() - start)
    best = {name: min(each[1:]) for name, each in seconds.items()}
    beside = ", ".join(f"{name} {each / best['no ids']:.2f}" for name, each in best.items() if name != "no ids")
    click.echo(f"time of a fit on {n:,} rows over that without ids ({best['no ids']:.2f} s): {beside}")


@click.command()
@click.option(
    "--part", type=click.Choice(["simulated", "skewed", "panels", "time", "all"]), default="all", show_default=True
)
@click.option("--seeds", default=40, show_default=True)
@click.option("--first-seed", default=1000, show_default=True)
@click.option("--sizes", default=",".join(map(str, range(len(SIZES)))), show_default=True, help="Kinds of people.")
@click.option("--correlations", default="0,0.3,0.9", show_default=True)
@click.option("--people", default="2000,5000", show_default=True, help="Numbers of people with skewed noise.")
@click.option("--population", default=80_000, show_default=True, help="People who stand for all, there.")
@click.option(
    "--panel", "panels", multiple=True, default=list(PANELS), show_default=True, help="Or all: held-out, too."
)
@click.option("--rows", default=200_000, show_default=True, help="Of the table for times.")
@click.option("--estimand", type=click.Choice(["mean", "typical"]), default="typical", show_default=True)
@click.option("--units", type=click.Choice(["standard", "any"]), default="standard", show_default=True)
@click.option("--neighbors", default=0.0, show_default=True, help="Correlation of features next to each other.")
def main(part, seeds, first_seed, sizes, correlations, people, population, panels, rows, estimand, units, neighbors):
    """Print errors, coverage and time."""
    warnings.simplefilter("ignore")
    seeds = range(first_seed, first_seed + seeds)
    if part in ("simulated", "all"):
        for name in [list(SIZES)[int(place)] for place in sizes.split(",")]:
            for correlation in map(float, correlations.split(",")):
                report_simulated(name, correlation, 0.0, seeds, estimand, units, neighbors)
            report_simulated(name, 0.3, 0.8, seeds, estimand, units, neighbors)
    if part in ("skewed", "all"):
        for n_people in map(int, people.split(",")):
            for own, shared in ((0.0, 0.0), (0.5, 0.0), (0.5, 0.8)):
                report_skewed(n_people, own, shared, seeds, estimand, population)
    if part in ("panels", "all"):
        for name in [*PANELS, *HELD_OUT] if "all" in panels else panels:
            report_panel(name, seeds)
    if part in ("time", "all"):
        report_time(rows, 5)


if __name__ == "__main__":
    main()
