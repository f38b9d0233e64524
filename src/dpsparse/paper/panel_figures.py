"""The panels as pictures: three settings side by side, two sizes of data.

Lines are means over the repetitions, bands reach from their 10th to their 90th percentile.
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.paper.designs import AXIS_LABELS, CUT, EPSILON, LASSO, OURS, SETTINGS, Panel, Regime

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpsparse.paper.results import Results

# Markers and shades of grey distinguish the methods without colour.
STYLES: dict[str, dict[str, Any]] = {
    "DP-IHT-H": {"marker": "^", "color": "#c44e1c"},
    "DP-IHT-L": {"marker": "s", "color": "#e0a030"},
    "DP-SLR": {"marker": "v", "color": "#7a7a7a"},
    LASSO: {"marker": "x", "color": "#404040"},
    CUT: {"marker": "+", "color": "#000000"},
    OURS: {"marker": "o", "color": "#1f5fa8"},
}
_LINES: dict[float, Any] = {1.0: "-", 0.5: "--"}
_SETTINGS = (*SETTINGS, OURS)


def draw_panel(results: "Results", panel: Panel) -> "Figure":
    """One panel of the paper in two regimes (rows) and three settings (columns); returns the figure."""
    figure, grid = _new(len(results.size.regimes), len(_SETTINGS), (11.5, 6.6))
    for regime, row in zip(results.size.regimes, grid, strict=True):
        for setting, axes in zip(_SETTINGS, row, strict=True):
            methods = (OURS, LASSO, CUT) if setting == OURS else _compared(panel)
            _curves(axes, results, regime, panel.axis, panel.zetas, [(setting, method) for method in methods])
            axes.set_title(f"{setting}: {_fixed(regime, panel.axis)}", fontsize=9.5)
        row[0].set_ylabel("mean l2 error of the coefficients")
    for axes in grid[-1]:
        axes.set_xlabel(AXIS_LABELS[panel.axis])
    _legend(figure, grid, panel.zetas)
    figure.suptitle(f"Figure {panel.figure}{panel.letter}: {', '.join(_compared(panel))} over {_name(panel.axis)}")
    return figure


def draw_headline(results: "Results") -> "Figure":
    """DP-IHT-H in both settings, DP-IHT-L corrected, ours and the non-private fit over n, at zeta = 1."""
    figure, grid = _new(1, len(results.size.regimes), (10, 4.4))
    shown = [("as stated", "DP-IHT-H"), ("corrected", "DP-IHT-H"), ("corrected", "DP-IHT-L"), (OURS, OURS), (OURS, CUT)]
    for regime, axes in zip(results.size.regimes, grid[0], strict=True):
        _curves(axes, results, regime, "n", (1.0,), shown)
        axes.set_title(_fixed(regime, "n"), fontsize=10)
        axes.set_xlabel(AXIS_LABELS["n"])
    grid[0][0].set_ylabel("mean l2 error of the coefficients")
    _legend(figure, grid, (1.0,))
    return figure


def as_bytes(figure: "Figure", kind: str) -> bytes:
    """A picture as PNG or SVG, the same bytes in every run."""
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    with plt.rc_context({"svg.hashsalt": "dpsparse"}):
        figure.savefig(buffer, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()


def close(figure: "Figure") -> None:
    """Free a figure's memory."""
    import matplotlib.pyplot as plt

    plt.close(figure)


def _new(rows: int, columns: int, size: tuple[float, float]) -> "tuple[Figure, NDArray[Any]]":
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=size, sharey=True, squeeze=False, layout="constrained")


def _compared(panel: Panel) -> tuple[str, ...]:
    return (*panel.methods, LASSO) if panel.figure == 1 else panel.methods


def _name(axis: str) -> str:
    return AXIS_LABELS[axis].split(", ")[-1]


def _fixed(regime: Regime, axis: str) -> str:
    """The parameters that do not vary along an axis."""
    base = regime.base
    parts = {
        "n": f"n = {base.n:,}", "d": f"d = {base.d:,}", "sparsity": f"s* = {base.sparsity}",
        "epsilon": f"epsilon = {EPSILON:g}",
    }  # fmt: skip
    return ", ".join(text for name, text in parts.items() if name != axis)


def _curves(
    axes: "Axes",
    results: "Results",
    regime: Regime,
    axis: str,
    zetas: Sequence[float],
    shown: Sequence[tuple[str, str]],
) -> None:
    values = regime.grids[axis]
    several = len({setting for setting, _ in shown} - {OURS}) > 1
    for zeta in zetas:
        norm = results.curve(regime, axis, zeta, OURS, OURS)[1].mean(axis=1)
        axes.plot(values, norm, ":", color="black", linewidth=1.2, label="all zeros")
        for setting, method in shown:
            error, _ = results.curve(regime, axis, zeta, setting, method)
            low, high = np.quantile(error, [0.1, 0.9], axis=1)
            faded = several and setting == "as stated"
            label = f"{method}, {setting}" if several and setting in SETTINGS else method
            style = {**STYLES[method], "markerfacecolor": "none"} if faded else STYLES[method]
            axes.plot(values, error.mean(axis=1), _LINES[zeta], linewidth=1.4, markersize=6, label=label, **style)
            axes.fill_between(values, low, high, color=style["color"], alpha=0.18, linewidth=0)
    axes.set_yscale("log")
    if axis != "sparsity":
        axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:,g}" for value in values], fontsize=8.5)
    axes.minorticks_off()
    axes.grid(axis="y", color="0.9", zorder=0)


def _legend(figure: "Figure", grid: NDArray[Any], zetas: Sequence[float]) -> None:
    from matplotlib.lines import Line2D

    handles: dict[str, Line2D] = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            style = {"marker": handle.get_marker(), "markerfacecolor": handle.get_markerfacecolor()}
            dots: Any = ":" if label == "all zeros" else "-"
            handles.setdefault(label, Line2D([], [], color=handle.get_color(), linestyle=dots, label=label, **style))
    if len(zetas) > 1:
        for zeta in zetas:
            label = f"zeta = {zeta:g}"
            handles[label] = Line2D([], [], color="0.3", linestyle=_LINES[zeta], label=label)
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=min(len(handles), 8), frameon=False)
