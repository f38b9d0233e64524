"""What a setting is made of: designs, their data, and how an estimated line is scored on them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

QUICK, DEFAULT, FULL = "quick", "default", "full"
TRUTH_METRICS = ("l2", "f1", "exact")
TABLE_METRICS = ("squared", "absolute")
METRICS = (*TRUTH_METRICS, *TABLE_METRICS)


class Data(NamedTuple):
    """The data of one repeat: a truth, or held-out records."""

    X: np.ndarray
    y: np.ndarray
    coef: np.ndarray | None = None
    X_test: np.ndarray | None = None
    y_test: np.ndarray | None = None


@dataclass(frozen=True)
class Design:
    """A simulated design or a real table.

    Parameters
    ----------
    setting : str
        The group it belongs to: whose ground it is.
    name : str
        Its own name, unique among all designs.
    n, d : int
        Records to fit on and features.
    sparsity : int
        The features that sparse peers are asked for.
    budgets : tuple of (float, float)
        Pairs of epsilon and delta; delta is 0 for pure differential privacy.
    repeats : tuple of int
        Repeats of the quick, the default and the full run.
    make : callable
        Makes the `Data` of a seed.
    metrics : tuple of str
        What is measured; the first decides who is first.
    """

    setting: str
    name: str
    n: int
    d: int
    sparsity: int
    budgets: tuple[tuple[float, float], ...]
    repeats: tuple[int, int, int]
    make: Callable[[int], Data]
    metrics: tuple[str, ...]

    def count(self, size):
        """Repeats of a run of this size."""
        return self.repeats[(QUICK, DEFAULT, FULL).index(size)]

    def data(self, repeat):
        """The data of a repeat: the same for every peer and every run."""
        return self.make(seed_of(self.name, repeat))


def seed_of(*key):
    """A seed made of its key alone: the same on every machine and in every process.

    Examples
    --------
    >>> from peers.settings.design import seed_of
    >>> seed_of("A", 0) == seed_of("A", 0), seed_of("A", 1) == seed_of("A", 10)
    (True, False)
    """
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6], "big")


def scores(line, data):
    """The metrics of a line, as a dict.

    With a truth: ``l2``, the distance of the coefficients from it over its length; ``f1`` of the support; ``exact``, 1
    where the support is the true one. With held-out records: ``squared`` error over that of the training mean and
    ``absolute`` error, of predicted medians where a method tells them from means, over that of the training median.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from peers.settings.design import Data, scores
    >>> truth = Data(np.eye(3), np.zeros(3), coef=np.array([3.0, 4.0, 0.0]))
    >>> scores(SimpleNamespace(coef=np.array([3.0, 0.0, 0.0])), truth)
    {'l2': 0.8, 'f1': 0.6666666666666666, 'exact': 0.0}
    """
    coef = np.asarray(line.coef, dtype=float)
    if data.coef is not None:
        selected, true = coef != 0, data.coef != 0
        hits = np.count_nonzero(selected & true)
        return {
            "l2": float(np.linalg.norm(coef - data.coef) / np.linalg.norm(data.coef)),
            "f1": float(2 * hits / (np.count_nonzero(selected) + np.count_nonzero(true))),
            "exact": float(np.array_equal(selected, true)),
        }
    residuals = data.y_test - line.predict(data.X_test)
    from_median = data.y_test - line.predict(data.X_test, median=True)
    return {
        "squared": float((residuals**2).mean() / ((data.y_test - data.y.mean()) ** 2).mean()),
        "absolute": float(np.abs(from_median).mean() / np.abs(data.y_test - np.median(data.y)).mean()),
    }
