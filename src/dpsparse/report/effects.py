"""The effects of a report: the table, and a picture on one axis."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpsparse.html import folded, number, table, tag
from dpsparse.model import remarks
from dpsparse.model.effect import INTERVAL_HEADING, Verdict, effects_table, interval_text, p_text
from dpsparse.model.meaning import of_target
from dpsparse.report.charts import Row, forest
from dpsparse.report.report_summary import as_sentence

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

NO_INTERVALS = {False: "The method gives no intervals.", True: "No interval is reliable."}


def effects(model: "LinearModel") -> Iterator[str]:
    """The table of all effects and their picture."""
    yield (f"How {of_target(model)} changes per one-unit increase of each feature, the other selected ones held fixed.")
    yield effects_table(model.effects, model.intercept)
    if text := remarks.p_values(model):
        yield as_sentence(f"p-values: {text}")
    if not model.explains:
        yield tag("p", as_sentence(remarks.nothing_explained(model)), class_="bad")
    elif model.effects:
        yield from _forest(model)


def _forest(model: "LinearModel") -> Iterator[str]:
    """The effects on one axis: each for a step of its feature's scale, learned or public; 1 where there is none."""
    public = {feature.name: feature.scale for feature in model.features}
    scales = {effect.feature: effect.scale or public[effect.feature] or 1.0 for effect in model.effects}
    rows, cells = [], []
    for effect in model.effects:
        scale = scales[effect.feature]
        value = effect.value * scale
        ends = effect.interval
        interval = None if ends is None else (ends[0] * scale, ends[1] * scale)
        note = "" if effect.verdict is Verdict.NOT_AVAILABLE else effect.verdict.value
        rows.append(Row(effect.feature, value, interval, effect.verdict is Verdict.SIGNIFICANT, note))
        cells.append([effect.feature, number(scale), number(value), interval_text(interval), p_text(effect.p_value)])
    floor = model.noise_floor
    words = f"Effects on {model.target}, each for a step as large as the feature's scale"
    band = "" if floor is None else f" The noise floor, the hatched band around 0, reaches to ±{number(floor)}."
    drawn = f"{words}.{band} The same numbers are in the table below."
    picture = forest(rows, floor, drawn)
    if picture is None:
        yield "The effects are too large or too small to draw."
    else:
        key = (
            "Full dots and lines are significant; hollow dots with dashed lines are not. Lines are "
            f"{INTERVAL_HEADING}s; a dot without a line has no error that can be trusted."
            if any(row.interval for row in rows)
            else NO_INTERVALS[any(effect.verdict is Verdict.NOT_TRUSTED for effect in model.effects)]
        )
        typical = (
            ""
            if floor is None
            else " It is the smallest significant effect of a feature of typical error; each is judged by its own."
        )
        yield tag("figure", [picture, tag("figcaption", f"{words}. {key}{band}{typical}")])
    headings = ["feature", "one scale", "effect of one scale", INTERVAL_HEADING, "p-value"]
    yield folded("The numbers of the picture", table("Effects of one scale", headings, cells, numbers=(1, 2, 3, 4)))
