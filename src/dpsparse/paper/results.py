"""The rows of all finished tasks, the views of them that verdicts and figures take, and the two tables.

A table has test errors, model sizes, and how often each gene was selected, against selection at random.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpsparse.paper.designs import CUT, LASSO, OURS, PANELS, PRIVATE, SETTINGS, TABLES, Panel, Regime, Size, TableDesign
from dpsparse.paper.experiments import MEDIAN, MODEL_SIZE, TEST_SHARE, Row


@dataclass(frozen=True)
class Results:
    """The size and parts of a run, and its rows."""

    size: Size
    parts: tuple[str, ...]
    panel_rows: tuple[Row, ...]
    table_rows: tuple[Row, ...]

    @property
    def panels(self) -> list[Panel]:
        """The panels that were run."""
        return [PANELS[name] for name in PANELS if name in self.parts]

    @property
    def tables(self) -> list[TableDesign]:
        """The tables that were run."""
        present = {row["table"] for row in self.table_rows}
        return [table for table in TABLES if table.table in self.parts and table.name in present]

    @cached_property
    def _errors(self) -> dict[tuple[Any, ...], dict[int, tuple[float, float]]]:
        index: dict[tuple[Any, ...], dict[int, tuple[float, float]]] = {}
        for row in self.panel_rows:
            key = (row["n"], row["d"], row["sparsity"], row["zeta"], row["epsilon"], row["setting"], row["method"])
            index.setdefault(key, {})[row["repeat"]] = (row["error"], row["norm"])
        return index

    def has(self, axis: str) -> bool:
        """Whether an axis was run."""
        return any(panel.axis == axis for panel in self.panels)

    def curve(self, regime: Regime, axis: str, zeta: float, setting: str, method: str) -> NDArray[np.float64]:
        """l2 errors and the norms of the true coefficients along an axis, each of shape (values, repetitions)."""
        pairs = []
        for _, data, epsilon in regime.points(axis, zeta):
            how = (None, "non-private") if method in (LASSO, CUT) else (epsilon, setting)
            by_repeat = self._errors[data.n, data.d, data.sparsity, data.zeta, *how, method]
            pairs.append([by_repeat[repeat] for repeat in range(self.size.repeats)])
        return np.moveaxis(np.array(pairs), -1, 0)

    def relative(self, regime: Regime, axis: str, zeta: float, setting: str, method: str) -> NDArray[np.float64]:
        """Errors in units of the zero estimate's error, of shape (values, repetitions)."""
        error, norm = self.curve(regime, axis, zeta, setting, method)
        result: NDArray[np.float64] = error / norm
        return result

    def runs(self, table: TableDesign, setting: str, method: str) -> list[Row]:
        """The rows of a method on a table."""
        return [
            row
            for row in self.table_rows
            if (row["table"], row["setting"], row["method"]) == (table.name, setting, method)
        ]

    def mae_by_split(self, table: TableDesign, setting: str, method: str) -> NDArray[np.float64]:
        """Mean absolute test error of each split, over the draws of the noise."""
        by_split: dict[int, list[float]] = {}
        for row in self.runs(table, setting, method):
            by_split.setdefault(row["split"], []).append(row["mae"])
        return np.array([np.mean(by_split[split]) for split in sorted(by_split)])


def mean_interval(values: ArrayLike, confidence: float = 0.95, overlap: float = 0.0) -> tuple[float, float, float]:
    """Mean and Student-t interval; `overlap` is added to 1 / repetitions in the variance of the mean.

    Repeated splits of one table share records, so their errors are correlated; Nadeau and Bengio (2003) correct the
    variance by the ratio of test to training records.
    """
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if values.size < 2:
        return mean, -np.inf, np.inf
    spread = float(np.sqrt(values.var(ddof=1) * (1 / values.size + overlap)))
    half = spread * float(stats.t.ppf(0.5 + confidence / 2, values.size - 1))
    return mean, mean - half, mean + half


SPLIT_OVERLAP = TEST_SHARE / (1 - TEST_SHARE)


ROWS = (
    ("non-private", MEDIAN),
    ("non-private", CUT),
    *((setting, method) for setting in SETTINGS for method in PRIVATE),
    (OURS, OURS),
)


@dataclass(frozen=True)
class TableRow:
    """One method on one table."""

    setting: str
    method: str
    mae: float
    low: float
    high: float
    share: float
    size: float
    runs: int
    genes: tuple[tuple[str, float], ...]  # (gene, share of the runs that selected it), the five most frequent
    beyond_chance: int


def summarize(results: Results, table: TableDesign) -> list[TableRow]:
    """A row for each method."""
    median = results.mae_by_split(table, "non-private", MEDIAN).mean()
    return [_row(results, table, setting, method, median) for setting, method in ROWS]


def _row(results: Results, table: TableDesign, setting: str, method: str, median: float) -> TableRow:
    mae, low, high = mean_interval(results.mae_by_split(table, setting, method), overlap=SPLIT_OVERLAP)
    runs = results.runs(table, setting, method)
    counts = Counter(gene for row in runs for gene in row["picked"])
    # By count, then by name: no tie depends on the order of the rows.
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    genes = tuple((gene, count / len(runs)) for gene, count in ranked[:MODEL_SIZE])
    size = float(np.mean([len(row["picked"]) for row in runs]))
    threshold = count_beyond_chance(len(runs), runs[0]["d"])
    beyond = sum(count >= threshold for count in counts.values())
    return TableRow(setting, method, mae, low, high, float(mae / median), size, len(runs), genes, beyond)


def count_beyond_chance(runs: int, d: int, alpha: float = 0.05) -> int:
    """The least count that is significant at family-wise level `alpha`, if selection is at random (Bonferroni)."""
    counts = np.arange(runs + 2)
    return int(counts[d * stats.binom.sf(counts - 1, runs, MODEL_SIZE / d) <= alpha][0])
