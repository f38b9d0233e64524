"""`dpsparse plan`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dpsparse.cli import options

if TYPE_CHECKING:
    from dpsparse.families.estimands import EstimandName
    from dpsparse.planning.forecast import Plan


def _numbers(context: click.Context, parameter: click.Parameter | None, value: str) -> list[float]:
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter("give numbers with commas between, such as 0.1,0.5,1") from None
    return sorted(set(numbers))


@click.command(short_help="Forecast what each epsilon buys.")
@options.N_RECORDS
@options.N_FEATURES
@options.sparsity()
@click.option("--epsilon", default="0.1,0.5,1,2", show_default=True, callback=_numbers, help="Guarantees to compare.")
@options.ESTIMAND
@options.DELTA
@click.option(
    "--units",
    type=click.Choice(["unknown", "known"]),
    default="unknown",
    show_default=True,
    help="Whether the features' centres and scales are given to the fit, or learned within its guarantee.",
)
@click.option(
    "--yes",
    "share_of_yes",
    type=float,
    metavar="SHARE",
    help="For a yes/no response: a guess of the share of yes, between 0 and 1. Effects are log odds then.",
)
@click.option(
    "--mean",
    "mean_response",
    type=float,
    metavar="MEAN",
    help="For a count or a cost: a guess of its mean. Effects multiply the mean then.",
)
@click.option(
    "--overdispersion",
    type=float,
    default=1.0,
    show_default=True,
    help="With --mean: a guess of the variance over the mean; 1 for a Poisson law, 5 or more for visits.",
)
@click.option(
    "--family",
    type=click.Choice(["two-part"]),
    help="For a cost that is mostly 0 and otherwise positive: --yes guesses the share above 0.",
)
@click.option(
    "--rows-per-person",
    type=float,
    default=1.0,
    show_default=True,
    help="Mean rows of each of --n people, fitted by id.",
)
@click.option(
    "--row-correlation",
    type=float,
    default=0.5,
    show_default=True,
    help="How alike the rows of a person are: 0 as unalike as those of different people, 1 copies.",
)
@options.out("Where a picture goes, as PNG, PDF or SVG.")
@options.AS_JSON
def plan(
    n: int,
    d: int,
    sparsity: int,
    epsilon: Any,
    estimand: "EstimandName | None",
    delta: float | None,
    units: str,
    share_of_yes: float | None,
    mean_response: float | None,
    overdispersion: float,
    family: str | None,
    rows_per_person: float,
    row_correlation: float,
    out: str | None,
    as_json: bool,
) -> None:
    """Forecast what each epsilon buys, from public numbers alone and before any of it is spent.

    With --family two-part both parts are forecast, each with its share of epsilon: whether the target is above 0, and
    how much it is among those above 0, whose share --yes guesses.
    """
    from dpsparse import plan as forecast
    from dpsparse.cli import output
    from dpsparse.planning.two_part_forecast import plan_two_part

    known, estimand = units == "known", estimand or "mean"
    of_people: dict[str, Any] = {"rows_per_person": rows_per_person, "row_correlation": row_correlation}
    if family == "two-part":
        if share_of_yes is None or out is not None:
            raise click.UsageError("--family two-part needs --yes, a guess of the share above 0, and draws no picture")
        both = [
            plan_two_part(n, d, sparsity, value, delta, share_above_0=share_of_yes, units_known=known, **of_people)
            for value in epsilon
        ]
        parts = {"Whether it is above 0": [each.whether for each in both], "How much": [each.how_much for each in both]}
        if as_json:
            names = dict(zip(("whether", "how_much"), parts.values(), strict=True))
            output.print_json({name: _facts(plans, epsilon, units) for name, plans in names.items()})
            return
        for heading, plans in parts.items():
            _show(heading, plans, epsilon)
        return
    asked: dict[str, Any] = {"estimand": estimand, "units_known": known, "share_of_yes": share_of_yes}
    asked |= {"mean_response": mean_response, "overdispersion": overdispersion}
    plans = [forecast(n, d, sparsity, value, delta, **asked, **of_people) for value in epsilon]
    if out is not None:
        _draw(plans, out)
    if as_json:
        output.print_json({**_facts(plans, epsilon, units), "out": out})
        return
    _show("Forecast", plans, epsilon)
    if out is not None:
        click.echo(f"Picture: {out}")


def _facts(plans: "Sequence[Plan]", epsilons: Sequence[float], units: str) -> dict[str, Any]:
    """Forecasts for JSON."""
    first = plans[0]
    shown: dict[str, Any] = {
        "n": first.n,
        "d": first.d,
        "sparsity": first.sparsity,
        "estimand": first.estimand,
        "units": units,
    }
    if first.rows_per_person > 1:
        shown |= {"rows_per_person": first.rows_per_person, "row_correlation": first.row_correlation}
    share: dict[str, float] = {} if first.share_of_yes is None else {"share_of_yes": first.share_of_yes}
    if first.mean_response is not None:
        share = {"mean_response": first.mean_response, "overdispersion": first.overdispersion}
    return {**shown, **share, "forecasts": _rows(plans, epsilons)}


def _rows(plans: "Sequence[Plan]", epsilons: Sequence[float]) -> list[dict[str, Any]]:
    """The numbers of forecasts; `epsilons` are those of the whole fit."""
    return [
        {
            "epsilon": epsilon,
            "delta": at.guarantee.delta,
            "expected_error": at.expected_error,
            "n_looked_for": at.n_looked_for,
            "smallest_effect": _or_none(at.smallest_effect),
            **({} if at.ratio is None else {f"smallest_{at.ratio.replace(' ', '_')}": at.smallest_ratio}),
            "minimum_detectable_effect": _or_none(at.minimum_detectable_effect),
            "interval_width": _or_none(at.interval_width),
            "n_for_half_the_error": _or_none(at.n_for_error(at.expected_error / 2)),
        }
        for epsilon, at in zip(epsilons, plans, strict=True)
    ]


def _show(heading: str, plans: "Sequence[Plan]", epsilons: Sequence[float]) -> None:
    """Print forecasts."""
    from dpsparse.cli import output
    from dpsparse.planning.forecast import DETECTABLE, SELECTED

    first = plans[0]
    output.say(
        heading,
        f"n = {first.n:,}{_rows_of(first)}, d = {first.d:,}, {first.sparsity} features to select, {first.units}, "
        f"effects on the {first.response}",
    )
    ratio = () if first.ratio is None else (first.ratio,)
    headings = ("epsilon", "l2 error", "selected", *ratio, "detectable", "interval width", "n for half the error")
    output.print_table(headings, map(_cells, _rows(plans, epsilons)))
    unit = "in units of the response's noise," if first.ratio is None else first.unit
    output.say(
        "Units",
        f"errors and effects are {unit} per standard deviation of a feature. {SELECTED} {DETECTABLE} "
        "Interval width: of a 95 % interval; - where there is none.",
    )
    # At the largest epsilon without intervals: those below need more still.
    without = [(at, epsilon) for at, epsilon in zip(plans, epsilons, strict=True) if not at.has_intervals]
    if without:
        output.say("No intervals", _caveat(*without[-1]))
    few = [at for at in plans if at.few_features]
    if few:
        output.say("Few features", few[-1].few_features)


def _rows_of(at: "Plan") -> str:
    """What n counts, where people have several rows."""
    if at.rows_per_person == 1:
        return ""
    return f" people with {at.rows_per_person:g} rows each (alike by {at.row_correlation:g})"


def _caveat(at: "Plan", epsilon: float) -> str:
    """What intervals take; `epsilon` is that of the whole fit, of which a part's forecast has a share."""
    if at.epsilon == epsilon:
        return at.caveat
    return (
        f"n = {at.n:,} is too few for them at epsilon {epsilon:g}: that takes about {at.n_for_intervals:,} at this "
        "epsilon, or a larger epsilon"
    )


def _cells(row: dict[str, Any]) -> list[str]:
    *numbers, needed = (row[key] for key in row if key not in ("delta", "n_looked_for"))
    return [*("-" if value is None else f"{value:.3g}" for value in numbers), "-" if needed is None else f"{needed:,}"]


def _or_none(value: float) -> float | None:
    return value if value < float("inf") else None


def _draw(plans: "Sequence[Plan]", out: str) -> None:
    import matplotlib

    from dpsparse.io.atomic import save_figure

    matplotlib.use("Agg")
    axes = plans[0].plot()
    axes.lines[-1].set_label("epsilon = " + ", ".join(f"{at.epsilon:g}" for at in plans))
    for at in plans[1:]:
        axes.axvline(at.epsilon, color="tab:gray", linestyle=":")
    axes.legend()
    figure = axes.get_figure(root=True)
    assert figure is not None  # axes of a plot have one
    save_figure(figure, out)
