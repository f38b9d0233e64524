"""Pictures as inline SVG: sharp in print, in the page's own colours in light and dark, distinguishable without colour.

Places along the width are percentages, so that a picture fits a phone and a desk while its text keeps its size.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from dpsparse.html import Html, number, shortened, tag
from dpsparse.model.plots import powers, ratio_ticks, ticks

# Beyond these sizes (of numbers that no fit in sensible units has) places would overflow or vanish.
_SMALLEST, _LARGEST = 1e-280, 1e280
_ROW, _LONGEST_NAME = 46, 30
# Numbers of an axis from here on are written in powers of ten.
_IN_POWERS = 1e6
# How much of the width of a picture a letter takes on a phone, in percent.
_LETTER = 2.4
# Logarithms further apart than this have no ratio that can be written.
_LARGEST_LOG = math.log(_LARGEST) / 2


@dataclass(frozen=True)
class Row:
    """A line of a forest plot."""

    name: str
    value: float
    interval: tuple[float, float] | None
    significant: bool
    note: str  # the text at the end of the line


def forest(rows: Sequence[Row], floor: float | None, description: str, *, ratios: bool = False) -> Html | None:
    """A forest plot around 0, or None where the numbers are too large or small to draw.

    Rows go from top to bottom. Significant ones are filled and solid, the others hollow and dashed. `floor` is half the
    width of the hatched band around 0. The description is read to those who cannot see the picture. Where the numbers
    are logarithms of `ratios`, the axis is marked with these, and its middle is a ratio of 1.
    """
    numbers = [0.0, *(row.value for row in rows), *(end for row in rows for end in row.interval or ())]
    numbers += [] if floor is None else [-floor, floor]
    low, high = min(numbers), max(numbers)
    if not all(map(math.isfinite, numbers)) or not _SMALLEST < high - low < (_LARGEST_LOG if ratios else _LARGEST):
        return None
    at = _percent(low, high, 3, 97)
    head = 0 if floor is None else 24
    height = _ROW * len(rows) + head + 8
    pieces = []
    if floor is not None:
        left, right = at(-floor), at(floor)
        pieces.append(_HATCH)
        width = f"{right - left:.3f}%"
        pieces.append(tag("rect", x=f"{left:.3f}%", y=head, width=width, height=height - head, fill="url(#hatch)"))
        pieces += [_vertical(x, head - 6, height, class_="floor") for x in (left, right)]
        reach = f"{number(math.exp(-floor))} to {number(math.exp(floor))}" if ratios else f"±{number(floor)}"
        label = f"noise floor, {reach}"
        pieces.append(_text(left, 13, label) if at(0) < 50 else _text(right, 13, label, anchor="end"))
    pieces.append(_vertical(at(0), head, height))
    for place, row in enumerate(rows):
        pieces += _line(row, at, _ROW * place + head + 16)
    for tick, label in ratio_ticks(low, high) if ratios else _labelled(ticks(low, high)):
        pieces.append(_vertical(at(tick), height, height + 5))
        pieces.append(_text(at(tick), height + 20, label, anchor="middle"))
    pieces.append(tag("line", x1="0%", x2="100%", y1=height, y2=height))
    return _svg(height + 26, description, pieces)


def _line(row: Row, at: Callable[[float], float], top: int) -> Iterator[Html]:
    """Name and note, and beneath them the effect and its interval."""
    kind = "significant" if row.significant else "vague"
    yield _text(0, top, shortened(row.name, _LONGEST_NAME), class_="name")
    yield _text(100, top, row.note, anchor="end")
    middle = top + 16
    if row.interval is not None:
        left, right = map(at, row.interval)
        yield tag("line", x1=f"{left:.3f}%", x2=f"{right:.3f}%", y1=middle, y2=middle, class_=kind)
        yield from (_vertical(end, middle - 5, middle + 5, class_="significant") for end in (left, right))
    yield tag("circle", cx=f"{at(row.value):.3f}%", cy=middle, r=4.5, class_=kind)


OVER_EPSILON = "epsilon: more privacy on the left"


def curves(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    mark: tuple[float, str],
    description: str,
    over: str = OVER_EPSILON,
) -> Html | None:
    """Curves over logarithmic axes, or None where the numbers are too large or small to draw.

    Places and heights are above 0; what is infinite is left out; the lines are solid, then dashed. `mark` is a place
    marked by a vertical line, and its name; `over` says what the places are. The description is read to those who
    cannot see the picture.
    """
    heights = [height for line in lines.values() for height in line if height < math.inf]
    if not heights or not all(_SMALLEST < value < _LARGEST for value in (*x, *heights)):
        return None
    top, bottom = 54, 300
    across = _percent(math.log(x[0]), math.log(x[-1]), 13, 97)
    down = _percent(math.log(max(heights)), math.log(min(heights)), top + 6, bottom - 6)
    pieces = []
    for place, (name, line) in enumerate(lines.items()):
        style = ("solid", "dashed")[place % 2]
        y = 14 + 20 * place
        pieces.append(tag("line", x1="13%", x2="20%", y1=y - 4, y2=y - 4, class_=style))
        pieces.append(_text(22, y, name))
        drawn = [(a, b) for a, b in zip(x, line, strict=True) if b < math.inf]
        points = " ".join(f"{across(math.log(a)):.3f},{down(math.log(b)):.2f}" for a, b in drawn)
        curve = tag("polyline", points=points, class_=style)
        # Stretched to the width of the picture; the line keeps its own width.
        box = {"width": "100%", "height": bottom, "viewBox": f"0 0 100 {bottom}", "preserveAspectRatio": "none"}
        pieces.append(tag("svg", curve, **box))
    for tick in powers(min(heights), max(heights)):
        height = down(math.log(tick))
        pieces.append(tag("line", x1="13%", x2="97%", y1=f"{height:.2f}", y2=f"{height:.2f}", class_="grid"))
        pieces.append(_text(12, height + 4, f"{tick:g}", anchor="end"))
    for at, label in _apart([(across(math.log(tick)), _plain(tick)) for tick in powers(x[0], x[-1])]):
        pieces.append(_vertical(at, bottom, bottom + 5))
        pieces.append(_text(at, bottom + 20, label, anchor="middle"))
    pieces.append(tag("line", x1="13%", x2="97%", y1=bottom, y2=bottom))
    marked, name = mark
    here = across(math.log(marked))
    pieces.append(_vertical(here, top - 6, bottom, class_="mark"))
    pieces.append(_text(here + (1 if here < 60 else -1), top + 8, name, anchor="start" if here < 60 else "end"))
    pieces.append(_text(55, bottom + 40, over, anchor="middle"))
    return _svg(bottom + 48, description, pieces)


def calibration(points: Sequence[tuple[float, float, float, float]], description: str) -> Html:
    """Shares with intervals over predicted probabilities: each point is (predicted, share, low, high), all in [0, 1].

    The line is where they are equal. The description is read to those who cannot see the picture.
    """
    top, bottom = 24, 300
    across, down = _percent(0.0, 1.0, 13, 97), _percent(1.0, 0.0, top, bottom)
    pieces = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        height = down(tick)
        pieces.append(tag("line", x1="13%", x2="97%", y1=f"{height:.2f}", y2=f"{height:.2f}", class_="grid"))
        pieces.append(_text(12, height + 4, f"{tick:g}", anchor="end"))
        pieces.append(_text(across(tick), bottom + 20, f"{tick:g}", anchor="middle"))
    equal = f"{across(0):.3f}%", f"{across(1):.3f}%"
    pieces.append(tag("line", x1=equal[0], x2=equal[1], y1=down(0), y2=down(1), class_="dashed"))
    for predicted, share, low, high in points:
        x = f"{across(predicted):.3f}%"
        pieces.append(tag("line", x1=x, x2=x, y1=f"{down(low):.2f}", y2=f"{down(high):.2f}", class_="significant"))
        pieces.append(tag("circle", cx=x, cy=f"{down(share):.2f}", r=4.5, class_="significant"))
    pieces.append(_text(13, 13, "share of yes"))
    pieces.append(_text(55, bottom + 40, "predicted probability of yes", anchor="middle"))
    return _svg(bottom + 48, description, pieces)


def steps(changes: Sequence[tuple[date, float]], limit: tuple[float, str], description: str) -> Html:
    """A quantity over days, which changes on some and stays between them, below a limit with a name.

    There are two days at least. The description is read to those who cannot see the picture.
    """
    top, bottom, highest = 30, 240, max(limit[0], *(value for _, value in changes))
    days = [day.toordinal() for day, _ in changes]
    across, down = _percent(days[0], days[-1], 13, 95), _percent(highest, 0.0, top, bottom)
    pieces = []
    for tick in ticks(0.0, highest):
        height = down(tick)
        pieces.append(tag("line", x1="13%", x2="97%", y1=f"{height:.2f}", y2=f"{height:.2f}", class_="grid"))
        pieces.append(_text(12, height + 4, number(tick), anchor="end"))
    for k, (_, value) in enumerate(changes):
        here, height, end = across(days[k]), down(value), 97.0 if k + 1 == len(days) else across(days[k + 1])
        before = down(changes[k - 1][1] if k else 0.0)
        level = f"{height:.2f}"
        pieces.append(tag("line", x1=f"{here:.3f}%", x2=f"{end:.3f}%", y1=level, y2=level, class_="solid"))
        pieces.append(_vertical(here, round(before), round(height), class_="solid"))
        pieces.append(tag("circle", cx=f"{here:.3f}%", cy=level, r=3.5, class_="significant"))
    height = down(limit[0])
    pieces.append(tag("line", x1="13%", x2="97%", y1=f"{height:.2f}", y2=f"{height:.2f}", class_="dashed"))
    pieces.append(_text(13, height - 8, limit[1]))
    pieces.append(tag("line", x1="13%", x2="97%", y1=bottom, y2=bottom))
    for place, (day, _), anchor in ((13, changes[0], "start"), (97, changes[-1], "end")):
        pieces.append(_text(place, bottom + 20, day.isoformat(), anchor=anchor))
    return _svg(bottom + 28, description, pieces)


_HATCH = tag(
    "defs",
    tag(
        "pattern",
        tag("line", x1=0, y1=0, x2=0, y2=6, class_="hatch"),
        id="hatch",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    ),
)


def _svg(height: int, description: str, pieces: Sequence[str]) -> Html:
    return tag("svg", Html("".join(pieces)), class_="chart", role="img", aria_label=description, height=height)


def _vertical(x: float, top: int, bottom: int, **attributes: str) -> Html:
    return tag("line", x1=f"{x:.3f}%", x2=f"{x:.3f}%", y1=top, y2=bottom, **attributes)


def _text(x: float, y: float, content: str, anchor: str = "start", **attributes: str) -> Html:
    return tag("text", content, x=f"{x:.3f}%", y=f"{y:.1f}", text_anchor=anchor, **attributes)


def _percent(low: float, high: float, first: int, last: int) -> Callable[[float], float]:
    """The linear map that takes low and high to first and last."""
    span = high - low or 1.0
    return lambda value: first + (last - first) * ((value - low) / span)


def _labelled(places: Sequence[float]) -> list[tuple[float, str]]:
    return [(tick, number(tick) if abs(tick) < _IN_POWERS else f"{tick:g}") for tick in places]


def _apart(labels: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """The labels of an axis, from left to right, that neither overlap nor stick out, also on a phone."""
    end = 0.0
    for place, label in labels:
        half = _LETTER * len(label) / 2
        if place - half >= end and place + half <= 100:
            end = place + half + _LETTER
            yield place, label


def _plain(tick: float) -> str:
    return f"{tick:,g}" if tick < _IN_POWERS else f"{tick:g}"
