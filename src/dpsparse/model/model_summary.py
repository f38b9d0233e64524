"""The summary of a released model: its guarantee and its effects, as text and for notebooks."""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dpsparse.html import Html, tag
from dpsparse.model.effect import INTERVAL_HEADING, Effect, Verdict, effects_table, p_text, unit_rows, units_table
from dpsparse.model.evaluation_result import in_words, score_lines, scores_table
from dpsparse.model.privacy_html import record_html
from dpsparse.model.ratios import ratio_interval_text, ratio_text, ratio_words
from dpsparse.model.remarks import NOT_SIGNIFICANT, NOT_TRUSTED, remarks
from dpsparse.model.two_part_words import part_rows, part_tables
from dpsparse.model.unnamed_values import shown_effects

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

# Letters of the column of names, at least and at most.
_LEAST_NAME, _LONGEST_NAME = 24, 36


def summary_text(model: "LinearModel") -> str:
    """The guarantee and the effects as text."""
    lines = [
        textwrap.fill(model.privacy.statement(), 100),
        "",
        *_effect_lines(shown_effects(model), model.intercept),
    ]
    words = ratio_words(model)
    if words is not None and model.effects and model.explains:
        ratios = (f"{each.feature} {ratio_text(each.value)}{_ratios(each)}" for each in shown_effects(model))
        lines.append(textwrap.fill(f"{words.heading}, per one-unit increase: {'; '.join(ratios)}.", 100))
    for title, effects, intercept, part_words in part_rows(model):
        lines += [
            "",
            f"{title}{'' if part_words is None else f' ({part_words.log})'}:",
            *_effect_lines(effects, intercept),
        ]
    marks = {NOT_SIGNIFICANT: "* ", NOT_TRUSTED: "** "}
    for heading, text in remarks(model):
        lines.append(textwrap.fill(f"{marks.get(heading, '')}{heading}: {text}.", 100))
    if model.evaluation is not None:
        lines += ["", *score_lines(model.evaluation), textwrap.fill(in_words(model.evaluation), 100)]
    # Where nothing was learned they are noise.
    if model.response_scale_known and (units := unit_rows(model.effects)):
        lines += ["", "Units learned, released within the guarantee:"]
        rows = [("feature", "centre", "scale"), *units]
        lines += _beside((name, f"{center:>12} {scale:>12}") for name, center, scale in rows)
    return "\n".join(lines)


def _effect_lines(effects: tuple[Effect, ...], intercept: float) -> list[str]:
    heading = f"{'for prediction':>14} {'effect':>12} {'std. error':>12} {'p-value':>8}   {INTERVAL_HEADING}"
    rows = [(effect.feature, _numbers(effect)) for effect in effects]
    return _beside([("feature", heading), *rows, ("(intercept)", f"{intercept + 0.0:>14.5g}")])


def _beside(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Names with numbers beside them, in one column; a very long name stands above its numbers."""
    rows = list(rows)
    width = max(_LEAST_NAME, *(len(name) for name, _ in rows if len(name) <= _LONGEST_NAME))
    lines = []
    for name, numbers in rows:
        if len(name) > width:
            lines.append(name)
            name = ""
        lines.append(f"{name:<{width}} {numbers}")
    return lines


def _ratios(effect: Effect) -> str:
    return "" if effect.interval is None else f" {ratio_interval_text(effect.interval)}"


def _numbers(effect: Effect) -> str:
    text = f"{effect.coef + 0.0:>14.5g} {effect.value + 0.0:>12.5g}"
    if effect.interval is None:
        return f"{text} {'-':>12} {'-':>8}   -{' **' if effect.verdict is Verdict.NOT_TRUSTED else ''}"
    low, high = effect.interval
    mark = "" if effect.verdict is Verdict.SIGNIFICANT else " *"
    return f"{text} {effect.standard_error:>12.3g} {p_text(effect.p_value):>8}   [{low:.5g}, {high:.5g}]{mark}"


def summary_html(model: "LinearModel") -> Html:
    """The effects and the guarantee, for notebooks."""
    heading = tag("p", tag("strong", model.estimator))
    effects = effects_table(shown_effects(model), model.intercept, ratio_words(model))
    notes: list[str] = [*part_tables(model)]
    notes += [tag("p", [tag("strong", f"{title}: "), f"{text}."]) for title, text in remarks(model)]
    if model.evaluation is not None:
        notes += [scores_table(model.evaluation), in_words(model.evaluation)]
    units = units_table(model.effects)
    return tag("div", [heading, effects, *notes, *([] if units is None else [units]), record_html(model.privacy)])
