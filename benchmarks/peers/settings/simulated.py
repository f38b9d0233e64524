"""Simulated designs: those of the peers' own papers, the panels of the paper that we reproduce, and our tasks."""

from functools import partial

import numpy as np
from tasks import TASKS

from dpsparse.datasets import make_heavy_tailed
from dpsparse.paper.designs import DEGREES_OF_FREEDOM, REGIMES
from peers.settings.design import TRUTH_METRICS, Data, Design

DPHUBER, BSS, PANELS, OUR_TASKS = "DPHuber's designs", "best-subset designs", "the paper's panels", "tasks A to H"
MOST_PANEL_CELLS = 25_000_000  # of the panels in the default run; larger ones are in the full one
_SUPPORT_FIRST = ("f1", "exact", "l2")


def _ar(rng, n, d, correlation):
    """Normal features of variance 1; neighbours have this correlation."""
    X = rng.standard_normal((n, d))
    fresh = np.sqrt(1 - correlation**2)
    for j in range(1, d):
        X[:, j] *= fresh
        X[:, j] += correlation * X[:, j - 1]
    return X


def dphuber_data(n, d, df, seed):
    """DPHuber's: ten coefficients of +-1, the intercept among them; so nine slopes, the first nine features."""
    rng = np.random.default_rng(seed)
    coef = np.zeros(d)
    coef[:9] = rng.choice([-1.0, 1.0], 9)
    X = _ar(rng, n, d, 0.1)
    noise = rng.standard_normal(n) if np.isinf(df) else rng.standard_t(df, n)
    return Data(X, rng.choice([-1.0, 1.0]) + X[:, :9] @ coef[:9] + noise, coef)


def best_subset_data(n, d, seed):
    """Best-subset selection's: five coefficients of 1 at random places, normal noise, signal-to-noise ratio 5."""
    rng = np.random.default_rng(seed)
    coef = np.zeros(d)
    coef[rng.choice(d, 5, replace=False)] = 1.0
    X = _ar(rng, n, d, 0.1)
    support = np.flatnonzero(coef)
    variance = (0.1 ** np.abs(support[:, None] - support)).sum()
    return Data(X, X @ coef + np.sqrt(variance / 5) * rng.standard_normal(n), coef)


def panel_data(data, seed):
    """The generator of the paper's panels."""
    X, y, coef = make_heavy_tailed(data.n, data.d, data.sparsity, df=DEGREES_OF_FREEDOM[data.zeta], random_state=seed)
    return Data(X, y, coef)


def task_data(name, seed):
    """One of our tasks."""
    X, y, coef = TASKS[name].make(seed)
    return Data(X, y, coef)


def _dphuber():
    for n in (5_000, 10_000, 15_000):
        for d in (5_000, 10_000):
            for noise, df in (("normal", np.inf), ("t2.25", 2.25)):
                budgets = tuple((epsilon, 10 * n**-1.1) for epsilon in (0.5, 0.9))
                # The default run has the ends of the grid and its middle; all of it is in the full one.
                default = 10 if (n, d) in ((5_000, 5_000), (10_000, 5_000), (15_000, 10_000)) else 0
                yield Design(
                    DPHUBER, f"DPHuber {n} x {d}, {noise}", n, d, 9, budgets, (0, default, 20),
                    partial(dphuber_data, n, d, df), TRUTH_METRICS,
                )  # fmt: skip


def _best_subset():
    for n in (3_000, 5_000, 8_000):
        for d in (100, 1_000):
            quick = 2 if (n, d) == (3_000, 100) else 0
            yield Design(
                BSS, f"best subset {n} x {d}", n, d, 5, ((1.0, 0.0), (1.0, 1e-6)), (quick, 10, 50),
                partial(best_subset_data, n, d), _SUPPORT_FIRST,
            )  # fmt: skip


def _panels():
    """Every data set of the panels once, at all epsilons at which a panel has it."""
    epsilons = {}
    for regime in REGIMES:
        for axis in regime.grids:
            for zeta in (0.5, 1.0) if axis in ("n", "d") else (1.0,):
                for _, data, epsilon in regime.points(axis, zeta):
                    epsilons.setdefault((regime.name, data), set()).add(epsilon)
    for (regime, data), values in epsilons.items():
        tails = f"t{DEGREES_OF_FREEDOM[data.zeta]:g}"
        budgets = tuple((epsilon, data.n**-1.1) for epsilon in sorted(values))
        yield Design(
            PANELS, f"panel {regime} {data.n} x {data.d}, s {data.sparsity}, {tails}", data.n, data.d, data.sparsity,
            budgets, (0, 10 if data.weight <= MOST_PANEL_CELLS else 0, 20), partial(panel_data, data), TRUTH_METRICS,
        )  # fmt: skip


def _tasks():
    for name, task in TASKS.items():
        yield Design(
            OUR_TASKS, f"task {name}", task.n, task.d, task.sparsity, ((task.epsilon, task.delta),),
            (2 if name == "A" else 0, 10, 20), partial(task_data, name), TRUTH_METRICS,
        )  # fmt: skip


SIMULATED = (*_dphuber(), *_best_subset(), *_panels(), *_tasks())
