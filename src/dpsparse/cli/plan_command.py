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
    out: str | None,
    as_json: bool,
) -> None:
    """Forecast what each epsilon buys, from public numbers alone and before any of it is spent."""
    from dpsparse import plan as forecast
    from dpsparse.cli import output

    known, estimand = units == "known", estimand or "mean"
    asked: dict[str, Any] = {"estimand": estimand, "units_known": known, "share_of_yes": share_of_yes}
    plans = [forecast(n, d, sparsity, value, delta, **asked) for value in epsilon]
    rows = [
        {
            "epsilon": at.epsilon,
            "delta": at.guarantee.delta,
            "expected_error": at.expected_error,
            "smallest_effect": _or_none(at.smallest_effect),
            **({} if share_of_yes is None else {"smallest_odds_ratio": at.smallest_odds_ratio}),
            "interval_width": _or_none(at.interval_width),
            "n_for_half_the_error": _or_none(at.n_for_error(at.expected_error / 2)),
        }
        for at in plans
    ]
    if out is not None:
        _draw(plans, out)
    if as_json:
        shown = {"n": n, "d": d, "sparsity": sparsity, "estimand": plans[0].estimand, "units": units}
        share = {} if share_of_yes is None else {"share_of_yes": share_of_yes}
        output.print_json({**shown, **share, "forecasts": rows, "out": out})
        return
    first = plans[0]
    output.say(
        "Forecast",
        f"n = {first.n:,}, d = {first.d:,}, {first.sparsity} features to select, {first.units}, effects on the "
        f"{first.response}",
    )
    ratio = () if share_of_yes is None else ("odds ratio",)
    headings = ("epsilon", "l2 error", "detectable", *ratio, "interval width", "n for half the error")
    output.print_table(headings, map(_cells, rows))
    unit = "the response's noise" if share_of_yes is None else "log odds"
    output.say(
        "Units",
        f"{unit} per scaled feature. Detectable: the minimum detectable effect at 80 % power. "
        "Interval width: of a 95 % interval; - where there is none.",
    )
    # At the largest epsilon without intervals: those below need more still.
    caveat = next((at.caveat for at in reversed(plans) if at.caveat), None)
    if caveat:
        output.say("No intervals", caveat)
    if out is not None:
        click.echo(f"Picture: {out}")


def _cells(row: dict[str, Any]) -> list[str]:
    *numbers, needed = (row[key] for key in row if key != "delta")
    return [*("-" if value is None else f"{value:.3g}" for value in numbers), "-" if needed is None else f"{needed:,}"]


def _or_none(value: float) -> float | None:
    return value if value < float("inf") else None


def _draw(plans: "Sequence[Plan]", out: str) -> None:
    import matplotlib

    from dpsparse.io.save_figure import save_figure

    matplotlib.use("Agg")
    axes = plans[0].plot()
    axes.lines[-1].set_label("epsilon = " + ", ".join(f"{at.epsilon:g}" for at in plans))
    for at in plans[1:]:
        axes.axvline(at.epsilon, color="tab:gray", linestyle=":")
    axes.legend()
    figure = axes.get_figure(root=True)
    assert figure is not None  # axes of a plot have one
    save_figure(figure, out)
