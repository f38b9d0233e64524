"""`PrivateSparsePoissonRegressor` against Poisson regression without privacy.

Run ``python benchmarks/counts.py`` after ``pip install -e ".[bench]"``; `counts_tables.py` has the tables. Parts, by
``--part``:

simulated
    Five effects on the log of the mean of .5, .3, -.2, .15 and .1 per standard deviation among d features. "Ratio" is
    the l2 error of coefficients over that of Poisson regression on the five without privacy. Coverage is of the 90 %
    intervals of all selected features: of the coefficients that Poisson regression on the selected columns has in the
    population. In unknown units features are multiplied by 3.7 and shifted by 11.
permuted
    Share of fits with a significant effect where responses are permuted: simulated features, and tables.
tables
    Five variables, nothing known, on four fifths of the records. Coverage is of the coefficients of Poisson regression
    on the selected columns of the same records. "Wider" is the standard error over that of Poisson regression. The
    level is the mean prediction over the mean response. Deviance explained is on the held-out fifth, against as many
    variables chosen one after another without privacy ("open").

Figures in brackets are 99 % bootstrap intervals over fits. A limit is missed where they exclude it; "met*" says that
the estimate itself is beyond it. Tune nothing on the default seeds, from 310,000 on, nor on held-out tables.
"""

import warnings
from itertools import product
from pathlib import Path

import click
import counts_fits as fits
import numpy as np
from answers_text import line, save
from counts_fits import Design
from counts_tables import SETS
from joblib import Parallel, delayed
from reference_fits import ratio_of_sums, share_of_sums

COVERAGE_LIMITS, LEVEL_LIMITS, PERMUTED_LIMIT = (0.86, 0.97), (0.9, 1.1), 0.05
# Means and overdispersions, by law and whether units are known.
SETTINGS = tuple(product(("normal", "mixture"), (True, False), ((1.0, 0.0), (5.0, 0.0), (1.0, 1.0), (5.0, 1.0))))


def column(found, key):
    """One number of each fit."""
    return np.array([each[key] for each in found], dtype=float)


def designs(n):
    """The simulated designs."""
    for law, known, (mean, over) in SETTINGS:
        yield Design(n=n, mean=mean, over=over, law=law, known=known)


def words(design, epsilon):
    """A design as a row begins."""
    units = "known" if design.known else "unknown"
    return {
        "records": design.n, "epsilon": epsilon, "law": design.law, "units": units, "mean": design.mean,
        "over": design.over,
    }  # fmt: skip


def judged(found):
    """Coverage and the level of some fits."""
    coverage, levels = share_of_sums(column(found, "held"), column(found, "intervals")), column(found, "level")
    inside = share_of_sums((levels >= LEVEL_LIMITS[0]) & (levels <= LEVEL_LIMITS[1]), np.ones(len(levels)))
    return {
        "coverage": coverage, "verdict_coverage": coverage.verdict(*COVERAGE_LIMITS),
        "with_interval": column(found, "intervals").sum() / max(column(found, "selected").sum(), 1),
        "levels_within": inside.value,
    }  # fmt: skip


def simulated(each, epsilons, n, tables):
    """Errors, coverage, features found and levels."""
    for epsilon in epsilons:
        for design in designs(n):
            found = each(fits.simulated, design, epsilon)
            ratio = ratio_of_sums(column(found, "error"), column(found, "reference"))
            yield words(design, epsilon) | {
                "fits": len(found), "ratio": ratio, "found": column(found, "found").mean(), **judged(found),
            }  # fmt: skip


def permuted(each, epsilons, n, tables):
    """Shares of fits that mark an effect."""
    for design in designs(n):
        yield words(design, epsilons[0]) | _marked(each(fits.permuted, design, epsilons[0]))
    for name, table in tables.items():
        yield {"table": name} | _marked(each(fits.permuted_table, table, epsilons[0], 5))


def _marked(marked):
    share = share_of_sums(np.array(marked), np.ones(len(marked)))
    return {"fits": len(marked), "significant": share, "verdict": share.verdict(highest=PERMUTED_LIMIT)}


def of_tables(each, epsilons, n, tables):
    """Levels, deviance explained, and whether intervals hold the coefficients without privacy."""
    for epsilon in epsilons:
        everything = []
        for name, table in tables.items():
            found, (X, y) = each(fits.table, table, epsilon, 5), fits.arrays(table)
            everything += found
            yield {
                "table": name, "epsilon": epsilon, "records": len(y), "features": X.shape[1],
                "mean": float(y.mean()), "fits": len(found), **judged(found),
                "level": float(np.median(column(found, "level"))), "wider": float(np.nanmedian(column(found, "wider"))),
                "D2": column(found, "d2").mean(), "open": column(found, "d2_open").mean(),
            }  # fmt: skip
        yield {"table": "pooled", "epsilon": epsilon} | judged(everything)


PARTS = {"simulated": simulated, "permuted": permuted, "tables": of_tables}


@click.command()
@click.option("--part", multiple=True, type=click.Choice(list(PARTS)), default=tuple(PARTS))
@click.option("--set", "of", type=click.Choice(list(SETS)), default="held-out", show_default=True)
@click.option("--table", multiple=True, help="A table of the set; all of them without it.")
@click.option("--epsilon", multiple=True, type=float, default=(1.0, 3.0), show_default=True)
@click.option("--size", default=10_000, show_default=True, help="Records of simulated tables.")
@click.option("--seeds", default=40, show_default=True)
@click.option("--first-seed", default=310_000, show_default=True)
@click.option("--jobs", default=-1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="A folder for counts.json.")
def main(part, of, table, epsilon, size, seeds, first_seed, jobs, out):
    """Print the figures."""
    warnings.simplefilter("ignore")
    parallel, tables = Parallel(n_jobs=jobs), SETS[of]

    def each(one, *given):
        return parallel(delayed(one)(*given, seed) for seed in range(first_seed, first_seed + seeds))

    tables = {name: tables[name] for name in table or tables}
    for name in part:
        rows = []
        click.echo(f"{name}:")
        for row in PARTS[name](each, epsilon, size, tables):
            click.echo(f"  {line(row)}")
            rows.append(row)
        save(out, name, rows, "counts.json")


if __name__ == "__main__":
    main()
