"""The units of work: frozen descriptions. The results of each, its `rows`, depend on the description alone."""

import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit

from dpsparse import DPIHTH, DPIHTL, DPSLR, AdaHuberCV, PrivateSparseRegressor
from dpsparse.algorithms.adaptive_huber import StandardizedDesign, adaptive_huber_lasso, hard_threshold, lambda_grid
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import fetch_metabric, fetch_nci60, make_heavy_tailed
from dpsparse.paper.designs import CUT, DEGREES_OF_FREEDOM, FIRST_SEED, LASSO, OURS, SETTINGS, Data

METHODS = {"DP-IHT-H": DPIHTH, "DP-IHT-L": DPIHTL, "DP-SLR": DPSLR}
MEDIAN = "median predictor"
MODEL_SIZE = 5  # features of the tables' models
TEST_SHARE = 0.2
Row = dict[str, Any]


class Task(Protocol):
    """A unit of work. Its rows depend on its description alone."""

    @property
    def key(self) -> str:
        """Name of the file with its results."""

    @property
    def weight(self) -> int:
        """Rough amount of work."""

    def rows(self) -> list[Row]:
        """Its results."""


def private_models(
    sparsity: int, epsilon: float, seed_of: Callable[[str, str], int], **known: Any
) -> Iterator[tuple[str, str, Any]]:
    """Every private method in every setting, unfitted: (setting, method, model); only ours takes `known`.

    The paper's methods take standardised features for granted, so ours is told that they are. They clip residuals: ours
    has effects on the typical response too.
    """
    guarantee: dict[str, Any] = {"sparsity": sparsity, "epsilon": epsilon}
    for setting, options in SETTINGS.items():
        for name, method in METHODS.items():
            yield setting, name, method(**guarantee, **options, random_state=seed_of(setting, name))
    ours: dict[str, Any] = {"estimand": "typical", **guarantee, **STANDARDIZED, **known}
    yield OURS, OURS, PrivateSparseRegressor(**ours, random_state=seed_of(OURS, OURS))


def noise_seed(*key: object) -> int:
    """A seed for each fit's noise, made of its parameters: the same in every run."""
    # The committed results have the seeds of this setting's former name.
    key = tuple("mended" if part == "corrected" else part for part in key)
    return zlib.crc32(repr(key).encode())


