"""Results with planted errors, so that what the verdicts must be is known."""

import itertools

import numpy as np

from dpsparse.paper.designs import (
    CUT,
    LASSO,
    OURS,
    PARTS,
    PRIVATE,
    SETTINGS,
    TABLES,
    Data,
    Regime,
    Size,
)  # fmt: skip
from dpsparse.paper.experiments import MEDIAN
from dpsparse.paper.results import Results

GRIDS = {"n": (100, 1000), "d": (10, 100), "sparsity": (2, 8), "epsilon": (0.1, 2.0)}
REGIME = Regime("tiny", Data(1000, 100), GRIDS)
REPEATS = 12


def size(repeats=REPEATS):
    return Size((REGIME,), repeats=repeats, splits=repeats, draws=2)


def made_up(error, mae=lambda table, setting, method: 1.0, picked=lambda table, setting, method: (), repeats=REPEATS):
    """`error(setting, method, data, epsilon)` is the mean share of the zero estimate's error; spread 0.01."""
    rng = np.random.default_rng(0)
    fits = [(setting, method) for setting in SETTINGS for method in PRIVATE]
    fits += [(OURS, OURS), ("non-private", LASSO), ("non-private", CUT)]
    points = {
        (data, epsilon)
        for axis, zeta in itertools.product(GRIDS, (0.5, 1.0))
        for _, data, epsilon in REGIME.points(axis, zeta)
    }
    panel_rows = [
        {
            "n": data.n, "d": data.d, "sparsity": data.sparsity, "zeta": data.zeta, "repeat": repeat, "norm": 2.0,
            "setting": setting, "method": method, "epsilon": None if setting == "non-private" else epsilon,
            "error": 2.0 * (error(setting, method, data, epsilon) + 0.01 * rng.standard_normal()), "hits": 0,
        }
        for data, epsilon in sorted(points, key=repr)
        for setting, method in fits
        for repeat in range(repeats)
    ]  # fmt: skip
    table_fits = [(setting, method) for setting in SETTINGS for method in PRIVATE]
    table_fits += [(OURS, OURS), ("non-private", MEDIAN), ("non-private", CUT)]
    table_rows = [
        {
            "table": table.name, "split": split, "setting": setting, "method": method, "draw": draw, "d": 1000,
            "mae": mae(table, setting, method) + 0.001 * rng.standard_normal(), "n_train": 80,
            "picked": list(picked(table, setting, method)),
        }
        for table in TABLES
        for setting, method in table_fits
        for split in range(repeats)
        for draw in range(1 if setting == "non-private" else 2)
    ]  # fmt: skip
    return Results(size(repeats), PARTS, tuple(panel_rows), tuple(table_rows))
