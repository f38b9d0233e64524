"""The two tables: test error, model size, and how often each gene was selected, against selection at random."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpsparse.paper.designs import CUT, OURS, PRIVATE, SETTINGS, TableDesign
from dpsparse.paper.experiments import MEDIAN, MODEL_SIZE
from dpsparse.paper.results import SPLIT_OVERLAP, Results, mean_interval

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
