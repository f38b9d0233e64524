"""The forecast of a report: what each epsilon buys for a table of the model's shape."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from dpsparse.families.estimands import ESTIMANDS, MEAN, TYPICAL
from dpsparse.html import table, tag
from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.planning.forecast import EPSILONS, Plan, plan
from dpsparse.report.charts import curves
from dpsparse.report.report_summary import as_sentence

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


def forecast(model: "LinearModel", sparsity: int) -> Iterator[str]:
    """Picture and table of what each epsilon buys, with the model's own marked.

    `sparsity` is the number of features asked for.
    """
    odds = model.classes is not None
    if odds and model.share_of_yes is None:
        yield "Without a released share of yes there is no forecast."
        return
    asked = model.privacy.guarantee
    held_out = 0 if model.scores is None else model.scores.n_records
    here = plan(
        model.privacy.n_records - held_out,
        len(model.features),
        # A raw table may turn out to have fewer features than were asked for.
        min(sparsity, len(model.features)),
        asked.epsilon,
        asked.delta,
        # Models of earlier files do not say: theirs is the pursuit's own.
        estimand=MEAN.name if odds else ESTIMANDS[model.estimand or TYPICAL.name].name,
        share_of_yes=model.share_of_yes,
        units_known=all(feature.center is not None and feature.scale is not None for feature in model.features),
        records_per_person=asked.records_per_person,
    )
    epsilons = sorted({*EPSILONS, here.epsilon})
    grid = sorted({*epsilons, *(10 ** (k / 10) for k in range(-15, 11))})
    forecasts = [replace(here, epsilon=epsilon) for epsilon in grid]
    lines = {
        "error to expect (l2)": [at.expected_error for at in forecasts],
        "minimum detectable effect at 80 % power": [at.smallest_effect for at in forecasts],
    }
    rows = [
        [
            f"{at.epsilon:g} (this fit)" if at.epsilon == here.epsilon else f"{at.epsilon:g}",
            *("none" if value == math.inf else f"{value:.3g}" for value in _numbers(at)),
        ]
        for at in forecasts
        if at.epsilon in epsilons
    ]
    unit = "log odds" if odds else "in units of the response's noise"
    yield (
        f"The forecast of dpsparse plan, from public numbers alone, for {here.n:,} records, {here.d:,} features and "
        f"{here.sparsity} to select with {here.units}, at any epsilon, for effects on the {here.response}. "
        f"Errors and effects are {unit} per scaled feature."
    )
    if here.caveat:
        yield as_sentence(here.caveat)
    found = "" if here.smallest_effect == math.inf else f" and the minimum detectable effect {here.smallest_effect:.3g}"
    words = (
        "Error to expect and minimum detectable effect at 80 % power, over epsilon. At this fit's epsilon, "
        f"{here.epsilon:g}, the error is {here.expected_error:.3g}{found}."
    )
    picture = curves(grid, lines, (here.epsilon, f"this fit: {here.epsilon:g}"), words)
    if picture is not None:
        yield tag("figure", [picture, tag("figcaption", words)])
    headings = ["epsilon", "error", "minimum detectable effect", f"width of a {SHOWN_PERCENT} interval"]
    headings += ["minimum detectable odds ratio"] if odds else []
    yield table("What each epsilon buys", headings, rows, numbers=range(1, len(headings)))
    yield tag("p", _caveat(model), class_="note")


def _numbers(at: Plan) -> tuple[float, ...]:
    ratio = () if at.share_of_yes is None else (at.smallest_odds_ratio,)
    return at.expected_error, at.smallest_effect, at.interval_width, *ratio


def _caveat(model: "LinearModel") -> str:
    if model.classes is not None:
        return "A forecast is a guide: for the share of yes of these records, and features of roughly normal numbers."
    words = "A forecast is a guide: in simulations nine errors in ten lie within a factor of 2 of it."
    if model.estimator != "PrivateSparseRegressor":
        words += f" This one is of PrivateSparseRegressor; {model.estimator}, which made the model, does worse."
    relation = model.privacy.guarantee.adjacency
    if relation != "replace-one":
        words += f" It is for neighbours by replace-one; {relation} guarantees less and does a little better."
    return words
