"""`dpsparse report`."""

import click

from dpsparse.cli import options


@click.command(short_help="Write the report of a fitted model.")
@options.MODEL
@options.out("Where the report goes, as HTML.", default="report.html")
@options.AS_JSON
def report(model: str, out: str | None, as_json: bool) -> None:
    """Write a report of MODEL: guarantee, effects, budget, forecast, how to cite and to run it again.

    One page that opens offline. The model is all it reads.
    """
    from dpsparse.cli import output
    from dpsparse.model.json_file import load_model
    from dpsparse.report.fit_page import fit_page

    with output.writing(out, model) as stream:
        stream.write(fit_page(load_model(model)).encode())
    if as_json:
        output.print_json({"out": out})
    else:
        click.echo(f"Report: {out}")
