"""How claims become verdicts.

A claim consists of comparisons. A comparison has one number for each repetition; the claim says that their mean lies
above (or within) a margin. The mean gets a Student-t interval, and all intervals of a claim hold together with 95 %
confidence (Bonferroni). The claim holds if every interval lies on its side of the margin, fails if one lies wholly on
the other side, and can't be decided otherwise. Errors are in units of the zero estimate's error (the norm of the true
coefficients), absolute errors on real data in units of the median predictor's. The margin is 2 % of these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpsparse.paper.designs import CUT, SETTINGS, Regime, TableDesign
from dpsparse.paper.experiments import MEDIAN
from dpsparse.paper.results import SPLIT_OVERLAP, Results, mean_interval

MARGIN = 0.02
CONFIDENCE = 0.95
HOLDS, FAILS, OPEN = "holds", "fails", "can't be decided"
BOTH_TAILS = (0.5, 1.0)


@dataclass(frozen=True)
class Comparison:
    """Numbers whose mean, the claim says, is above `margin`, or within plus or minus `margin`."""

    label: str
    values: NDArray[np.float64]
    margin: float = MARGIN
    within: bool = False
    interval: Callable[[NDArray[np.float64], float], tuple[float, float, float]] = mean_interval

    def judge(self, confidence: float) -> tuple[str, float, float, float]:
        """Verdict, mean and interval."""
        mean, low, high = self.interval(self.values, confidence)
        if self.within:
            good, bad = -self.margin < low and high < self.margin, high < -self.margin or low > self.margin
        else:
            good, bad = low > self.margin, high < self.margin
        return HOLDS if good else FAILS if bad else OPEN, mean, low, high


@dataclass(frozen=True)
class PanelView:
    """The panels of one regime in one setting."""

    results: Results
    regime: Regime
    setting: str

    @property
    def name(self) -> str:
        """Heading of its column of verdicts."""
        base = self.regime.base
        return f"{self.setting}, n = {base.n:,}, d = {base.d:,}"

    def covers(self, claim: "Claim") -> bool:
        """Whether the parts that the claim needs were run."""
        return all(axis in self.regime.grids and self.results.has(axis) for axis in claim.needs)

    def share(self, axis: str, zeta: float, method: str) -> NDArray[np.float64]:
        """Errors in units of the zero estimate's, of shape (values, repetitions)."""
        return self.results.relative(self.regime, axis, zeta, self.setting, method)

    def gaps(self, axis: str, zetas: Sequence[float], worse: str, better: str) -> list[Comparison]:
        """How much larger the error of `worse` is at each value."""
        return [
            Comparison(f"{axis} = {value:g}, zeta = {zeta:g}", gap)
            for zeta in zetas
            for value, gap in zip(
                self.regime.grids[axis], self.share(axis, zeta, worse) - self.share(axis, zeta, better), strict=True
            )
        ]

    def growth(self, axis: str, method: str) -> NDArray[np.float64]:
        """How much the error grows over the axis at zeta = 1: the slope on its logarithm, in each repetition."""
        log_value = np.log(self.regime.grids[axis])
        weights = log_value - log_value.mean()
        slope = weights @ self.share(axis, 1.0, method) / (weights @ weights)
        result: NDArray[np.float64] = slope * (log_value[-1] - log_value[0])
        return result

    def mean_gap(self, axes: Sequence[str], zeta: float, worse: str, better: str) -> NDArray[np.float64]:
        """The gap averaged over the values of the axes, in each repetition."""
        gaps = [self.share(axis, zeta, worse) - self.share(axis, zeta, better) for axis in axes]
        result: NDArray[np.float64] = np.concatenate(gaps).mean(axis=0)
        return result

    def says_nothing(self, claim: "Claim") -> bool:
        """Whether no method of the claim beats the zero estimate anywhere."""
        best = [
            self.share(axis, zeta, method).mean(axis=1).min()
            for axis in claim.needs
            for zeta in (BOTH_TAILS if axis in ("n", "d") else (1.0,))
            for method in claim.methods
        ]
        return bool(min(best) > 1 - MARGIN)


