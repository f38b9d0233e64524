"""Pictures for docs/method.md: how the budget is divided, and the scores that a private selection is made from.

Run ``python benchmarks/method_figures.py``; it writes docs/img/budget.png and docs/img/picks.png.
"""

from pathlib import Path

import matplotlib
import numpy as np
from tasks import TASKS

from dpsparse.algorithms.pursuit.schedule import FINAL_GRADIENTS, schedule_for
from dpsparse.data.as_table import as_table
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer, weight_levels
from dpsparse.privacy.guarantee import Guarantee

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parents[1] / "docs" / "img"


def draw_budget():
    """Stacked shares of the budget for the benchmark tasks."""
    names = ["medians", "picks", "early gradients", "Gram rows and matrix", "fractions", "final gradients"]
    shades = plt.cm.Blues(np.linspace(0.15, 0.95, len(names)))
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for place, task in enumerate(TASKS.values()):
        plan = schedule_for(Guarantee(task.epsilon, task.delta), task.n, task.d, task.sparsity)
        picks = len(plan.picks)
        parts = np.array([
            plan.center + plan.scale + plan.intercept, sum(plan.picks), sum(plan.early_gradients),
            (picks - 1) * plan.gram_row + plan.gram, (picks + FINAL_GRADIENTS) * plan.fraction,
            FINAL_GRADIENTS * plan.final_gradient,
        ])  # fmt: skip
        bottom = 0.0
        for name, share, color in zip(names, parts / parts.sum(), shades, strict=True):
            axes.bar(
                place, share, bottom=bottom, color=color, edgecolor="white", label=name if place == 0 else None
            )  # fmt: skip
            bottom += share
    axes.set_xticks(range(len(TASKS)), TASKS)
    axes.set_xlabel("task")
    axes.set_ylabel("share of the budget (rho)")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, reverse=True)
    figure.savefig(IMAGES / "budget.png", dpi=120)
    plt.close(figure)


def draw_picks():
    """Scores of the first selection against its privacy noise."""
    task = TASKS["B"]
    X, y, coef = task.make(0)
    plan = schedule_for(Guarantee(task.epsilon, task.delta), task.n, task.d, task.sparsity)
    rows = as_table(X).rows(y)
    weights = weight_levels(y - np.median(y), 0.7 * np.median(np.abs(y - np.median(y))))
    scores = np.abs(rows.weighted_sums(Quantizer(plan.clip_bound), weights)) / (FEATURE_LEVELS * WEIGHT_LEVELS)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.hist(scores[coef == 0], bins=np.geomspace(1, 300, 40), color="0.75", label="995 features without effect")
    for k, j in enumerate(np.flatnonzero(coef)[np.argsort(scores[coef != 0])]):
        axes.axvline(scores[j], ymax=0.6, color="tab:blue", label="the five true features" if k == 0 else None)
        place = (scores[j], 0.62 + 0.06 * (k % 2))
        axes.annotate(f"{coef[j]:+.2f}", place, xycoords=("data", "axes fraction"), ha="center", color="tab:blue")
    for pick, style in ((0, ":"), (-1, "--")):
        reach = 4 / np.sqrt(8 * plan.picks[pick]) * np.log(task.d)
        axes.axvline(
            reach,
            ymax=0.6,
            color="black",
            ls=style,
            label=f"noise of the {'last' if pick else 'first'} pick reaches here",
        )
    axes.set_xscale("log")
    axes.set_xlabel("score of the first pick (records)")
    axes.set_ylabel("features")
    axes.set_ylim(0, 110)
    axes.legend(loc="upper center", ncols=2, frameon=False)
    figure.savefig(IMAGES / "picks.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    draw_budget()
    draw_picks()
