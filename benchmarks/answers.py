"""Our answers against what anyone can run: OLS and Huber's regression of statsmodels on the same columns.

Run ``python benchmarks/answers.py`` after ``pip install -e ".[bench]"``; `answers_tables.py` has the tables. Fits know
nothing about a table. Parts, by ``--part``:

coverage
    Does the 90 % interval of a "mean" effect hold OLS's coefficient, and that of a "typical" one RLM's with
    ``HuberT()``? All features are taken. "With interval" is the share of effects that have one. Widths are medians,
    as multiples of the reference's own standard error (HC3; the sandwich of Huber's equation). Pooled figures are of
    all intervals, and the median of the widths of tables of at least 4,000 records. With ``--bootstrap`` a fit is on
    a bootstrap sample, the reference on the whole table. Where most responses are equal, ``RLM``'s scale can collapse
    to 0: there is no reference then.
level
    Mean prediction over mean response, of the records of the fit: the share of fits within 10 %.
errors
    Squared error on a held-out fifth of a whole file, five variables selected, over that of OLS on the selected
    variables with all their levels, and over forward selection of as many variables.
auto
    Squared error on a held-out fifth of a whole file of ``sparsity="auto"``, over that of five variables.
simulated
    y = 1 + b'x + exp(.5 x1) (lognormal noise less its mean): errors of effects must fall with n, intervals must hold b.
codes
    A survey in which a share of the people has 98 children, which is a code: do intervals hold what OLS and Huber's
    regression make of that?
permuted
    Share of fits with a significant effect where responses are permuted, of chosen features and of whole files.
refused
    On 1,000 records at epsilon 1 effects on a mean have no intervals, and the summary says so.
worked
    One fit of each estimand on medical costs at the first seed, effect by effect, beside its reference.

Figures in brackets are 99 % bootstrap intervals over fits, or over tables where coverage is pooled, and for shares at
least as wide as Wilson's. A limit is missed where they exclude it; "met*" says that the estimate itself is beyond it.
``--set held-out`` is for measuring alone. Tune nothing on the default seeds, from 280,000 on.
"""

import os
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import answers_fits as fits
import click
import numpy as np
from answers_tables import LEVEL, NINE, SETS
from answers_text import line, save
from joblib import Parallel, delayed
from reference_fits import ratio_of_sums, share_of_sums

POOLED_LIMITS, TABLE_LIMIT = (0.86, 0.97), 0.80
WIDTH_LIMITS, WIDTH_FROM = {1.0: 2.2, 3.0: 1.6}, 4_000
INTERVALS_LIMIT, INTERVALS_FROM = 0.85, 5_000
LEVEL_BAND, LEVEL_LIMIT = (0.9, 1.1), 0.9
FORWARD_LIMIT, AUTO_LIMIT, PERMUTED_LIMIT = 1.25, 1.05, 0.05
CODED = (0.005, 0.025, 0.1)
FEW = 1_000
WORKED = "MedExp"


@dataclass(frozen=True)
class Run:
    """What to measure: tables by name, and how many fits of which kinds."""

    tables: dict
    asked: tuple
    epsilons: tuple
    estimands: tuple
    seeds: range
    bootstrap: bool
    sizes: tuple
    sparsity: int
    parallel: Parallel

    def each(self, one, *given):
        """The results of a call for each seed."""
        return self.parallel(delayed(one)(*given, seed) for seed in self.seeds)

    def among(self, tables):
        """Those of a part's own tables that were asked for; all of them where no table was named."""
        return {name: table for name, table in tables.items() if name in self.asked or not self.asked}


def column(found, key):
    """One number of each fit."""
    return np.array([each[key] for each in found], dtype=float)


def ratio(found, above, below):
    """A ratio of sums over fits; NaN of nothing."""
    total = column(found, below).sum()
    return float(column(found, above).sum() / total) if total else np.nan


def median(values):
    """The median; NaN of none."""
    return float(np.median(values)) if len(values) else np.nan


def covered(found, lowest, highest=np.inf):
    """Coverage, its verdict, and the figures beside it."""
    share = share_of_sums(column(found, "held"), column(found, "intervals"))
    return {
        "fits": len(found),
        "coverage": share,
        "verdict": share.verdict(lowest, highest) if column(found, "effects").any() else "no reference",
        "with_interval": ratio(found, "intervals", "effects"),
        "width": median(np.concatenate([each["widths"] for each in found])),
        "distance": median(np.concatenate([each["distances"] for each in found])),
        "outside": int(column(found, "outside").sum()),
    }


