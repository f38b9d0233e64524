"""Small tables of which nothing is known: held-out errors of `PrivateSparseRegressor` against those of a constant.

Run ``python benchmarks/small_tables.py``; about ten minutes of one core. Tables are those of `peers`, cut to so many
records that N = n sqrt(rho) is what a row says. Errors are over those of the training records' mean (squared) and
median (absolute), which no private fit knows exactly; means over splits are of logarithms. Eight features are asked
for, or all of a table where ``sparsity="auto"`` takes all.

Thresholds and prices below N = 250 were set on `TUNED`, on splits from 1,000 on. Report from `OTHERS`.
"""

import math
import warnings

import click
import numpy as np
from peers.adapters import ours
from peers.problem import Budget
from peers.settings.design import scores, seed_of
from peers.settings.tables import CHOSEN, DELTA, MOST_FEATURES, split_data

from dpsparse.privacy.guarantee import Guarantee

TUNED = ("airfoil", "crime", "bike", "MedExp", "elevators", "CPS1988")
OTHERS = ("wine", "parkinsons", "randhie", "401ksubs", "Chicago", "ames", "diabetes")
SIZES = (30, 45, 60, 80, 110, 150, 200, 250)


def records_for(size, epsilon):
    """The number of records with that N."""
    return round(size / math.sqrt(Guarantee(epsilon, DELTA).rho_per_record))


def measure(table, n, epsilon, estimand, split):
    """Squared and absolute errors of one fit over those of a constant."""
    data = split_data(table, seed_of(table.name, split))
    data = data._replace(X=data.X[:n], y=data.y[:n])
    budget = Budget(epsilon, DELTA, min(MOST_FEATURES, data.X.shape[1]), sparsity_known=False)
    line = ours.fit(data.X, data.y, budget, np.random.default_rng(split), estimand=estimand, units_known=False)
    found = scores(line, data)
    return found["squared"], found["absolute"], np.count_nonzero(line.coef)


@click.command()
@click.option("--table", "tables", multiple=True, help="May be repeated; the tables to report from if left out.")
@click.option("--size", "sizes", multiple=True, type=float, help="N; may be repeated.")
@click.option("--whole", is_flag=True, help="All records of a table, in place of some sizes.")
@click.option("--epsilon", "epsilons", multiple=True, type=float, default=(0.3,), show_default=True)
@click.option("--estimand", type=click.Choice(["mean", "typical"]), default="mean", show_default=True)
@click.option("--splits", default=20, show_default=True)
@click.option("--first-split", default=0, show_default=True)
def main(tables, sizes, whole, epsilons, estimand, splits, first_split):
    """Print a line for each table, epsilon and N."""
    warnings.simplefilter("ignore")
    by_name = {table.name: table for table in CHOSEN}
    for table in map(by_name.get, tables or OTHERS):
        most = table.shape[0] - table.shape[0] // 5
        for epsilon in epsilons:
            counts = [most] if whole else [records_for(size, epsilon) for size in sizes or SIZES]
            for n in (count for count in counts if count <= most):
                fits = [measure(table, n, epsilon, estimand, first_split + k) for k in range(splits)]
                squared, absolute, effects = np.array(fits).T
                size = n * math.sqrt(Guarantee(epsilon, DELTA).rho_per_record)
                click.echo(
                    f"{table.name:<12} epsilon {epsilon:<4g} records {n:>6,} N {size:>4.0f}  "
                    f"squared {np.exp(np.log(squared).mean()):.3f} (largest {squared.max():.2f})  "
                    f"absolute {np.exp(np.log(absolute).mean()):.3f}  effects {effects.mean():.1f}"
                )


if __name__ == "__main__":
    main()
