"""The picture of `gpu.py`'s results. Run by itself it draws benchmarks/results/gpu.json."""

import json
from pathlib import Path

import click
import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
# Of the fits of an array, the one whose parts are drawn.
SHOWN = "mean, given units"
COLORS = {"float32": "#3b6ea5", "bfloat16": "#7a9e5c", "int8": "#c07b3f"}


def draw(results, path):
    """Passes as shares of the floor; fits by their parts, with their targets."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.2), constrained_layout=True)
    _passes(left, results["passes"])
    _fits(right, results["fits"])
    title = f"{results['card']}: passes over X, and fits, which read it six times"
    figure.suptitle(title, fontsize=12)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _label(row):
    return f"{row['dtype']}, {row['rows']:,} x {row['columns']:,}, by {row['stored_by']}"


def _passes(axes, rows):
    for k, row in enumerate(rows):
        share, target = row["share_of_floor"], 0.7 if row["dtype"] == "int8" else 0.85
        axes.barh(k, share, color=COLORS[row["dtype"]])
        text = f"{row['pass_ms']:.1f} ms, {row['terabytes_per_second']:.2f} TB/s"
        axes.text(0.02, k, text, va="center", color="white", fontsize=8)
        axes.text(max(share, target) + 0.01, k, f"{share:.0%}", va="center", fontsize=8)
        axes.plot(2 * [target], [k - 0.4, k + 0.4], color="black", lw=1.5)
    axes.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.1)
    axes.set_xlabel("speed as a share of reading the array once (black: the target)")
    axes.set_title("One pass: clip, round, multiply, add exactly", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _fits(axes, rows):
    fits = [row["fits"][SHOWN] for row in rows]
    names = list(fits[0]["parts_ms_when_each_is_waited_for"])
    shades = plt.get_cmap("viridis")([0.15 + 0.8 * k / len(names) for k in range(len(names))])
    for k, (row, fit) in enumerate(zip(rows, fits, strict=True)):
        at = 0.0
        for name, shade in zip(names, shades, strict=True):
            width = fit["parts_ms_when_each_is_waited_for"].get(name, 0.0)
            axes.barh(k, width, left=at, color=shade, label=name if k == 0 else None)
            at += width
        axes.text(max(at, row["allowed_ms"]) + 2, k, f"fit {fit['fit_ms']:.0f} ms", va="center", fontsize=8)
        axes.plot(2 * [row["allowed_ms"]], [k - 0.4, k + 0.4], color="black", lw=1.5)
    axes.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.17)
    axes.set_xlabel("ms, each part waited for (black: 6.5 reads of X plus 20 ms)")
    axes.set_title("A whole private fit, five features", fontsize=10)
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.28, -0.12), ncols=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


@click.command()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=ROOT / "docs" / "img" / "gpu.png")
def main(out):
    """Draw what is committed."""
    draw(json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text()), out)


if __name__ == "__main__":
    main()
