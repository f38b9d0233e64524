"""What a reader of a released model must know beside its numbers, said once for summaries, commands and notebooks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpsparse.algorithms.pursuit.result import HARDLY_VARIES, UNIT_WRONG
from dpsparse.html import number
from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL
from dpsparse.io.cells.grammar import Kind
from dpsparse.learning.categories import MANY_VALUES, NONE_COMMON
from dpsparse.model.doubts import doubtful, in_words
from dpsparse.model.effect import Verdict
from dpsparse.model.exposures import is_log_mean
from dpsparse.model.meaning import estimand_of, reaches_estimand
from dpsparse.model.ratios import hardly_any, odds_ratio, probability, share_of_yes
from dpsparse.model.row_numbers import row_numbers
from dpsparse.model.two_part_words import level_words
from dpsparse.model.unnamed_values import hidden, shown_effects
from dpsparse.model.unread_responses import readable, unread
from dpsparse.model.variables import baselines_in_words, dates_in_words
from dpsparse.model.variables import in_words as variable_in_words
from dpsparse.schema import listed

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

NOT_SIGNIFICANT, NOT_TRUSTED, NOT_SURE = "Not significant", "Not reliable", "Not sure"
GUESSES = "Effects and predictions are guesses, near the truth or far from it: do not rely on them"
# A median is worth a word where it is this many of the response's scales off the prediction, and three standard
# deviations of its noise: in ranks that is 0.7 of the release's noise scale, and 1 % of the ranks moves the median of a
# normal law by 0.037 scales.
MEDIAN_OFF, MEDIAN_NOISE = 0.1, 8.0
# A calibration slope is worth a word where it is this far from 1.
SLOPE_OFF = 0.1
# Why no text of a column was used.
TEXT_UNUSED = {
    MANY_VALUES: "with too many different values for categories, as identifiers and free text have",
    NONE_COMMON: "where no value is common enough to be used with this many records at this epsilon (more records, a "
    "larger epsilon or public categories in a bounds file would help)",
}


def remarks(model: "LinearModel") -> Iterator[tuple[str, str]]:
    """Headings and sentences without a full stop, from releases and public numbers alone."""
    for part in (_of_responses, _of_what_was_learned, _of_effects, _of_doubts, _of_columns, _of_predictions):
        for heading, text in part(model):
            if text:
                yield heading, text


def _of_responses(model: "LinearModel") -> Iterator[tuple[str, str]]:
    if model.responses is not None:
        yield ("Warning", unread(model)) if model.responses.is_short else ("Responses", readable(model))
    elif model.classes is not None:
        yield "Responses", share_of_yes(model)
    yield "Warning", hardly_any(model)
    yield "Level", level_words(model)


def _of_what_was_learned(model: "LinearModel") -> Iterator[tuple[str, str]]:
    if model.nearly_exact:
        yield "Nearly exact", nothing_learned(model)
    elif not model.response_scale_known:
        yield NOT_SURE if shows_guesses(model) else "Nothing learned", nothing_learned(model)
    elif not model.explains:
        yield "Nothing explained", nothing_explained(model)
    elif not model.effects:
        yield "Nothing found", "no effect was kept"


def _of_effects(model: "LinearModel") -> Iterator[tuple[str, str]]:
    if model.effects:
        yield "Effects", estimand_of(model)
    if model.formula is not None:
        yield "Formula", model.formula.text
    for variable in model.variables:
        # That of a number times the categories of a column is this column's.
        text = model.features[model.places_of(variable.features[:1])[0]].indicator.column
        yield "Variable", variable_in_words(variable, model.baselines.get(text))
    yield "Baselines", baselines_in_words(model)
    yield "Dates", dates_in_words(model)
    yield "Products", products(model)
    if model.explains and model.spread_explained:
        yield "Explained", explained(model)


def _of_doubts(model: "LinearModel") -> Iterator[tuple[str, str]]:
    yield "P-values", p_values(model)
    if Verdict.NOT_SIGNIFICANT in {effect.verdict for effect in model.effects}:
        yield NOT_SIGNIFICANT, f"among {model.n_features:,} features without effect, one this large is common"
    for doubt, names in doubtful(shown_effects(model), model.within, model.privacy.guarantee.protects.said).items():
        yield NOT_TRUSTED, in_words(doubt, names)


def _of_columns(model: "LinearModel") -> Iterator[tuple[str, str]]:
    yield "Not shown", hidden(model)
    yield "Left out", left_out(model)
    yield "Row numbers", row_numbers(model)
    for text in text_unused(model):
        yield "Text not used", text


def _of_predictions(model: "LinearModel") -> Iterator[tuple[str, str]]:
    if is_lumped(model):
        yield "Lump", lump(model)
    if model.prediction_range is not None and model.explains:
        yield "Predictions", prediction_range(model)
    if is_stretched(model):
        yield "Calibration", calibration(model)
    if is_skewed(model):
        yield "Median", median(model)


def products(model: "LinearModel") -> str:
    """What the column of a number times a category is; empty where the model has none."""
    places = [place for place in model._places if model.features[place].within is not None]
    if not places:
        return ""
    place, feature = places[0], model.features[places[0]]
    return (
        f"{feature.name} is {feature.column} less its centre {number(model.all_centers[place])} in "
        f"{model.privacy.guarantee.protects.singles} of that "
        f"{feature.indicator.column}, and 0 in all others: its effect says by how much that of {feature.column} "
        f"differs; effects of {feature.indicator.column} hold at that centre"
    )


def shows_guesses(model: "LinearModel") -> bool:
    """Whether nobody can tell if the response's scale is right, and the effects may be near the truth or far from it.

    Predictions from them came nearer to the responses than a constant, by a release that has that scale as its unit.
    """
    return not model.response_scale_known and not model.nearly_exact and model.explains and bool(model.effects)


def nothing_learned(model: "LinearModel") -> str:
    """Why the response's scale could not be learned, and what is shown or predicted all the same."""
    reason = model.reason or "the response's scale could not be learned, or does not suit the scales of the features"
    if shows_guesses(model):
        return f"{reason.rstrip('.')}. {GUESSES}"
    return f"{reason.rstrip('.')}{'' if model.explains else f'; {constant(model)}'}"


