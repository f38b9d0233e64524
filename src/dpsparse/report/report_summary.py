"""The first part of a report: what a fit found and what that means, for readers who know no statistics."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dpsparse.families.estimands import LOG_MEAN, LOG_ODDS, MEAN, TYPICAL
from dpsparse.html import Html, number, tag
from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.io.table_features import Feature
from dpsparse.model import remarks
from dpsparse.model.doubts import doubt_of
from dpsparse.model.effect import Effect, Verdict, p_words
from dpsparse.model.evaluation_result import in_sentences
from dpsparse.model.meaning import of_target, what_counts
from dpsparse.model.ratios import hardly_any, label_of_yes, ratio_words, share_of_yes
from dpsparse.model.row_numbers import row_numbers
from dpsparse.model.two_part_words import titles
from dpsparse.model.unread_responses import readable, unread
from dpsparse.model.variables import baseline_of, compared_with, step_of
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.report.ratio_sentence import ratio_sentence
from dpsparse.schema import listed, quoted

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

# Said where no effect is significant: of all of them, or of those that could be tested.
_NONE = {False: "No effect is significant.", True: "No effect that could be tested is significant."}
_NO_MEAN_OF_PARTS = "No effect on the overall mean is significant."
# By estimand, what a sentence to publish calls the method and the associations.
_PUBLISHED = {
    MEAN.name: ("sparse", "of means"),
    TYPICAL.name: ("robust sparse", "in typical cases"),
    LOG_ODDS.name: ("sparse logistic", "of odds"),
    LOG_MEAN.name: ("sparse Poisson", "of means"),
}
_IN_TWO_PARTS = "sparse two-part", "of overall means, those without any included"
_UNKNOWN = (
    "The response's scale could not be learned, so nothing can be said about how near predictions are. They use the "
    "numbers in the last column of the table all the same: do not rely on them."
)


def in_short(model: "LinearModel") -> Iterator[str]:
    """Records, guarantee, significant features, quality of the predictions and the meaning of an effect."""
    yield from _titled(f"The {model.privacy.guarantee.protects.many}", _records(model))
    yield from _titled("How people are protected", _guarantee(model.privacy))
    yield from _titled("What matters", verdicts(model))
    yield from _titled("How well it predicts", _predictions(model))
    if model.effects and model.explains:
        yield from _titled("What an effect means", _meaning(model))


def _titled(title: str, content: Iterable[str]) -> Iterator[str]:
    yield tag("h3", title)
    yield from content


def _records(model: "LinearModel") -> Iterator[str]:
    count = len({feature.column for feature in model.features} - {model.exposure})
    n_selected = len(model.columns_selected)
    columns = "1 column" if count == 1 else f"{count:,} columns"
    selected = "none" if not n_selected else f"{n_selected:,}"
    known = f"Of {columns} that could explain {model.target} the fit selected {selected}"
    if text := hardly_any(model):
        yield tag("p", as_sentence(text), class_="bad")
    n_features = model.n_features
    parts = "" if n_features == count else f" With categories and gaps, the columns make {n_features:,} features."
    left_out = f" Left out: {remarks.left_out(model)}." if remarks.left_out(model) else ""
    held_out = "" if model.scores is None else f", of which {model.scores.n_records:,} were held out of the fit"
    yield f"{model.privacy.size}{held_out}. {known}.{left_out}{parts}"
    if model.responses is not None:
        short = model.responses.is_short
        yield tag("p", as_sentence(unread(model) if short else readable(model)), **({"class_": "bad"} if short else {}))
    elif share := share_of_yes(model):
        yield f"Of the responses {share}."


def _guarantee(record: PrivacyRecord) -> Iterator[str]:
    if not record.private:
        yield tag("p", record.statement(), class_="guarantee bad")
        yield f"{record.plain_words()} Do not publish this page if the data are real."
        return
    yield tag("p", record.plain_words(), class_="guarantee")
    if record.guarantee.rows is not None:
        yield f"It is {record.guarantee.protects.promise(record.n_records)}."
    yield (
        f"In the field's words: ({number(record.epsilon)}, {record.delta:.2g})-differential privacy. Epsilons of 0.1 "
        "to 1 are strong guarantees, and up to 3 are common. Everything on this page comes from noisy releases "
        "within the guarantee and from public numbers: whoever has the page learns no more about anybody than the "
        "guarantee allows, and may pass it on."
    )


def verdicts(model: "LinearModel") -> Iterator[str]:
    """What matters: the effects that are significant, those that are not, and those without a verdict."""
    groups = {verdict: [effect for effect in model.effects if effect.verdict is verdict] for verdict in Verdict}
    significant, not_significant = groups[Verdict.SIGNIFICANT], groups[Verdict.NOT_SIGNIFICANT]
    count = f"{model.n_features:,}"
    if model.nearly_exact:
        yield f"{as_sentence(remarks.nothing_learned(model))} Is {model.target} computed from the features?"
    elif not model.response_scale_known:
        why = remarks.nothing_learned(model)
        said = as_sentence(why) if remarks.shows_guesses(model) else f"Nothing was learned: {why}."
        yield tag(
            "p",
            f"{said} So no effect could be tested. The page 'Read a result' of the documentation has a remedy for each "
            "cause.",
            class_="bad",
        )
        return
    if not model.explains:
        yield "The private estimates show no predictive value, so no effect could be tested."
        return
    if not model.effects:
        yield "No effect was kept."
    if significant:
        yield "These effects are significant:"
        yield tag("ul", [tag("li", text) for text in _significant(model)])
        yield (
            f"If no feature had an effect, only about one fit in twenty would show even one this large (the 5 % "
            f"family-wise level, Bonferroni over {count} features)."
        )
    elif not_significant:
        yield _none(model, bool(groups[Verdict.NOT_TRUSTED]))
    if not_significant:
        yield "These are not significant:"
        yield _names(not_significant)
        yield (
            f"Among {count} features without effect, one this large is common. They may matter or not: this fit cannot "
            "decide, and the size shown is likely too large."
        )
    if groups[Verdict.NOT_TRUSTED]:
        yield "The standard errors of these are not reliable, so they have neither an interval nor a verdict:"
        reasons: dict[str, list[str]] = {}
        for each in groups[Verdict.NOT_TRUSTED]:
            doubt = doubt_of(each, model.within, model.privacy.guarantee.protects.said)
            reasons.setdefault(str(doubt), []).append(each.feature)
        yield tag("ul", [tag("li", f"{', '.join(names)}: {reason}.") for reason, names in reasons.items()])
        yield "Do not publish their sizes as findings."
    yield from _of_parts(model)
    if text := row_numbers(model):
        yield f"Row numbers: {text}."
    if groups[Verdict.NOT_AVAILABLE]:
        yield f"{model.estimator} gives no errors, so nothing can be said about what is significant."


def _none(model: "LinearModel", untested: bool) -> str:
    return _NONE[untested] if model.parts is None else _NO_MEAN_OF_PARTS


def _of_parts(model: "LinearModel") -> Iterator[str]:
    """The significant effects of the parts: one on whether there is any, or on how much, may have none on the mean."""
    if model.parts is None:
        return
    for title, part in zip(titles(model), (model.parts.whether, model.parts.how_much), strict=True):
        if told := _significant(part, of=f"the odds that {model.target} is above 0"):
            yield f"These effects on {title[0].lower()}{title[1:]} are significant:"
            yield tag("ul", [tag("li", each) for each in told])


def _names(effects: Sequence[Effect]) -> Html:
    return tag("ul", [tag("li", effect.feature) for effect in effects])


def _significant(model: "LinearModel", of: str | None = None) -> list[str]:
    """The significant effects in words; `of` is what their ratios are of."""
    return [_of(model, *each, of) for each in model._selected if each[0].verdict is Verdict.SIGNIFICANT]


def _of(model: "LinearModel", effect: Effect, feature: Feature, of: str | None = None) -> str:
    if ratio_words(model) is not None:
        return ratio_sentence(model, effect, feature, step_of(feature, model.baselines), of)
    return sentence(effect, feature, model.target, model.baselines)


def sentence(effect: Effect, feature: Feature, target: str, baselines: Mapping[str, str] | None = None) -> str:
    """A significant effect in words.

    The effect has an interval.

    Examples
    --------
    >>> print(sentence(Effect("age", -2.0, -2.0, 0.1, clear=True), Feature("age"), "cost"))  # doctest: +ELLIPSIS
    age: a one-unit increase is associated with 2 lower cost (between 1.804 and 2.196 lower, with 95 % confidence; ...
    """
    assert effect.estimate is not None
    assert effect.interval is not None
    way = "higher" if effect.estimate > 0 else "lower"
    low, high = sorted(map(abs, effect.interval))
    size = f"{number(abs(effect.estimate))} {way} {target}"
    # A significant effect is further from 0 than its interval reaches, however few the features.
    within = (
        f"between {number(low)} and {number(high)} {way}, with {SHOWN_PERCENT} confidence; {p_words(effect.p_value)}"
    )
    return f"{effect.feature}: {step_of(feature, baselines or {})} is associated with {size} ({within})."


def publishable(model: "LinearModel") -> str | None:
    """One paragraph to publish: the significant effects with their intervals, the records and the guarantee.

    None where nothing was learned, where no effect could be tested, or where the fit was not private.
    """
    record = model.privacy
    if not (record.private and model.response_scale_known and model.explains and model.effects):
        return None
    if all(effect.interval is None for effect in model.effects):
        return None
    untested = any(effect.verdict is Verdict.NOT_TRUSTED for effect in model.effects)
    sentences = " ".join(_significant(model)) or _none(model, untested)
    method, among = _PUBLISHED[model.estimand if model.estimand in _PUBLISHED else TYPICAL.name]
    if model.parts is not None:
        method, among = _IN_TWO_PARTS
    target = model.target if model.classes is None else f"{model.target} being {label_of_yes(model)}"
    return (
        f"What is associated with {target} in {record.size}, by a {method} regression on "
        f"{model.n_features:,} features at the 5 % family-wise level: {sentences} These are associations {among}, with "
        "the other selected features held fixed, and not causes. The result is "
        f"({number(record.epsilon)}, {record.delta:.2g})-differentially private for each person."
    )


def _predictions(model: "LinearModel") -> Iterator[str]:
    if not model.explains:
        yield tag("p", as_sentence(remarks.nothing_explained(model)), class_="bad")
    elif model.nearly_exact:
        yield "Nearly exactly; by how much predictions are off was too small to be learned."
    elif not model.response_scale_known:
        yield tag("p", _UNKNOWN, class_="bad")
    elif model.spread_explained:
        yield f"The features explain {remarks.explained(model)}."
    elif model.effects:
        yield "The features explain something: predictions from them came nearer to the responses than a constant."
    if model.evaluation is not None:
        yield in_sentences(model.evaluation)
    elif model.effects and model.explains:
        yield (
            "How near predictions for new people are, only those that were held out can tell: dpsparse evaluate and "
            "fit --holdout measure it, within a guarantee."
        )
    if model.explains and model.prediction_range is not None:
        yield f"Predictions are {remarks.prediction_range(model)}."
    if remarks.is_stretched(model):
        yield as_sentence(remarks.calibration(model))
    if remarks.is_skewed(model):
        yield as_sentence(remarks.median(model))


def _meaning(model: "LinearModel") -> Iterator[str]:
    words = ratio_words(model)
    what = f"The difference in {of_target(model)}" if words is None else f"The ratio of {words.of}"
    rows = model.privacy.guarantee.protects.singles
    yield (
        f"{what} between {rows} that differ by 1 in a feature, in that feature's own "
        "unit, and are alike in the other selected ones. The interval of an effect lies around it. Predictions use "
        "other numbers, in a column of their own: effects shrunk by their errors, all together."
    )
    if model.formula is not None:
        yield f"Features are the terms of the formula {model.formula.text}"
    example = _an_example(model)
    if example is not None:
        yield example
    if text := remarks.products(model):
        yield f"{text}."
    yield from unnamed(model)
    columns = unnamed_columns(model)
    if columns:
        yield (
            f"If the categories of {listed(columns)} are publicly known, give them in a bounds file: then each has its "
            "name."
        )
    yield f"{what_counts(model)} They say what goes together, not what causes what."


def _an_example(model: "LinearModel") -> str | None:
    """What the effect of a category or of a gap is relative to, with an example of the model."""
    selected = [feature for _, feature in model._selected]
    text = [each for each in selected if each.category is not None or each.buckets is not None]
    category = next((each for each in text if not each.is_unnamed), None)
    if category is not None:
        rows = model.privacy.guarantee.protects.singles
        return (
            f"A feature such as {category.name} is 1 for {rows} in that category and 0 for others: its effect is the "
            f"difference from {baseline_of(category, model.baselines)} and from categories that were not selected."
        )
    gap = next((each for each in selected if each.missing), None)
    if gap is not None:
        against = compared_with(gap, model.baselines)
        what = f"is 1 where the cell is missing: its effect is the difference from {against}"
        return f"A feature such as {quoted(gap.name)} {what}."
    return None


def _selected_unnamed(model: "LinearModel") -> list[Feature]:
    return [feature for _, feature in model._selected if feature.is_unnamed]


def unnamed(model: "LinearModel") -> Iterator[str]:
    """What each selected feature of text without a name stands for."""
    for each in _selected_unnamed(model):
        other = each.indicator.other
        what = "any text too rare to be a category of its own" if other else "a text too rare to be named"
        # Noise makes a candidate of an empty bucket now and then (`BUCKET_DEVIATIONS`).
        none = "" if other else " Noise can suggest one that nobody has."
        yield f"The feature {quoted(each.indicator.name)} is 1 for {what} at this epsilon, and 0 for others.{none}"


def unnamed_columns(model: "LinearModel") -> list[str]:
    """The columns of these features, whose categories might be publicly known."""
    return list(dict.fromkeys(each.indicator.column for each in _selected_unnamed(model)))


def as_sentence(text: str) -> str:
    """A text with a capital at its beginning and a full stop.

    Examples
    --------
    >>> as_sentence("nothing was learned")
    'Nothing was learned.'
    """
    return f"{text[0].upper()}{text[1:]}."
