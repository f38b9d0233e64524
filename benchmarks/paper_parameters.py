"""Where the paper's loops leave the origin: the table of docs/paper-errata.md.

Run ``python benchmarks/paper_parameters.py``. Errors over the norm of the coefficients, epsilon = 0.5, five features.
"""

import warnings

import click
import numpy as np

from dpsparse import DPIHTH, DPIHTL
from dpsparse.datasets import make_heavy_tailed

STATED = {"adjacency": "zero-out-one", "calibration": "paper"}
SETTINGS = [
    (10_000, 1_000, {"step": 0.01, **STATED}),
    (10_000, 1_000, {"step": 0.5, **STATED}),
    (40_000, 500, {"step": 0.5, **STATED}),
    (40_000, 500, {"step": 0.5, "calibration": "paper"}),
    (40_000, 500, {"step": 0.5}),
    (100_000, 500, {"step": 0.5}),
    (200_000, 200, {"step": 0.5}),
]


def relative_errors(method, n, d, options, seeds):
    """One error for each seed."""
    for seed in range(seeds):
        X, y, coef = make_heavy_tailed(n, d, 5, random_state=seed)
        estimate = method(epsilon=0.5, random_state=seed, **options).fit(X, y).coef_
        yield np.linalg.norm(estimate - coef) / np.linalg.norm(coef)


@click.command()
@click.option("--tiny", is_flag=True, help="One seed of small tables, to try the script.")
def main(tiny):
    """Print the table."""
    warnings.simplefilter("ignore")
    for n, d, options in [(1_000, 20, options) for _, _, options in SETTINGS] if tiny else SETTINGS:
        for method in (DPIHTH, DPIHTL):
            errors = list(relative_errors(method, n, d, options, 1 if tiny else 6 if n >= 100_000 else 10))
            click.echo(
                f"n {n:>7,} d {d:>5,} {method.__name__} {options}: "
                f"{np.mean(errors):.3f} ({min(errors):.3f} to {max(errors):.3f})"
            )


if __name__ == "__main__":
    main()
