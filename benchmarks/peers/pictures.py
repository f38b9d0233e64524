"""The pictures of docs/comparison.md."""

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt

from peers.ranking import FIRST, TIED, UNDECIDED, settings_of
from peers.settings import DESIGNS
from peers.settings.tables import REAL
from peers.tally import OURS, RIVALS, UNITS, estimand_for, references

BLUE, GREY = "#3b6ea5", "#b8b8b8"
VERDICT_COLORS = {FIRST: BLUE, TIED: "#9dbbdb", UNDECIDED: GREY}
LOST_COLOR = "#c0504d"


def draw_all(rows, frame, folder):
    """Draw both pictures."""
    folder.mkdir(exist_ok=True)
    draw_tables(rows, folder / "peers_tables.png")
    draw_gaps(frame, folder / "peers_gaps.png")


def draw_tables(rows, path):
    """Squared error over the constant's by epsilon, a panel a table: ours in blue, every rival in grey."""
    designs = [design for design in REAL if (rows["design"] == design.name).any()]
    if not designs:
        return
    columns = min(5, len(designs))
    lines = -(-len(designs) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(3 * columns, 2.6 * lines), layout="constrained", squeeze=False)
    for axis in axes.flat[len(designs) :]:
        axis.set_axis_off()
    for axis, design in zip(axes.flat, designs, strict=False):
        settings = sorted(settings_of(rows, design, "squared"), key=lambda setting: setting.epsilon)
        known, unknown = (OURS[estimand_for("squared"), units] for units in UNITS)
        for peer in (*RIVALS, unknown, known):
            points = [(s.epsilon, s.typical(peer)) for s in settings if peer in s.values]
            if points:
                style = {known: {"color": BLUE, "lw": 2}, unknown: {"color": BLUE, "lw": 2, "ls": "--"}}
                label = peer if peer in style else "a rival"
                axis.plot(*zip(*points, strict=True), **style.get(peer, {"color": GREY, "lw": 1}), label=label)
        open_fits = references(rows, design, "squared")
        if open_fits:
            axis.axhline(min(open_fits.values()), color="black", lw=1, ls=":", label="best without privacy")
        axis.axhline(1, color="black", lw=0.5)
        axis.set(xscale="log", ylim=(0, 1.6), title=f"{design.name} {design.n:,} x {design.d}")
        axis.set_xticks([s.epsilon for s in settings], [f"{s.epsilon:g}" for s in settings])
        axis.minorticks_off()
        axis.title.set_fontsize(9)
    handles = dict(zip(*reversed(axes.flat[0].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, frameon=False)
    figure.supxlabel("epsilon")
    figure.supylabel("squared error over the constant's")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def draw_gaps(frame, path):
    """Our error over the best rival's in every setting with an error, with intervals, sorted within its ground."""
    part = frame[frame["metric"].isin(["l2", "squared"]) & frame["gap"].notna()]
    grounds = [name for name in dict.fromkeys(d.setting for d in DESIGNS.values()) if (part["setting"] == name).any()]
    if not grounds:
        return
    figure, axes = plt.subplots(len(UNITS), len(grounds), figsize=(3.6 * len(grounds), 6), layout="constrained",
                                squeeze=False, sharey=True)  # fmt: skip
    for line, units in zip(axes, UNITS, strict=True):
        for axis, ground in zip(line, grounds, strict=True):
            chosen = part[(part["setting"] == ground) & (part["units"] == units)].sort_values("gap")
            for k, row in enumerate(chosen.itertuples()):
                color = VERDICT_COLORS.get(row.verdict, LOST_COLOR)
                axis.plot([k, k], np.clip([row.low, row.high], 1e-3, 1e2), color=color, lw=1)
                axis.plot(k, row.gap, "o", ms=3, color=color)
            axis.axhline(1, color="black", lw=0.7)
            axis.set(yscale="log", ylim=(0.02, 5), xticks=[], title=f"{ground}: {units}")
            axis.title.set_fontsize(9)
    figure.supylabel("our error over the best rival's (below 1: ours is better)")
    figure.savefig(path, dpi=100)
    plt.close(figure)