@dataclass(frozen=True)
class TableView:
    """One real table in one setting."""

    results: Results
    table: TableDesign
    setting: str

    @property
    def name(self) -> str:
        """Heading of its column of verdicts."""
        return f"{self.setting}, {self.table.title}"

    def covers(self, claim: "Claim") -> bool:
        """Whether the claim is about this table."""
        return self.table.table in claim.needs

    def share(self, method: str) -> NDArray[np.float64]:
        """Absolute test errors of the splits, in units of the median predictor's mean."""
        open_method = method in (CUT, MEDIAN)
        own = self.results.mae_by_split(self.table, "non-private" if open_method else self.setting, method)
        result: NDArray[np.float64] = own / self.results.mae_by_split(self.table, "non-private", MEDIAN).mean()
        return result

    def gap(self, worse: str, better: str, factor: float = 1.0) -> Comparison:
        """How much larger the error of `worse`, times `factor`, is."""
        label = f"{worse} beside {better}"
        return Comparison(label, factor * self.share(worse) - self.share(better), interval=over_splits)

    def selected(self, method: str, gene: str) -> NDArray[np.float64]:
        """Whether each run selected a gene."""
        return np.array([gene in row["picked"] for row in self.results.runs(self.table, self.setting, method)], float)

    def overlap(self, method: str) -> NDArray[np.float64]:
        """How many of adaHuber's genes the runs of each split select, on average."""
        reference = {row["split"]: set(row["picked"]) for row in self.results.runs(self.table, "non-private", CUT)}
        by_split: dict[int, list[int]] = {split: [] for split in reference}
        for row in self.results.runs(self.table, self.setting, method):
            by_split[row["split"]].append(len(reference[row["split"]] & set(row["picked"])))
        return np.array([np.mean(counts) for counts in by_split.values()])

    def says_nothing(self, claim: "Claim") -> bool:
        """Whether no method of the claim beats the median predictor."""
        return bool(min(self.share(method).mean() for method in claim.methods) > 1 - MARGIN)


View = PanelView | TableView


def over_splits(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """The interval of a mean over splits of one table."""
    return mean_interval(values, confidence, SPLIT_OVERLAP)


def binomial_interval(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Clopper and Pearson's interval for a frequency."""
    n, k, tail = values.size, values.sum(), (1 - confidence) / 2
    low = stats.beta.ppf(tail, k, n - k + 1) if k else 0.0
    high = stats.beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0
    return float(k / n), float(low), float(high)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how its comparisons come from a view of the results."""

    source: str
    quote: str
    rule: str
    needs: tuple[str, ...]
    methods: tuple[str, ...]
    # Of the views that cover the claim: panels where it needs an axis, tables where it needs one.
    compare: Callable[[Any], list[Comparison]]


@dataclass(frozen=True)
class Verdict:
    """A claim judged in one view."""

    number: int
    claim: Claim
    view: str
    verdict: str
    deciding: str
    mean: float
    low: float
    high: float
    comparisons: int
    says_nothing: bool


def judge(claims: Sequence[Claim], views: Sequence[View]) -> list[Verdict]:
    """Every claim in every view that covers it."""
    return [
        _judge_one(number, claim, view)
        for number, claim in enumerate(claims, 1)
        for view in views
        if view.covers(claim)
    ]


def _judge_one(number: int, claim: Claim, view: View) -> Verdict:
    comparisons = claim.compare(view)
    confidence = 1 - (1 - CONFIDENCE) / len(comparisons)
    judged = [(*comparison.judge(confidence), comparison) for comparison in comparisons]
    verdict = next((word for word in (FAILS, OPEN) if any(word == one[0] for one in judged)), HOLDS)
    # The comparison that decides: of those with the verdict, the one furthest on the wrong side.
    decisive = min(
        (one for one in judged if one[0] == verdict),
        key=lambda one: -abs(one[1]) if one[-1].within else one[1] - one[-1].margin,
    )
    _, mean, low, high, comparison = decisive
    return Verdict(
        number, claim, view.name, verdict, comparison.label, mean, low, high, len(judged), view.says_nothing(claim)
    )


def all_views(results: Results) -> list[View]:
    """Both regimes and all real tables, in both settings of the paper's methods."""
    panels = [PanelView(results, regime, setting) for regime in results.size.regimes for setting in SETTINGS]
    return panels + [TableView(results, table, setting) for table in results.tables for setting in SETTINGS]