def coverage(run):
    """Rows of each table, and pooled ones."""
    for estimand in run.estimands:
        for epsilon in run.epsilons:
            rows, sums = [], []
            kind = {"estimand": estimand, "epsilon": epsilon, "bootstrap": run.bootstrap}
            for name, table in run.tables.items():
                found = run.each(fits.coverage, table, epsilon, estimand, run.bootstrap)
                n = len(fits.arrays(table)[1])
                rows.append({"table": name, "records": n} | kind | covered(found, TABLE_LIMIT))
                sums.append({key: column(found, key).sum() for key in ("held", "intervals", "effects")})
                yield rows[-1]
            shares = share_of_sums(column(sums, "held"), column(sums, "intervals"))
            width = median([row["width"] for row in rows if row["width"] > 0 and row["records"] >= WIDTH_FROM])
            large = [each for each, row in zip(sums, rows, strict=True) if row["records"] >= INTERVALS_FROM]
            have = ratio(large, "intervals", "effects")
            yield {
                "table": "pooled", "fits": sum(row["fits"] for row in rows), "coverage": shares,
                "least": min((row["coverage"].value for row in rows if row["coverage"].value >= 0), default=np.nan),
                "verdict": shares.verdict(*POOLED_LIMITS),
                "with_interval": ratio(sums, "intervals", "effects"),
                "with_interval_large": have, "verdict_interval": verdict(have, lowest=INTERVALS_LIMIT),
                "width": width, "verdict_width": verdict(width, highest=WIDTH_LIMITS.get(epsilon, np.inf)),
                "outside": sum(row["outside"] for row in rows),
            } | kind  # fmt: skip


def verdict(value, lowest=-np.inf, highest=np.inf):
    """Whether a number without an interval is within limits; empty without a number."""
    return "" if np.isnan(value) else "met" if lowest <= value <= highest else "missed"


def level(run):
    """The share of fits whose mean prediction is near the mean response."""
    for epsilon in run.epsilons:
        for name, table in run.among(LEVEL).items():
            ratios = np.array(run.each(fits.level, table, epsilon))
            within = (ratios >= LEVEL_BAND[0]) & (ratios <= LEVEL_BAND[1])
            share = share_of_sums(within, np.ones(len(ratios)))
            spread = np.quantile(ratios, [0, 0.5, 1]).tolist()
            yield {
                "table": name, "epsilon": epsilon, "fits": len(ratios), "within": share, "ratios": spread,
                "verdict": share.verdict(LEVEL_LIMIT),
            }  # fmt: skip


def errors(run):
    """Squared errors over those of OLS."""
    for epsilon in run.epsilons:
        for name, table in run.among(NINE).items():
            found = run.each(fits.squared_errors, table, epsilon, run.sparsity)
            n = len(fits.frames(table))
            same, forward, explained = (
                ratio_of_sums(column(found, "ours"), column(found, key))
                for key in ("same variables", "forward", "mean")
            )
            limit = 1.05 if n >= 20_000 else 1.15 if n >= 4_000 else np.inf
            yield {
                "table": name, "records": n, "epsilon": epsilon, "fits": len(found), "over_mean": explained,
                "over_same_variables": same, "over_forward": forward, "variables": column(found, "variables").mean(),
                "limit": limit, "verdict": same.verdict(highest=limit) if np.isfinite(limit) else "",
                "verdict_forward": forward.verdict(highest=FORWARD_LIMIT),
            }  # fmt: skip


def auto(run):
    """Squared errors of "auto" over those of a fixed number of variables."""
    for epsilon in run.epsilons:
        for name, table in run.tables.items():
            found = run.each(fits.auto, table, epsilon, run.sparsity)
            over = ratio_of_sums(column(found, "auto"), column(found, "fixed"))
            yield {
                "table": name, "records": len(fits.frames(table)), "epsilon": epsilon, "fits": len(found),
                "over_mean": ratio_of_sums(column(found, "auto"), column(found, "mean")), "over_fixed": over,
                "verdict": over.verdict(highest=AUTO_LIMIT),
            }  # fmt: skip


def simulated(run):
    """Errors and coverage as n grows."""
    for epsilon in run.epsilons:
        for n in run.sizes:
            found = run.each(fits.simulated, n, epsilon)
            row = {"records": n, "epsilon": epsilon} | covered(found, *POOLED_LIMITS)
            yield row | {
                "error": float(column(found, "error").mean()),
                "over_OLS": ratio_of_sums(column(found, "error"), column(found, "OLS")),
            }


