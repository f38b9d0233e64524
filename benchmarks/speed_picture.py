"""The picture of `speed.py`'s results. Run by itself it draws benchmarks/results/speed.json."""

import json
from pathlib import Path

import click
import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
OURS, OTHER, MISSED = "#3b6ea5", "#b8b8b8", "#c0504d"


def draw(results, path):
    """Passes, fits, scaling, and other libraries; a section that has not been run leaves its panel empty."""
    figure, axes = plt.subplots(2, 2, figsize=(14, 10), constrained_layout=True)
    records = {section: part["records"] for section, part in results.items()}
    passes = [each for each in records.get("kernels", []) if each["at_most"]]
    _bars(axes[0, 0], passes, "One pass: residuals, clip, round, multiply, add", "in plain reads of X (black: target)")
    large = [*records.get("fits", []), *records.get("formats", []), *records.get("dask", [])]
    large = [_whole(each) for each in large if each["at_most"] and each["value"] is not None and each["unit"] != "GB"]
    _bars(axes[0, 1], large, "A whole private fit, five features", "in what each bar names (black: target)", units=True)
    _scaling(axes[1, 0], [each for each in records.get("scaling", []) if "sizes" in each])
    _peers(axes[1, 1], records.get("peers", []))
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _whole(row):
    """A fit beside its target, both with the fixed seconds that the target allows: quick fits take less than those."""
    if "seconds_over_floor" not in row:
        return row
    left_out = row["seconds_over_floor"] - row["value"]
    name = row["name"].replace(" less 0.1 s", "")
    return row | {"name": name, "value": row["seconds_over_floor"], "at_most": row["at_most"] + left_out}


def _bars(axes, rows, title, label, units=False):
    most = max((max(row["value"], row["at_most"]) for row in rows), default=1.0)
    for k, row in enumerate(rows):
        axes.barh(k, max(row["value"], 0.0), color=OURS if row["met"] else MISSED)
        axes.plot(2 * [row["at_most"]], [k - 0.42, k + 0.42], color="black", lw=1.5)
        text = f"{row['value']:.2f}" + (f" {row['unit']}" if units else "") + f"  ({row['seconds']:.2g} s)"
        axes.text(max(row["value"], row["at_most"]) + 0.02 * most, k, text, va="center", fontsize=8)
    names = [row["name"].removeprefix("gradient pass, ") for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, most * (1.6 if units else 1.3))
    _finish(axes, title, label)


def _scaling(axes, rows):
    for row, marker in zip(rows, "osv", strict=False):
        seconds = row["seconds"]
        side = row["name"].split(",")[0].removeprefix("exponent of ")
        growth = [size / row["sizes"][0] for size in row["sizes"]]
        label = f"{side} = {row['sizes'][0]:,} to {row['sizes'][-1]:,}: power {row['value']:.2f}"
        axes.plot(growth, [each / seconds[0] for each in seconds], marker=marker, label=label)
    axes.plot([1, 64], [1, 64], color="black", lw=1, ls=":", label="power 1")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("times as long (powers: beyond the smallest table)", fontsize=9)
    axes.legend(fontsize=9, frameon=False)
    _finish(axes, "How the time of a fit grows", "times as large")


def _peers(axes, rows):
    bars = []
    for row in rows:
        name = row["name"].split("against ")[1].split(",")[0]
        if "their_seconds" in row:
            seconds = row["their_seconds"]
            bars.append((seconds, name, f"{seconds:.2g} s, l2 error {row['theirs_error']:.2g}"))
        elif "their_seconds_above" in row:
            seconds = row["their_seconds_above"]
            bars.append((seconds, name, f"given up after {seconds} s"))
    if bars:
        ours = float(np.median([row["seconds"] for row in rows if "seconds" in row]))
        error = float(np.median([row["ours_error"] for row in rows if "ours_error" in row]))
        bars.append((ours, "dpsparse, private, epsilon = 1", f"{ours:.2g} s, l2 error {error:.2g}"))
        axes.set_xscale("log")
        axes.set_xlim(ours / 3, 60 * max(bars)[0])
    bars.sort()
    for k, (seconds, name, text) in enumerate(bars):
        axes.barh(k, seconds, color=OURS if name.startswith("dpsparse") else OTHER)
        axes.text(seconds * 1.1, k, text, va="center", fontsize=9)
    axes.set_yticks(range(len(bars)), [name for _, name, _ in bars], fontsize=9)
    axes.invert_yaxis()
    _finish(axes, "Other libraries at their defaults, 20,000 x 5,000", "seconds of a fit")


def _finish(axes, title, label):
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(label, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


@click.command()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=ROOT / "docs" / "img" / "speed.png")
def main(out):
    """Draw what is committed."""
    draw(json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text()), out)


if __name__ == "__main__":
    main()
