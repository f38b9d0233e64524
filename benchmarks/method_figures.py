"""Pictures for docs/method.md: how the budget is divided, and the scores that a private selection is made from.

Run ``python benchmarks/method_figures.py``; it writes docs/img/budget.png and docs/img/picks.png.
"""

from pathlib import Path

import click
import matplotlib
import numpy as np
from tasks import TASKS

from dpsparse.algorithms.pursuit.decisions import clip_bound
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.data.as_table import as_table
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer, weight_levels
from dpsparse.privacy.guarantee import Guarantee

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parents[1] / "docs" / "img"


PARTS = {
    "response, intercept, range": (
        *("response size", "response centre", "response scale", "gain", "calibration"),
        *("response range", "residual median", "median line"),
    ),
    "selections": ("splits", "level", "pick"),
    "units": ("unit share", "unit size", "unit spread", "unit tail", "unit centre", "unit mean"),
    "slopes, residual scales, fractions": (
        *("slope", "second slope", "residual scale", "fraction at gradient", "fraction at final gradient"),
        "fraction",
    ),
    "early gradients": ("gradient", "descent"),
    "second moments, J and M": ("Gram row", "Gram matrix", "Jacobian", "score variance"),
    "final gradients": ("final gradient",),
}


def shares(task, units_known):
    """The share of the budget of each part."""
    schedule = schedule_for(Guarantee(task.epsilon, task.delta), task.n, task.d, task.sparsity, units_known=units_known)
    by_part = {part: 0.0 for part in PARTS}
    for slot in schedule.slots():
        by_part[next(part for part, groups in PARTS.items() if slot.group in groups)] += slot.rho
    return np.array(list(by_part.values())) / sum(by_part.values())


def draw_budget(folder):
    """Stacked shares of the budget for the benchmark tasks, with known and with unknown units."""
    shades = plt.cm.Blues(np.linspace(0.15, 0.95, len(PARTS)))
    figure, both = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for axes, known in zip(both, ("all", "none"), strict=True):
        for place, task in enumerate(TASKS.values()):
            bottom = 0.0
            for name, share, color in zip(PARTS, shares(task, known), shades, strict=True):
                label = name if place == 0 else None
                axes.bar(place, share, bottom=bottom, color=color, edgecolor="white", label=label)
                bottom += share
        axes.set_xticks(range(len(TASKS)), TASKS)
        axes.set_xlabel("task")
        axes.set_title("known units" if known == "all" else "unknown units")
    both[0].set_ylabel("share of the budget (rho)")
    both[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, reverse=True)
    figure.savefig(folder / "budget.png", dpi=120)
    plt.close(figure)


def draw_picks(folder):
    """Scores of the first selection against its privacy noise."""
    task = TASKS["B"]
    X, y, coef = task.make(0)
    plan = schedule_for(Guarantee(task.epsilon, task.delta), task.n, task.d, task.sparsity)
    rows = as_table(X).rows(y)
    weights = weight_levels(y - np.median(y), 0.7 * np.median(np.abs(y - np.median(y))))
    scores = np.abs(rows.weighted_sums(Quantizer(clip_bound(plan.facts)), weights)) / (FEATURE_LEVELS * WEIGHT_LEVELS)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.hist(scores[coef == 0], bins=np.geomspace(1, 300, 40), color="0.75", label="995 features without effect")
    for k, j in enumerate(np.flatnonzero(coef)[np.argsort(scores[coef != 0])]):
        axes.axvline(scores[j], ymax=0.6, color="tab:blue", label="the five true features" if k == 0 else None)
        place = (scores[j], 0.62 + 0.06 * (k % 2))
        axes.annotate(f"{coef[j]:+.2f}", place, xycoords=("data", "axes fraction"), ha="center", color="tab:blue")
    prices = [slot.rho for slot in plan.slots() if slot.group == "pick"]
    for pick, style in ((0, ":"), (-1, "--")):
        reach = 4 / np.sqrt(8 * prices[pick]) * np.log(task.d)
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
    figure.savefig(folder / "picks.png", dpi=120)
    plt.close(figure)


@click.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=IMAGES, help="Folder of both.")
def main(out):
    """Draw both."""
    out.mkdir(parents=True, exist_ok=True)
    draw_budget(out)
    draw_picks(out)


if __name__ == "__main__":
    main()