def codes(run):
    """Coverage where a code stands among the numbers of a feature."""
    for estimand in run.estimands:
        for epsilon in run.epsilons:
            for n in run.sizes:
                for share in CODED:
                    row = {"records": n, "coded": share, "epsilon": epsilon, "estimand": estimand}
                    yield row | covered(run.each(fits.codes, n, share, estimand, epsilon), *POOLED_LIMITS)


def permuted(run):
    """Shares of fits that mark an effect."""
    for estimand in run.estimands:
        for epsilon in run.epsilons:
            for as_file in (False, True):
                marked = [
                    run.each(fits.permuted, table, epsilon, estimand, as_file, run.sparsity)
                    for table in run.tables.values()
                ]
                share = share_of_sums(np.concatenate(marked), np.ones(sum(map(len, marked))))
                yield {
                    "of": "whole files" if as_file else "chosen features", "estimand": estimand, "epsilon": epsilon,
                    "fits": sum(map(len, marked)), "significant": share,
                    "tables": dict(zip(run.tables, map(np.mean, marked), strict=True)),
                    "verdict": share.verdict(highest=PERMUTED_LIMIT),
                }  # fmt: skip


def refused(run):
    """Intervals on few records, and what is said."""
    found = [each for table in run.tables.values() for each in run.each(fits.refused, table, FEW, 1.0)]
    intervals, said = int(column(found, "intervals").sum()), float(column(found, "said").mean())
    right = intervals == 0 and said == 1
    yield {
        "records": FEW, "epsilon": 1.0, "fits": len(found), "intervals": intervals, "said": said,
        "verdict": "met" if right else "missed",
    }  # fmt: skip


def worked(run):
    """Effects of one table, one fit of each estimand."""
    for epsilon in run.epsilons:
        for estimand in run.estimands:
            yield from fits.worked(LEVEL[WORKED], epsilon, estimand, run.seeds[0])


PARTS = {
    "coverage": coverage,
    "level": level,
    "errors": errors,
    "auto": auto,
    "simulated": simulated,
    "codes": codes,
    "permuted": permuted,
    "refused": refused,
    "worked": worked,
}


@click.command()
@click.option(
    "--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="May be repeated; all if left out."
)
@click.option("--set", "which", default="held-out", show_default=True, type=click.Choice(list(SETS)))
@click.option("--table", "names", multiple=True, help="May be repeated; all of the set, or of the part, if left out.")
@click.option("--epsilon", "epsilons", multiple=True, type=float, default=(1.0, 3.0), show_default=True)
@click.option(
    "--estimand", "estimands", multiple=True, type=click.Choice(["mean", "typical"]), default=("mean", "typical"),
    show_default=True,
)  # fmt: skip
@click.option("--bootstrap", is_flag=True, help="Fit bootstrap samples; the part coverage alone.")
@click.option("--seeds", default=40, show_default=True, type=click.IntRange(1), help="Fits of each kind.")
@click.option("--first-seed", default=280_000, show_default=True)
@click.option("--size", "sizes", multiple=True, type=int, default=(5_000, 20_000, 100_000), show_default=True)
@click.option("--sparsity", default=5, show_default=True, help="Variables to select in whole files.")
@click.option("--jobs", default=2, show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for answers.json.")
def main(parts, which, names, epsilons, estimands, bootstrap, seeds, first_seed, sizes, sparsity, jobs, out):
    """Print figures line by line as they are known, with verdicts."""
    if find_spec("statsmodels") is None:
        raise click.ClickException('statsmodels has the references: pip install -e ".[bench]"')
    os.environ["DPSPARSE_NUM_THREADS"] = "1"  # Processes share the cores.
    known = SETS[which] | LEVEL
    if unknown := set(names) - set(known):
        raise click.BadParameter(f"{sorted(unknown)} not among {sorted(known)}", param_hint="--table")
    tables = {name: known[name] for name in names} or SETS[which]
    every = range(first_seed, first_seed + seeds)
    run = partial(Run, tables, names, epsilons, estimands, every, bootstrap, sizes, sparsity)
    with Parallel(n_jobs=jobs) as parallel:
        for part in parts or PARTS:
            rows, where = [], part + (f", {which}" if part in ("coverage", "auto", "permuted", "refused") else "")
            click.echo(where + (", bootstrap samples" if bootstrap else ""))
            for row in PARTS[part](run(parallel)):
                rows.append(row)
                click.echo(f"  {line(row)}")
                save(out, where + (", bootstrap" if bootstrap else ""), rows)


if __name__ == "__main__":
    main()
