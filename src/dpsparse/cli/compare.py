"""`dpsparse compare`."""

import click


@click.command(short_help="Try the private methods on data shaped like yours.")
@click.option("--n", type=int, required=True, help="Records.")
@click.option("--d", type=int, required=True, help="Features.")
@click.option("--sparsity", type=int, default=5, show_default=True, help="Features that matter.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="The promise.")
@click.option("--delta", type=float, help="The promise's slack; n**-1.1 unless given.")
@click.option("--df", type=float, default=3.0, show_default=True, help="Student's t noise; smaller is wilder.")
@click.option("--correlation", type=float, default=0.0, show_default=True, help="Of neighbouring features.")
@click.option("--repeats", type=int, default=5, show_default=True, help="Synthetic tables to make.")
@click.option("--out", type=click.Path(), help="Where a picture goes, as PNG, PDF or SVG.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(out, as_json, **shape):
    """Try the private methods on synthetic data shaped like yours, from public numbers alone."""
    from dpsparse.cli import show
    from dpsparse.cli.progress import step_bar
    from dpsparse.comparison import METHODS
    from dpsparse.comparison import compare as compare_methods

    with step_bar(len(METHODS) * max(1, shape["repeats"])) as progress:
        found = compare_methods(**shape, progress=progress)
    if out is not None:
        _draw(found, out)
    if as_json:
        # JSON knows no infinity: null stands for Gaussian noise.
        df = shape["df"] if shape["df"] < float("inf") else None
        show.as_json({**shape, "df": df, **found.to_dict(), "out": out})
    else:
        _print(found, shape)
        if out is not None:
            click.echo(f"Picture: {out}")


def _print(found, shape):
    from statistics import fmean, median

    from rich.console import Console
    from rich.table import Table

    table = Table()
    for heading in ("method", "l2 error", "smallest to largest", "true features found"):
        table.add_column(heading, justify="left" if heading == "method" else "right", no_wrap=True)
    for outcome in found.outcomes:
        errors = outcome.errors
        hits = f"{fmean(outcome.hits):.1f} of {shape['sparsity']}"
        table.add_row(outcome.method, f"{median(errors):.3g}", f"{min(errors):.3g} to {max(errors):.3g}", hits)
    table.add_row("all zeros", f"{median(found.zero_errors):.3g}", "", "0")
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"[bold]plan[/] forecast an error of {found.forecast.expected_error:.3g} for PrivateSparseRegressor, and "
        f"effects of {found.forecast.smallest_effect:.3g} found 4 times in 5.",
        f"Medians over {shape['repeats']} synthetic tables with effects of about 1; no data were read.",
        sep="\n",
    )


def _draw(found, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from dpsparse.io.figures import save_figure

    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for place, outcome in enumerate(found.outcomes):
        axes.plot(outcome.errors, [place] * len(outcome.errors), "o", color="tab:blue", alpha=0.6)
    forecast, zeros = found.forecast.expected_error, sorted(found.zero_errors)[len(found.zero_errors) // 2]
    axes.axvline(forecast, color="tab:blue", linestyle="--", label="forecast for PrivateSparseRegressor")
    axes.axvline(zeros, color="tab:gray", linestyle=":", label="all zeros")
    axes.set_yticks(range(len(found.outcomes)), [outcome.method for outcome in found.outcomes])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("l2 error")
    at = found.forecast
    axes.set_title(f"n = {at.n:,}, d = {at.d:,}, {at.sparsity} effects, epsilon = {at.epsilon:g}")
    axes.legend()
    save_figure(figure, out)
