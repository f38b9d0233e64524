"""Pictures of released numbers by matplotlib, as Axes: effects, and calibration."""

import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dpsparse.html import Html, figure, number, shortened
from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.io.cells.grammar import Kind
from dpsparse.model.effect import Effect, Verdict
from dpsparse.model.ratios import odds_ratio
from dpsparse.model.unnamed_values import not_shown, not_shown_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpsparse.algorithms.evaluation_outcomes import Decile
    from dpsparse.model.released import LinearModel


# Letters of a line of a label, and lines of a label: longer names lose their middle.
_LABEL_WIDTH, _LABEL_LINES = 34, 3
# Inches of a line of a label, between two labels, above and below all of them, and of the width of a picture.
_LINE, _BETWEEN, _AROUND, _WIDTH = 0.16, 0.16, 1.0, 7.0
# Letters of a line below an axis of that width.
_BELOW = 64
# Dots per inch of a picture on a screen, and in print.
_SCREEN, _PRINT = 72, 200
_MARKS = {Verdict.SIGNIFICANT: "●", Verdict.NOT_SIGNIFICANT: "○", Verdict.NOT_TRUSTED: "x"}
# Numbers beyond these have no place on an axis.
_LARGEST, _LARGEST_LOG = 1e100, 200.0


@dataclass(frozen=True)
class ScaledEffect:
    """An effect for a step as large as its feature's scale, so that effects of different units share an axis."""

    effect: Effect
    scale: float
    value: float
    interval: tuple[float, float] | None


def scaled_effects(model: "LinearModel", per: Literal["scale", "unit"] = "scale") -> list[ScaledEffect]:
    """The effects, each for a step of its feature's scale, learned or public; of 1 where there is none, or per unit.

    Categories, gaps and yes/no columns have a step from 0 to 1: theirs can be compared with each other. A number times
    a category has the step of the number, where that is selected.
    """
    scaled = []
    of_numbers = {each.column: effect.scale or each.scale for effect, each in model._selected if each.level is None}
    for effect, feature in model._selected:
        is_whole = per == "unit" or feature.is_zero_one or feature.kind == Kind.boolean
        scale = 1.0 if is_whole else of_numbers.get(feature.column) or effect.scale or feature.scale or 1.0
        ends = effect.interval
        interval = None if ends is None else (ends[0] * scale, ends[1] * scale)
        scaled.append(ScaledEffect(effect, scale, effect.value * scale, interval))
    return scaled


def plot_effects(model: "LinearModel", axes: "Axes | None" = None, per: Literal["scale", "unit"] = "scale") -> "Axes":
    """A forest plot: full dots are significant, hollow ones are not, crosses have no interval."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    if per not in ("scale", "unit"):
        raise ValueError(f"per={per!r} must be 'scale' or 'unit'")
    rows, left_out = _drawn(model, per), not_shown([model])
    labels = [_label(row) for row in rows]
    heights = _heights(labels)
    if axes is None:
        axes = plt.subplots(figsize=_size(heights), layout="constrained")[1]
    shown = odds_ratio if model.ratio else float
    # Each label is in the middle of as many lines as it takes.
    places = [sum(heights[:k]) + height / 2 for k, height in enumerate(heights)]
    axes.axvline(shown(0.0), color="tab:gray", linewidth=1)
    for row, place in zip(rows, places, strict=True):
        significant = row.effect.verdict is Verdict.SIGNIFICANT
        if row.interval is not None:
            ends = [shown(end) for end in row.interval]
            axes.plot(ends, [place, place], "-" if significant else "--", color="black", linewidth=1.5)
        marker = "x" if row.interval is None else "o"
        axes.plot(shown(row.value), place, marker, color="black", markerfacecolor="black" if significant else "white")
    # A name is text, whatever signs of formulas it has.
    axes.set_yticks(places, labels, fontsize="small", parse_math=False)
    axes.set_ylim(sum(heights) + _BETWEEN / 2, -_BETWEEN / 2)
    if model.ratio and rows:
        axes.set_xscale("log")
        round_ones = ratio_ticks(*map(math.log, axes.get_xlim()))
        axes.set_xticks([odds_ratio(place) for place, _ in round_ones], [text for _, text in round_ones])
        axes.xaxis.set_minor_locator(NullLocator())
    of = f"{model.ratio}, {model.target}" if model.ratio else f"effect on {model.target}"
    step = "for a step of one scale" if per == "scale" else "per one-unit increase"
    below = textwrap.fill(f"{of}, {step}, with {SHOWN_PERCENT} intervals", _BELOW)
    axes.set_xlabel(
        "\n".join([below, *_key(rows), *([not_shown_words(left_out)] if left_out else [])]), parse_math=False
    )
    return axes


def _drawn(model: "LinearModel", per: Literal["scale", "unit"] = "scale") -> list[ScaledEffect]:
    left_out = not_shown([model])
    return [row for row in scaled_effects(model, per) if row.effect.feature not in left_out]


def _key(rows: Sequence[ScaledEffect]) -> list[str]:
    """What the marks mean, where there are several."""
    verdicts = {row.effect.verdict for row in rows}
    words = [f"{mark} {verdict.value}" for verdict, mark in _MARKS.items() if verdict in verdicts]
    return ["   ".join(words)] if len(words) > 1 else []


def _heights(labels: Sequence[str]) -> list[float]:
    return [_LINE * (label.count("\n") + 1) + _BETWEEN for label in labels]


def _size(heights: Sequence[float]) -> tuple[float, float]:
    return _WIDTH, _AROUND + max(1.0, sum(heights))


def _label(row: ScaledEffect) -> str:
    """The name of a feature and its scale, on as many lines as it needs, and no more than a few."""
    step = "" if row.scale == 1 else f" (per {number(row.scale)})"
    for letters in range(_LABEL_WIDTH * _LABEL_LINES, 0, -1):
        lines = textwrap.wrap(shortened(row.effect.feature, letters) + step, _LABEL_WIDTH)
        if len(lines) <= _LABEL_LINES:
            return "\n".join(lines)
    raise AssertionError  # one letter and its scale fit on a line


def can_be_drawn(model: "LinearModel") -> bool:
    """Whether there are effects to draw, and none is too large for an axis."""
    rows = _drawn(model)
    numbers = [row.value for row in rows] + [end for row in rows for end in row.interval or ()]
    largest = _LARGEST_LOG if model.ratio else _LARGEST
    return model.explains and bool(numbers) and max(map(abs, numbers)) < largest


def effects_picture(model: "LinearModel", kind: Literal["png", "pdf"], dots: int = _PRINT) -> bytes:
    """The forest plot as a file; `dots` are those of an inch. Nothing of the machine's clock is in it."""
    from matplotlib.figure import Figure

    # By itself, not by pyplot: a notebook would show it a second time, and pages draw in several threads.
    drawn = Figure(figsize=_size(_heights([*map(_label, _drawn(model))])), layout="constrained")
    plot_effects(model, drawn.subplots())
    return figure_bytes(drawn, kind, dots)