def nothing_explained(model: "LinearModel") -> str:
    """That the features explain nothing, why the releases say so, and what is predicted."""
    reason = f" ({model.reason.rstrip('.')})" if model.reason else ""
    return f"the private estimates show no predictive value{reason}; {constant(model)}"


def explained(model: "LinearModel") -> str:
    """How much of the response's spread the features explain."""
    return (
        f"about {100 * (model.spread_explained or 0):.0f} % of the spread of {model.target}: the median distance of a "
        "response from its prediction is that much smaller than from a constant"
    )


def p_values(model: "LinearModel") -> str:
    """That p-values are of single effects, and verdicts of all features together; empty where there are none."""
    if all(effect.interval is None for effect in model.effects):
        return ""
    count = model.n_features
    return (
        "each is of one effect alone, two-sided, and not adjusted for the number of features; verdicts are adjusted: "
        f"significant is p below {number(FAMILY_WISE_LEVEL / count)}, the {FAMILY_WISE_LEVEL:.0%} family-wise level "
        f"over {count:,} feature{'s' * (count > 1)} (Bonferroni)".replace("%", " %")
    )


def left_out(model: "LinearModel") -> str:
    """Which selected features have no effect, and why; empty where there are none, or nothing was learned."""
    names = {why: [name for name, each in model.left_out.items() if each == why] for why in (HARDLY_VARIES, UNIT_WRONG)}
    parts, said = [], model.privacy.guarantee.protects.said
    if names[HARDLY_VARIES]:
        hardly = said("where nearly all records have the same value")
        parts.append(f"{listed(names[HARDLY_VARIES])}, {hardly}")
    if names[UNIT_WRONG]:
        remedy = said("public numbers, more records or a larger epsilon would help")
        parts.append(f"{listed(names[UNIT_WRONG])}, whose released centre or scale is clearly wrong ({remedy})")
    return f"of the selected features {'; and '.join(parts)}" if parts and model.response_scale_known else ""


