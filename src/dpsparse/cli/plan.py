"""`dpsparse plan`."""

import click


def _numbers(context, parameter, value):
    try:
        found = [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter("give numbers with commas between, such as 0.1,0.5,1") from None
    return sorted(set(found))


@click.command(short_help="Forecast what each epsilon buys.")
@click.option("--n", type=int, required=True, help="Records.")
@click.option("--d", type=int, required=True, help="Features.")
@click.option("--sparsity", type=int, default=5, show_default=True, help="Features to pick.")
@click.option("--epsilon", default="0.1,0.5,1,2", show_default=True, callback=_numbers, help="Promises to compare.")
@click.option("--delta", type=float, help="The promise's slack; n**-1.1 unless given.")
@click.option("--out", type=click.Path(), help="Where a picture goes, as PNG, PDF or SVG.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(n, d, sparsity, epsilon, delta, out, as_json):
    """Forecast what each epsilon buys, from public numbers alone and before any of it is spent."""
    from dpsparse import plan as forecast
    from dpsparse.cli import show

    plans = [forecast(n, d, sparsity, value, delta) for value in epsilon]
    rows = [
        {
            "epsilon": at.epsilon,
            "delta": at.guarantee.delta,
            "expected_error": at.expected_error,
            "smallest_effect": at.smallest_effect,
            "interval_width": at.interval_width,
            "n_for_half_the_error": _or_none(at.n_for_error(at.expected_error / 2)),
        }
        for at in plans
    ]
    if out is not None:
        _draw(plans, out)
    if as_json:
        show.as_json({"n": n, "d": d, "sparsity": sparsity, "forecasts": rows, "out": out})
    else:
        show.plan(plans[0], rows)
        if out is not None:
            click.echo(f"Picture: {out}")


def _or_none(count):
    return count if count < float("inf") else None


def _draw(plans, out):
    import matplotlib

    from dpsparse.io.figures import save_figure

    matplotlib.use("Agg")
    axes = plans[0].plot()
    axes.lines[-1].set_label("epsilon = " + ", ".join(f"{at.epsilon:g}" for at in plans))
    for at in plans[1:]:
        axes.axvline(at.epsilon, color="tab:gray", linestyle=":")
    axes.legend()
    save_figure(axes.figure, out)
