"""The report of a fit: a summary that anybody understands, the effects, and the details folded away.

It reads releases and public facts only. A `LinearModel`, what a model file holds, is its one input: no table of
records, no path, no clock, no setting of the machine. So it reveals nothing that the model does not, and the same model
gives the same bytes.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpsparse.html import Page, folded, number, table, tag
from dpsparse.model import remarks
from dpsparse.model.effect import INTERVAL_HEADING, Verdict, effects_table, interval_text, p_text
from dpsparse.model.meaning import estimand_of, of_target
from dpsparse.model.plots import scaled_effects
from dpsparse.model.ratios import label_of_yes, odds_of_yes, ratio_interval_text, ratio_text, ratio_words
from dpsparse.model.two_part_words import level_words, part_tables
from dpsparse.model.unnamed_values import shown_effects
from dpsparse.report import details
from dpsparse.report.charts import Row, forest
from dpsparse.report.forecast_section import forecast, sparsity_of
from dpsparse.report.report_summary import as_sentence, in_short
from dpsparse.report.rerun import citation, rerun

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

PREVIEW = (
    "PREVIEW on made-up data. Nothing in your table was read: of your table only public numbers and the names of "
    "columns are here, and every effect is invented. "
)


def fit_page(model: "LinearModel") -> str:
    """The report of a released model, as HTML.

    Nothing but the model is read. The page is self-contained: no script, and nothing is fetched.
    """
    return _page(model, "What", "")


def marked_page(model: "LinearModel") -> str:
    """The report of a model that was fitted on made-up records, marked as such."""
    return _page(model, "PREVIEW: what", PREVIEW)


def _page(model: "LinearModel", first: str, mark: str) -> str:
    private = "with a guarantee of privacy" if model.privacy.private else "WITHOUT any guarantee of privacy"
    words = ratio_words(model)
    what = "regression" if words is None else words.model
    what = what if model.parts is None else "two-part regression"
    page = Page(
        f"{first} explains {model.target}",
        f"{mark}A {what} on {model.privacy.size}, {private}. Fitted by {model.estimator}.",
    )
    many = model.privacy.guarantee.protects.many
    page.section("In short", *in_short(model))
    page.section("Effects", *effects(model))
    page.section(
        "Details",
        "For those who check, repeat or cite the fit.",
        folded("Units", *details.units(model)),
        folded(f"{many.capitalize()} held out", *details.held_out(model)),
        folded("Categories and gaps", *details.categories_and_gaps(model)),
        folded("Date and budget", *details.circumstances(model)),
        folded("The guarantee in full, and every release", *details.releases(model.privacy)),
        folded(f"What another epsilon would buy, and more {many}", *forecast(model)),
        folded("Run it again", *rerun(model, sparsity_of(model))),
        folded("Cite", *citation()),
    )
    return page.html()


NO_INTERVALS = {False: "The method gives no intervals.", True: "No interval is reliable."}


def effects(model: "LinearModel") -> Iterator[str]:
    """The table of all effects and their picture."""
    words = ratio_words(model)
    if model.classes is not None:
        yield (
            f"By what {odds_of_yes(model)} are multiplied per one-unit increase of each feature, the other selected "
            "ones held fixed. Above 1 it is likelier, below 1 less likely."
        )
    elif words is not None:
        yield (
            f"By what {words.of} is multiplied per one-unit increase of each feature, the other selected ones held "
            "fixed. Above 1 it is larger, below 1 smaller."
        )
    else:
        what = of_target(model)
        yield f"How {what} changes per one-unit increase of each feature, the other selected ones held fixed."
    yield effects_table(shown_effects(model), model.intercept, words)
    if model.parts is not None:
        yield from map(as_sentence, filter(None, (estimand_of(model), level_words(model))))
        yield from part_tables(model)
    if text := remarks.p_values(model):
        yield as_sentence(f"p-values: {text}")
    if not model.explains:
        yield tag("p", as_sentence(remarks.nothing_explained(model)), class_="bad")
    elif model.effects:
        yield from _forest(model)


def _forest(model: "LinearModel") -> Iterator[str]:
    """The effects on one axis, as `scaled_effects` has them."""
    ratios = ratio_words(model)
    shown, shown_interval = (ratio_text, ratio_interval_text) if ratios else (number, interval_text)
    rows, cells = [], []
    for scaled in scaled_effects(model):
        effect, scale, value, interval = scaled.effect, scaled.scale, scaled.value, scaled.interval
        note = "" if effect.verdict is Verdict.NOT_AVAILABLE else effect.verdict.value
        rows.append(Row(effect.feature, value, interval, effect.verdict is Verdict.SIGNIFICANT, note))
        cells.append([effect.feature, number(scale), shown(value), shown_interval(interval), p_text(effect.p_value)])
    floor = model.noise_floor
    target = model.target if model.classes is None else f"{model.target} being {label_of_yes(model)}"
    what = f"Effects on {target}" if ratios is None else f"{ratios.heading} of {target}"
    step = "each for a step as large as the feature's scale, of categories and yes/no from 0 to 1"
    words = f"{what}, {step}{', on a logarithmic axis' if ratios else ''}"
    band = ""
    if floor is not None:
        reach = f"from {ratio_text(-floor)} to {ratio_text(floor)}" if ratios else f"to ±{number(floor)}"
        band = f" The noise floor, the hatched band around {1 if ratios else 0}, reaches {reach}."
    drawn = f"{words}.{band} The same numbers are in the table below."
    picture = forest(rows, floor, drawn, ratios=ratios is not None)
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
    one = "effect of one scale" if ratios is None else f"{ratios.ratio} of one scale"
    headings = ["feature", "one scale", one, INTERVAL_HEADING, "p-value"]
    caption = "Effects of one scale" if ratios is None else f"{ratios.heading} of one scale"
    yield folded("The numbers of the picture", table(caption, headings, cells, numbers=(1, 2, 3, 4)))
