"""The forecast of a report: what each epsilon buys for a table of the model's shape."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scipy.special import expit

from dpsparse.algorithms.overall_level import LEAST_SHARE, WHETHER
from dpsparse.algorithms.pursuit.pursuit_constants import SPARE_PICKS
from dpsparse.families.estimands import ESTIMANDS, TYPICAL
from dpsparse.html import Html, table, tag
from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.model.exposures import is_log_mean
from dpsparse.model.ratios import odds_ratio
from dpsparse.model.variables import n_variables
from dpsparse.planning.forecast import EPSILONS, SELECTED, Plan, plan
from dpsparse.planning.two_part_forecast import plan_two_part
from dpsparse.report.charts import curves
from dpsparse.report.report_summary import as_sentence

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

# Epsilons of a curve.
_GRID = [10 ** (k / 10) for k in range(-15, 11)]


def sparsity_of(model: "LinearModel") -> int:
    """The variables asked for; with "auto" fewer have been kept. All levels of a category are one."""
    groups = model.privacy.grouped()
    # With records held out, and in two parts, the names of a fit's releases begin with its own.
    name, effects = (
        ("pick", model.effects) if model.parts is None else (f"{WHETHER}: pick", model.parts.whether.effects)
    )
    picks = len(groups.get(name, groups.get(f"fit: {name}", ())))
    return max(n_variables(model.features, effects), picks - SPARE_PICKS, 1)


def forecast_of(model: "LinearModel") -> Plan:
    """The forecast for a table of the model's shape, at its own epsilon; not for a model in two parts."""
    asked, yes = model.privacy.guarantee, model.classes is not None
    counts = is_log_mean(model)
    held_out = 0 if model.scores is None else model.scores.n_records
    return plan(
        model.privacy.n_records - held_out,
        model.n_features,
        # A raw table may turn out to have fewer features than were asked for.
        min(sparsity_of(model), model.n_features),
        asked.epsilon,
        asked.delta,
        # The paper's methods have no estimand.
        estimand=TYPICAL.name if yes or counts or model.estimand is None else ESTIMANDS[model.estimand].name,
        # The released share.
        share_of_yes=float(expit(model.constant_prediction)) if yes else None,
        mean_response=odds_ratio(model.constant_prediction) if counts else None,
        units_known=all(feature.center is not None and feature.scale is not None for feature in model.features),
        records_per_person=asked.records_per_person,
        rows_per_person=_rows(model),
    )


