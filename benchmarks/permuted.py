"""How often a feature is called significant where none can be: fits on real tables whose responses are permuted.

Run ``python benchmarks/permuted.py --tables DIR`` with the folder of `real_tables.py`. Four fifths of the records are
drawn at random and their responses permuted, so that no feature has an effect. Five features are selected, with units
unknown and with the exact ones passed as public numbers. `clear_` is to hold at the 5 % family-wise level: one fit in
twenty may mark a feature, whichever estimand effects are of. It prints the share of fits that do, with its 95 %
interval.
"""

import warnings
from itertools import product
from pathlib import Path

import click
import numpy as np
from real_tables import TABLES, load
from scipy import stats

from dpsparse import PrivateSparseRegressor


def is_significant(X, y, seed, epsilon, known, estimand):
    """Whether a fit on permuted responses marks any feature."""
    rng = np.random.default_rng([1510, seed])
    rows = rng.permutation(len(y))[: len(y) * 4 // 5]
    X, y = X[rows], rng.permutation(y[rows])
    constant = np.ptp(X, axis=0) == 0
    units = {"feature_center": X.mean(axis=0), "feature_scale": np.where(constant, 1.0, X.std(axis=0))} if known else {}
    options = {"sparsity": 5, "estimand": estimand, "epsilon": epsilon, "delta": 1e-6, "random_state": seed}
    return bool(PrivateSparseRegressor(**options, **units).fit(X, y).clear_.any())


@click.command()
@click.option(
    "--tables", "folder", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the Parquet files.",
)  # fmt: skip
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), help="May be repeated.")
@click.option("--fits", default=100, show_default=True, type=click.IntRange(1))
@click.option("--first-seed", default=70_000, show_default=True)
def main(folder, names, fits, first_seed):
    """Print the share of fits that mark a feature."""
    warnings.simplefilter("ignore")
    for name in names or TABLES:
        X, y = load(folder, name)
        for estimand, epsilon, known in product(("mean", "typical"), (1.0, 3.0), (False, True)):
            marked = sum(is_significant(X, y, first_seed + k, epsilon, known, estimand) for k in range(fits))
            low, high = stats.binomtest(marked, fits).proportion_ci(method="wilson")
            words = f"{name:10s} {estimand:7s} epsilon {epsilon:g}, units {'exact' if known else 'unknown':7s}"
            click.echo(f"{words}: {marked / fits:.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
