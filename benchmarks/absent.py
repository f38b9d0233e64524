"""How often a feature that no record with a response has gets an interval: `python absent.py`.

A twentieth of the cells of one column is missing, and so is the response there. Whether the cell is missing then varies
among all records and not among those with a response, and nothing is known of its effect.
"""

import argparse

import numpy as np
import pandas as pd

from dpsparse import PrivateSparseRegressor, read_table


def table(n, rng):
    """Records of wages whose response is missing where a feature is."""
    frame = pd.DataFrame({"school": rng.normal(13, 3, n), "age": rng.normal(40, 12, n), "city": rng.random(n) < 0.3})
    frame["wage"] = 10 + 2 * frame.school + 0.3 * frame.age + 4 * frame.city + 8 * rng.standard_t(3, n)
    gone = rng.random(n) < 0.05
    return frame.assign(school=frame.school.mask(gone), wage=frame.wage.mask(gone))


def main():
    """Print how often such a feature is reliable and significant, and how many of the others are reliable."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    absent, others = [], []
    for seed in range(options.first_seed, options.first_seed + options.fits):
        data = read_table(table(options.size, np.random.default_rng(seed)), "wage")
        model = PrivateSparseRegressor(sparsity=3, epsilon=options.epsilon, random_state=seed).fit(data)
        for effect in model.released_.effects:
            (absent if effect.feature == "school (gap)" else others).append(effect)
    for name, effects in {"nobody has it": absent, "other features": others}.items():
        reliable, significant = (sum(getattr(each, what) for each in effects) for what in ("trusted", "clear"))
        print(f"{name}: selected {len(effects)}  reliable {reliable}  significant {significant}")


if __name__ == "__main__":
    main()