def forecast(model: "LinearModel") -> Iterator[str]:
    """Pictures and a table of what each epsilon buys, and more records, with the model's own marked."""
    if model.parts is not None:
        yield from _of_parts(model, model.parts.level.share)
        return
    yes, counts, here = model.classes is not None, is_log_mean(model), forecast_of(model)
    epsilons = sorted({*EPSILONS, here.epsilon})
    grid = sorted({*epsilons, *_GRID})
    forecasts = [replace(here, epsilon=epsilon) for epsilon in grid]
    rows = [
        [
            f"{at.epsilon:g} (this fit)" if at.epsilon == here.epsilon else f"{at.epsilon:g}",
            *(
                "none" if value == math.inf else f"{value:.3g}"
                for value in (at.expected_error, at.smallest_effect, at.minimum_detectable_effect, at.interval_width)
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
    for caveat in (here.few_features, here.caveat):
        if caveat:
            yield as_sentence(caveat)
    selected = "" if here.smallest_effect == math.inf else f", and effects of {here.smallest_effect:.3g} are selected"
    words = (
        "Error to expect, and the effect that is selected in 4 fits of 5, over epsilon. At this fit's epsilon, "
        f"{here.epsilon:g}, the error is {here.expected_error:.3g}{selected}."
    )
    yield from _figure(curves(grid, _lines(forecasts), (here.epsilon, f"this fit: {here.epsilon:g}"), words), words)
    headings = ["epsilon", "error", "selected", "detectable", "interval width"]
    yield table("What each epsilon buys", headings, rows, numbers=(1, 2, 3, 4))
    yield (
        f"{SELECTED} Detectable: the minimum detectable effect, at 80 % power. Interval width: of a {SHOWN_PERCENT} "
        "interval."
    )
    sizes = _sizes(here.n)
    words = f"The same over the number of {here.units_of_n}, at epsilon {here.epsilon:g}. This fit has {here.n:,}."
    larger = [replace(here, n=n) for n in sizes]
    yield from _figure(curves(sizes, _lines(larger), (here.n, f"this fit: {here.n:,}"), words, here.units_of_n), words)
    yield tag("p", _caveat(model), class_="note")


def _lines(forecasts: Sequence[Plan]) -> dict[str, list[float]]:
    return {
        "error to expect (l2)": [at.expected_error for at in forecasts],
        "effect selected in 4 fits of 5": [at.smallest_effect for at in forecasts],
    }


def _sizes(n: int) -> list[int]:
    """From a tenth of the records to ten times as many; a fit has at least two."""
    return sorted({max(2, round(n * 10 ** (k / 10))) for k in range(-10, 11)})


def _figure(picture: Html | None, words: str) -> Iterator[Html]:
    if picture is not None:
        yield tag("figure", [picture, tag("figcaption", words)])


def _of_parts(model: "LinearModel", share: float) -> Iterator[str]:
    """What each epsilon buys of both parts, and more records."""
    asked, held_out = model.privacy.guarantee, 0 if model.scores is None else model.scores.n_records
    records = model.privacy.n_records - held_out

    def at(epsilon: float, n: int = records) -> tuple[float, float]:
        """The odds ratio and the effect that are selected in 4 fits of 5."""
        parts = plan_two_part(
            n,
            model.n_features,
            min(sparsity_of(model), model.n_features),
            epsilon,
            asked.delta,
            # The released share.
            share_above_0=min(max(share, LEAST_SHARE), 1 - LEAST_SHARE),
            units_known=all(feature.center is not None and feature.scale is not None for feature in model.features),
            records_per_person=asked.records_per_person,
            rows_per_person=_rows(model),
        )
        return parts.whether.smallest_odds_ratio, parts.how_much.smallest_effect

    def lines(selected: Sequence[tuple[float, float]]) -> dict[str, list[float]]:
        odds, amounts = zip(*selected, strict=True)
        return {"odds ratio of being above 0": [*odds], "effect on how much": [*amounts]}

    yield (
        "The forecast of dpsparse plan, from public numbers and the released share above 0 alone: what is selected "
        "in 4 fits of 5 in each part, for a step of one scale of a feature. Effects among those above 0 are in units "
        "of their noise."
    )
    epsilons = sorted({*EPSILONS, asked.epsilon})
    words = "The odds ratio and the effect that are selected in 4 fits of 5, over epsilon."
    grid, mark = sorted({*_GRID, *epsilons}), f"this fit: {asked.epsilon:g}"
    selected = {epsilon: at(epsilon) for epsilon in grid}
    yield from _figure(curves(grid, lines([*selected.values()]), (asked.epsilon, mark), words), words)
    rows = [
        [
            f"{epsilon:g} (this fit)" if epsilon == asked.epsilon else f"{epsilon:g}",
            *("none" if value == math.inf else f"{value:.3g}" for value in selected[epsilon]),
        ]
        for epsilon in epsilons
    ]
    headings = ["epsilon", "odds ratio of being above 0 that is selected", "effect on how much that is selected"]
    yield table("What each epsilon buys", headings, rows, numbers=(1, 2))
    sizes = _sizes(records)
    many = asked.protects.many
    words = f"The same over the number of {many}, at epsilon {asked.epsilon:g}. This fit has {records:,}."
    mark = f"this fit: {records:,}"
    larger = [at(asked.epsilon, n) for n in sizes]
    yield from _figure(curves(sizes, lines(larger), (records, mark), words, many), words)


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
