"""A number times a category, as one variable: whether it is selected as a whole, and what its intervals hold.

Run ``python benchmarks/products.py`` after ``pip install -e ".[bench]"``. A cost rises by 50 a year of age, by 150 in
one of three regions and falls by 50 in another, or rises alike in all of them (``differ`` 0). The formula has the
product, another category and two columns of noise; nothing is known of the columns. "Whole" is the share of fits that
select the product with all its levels. Coverage is of the 95 % intervals of the slopes, among these. "Significant" is
the share of all fits in which the product as a whole is.

Tune nothing on the default seeds, from 620,000 on.
"""

import warnings

import click
import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from dpsparse import PrivateSparseRegressor

FIRST_SEED = 620_000
FORMULA = "cost ~ age*region + sex + x1 + x2"
SETTINGS = ((2_000, 2.0, 100.0), (5_000, 2.0, 100.0), (5_000, 6.0, 100.0), (20_000, 1.0, 100.0), (20_000, 1.0, 0.0))


def people(n, differ, seed):
    """Records whose slopes differ among regions by so much."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 15, n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2]),
            "x1": rng.normal(size=n),
            "x2": rng.normal(size=n),
        }
    )
    slope = 50 + differ * (frame.region == "south") - differ * (frame.region == "east")
    frame["cost"] = 5_000 + slope * (frame.age - 50) + 1_500 * (frame.sex == "m") + 1_500 * rng.standard_t(4, n)
    return frame


def fit(n, epsilon, differ, seed):
    """Whether the product is selected as a whole and significant, and how many of its intervals hold the slopes."""
    warnings.simplefilter("ignore")
    model = PrivateSparseRegressor(sparsity=3, epsilon=epsilon, random_state=seed)
    model.fit(people(n, differ, seed), formula=FORMULA)
    truth = {"age": 50.0, "age:region=south": differ, "age:region=east": -differ}
    effects = model.effects_.set_index("term")[["conf_low", "conf_high"]]
    whole = {*truth} <= {*effects.index}
    shown = effects.loc[list(truth)].dropna() if whole else effects.iloc[:0]
    held = [
        low <= truth[term] <= high for term, low, high in zip(shown.index, shown.conf_low, shown.conf_high, strict=True)
    ]
    clear = any(variable.name == "age:region" and variable.clear for variable in model.released_.variables)
    return whole, clear, sum(held), len(held)


@click.command()
@click.option("--seeds", default=100, help="Fits of each setting.")
@click.option("--size", type=int, help="Records, in the place of those of the settings.")
@click.option("--jobs", default=2)
def main(seeds, size, jobs):
    """Print a line for each setting."""
    for n, epsilon, differ in SETTINGS:
        runs = (delayed(fit)(size or n, epsilon, differ, FIRST_SEED + seed) for seed in range(seeds))
        whole, clear, held, shown = np.sum(Parallel(jobs)(runs), axis=0)
        print(
            f"records {size or n}  epsilon {epsilon:g}  differ {differ:g}  whole {whole / seeds:.2f}  significant "
            f"{clear / seeds:.2f}  coverage {held / max(shown, 1):.3f} of {shown} intervals",
            flush=True,
        )


if __name__ == "__main__":
    main()
