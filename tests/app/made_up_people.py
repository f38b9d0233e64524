"""A raw table as people have it."""

import numpy as np
import pandas as pd


def people(n=2_000, seed=0):
    """Text, dates, identifiers, 44 laboratory values and a cost with outliers; a twentieth of the cells is missing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "id": [f"P{k:06d}" for k in rng.permutation(n)],
            "age": rng.normal(50, 15, n).round(1),
            "smoker": np.where(rng.random(n) < 0.2, "yes", "no"),
            "region": rng.choice(["north", "south", "east"], n),
            "joined": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D")).strftime(
                "%Y-%m-%d"
            ),
        }
        | {f"lab_{k:02d}": rng.normal(k, 1 + k / 10, n).round(3) for k in range(44)}
    )
    table["cost"] = (100 * table.age + 9_000 * (table.smoker == "yes") + 2_000 * rng.standard_t(2, n)).round(2)
    gaps = rng.random(table.shape) < 0.05
    gaps[:, 0] = False
    return table.astype(object).mask(gaps, rng.choice(["", "n/a"]))
