"""Coverage of the 90 % intervals of `PrivateSparseRegressor` for correctly selected features.

Run ``python benchmarks/intervals.py``: tasks B, C and G, 200 seeds each from 2000 on. Their noise is symmetric, so that
effects on the typical response, which are fitted unless ``--estimand`` says otherwise, are the coefficients.
"""

import warnings

import click
import numpy as np
from tasks import TASKS

from dpsparse import PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED


def covered(task, estimand, seed):
    """For each correctly selected feature, whether its interval holds the true coefficient."""
    X, y, coef = task.make(seed)
    model = PrivateSparseRegressor(
        sparsity=task.sparsity,
        estimand=estimand,
        epsilon=task.epsilon,
        delta=task.delta,
        random_state=seed,
        **STANDARDIZED,
    ).fit(X, y)
    right = model.support_[coef[model.support_] != 0]
    low, high = model.conf_int(0.9)[right].T
    return ((low <= coef[right]) & (coef[right] <= high)).tolist()


@click.command()
@click.option("--tasks", default="B,C,G", show_default=True)
@click.option("--first-seed", default=2000, show_default=True)
@click.option("--seeds", default=200, show_default=True)
@click.option("--estimand", type=click.Choice(["mean", "typical"]), default="typical", show_default=True)
def main(tasks, first_seed, seeds, estimand):
    """Print coverage with its standard error."""
    warnings.simplefilter("ignore")
    for name in tasks.split(","):
        hits = [hit for seed in range(first_seed, first_seed + seeds) for hit in covered(TASKS[name], estimand, seed)]
        share = np.mean(hits)
        error = np.sqrt(share * (1 - share) / len(hits))
        click.echo(f"{name}: {share:.1%} of {len(hits)} intervals, standard error {error:.1%}")


if __name__ == "__main__":
    main()