def text_unused(model: "LinearModel") -> list[str]:
    """Which columns of text were not used, and why, as far as the releases tell."""
    columns = {why: [name for name, each in model.text_unused.items() if each == why] for why in TEXT_UNUSED}
    said = model.privacy.guarantee.protects.said
    return [f"{listed(names)}, {said(TEXT_UNUSED[why])}" for why, names in columns.items() if names]


def is_lumped(model: "LinearModel") -> bool:
    """Whether many responses are equal, and a reader must know it: of true and false nobody expects otherwise."""
    return model.lumped and not (model.target_kind == Kind.boolean and _is_on_the_mean(model))


def _is_on_the_mean(model: "LinearModel") -> bool:
    return reaches_estimand(model) and model.cut is None


def lump(model: "LinearModel") -> str:
    """The meaning of effects on a response of which many values are equal."""
    if _is_on_the_mean(model):
        return f"many values of {model.target} are equal: the mean is of them and of the others together"
    cut = "" if model.cut is None else f" of {number(model.cut)}"
    return (
        f"many values of {model.target} are equal, so its scale was learned from the others. Residuals are clipped at "
        f"a distance{cut} from the prediction: effects describe how {model.target} changes within that distance, not "
        "how its mean changes, and values further away count as if they were at it"
    )


def prediction_range(model: "LinearModel") -> str:
    """Where predictions are clipped."""
    assert model.prediction_range is not None
    if is_log_mean(model):
        most = number(odds_ratio(model.prediction_range[1]))
        per_unit = "" if model.exposure is None else f" per unit of {model.exposure}"
        return f"at most {most}{per_unit}, a released limit"
    low, high = model.prediction_range
    if model.classes is not None:
        least, most = number(probability(low)), number(probability(high))
        many = model.privacy.guarantee.protects.many
        return f"probabilities between {least} and {most}: {many} that are further out are too few to tell more"
    return f"clipped to [{number(low)}, {number(high)}], a released range of {model.target}"


def is_stretched(model: "LinearModel") -> bool:
    """Whether predictions of a mean differ from what the effects say by more than a few percent."""
    return bool(model.effects) and model.explains and abs(model.calibration_slope - 1) > SLOPE_OFF


def calibration(model: "LinearModel") -> str:
    """By how much predictions of a mean differ from what the effects say."""
    slope = model.calibration_slope
    why = (
        "outliers, which effects discount, are correlated with the features"
        if slope > 1
        else "effects overstate how the mean changes"
    )
    return (
        f"predictions of a mean are {slope:.2f} times as far from {number(model.constant_prediction)} as the numbers "
        f"used for prediction say: {why}"
    )


def is_skewed(model: "LinearModel") -> bool:
    """Whether by the releases the median lies clearly off the prediction, which is of a mean."""
    if not model.median_shift or not model.response_scale or not model.response_scale_known:
        return False
    releases = [release for release in model.privacy.releases if release.name.endswith("residual median")]
    noise = max((release.scale / model.privacy.n_records for release in releases), default=0.0)
    return abs(model.median_shift) > max(MEDIAN_OFF, MEDIAN_NOISE * noise) * model.response_scale


def median(model: "LinearModel") -> str:
    """Where the median lies, seen from a prediction."""
    assert model.median_shift is not None
    where = f"{'less' if model.median_shift < 0 else 'plus'} {number(abs(model.median_shift))}"
    differs = is_stretched(model) or abs(model.median_slope - 1) > SLOPE_OFF
    whose = f" of an average {model.privacy.guarantee.protects.one}" if differs else ""
    return (
        f"about half of the values of {model.target} lie below the prediction{whose} {where}; predict with the "
        'statistic "median" to get that value'
    )


def constant(model: "LinearModel") -> str:
    """What a model without effects predicts."""
    if model.classes is not None:
        return f"predictions are the constant probability {number(probability(model.intercept))}"
    value = odds_ratio(model.intercept) if is_log_mean(model) else model.intercept
    return f"predictions are the constant {number(value)}"