def figure_bytes(drawn: "Figure", kind: Literal["png", "pdf"], dots: int = _PRINT) -> bytes:
    """A figure as a file, the same whenever it is made."""
    stream = io.BytesIO()
    drawn.savefig(stream, format=kind, dpi=dots, metadata={"CreationDate": None} if kind == "pdf" else None)
    return stream.getvalue()


def effects_figure(model: "LinearModel") -> Html | None:
    """The forest plot as an element of a page; None where there is nothing to draw, or numbers are too large for it."""
    if not can_be_drawn(model):
        return None
    words = f"The effects on {model.target}, for a step of one scale of each feature"
    key = "Full dots are significant, hollow ones are not, crosses have no interval."
    png = effects_picture(model, "png", _SCREEN)
    return figure(png, f"{words}. The table has them per unit.", f"{words}. {key}")


def plot_calibration(calibration: "Sequence[Decile]", target: str, axes: "Axes | None" = None) -> "Axes":
    """The share of yes against the predicted probability, in tenths of the records held out."""
    import matplotlib.pyplot as plt

    if axes is None:
        axes = plt.subplots(figsize=(5, 5), layout="constrained")[1]
    axes.plot([0, 1], [0, 1], color="tab:gray", linewidth=1, label="right on average")
    predicted, observed = [each.predicted for each in calibration], [each.observed for each in calibration]
    axes.vlines(predicted, [each.low for each in observed], [each.high for each in observed], color="black")
    axes.plot(predicted, [each.value for each in observed], "o", color="black", label="records held out")
    axes.set_xlabel(textwrap.fill(f"predicted probability that {target} is yes", 50), parse_math=False)
    axes.set_ylabel("share of yes")
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.legend()
    return axes


def ticks(low: float, high: float) -> list[float]:
    """Three to seven round numbers."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 2.5, 5, 10, 20) if factor * power >= rough)
    return [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


def ratio_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Where round ratios are on a logarithmic axis, and how they are written.

    Examples
    --------
    >>> [label for _, label in ratio_ticks(-1.0, 2.0)], [label for _, label in ratio_ticks(-0.05, 0.11)]
    (['0.5', '1', '2', '5'], ['1', '1.05', '1.1'])
    """
    least, most = math.exp(low), math.exp(high)
    round_ones = powers(least, most)
    if len(round_ones) < 3:
        round_ones = [tick for tick in ticks(least, most) if tick > 0]
    return [(math.log(tick), f"{tick:g}") for tick in round_ones]


def powers(low: float, high: float) -> list[float]:
    """Powers of ten, or 1, 2 and 5 times them where there are few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = max(1, len(exponents) // 8)
    factors = (1, 2, 5) if len(exponents) <= 4 else (1,)
    round_ones = [float(f"{factor}e{exponent}") for exponent in exponents[::every] for factor in factors]
    return [tick for tick in round_ones if low <= tick <= high]
