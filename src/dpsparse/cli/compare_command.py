"""`dpsparse compare`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from dpsparse.cli import options

if TYPE_CHECKING:
    from dpsparse.comparison import Comparison


@click.command(short_help="Try the private methods on data shaped like yours.")
@options.N_RECORDS
@options.N_FEATURES
@options.sparsity("Features that matter.")
@options.epsilon(default=1.0, show_default=True)
@options.DELTA
@click.option(
    "--df",
    type=float,
    default=3.0,
    show_default=True,
    help="Degrees of freedom of the noise; fewer mean heavier tails.",
)
@click.option("--correlation", type=float, default=0.0, show_default=True, help="Correlation of adjacent features.")
@click.option("--repeats", type=int, default=5, show_default=True, help="Synthetic tables to make.")
@options.out("Where a picture goes, as PNG, PDF or SVG.")
@options.AS_JSON
def compare(out: str | None, as_json: bool, **shape: Any) -> None:
    """Try the private methods on synthetic data shaped like yours, from public numbers alone."""
    from dpsparse.cli import output
    from dpsparse.comparison import METHODS
    from dpsparse.comparison import compare as compare_methods

    with output.step_bar(len(METHODS) * max(1, shape["repeats"])) as progress:
        comparison = compare_methods(**shape, progress=progress)
    if out is not None:
        _draw(comparison, out)
    if as_json:
        # JSON knows no infinity: null stands for Gaussian noise.
        df = shape["df"] if shape["df"] < float("inf") else None
        output.print_json({**shape, "df": df, **comparison.to_dict(), "out": out})
    else:
        _print(comparison, shape)
        if out is not None:
            click.echo(f"Picture: {out}")


def _print(comparison: "Comparison", shape: Mapping[str, Any]) -> None:
    from statistics import fmean, median

    from rich.console import Console
    from rich.table import Table

    table = Table()
    for heading in ("method", "l2 error", "range", "true features"):
        table.add_column(heading, justify="left" if heading == "method" else "right", no_wrap=True)
    for outcome in comparison.outcomes:
        errors = outcome.errors
        hits = f"{fmean(outcome.hits):.1f} of {shape['sparsity']}"
        table.add_row(outcome.method, f"{median(errors):.3g}", f"{min(errors):.3g} to {max(errors):.3g}", hits)
    table.add_row("all zeros", f"{median(comparison.zero_errors):.3g}", "", "0")
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"[bold]plan[/] forecast an error of {comparison.forecast.expected_error:.3g} for PrivateSparseRegressor, "
        f"which selects effects of {comparison.forecast.smallest_effect:.3g} in 4 fits of 5.",
        f"l2 error: the median over {shape['repeats']} synthetic tables with effects of about 1; no data were read. "
        "True features: how many were selected, on average.",
        sep="\n",
    )


def _draw(comparison: "Comparison", out: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from dpsparse.io.atomic import save_figure

    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for place, outcome in enumerate(comparison.outcomes):
        axes.plot(outcome.errors, [place] * len(outcome.errors), "o", color="tab:blue", alpha=0.6)
    forecast, zeros = (
        comparison.forecast.expected_error,
        sorted(comparison.zero_errors)[len(comparison.zero_errors) // 2],
    )
    axes.axvline(forecast, color="tab:blue", linestyle="--", label="forecast for PrivateSparseRegressor")
    axes.axvline(zeros, color="tab:gray", linestyle=":", label="all zeros")
    axes.set_yticks(range(len(comparison.outcomes)), [outcome.method for outcome in comparison.outcomes])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("l2 error")
    at = comparison.forecast
    axes.set_title(f"n = {at.n:,}, d = {at.d:,}, {at.sparsity} effects, epsilon = {at.epsilon:g}")
    axes.legend()
    save_figure(figure, out)
