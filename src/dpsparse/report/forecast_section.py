"""The forecast of a report: what each epsilon buys for a table of the model's shape."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from scipy.special import expit

from dpsparse.algorithms.overall_level import LEAST_SHARE
from dpsparse.families.estimands import ESTIMANDS, TYPICAL
from dpsparse.html import table, tag
from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.model.exposures import is_log_mean
from dpsparse.model.odds import odds_ratio
from dpsparse.planning.forecast import EPSILONS, plan
from dpsparse.planning.two_part_forecast import plan_two_part
from dpsparse.report.charts import curves
from dpsparse.report.report_summary import as_sentence

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


def forecast(model: "LinearModel", sparsity: int) -> Iterator[str]:
    """Picture and table of what each epsilon buys, with the model's own marked.

    `sparsity` is the number of features asked for.
    """
    if model.parts is not None:
        yield from _of_parts(model, model.parts.level.share, sparsity)
        return
    asked, yes = model.privacy.guarantee, model.classes is not None
    counts = is_log_mean(model)
    held_out = 0 if model.scores is None else model.scores.n_records
    here = plan(
        model.privacy.n_records - held_out,
        len(model.features),
        # A raw table may turn out to have fewer features than were asked for.
        min(sparsity, len(model.features)),
        asked.epsilon,
        asked.delta,
        # Models of earlier files do not say: theirs is the pursuit's own.
        estimand=TYPICAL.name if yes or counts or model.estimand is None else ESTIMANDS[model.estimand].name,
        # The released share.
        share_of_yes=float(expit(model.constant_prediction)) if yes else None,
        mean_response=odds_ratio(model.constant_prediction) if counts else None,
        units_known=all(feature.center is not None and feature.scale is not None for feature in model.features),
        records_per_person=asked.records_per_person,
        rows_per_person=_rows(model),
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
            *(
                "none" if value == math.inf else f"{value:.3g}"
                for value in (at.expected_error, at.smallest_effect, at.interval_width)
            ),
        ]
        for at in forecasts
        if at.epsilon in epsilons
    ]
    unit = here.unit if yes or counts else "in units of the response's noise"
    yield (
        f"The forecast of dpsparse plan, from public numbers alone, for {here.n:,} {here.units_of_n}, {here.d:,} "
        f"features and {here.sparsity} to select with {here.units}, at any epsilon, for effects on the "
        f"{here.response}. Errors and effects are {unit} per scaled feature."
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
    yield table("What each epsilon buys", headings, rows, numbers=(1, 2, 3))
    yield tag("p", _caveat(model), class_="note")


def _of_parts(model: "LinearModel", share: float, sparsity: int) -> Iterator[str]:
    """What each epsilon buys of both parts."""
    asked, held_out = model.privacy.guarantee, 0 if model.scores is None else model.scores.n_records
    rows = []
    for epsilon in sorted({*EPSILONS, asked.epsilon}):
        at = plan_two_part(
            model.privacy.n_records - held_out,
            len(model.features),
            min(sparsity, len(model.features)),
            epsilon,
            asked.delta,
            # The released share.
            share_above_0=min(max(share, LEAST_SHARE), 1 - LEAST_SHARE),
            units_known=all(feature.center is not None and feature.scale is not None for feature in model.features),
            records_per_person=asked.records_per_person,
            rows_per_person=_rows(model),
        )
        effect = at.how_much.smallest_effect
        shown = f"{epsilon:g} (this fit)" if epsilon == asked.epsilon else f"{epsilon:g}"
        rows.append([shown, f"{at.whether.smallest_odds_ratio:.3g}", "none" if effect == math.inf else f"{effect:.3g}"])
    yield (
        "The forecast of dpsparse plan, from public numbers and the released share above 0 alone: what is found with "
        "80 % power in each part, for a step of one scale of a feature. Effects among those above 0 are in units of "
        "their noise."
    )
    headings = ["epsilon", "minimum detectable odds ratio of being above 0", "minimum detectable effect on how much"]
    yield table("What each epsilon buys", headings, rows, numbers=(1, 2))


def _rows(model: "LinearModel") -> float:
    """How many rows a person has on average."""
    rows = model.privacy.guarantee.rows
    return 1.0 if rows is None else max(1.0, rows / model.privacy.n_records)


def _caveat(model: "LinearModel") -> str:
    words = "A forecast is a guide: in simulations nine errors in ten lie within a factor of 2 of it."
    if is_log_mean(model):
        words += " It is for a Poisson law; where responses vary more, as visits and costs do, errors are larger."
    elif model.classes is None and model.estimator != "PrivateSparseRegressor":
        words += f" This one is of PrivateSparseRegressor; {model.estimator}, which made the model, does worse."
    relation = model.privacy.guarantee.adjacency
    if relation != "replace-one":
        words += f" It is for neighbours by replace-one; {relation} guarantees less and does a little better."
    return words