def generate(data: Data, repeat: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The data of one repetition. X and the coefficients do not depend on zeta: comparisons of tails are paired."""
    return make_heavy_tailed(
        data.n, data.d, data.sparsity, df=DEGREES_OF_FREEDOM[data.zeta], random_state=FIRST_SEED + repeat
    )


@dataclass(frozen=True)
class Pilot:
    """Chooses adaHuber's lambda for a kind of data: the least l2 error to the truth, on a seed of its own."""

    data: Data

    @property
    def key(self) -> str:
        """Name of the file with its results."""
        return "pilot-" + "-".join(f"{value:g}" for value in asdict(self.data).values())

    @property
    def weight(self) -> int:
        """Rough amount of work."""
        return 4 * self.data.weight

    def rows(self) -> list[Row]:
        """The lambda."""
        X, y, coef = generate(self.data, -1)
        design, start = StandardizedDesign.of(X), None
        errors: dict[float, float] = {}
        for lam in lambda_grid(design, y, 12):
            start = adaptive_huber_lasso(design, y, lam, start=start)
            errors[float(lam)] = float(np.linalg.norm(start.coef - coef))
        return [{"lam": min(errors, key=lambda lam: errors[lam])}]


@dataclass(frozen=True)
class Cell:
    """All methods on one repetition of the data, at several epsilons."""

    data: Data
    repeat: int
    epsilons: tuple[float, ...]
    lam: float

    @property
    def key(self) -> str:
        """Name of the file with its results."""
        values = (*asdict(self.data).values(), *self.epsilons)
        return f"cell-{'-'.join(f'{value:g}' for value in values)}-r{self.repeat}"

    @property
    def weight(self) -> int:
        """Rough amount of work."""
        return self.data.weight * (1 + len(self.epsilons))

    def rows(self) -> list[Row]:
        """One row for each fit."""
        X, y, coef = generate(self.data, self.repeat)
        known = {**asdict(self.data), "repeat": self.repeat, "norm": float(np.linalg.norm(coef))}
        rows = []

        def add(setting: str, method: str, epsilon: float | None, estimate: NDArray[np.float64]) -> None:
            hits = int(np.count_nonzero((estimate != 0) & (coef != 0)))
            error = float(np.linalg.norm(estimate - coef))
            rows.append(
                {**known, "setting": setting, "method": method, "epsilon": epsilon, "error": error, "hits": hits}
            )

        design = StandardizedDesign.of(X)
        lasso = adaptive_huber_lasso(design, y, self.lam)
        add("non-private", LASSO, None, lasso.coef)
        add("non-private", CUT, None, hard_threshold(X, y, lasso, self.data.sparsity).coef)
        for epsilon in self.epsilons:

            def seed_of(setting: str, method: str, epsilon: float = epsilon) -> int:
                return noise_seed(self.data, self.repeat, epsilon, setting, method)

            for setting, method, model in private_models(self.data.sparsity, epsilon, seed_of):
                add(setting, method, epsilon, model.fit(X, y).coef_)
        return rows


@dataclass(frozen=True)
class Split:
    """All methods on one split of a real table, the private ones with several draws of the noise."""

    table: str
    loader: str
    target: str | None
    epsilon: float
    split: int
    draws: int

    @property
    def key(self) -> str:
        """Name of the file with its results."""
        return f"split-{self.table.replace(' ', '-')}-{self.draws}-{self.split}"

    @property
    def weight(self) -> int:
        """Rough amount of work."""
        return 5_000_000 * self.draws

    def rows(self) -> list[Row]:
        """One row for each fit: test error in the response's own units, and the selected features."""
        X, y, unit, names = real_data(self.loader, self.target)
        train, test = next(ShuffleSplit(1, test_size=TEST_SHARE, random_state=FIRST_SEED + self.split).split(X))
        rows = []

        def add(setting: str, method: str, draw: int, predicted: NDArray[Any], selected: Iterable[int]) -> None:
            error = float(unit * np.abs(predicted - y[test]).mean())
            rows.append({
                "table": self.table, "split": self.split, "setting": setting, "method": method, "draw": draw,
                "mae": error, "picked": [names[j] for j in selected], "d": X.shape[1], "n_train": train.size,
            })  # fmt: skip

        add("non-private", MEDIAN, 0, np.full(test.size, np.median(y[train])), ())
        model = AdaHuberCV(sparsity=MODEL_SIZE, random_state=self.split).fit(X[train], y[train])
        add("non-private", CUT, 0, model.predict(X[test]), model.support_)
        for draw in range(self.draws):

            def seed_of(setting: str, method: str, draw: int = draw) -> int:
                return noise_seed(self.table, self.split, draw, setting, method)

            # The paper's methods assume a response of centre 0 and scale 1, so ours may assume it too.
            known = {"response_center": 0.0, "response_scale": 1.0}
            for setting, method, model in private_models(MODEL_SIZE, self.epsilon, seed_of, **known):
                model.fit(X[train], y[train])
                add(setting, method, draw, model.predict(X[test]), model.support_)
        return rows


def real_data(loader: str, target: str | None) -> tuple[NDArray[np.float64], NDArray[np.float64], float, list[str]]:
    """Features and response in units of their spread, the response's unit, and the features' names.

    Columns are standardised by their own mean and standard deviation and the response by its median and median
    absolute deviation, over the whole table, as if these were public. They are not: computing them reads the data. It
    helps all methods alike. The paper does not say how it scaled the data.
    """
    data = fetch_nci60() if loader == "nci60" else fetch_metabric(target=str(target), features="all")
    X = data.data.astype(np.float64)
    center = np.median(data.target)
    unit = float(1.4826 * np.median(np.abs(data.target - center)))
    names = [re.sub("^mut_(.*)", r"\1 (mutation)", name.removeprefix("expr_")) for name in data.feature_names]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), (data.target - center) / unit, unit, names


def run(task: Task) -> list[Row]:
    """The rows of a task, without the warnings of its fits (seeded noise, slow convergence)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return task.rows()
