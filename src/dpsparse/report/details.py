"""The details of a report, for those who check or repeat a fit: units, categories, gaps, date, budget, releases."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dpsparse.html import number, table, tag
from dpsparse.io.table_features import Feature
from dpsparse.model import remarks
from dpsparse.model.effect import Effect
from dpsparse.model.evaluation_result import in_words, scores_table
from dpsparse.model.exposures import is_log_mean
from dpsparse.model.ratios import label_of_yes
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.report.budget_facts import spending_figure
from dpsparse.report.charts import calibration
from dpsparse.report.report_summary import as_sentence

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

PURPOSE = {
    "log odds": "where predicted log odds lie, so that groups are narrow there",
    "outcomes": "how many are yes and no, by predicted probability",
    "kinds": "which columns are numbers, dates, true or false, or text",
    "distinct values": "how many different texts a column has, so that identifiers are not used",
    "categories": "which texts of a column are common, by their hashes",
    "responses": "how many records have a response",
    "share of yes": "how many responses are yes, where everything starts from",
    "response size": "how far two responses typically differ, or how large those that are not 0 typically are",
    "response sizes": "how many responses are how large, which tells where to clip them",
    "mean response": "the mean response, in units of which everything is where effects are ratios",
    "exposure size": "how large exposures typically are",
    "mean exposure": "the mean exposure, from which rates start",
    "first residual sizes": "where to clip residuals for their mean",
    "first mean residual": "the level of predictions before the last steps",
    "deviance error size": "where to cut deviance residuals",
    "deviance improvement size": "where to cut improvements of deviance residuals",
    "deviance responses": "how many records have a response, for deviances",
    "deviance errors": "deviance residuals of the model and of a constant",
    "deviance improvement": "how much smaller the model's are",
    "deviance squares": "deviances, and how much they vary",
    "deviance shares cut": "how many deviance residuals were cut",
    "response centre": "where responses lie",
    "response scale": "how far they spread",
    "splits": "a value of every feature that divides the records in halves",
    "level": "how many residuals are above and below 0, before a selection",
    "pick": "which feature comes next",
    "unit share": "in how many pairs of records the values of a selected feature differ",
    "unit size": "how far two values of a selected feature typically differ",
    "unit spread": "how many pairs of its values differ at all",
    "unit tail": "how far its largest differences reach",
    "unit centre": "where it lies",
    "unit mean": "its mean and its spread about that",
    "category means": "how large residuals are on average in each category of a selected column",
    "slope": "where to start the effect of a selected feature",
    "second slope": "the same again, when all features are selected",
    "residual scale": "how large the residuals are",
    "gradient": "how far the effects of the features selected so far are off",
    "fraction at gradient": "how many residuals are small, which says how to weigh a gradient",
    "Gram row": "how a selected feature goes together with the others",
    "Gram matrix": "how all selected features go together",
    "Jacobian": "how a final gradient reacts to the effects, for their errors",
    "score variance": "how much the terms of a final gradient vary, for their errors",
    "final gradient": "how far the last estimates are off",
    "fraction at final gradient": "how many residuals are small at a final gradient",
    "gain": "how predictions go with responses, and how many responses are equal",
    "calibration": "the line of residuals on predictions, which predictions of a mean follow",
    "residual median": "the median of the residuals, for predictions of a median",
    "median line": "how medians of residuals go with predictions, for predictions of a median",
    "descent": "how far the effects of all features are off, a step at a time",
    "fraction": "how many residuals are small after the last step",
    "response range": "how far responses reach, for the limits of predictions and of residuals",
    "first residual scale": "how large the residuals are after the first step, where the second one cuts them",
    "final residual scale": "how large the residuals are before the last step, where it cuts them",
    "rough row moments": "roughly how the selected features go together, to bring them to one scale",
    "far row moments": "along which of them records lie far out, such as where 99 is a code",
    "row norms": "how far records lie from the centre in all selected features together, and where to cut that",
    "slope moments": "how a mean score reacts to the effects: the selected features, weighed by how far responses vary",
    "rough slope moments": "roughly the same before the last steps, to bring the features to one scale",
    "row moments": "how the selected features go together, for the last step",
    "line of log odds": "how the odds of yes go with predicted ones, so that probabilities are right on average",
    "score norms": "how much single records would move the effects, and where to cut that at first",
    "score moments": "how that varies, for the last step and its errors",
    "first mean score": "how far the effects are off those of least squares, or of Huber's regression",
    "second mean score": "how far the effects are off those of Huber's regression after the first step",
    "white score norms": "how much single records would move them, and where to cut that",
    "mean score": "how far they are off after the first step: the effects of the result",
    "residual sizes": "how large residuals are, and where to cut them for their mean",
    "mean residual": "the mean of the residuals, so that predictions are right on average",
    "names": "the names of the selected categories and of their baselines",
    "error size": "beyond which few errors on the records held out lie",
    "improvement size": "beyond which few improvements on a constant lie",
    "errors": "the mean errors of the model and of a constant",
    "improvement": "how much nearer the model is than a constant",
    "squares": "how much errors and improvements vary, for the intervals",
    "shares cut": "how many errors and improvements were cut",
    "size of regrets": "how far the errors of candidates on the records held out typically differ",
    "choice": "which candidate does best on them",
    "step": "which features to keep and their coefficients, each step from other records",
}


UNIT_HEADINGS = ("feature", "centre", "scale", "where from")


def units(model: "LinearModel") -> Iterator[str]:
    """Which units of the selected features were given and which learned, and where responses are cut."""
    if rows := [_unit_row(effect, feature) for effect, feature in model._selected]:
        yield (
            "A fit works on features in units of their own: (value - centre) / scale. Given ones are public numbers. "
            "Learned ones are releases like the effects, within the same guarantee; they are good enough to fit by, "
            "and no estimates of the mean and the standard deviation."
        )
        yield table("Units of the selected features", UNIT_HEADINGS, rows, numbers=(1, 2))
    if remarks.is_lumped(model):
        yield as_sentence(remarks.lump(model))
    elif model.cut is not None and model.classes is None and not is_log_mean(model):
        yield (
            f"Residuals are clipped at {number(model.cut)}, in units of {model.target}, in the equation that the "
            "effects solve: outliers count as if they were that far from their prediction."
        )
    if not model.explains:
        yield as_sentence(remarks.constant(model))
    elif model.classes is not None:
        yield f"Predictions are probabilities that {model.target} is {label_of_yes(model)}."
    elif model.prediction_range is None:
        yield "Predictions have no limits."


def _unit_row(effect: Effect, feature: Feature) -> list[str]:
    learned = effect.center is not None and effect.scale is not None
    center, scale = (effect.center, effect.scale) if learned else (feature.center, feature.scale)
    cells = ["-" if unit is None else number(unit) for unit in (center, scale)]
    known = center is not None or scale is not None
    return [effect.feature, *cells, "learned" if learned else "given" if known else "not needed"]


def categories_and_gaps(model: "LinearModel") -> Iterator[str]:
    """Baselines of the columns of text, and how gaps and unknown text counted."""
    text = [each for each in model.features if each.category is not None or each.buckets is not None]
    columns = list(dict.fromkeys(feature.column for feature in text))
    if columns:
        yield (
            "Effects of categories are differences from the baseline of their column and from categories that were not "
            "selected. Where categories were learned, "
            "a baseline's name is released only if one of them was selected, and only if it is common."
        )
        rows = [[column, model.baselines.get(column, "not released"), _others(text, column)] for column in columns]
        yield table("Columns of text", ["column", "baseline", "other text counts as"], rows)
    else:
        yield "No feature is a category of text."
    yield from (f"Text not used: {text}." for text in remarks.text_unused(model))
    yield _gaps(model)
    filled = [[each.column, number(each.fill)] for each in model.features if each.fill is not None and not each.missing]
    if filled:
        yield table("Filled gaps", ["column", "public number"], filled, numbers=(1,))


def _others(features: Sequence[Feature], column: str) -> str:
    own = any(each.other for each in features if each.column == column)
    return "'another value', a category of its own" if own else "the baseline"


def _gaps(model: "LinearModel") -> str:
    if not model.reads_cells and not any(feature.missing for feature in model.features):
        return "Gaps: the fit refused missing values. Every cell had a value, or a public number."
    return (
        "Gaps: a missing number counted as a typical one, and whether it is missing was a feature that could be "
        "selected where enough are. A row without a response added nothing. No row was dropped."
    )


def held_out(model: "LinearModel") -> Iterator[str]:
    """How well the model predicts records that were held out, in full."""
    if model.evaluation is None:
        many = model.privacy.guarantee.protects.many
        yield f"No {many} were held out in this fit. dpsparse evaluate measures predictions on other {many}."
        return
    yield in_words(model.evaluation)
    yield scores_table(model.evaluation)
    if model.evaluation.calibration:
        words = (
            "Predicted probabilities and the share of yes, in tenths of the "
            f"{model.privacy.guarantee.protects.many} held out, with intervals. On the dashed line they are equal. "
            "The same numbers are in the table."
        )
        points = [
            (each.predicted, each.observed.value, each.observed.low, each.observed.high)
            for each in model.evaluation.calibration
        ]
        yield tag("figure", [calibration(points, words), tag("figcaption", words)])


def circumstances(model: "LinearModel") -> Iterator[str]:
    """When the fit was made, and what it left of the budget."""
    context = model.context
    if context is None:
        yield "The model does not say when it was fitted, nor from which budget."
        return
    yield f"Fitted on {context.date} (UTC)."
    if context.budget is None:
        yield "It was charged to no ledger: who fits the same people again must add up the guarantees by hand."
        return
    budget = context.budget
    yield f"Budget when the fit was done: {budget.sentence()}."
    if (drawn := spending_figure(budget.history, budget.epsilon, budget.delta)) is not None:
        yield drawn
    yield "All fits through this ledger together keep the guarantee that was granted."


def _purpose(name: str, record: PrivacyRecord) -> str:
    """What a release answers, of records or of people."""
    return record.guarantee.protects.said(PURPOSE.get(name.split(": ")[-1], ""))


def releases(record: PrivacyRecord) -> Iterator[str]:
    """Every release and its price."""
    yield f"In full: {record.statement()}"
    asked = record.guarantee
    yield (
        f"Asked: epsilon {asked.epsilon:g} and delta {asked.delta:.3g} for a person with "
        f"{asked.protects.up_to}. Spent: "
        f"epsilon {record.epsilon:.6g}, in {len(record.releases)} releases. Prices are in rho, of zero-concentrated "
        f"differential privacy, which add up; a {asked.protects.one} paid {record.rho:.4g} in all."
    )
    if any(release.part is not None for release in record.releases):
        one, many = asked.protects.one, asked.protects.many
        yield f"Releases on different parts of the {many} do not add up: a {one} lies in one part and pays once."
    groups = record.grouped()
    rows = [[name, len(made), *record.price(made), _purpose(name, record)] for name, made in groups.items()]
    yield table("By kind", ["release", "times", "share", "rho", "what it answers"], rows, numbers=(1, 2, 3))
    rows = [
        [
            f"{place}. {release.name}",
            *record.price((release,)),
            *map(number, (release.sensitivity, release.scale)),
            release.mechanism.words,
        ]
        for place, release in enumerate(record.releases, 1)
    ]
    headings = ["release", "share", "rho", "sensitivity", "noise scale", "made private by"]
    yield table("Step by step", headings, rows, numbers=(1, 2, 3, 4))
    yield tag(
        "p",
        f"Sensitivity is the most that one {asked.protects.one} can change the statistic, in its own integer steps; "
        f"the noise scale is in the same steps. Each was charged before it was made. Noise: {record.noise}.",
        class_="note",
    )
