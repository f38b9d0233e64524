"""`dpsparse predict`."""

import click

from dpsparse.cli import options


@click.command(short_help="Predict with a fitted model.")
@options.MODEL
@options.DATA
@options.out("Where the predictions go, as CSV; printed unless given.")
@options.AS_JSON
def predict(model, data, out, as_json):
    """Predict the target for the records of DATA, a table as `dpsparse fit` reads it, with a MODEL."""
    from dpsparse.cli import output
    from dpsparse.io.formats import open_table
    from dpsparse.model.json_file import load_model

    with output.writing(out, model, data) as stream:
        predictions = load_model(model).predict_table(open_table(data)).tolist()
        lines = "\n".join(["prediction", *map(repr, predictions), ""])
        if stream is not None:
            stream.write(lines.encode())
    if as_json:
        shown = {"predictions": predictions} if out is None else {}
        output.print_json({"n_records": len(predictions), "out": out} | shown)
    elif out is None:
        click.echo(lines, nl=False)
    else:
        click.echo(f"{out}: {len(predictions):,} predictions")
