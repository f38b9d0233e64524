"""The details of a report, for those who check or repeat a fit: units, categories, gaps, date, budget, releases."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dpsparse.html import number, table, tag
from dpsparse.io.table_features import Feature
from dpsparse.model import remarks
from dpsparse.model.effect import Effect
from dpsparse.model.evaluation_result import in_words, scores_table
from dpsparse.model.exposures import is_log_mean
from dpsparse.model.odds import label_of_yes
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.report.budget_facts import spending_figure
from dpsparse.report.charts import calibration
from dpsparse.report.purposes import PURPOSE
from dpsparse.report.report_summary import as_sentence

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

UNIT_HEADINGS = ("feature", "centre", "scale", "where from")


def units(model: "LinearModel") -> Iterator[str]:
    """Which units of the selected features were given and which learned, and where responses are cut."""
    if rows := [_unit_row(effect, feature) for effect, feature in _selected(model)]:
        yield (
            "A fit works on features in units of their own: (value - centre) / scale. Given ones are public numbers. "
            "Learned ones are releases like the effects, within the same guarantee; they are good enough to fit by, "
            "and no estimates of the mean and the standard deviation."
        )
        yield table("Units of the selected features", UNIT_HEADINGS, rows, numbers=(1, 2))
    if model.lumped:
        yield as_sentence(remarks.lump(model))
    elif model.cut is not None and model.classes is None and not is_log_mean(model):
        yield (
            f"Residuals are cut at {number(model.cut)}, in units of {model.target}, in the equation that the effects "
            "solve: outliers count as if they were that far from their prediction."
        )
    if not model.explains:
        yield as_sentence(remarks.constant(model))
    elif model.classes is not None:
        yield f"Predictions are probabilities that {model.target} is {label_of_yes(model)}."
    elif model.prediction_range is None:
        yield "Predictions have no limits."


def _selected(model: "LinearModel") -> list[tuple[Effect, Feature]]:
    features = {feature.name: feature for feature in model.features}
    return [(effect, features[effect.feature]) for effect in model.effects]


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
        return "Gaps: the fit refused missing values. Every record had a value in every feature, or a public number."
    return (
        "Gaps: a missing number counted as a typical one, and whether it is missing was a feature that could be "
        "selected where enough are. A row without a response added nothing. No row was dropped."
    )


def held_out(model: "LinearModel") -> Iterator[str]:
    """How well the model predicts records that were held out, in full."""
    if model.evaluation is None:
        yield "No records were held out in this fit. dpsparse evaluate measures predictions on other records."
        return
    yield in_words(model.evaluation)
    yield scores_table(model.evaluation)
    if model.evaluation.calibration:
        words = (
            "Predicted probabilities and the share of yes, in tenths of the records held out, with intervals. On the "
            "dashed line they are equal. The same numbers are in the table."
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
    return PURPOSE.get(name.split(": ")[-1], "").replace("records", record.guarantee.protects.many)


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
