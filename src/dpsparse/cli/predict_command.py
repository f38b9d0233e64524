"""`dpsparse predict`."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import click

from dpsparse.cli import options


@click.command(short_help="Predict with a fitted model.")
@options.MODEL
@options.DATA
@click.option("--id", "id_column", metavar="COLUMN", help="A column of DATA to copy beside the predictions.")
@click.option(
    "--statistic",
    type=click.Choice(["mean", "median"]),
    help="What to predict: the mean, or the median, which is nearer to most records where the target is skewed; by "
    "default, what the model's effects describe.",
)
@options.dialect
@options.out("Where the predictions go, as CSV; printed unless given.")
@options.AS_JSON
def predict(
    model: str,
    data: str,
    id_column: str | None,
    statistic: str | None,
    separator: str | None,
    encoding: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Predict the target for the records of DATA, a table as `dpsparse fit` reads it, with a MODEL.

    DATA needs the columns of the model's selected features, in any order; other columns are not read. Text that was no
    category in the fit counts as it did there. The command says how if DATA has any, and in which columns numbers are
    missing or written in another way than in the table of the fit.

    If the target is yes or no, the probability of yes is written.
    """
    from dpsparse.cli import output
    from dpsparse.model.json_file import load_model
    from dpsparse.model.prediction_notes import prediction_notes
    from dpsparse.model.ratios import label_of_yes, probability
    from dpsparse.model.table_predictions import ModelTable

    with output.writing(out, model, data, replace=False) as stream:
        released = load_model(model).for_statistic(statistic)
        odds = released.classes is not None
        table = ModelTable(released, data, separator=separator, encoding=encoding)
        if id_column is not None:
            table.require(id_column)
        predictions = [probability(each) if odds else each for each in table.predictions().tolist()]
        ids = None if id_column is None else table.texts(id_column)
        heading = "probability" if odds else "prediction"
        lines, notes = _csv(id_column, ids, heading, predictions), prediction_notes(released, table)
        if stream is not None:
            stream.write(lines.encode())
    if as_json:
        shown = {"predictions": predictions} | ({} if ids is None else {"ids": ids}) if out is None else {}
        told = {"probability_of": label_of_yes(released)} if odds else {}
        output.print_json({"n_records": len(predictions), "out": out, "notes": notes} | told | shown)
    elif out is None:
        click.echo(lines, nl=False)
        for note in notes:
            click.echo(f"Note: {note}", err=True)
    else:
        what = f"probabilities that {released.target} is {label_of_yes(released)}" if odds else "predictions"
        click.echo(f"{out}: {len(predictions):,} {what}")
        output.print_notes(notes)


def _csv(id_column: str | None, ids: Sequence[str] | None, heading: str, predictions: Any) -> Any:
    if ids is None:
        return "\n".join([heading, *map(repr, predictions), ""])
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([id_column, heading])
    rows.writerows(zip(ids, map(repr, predictions), strict=True))
    return text.getvalue()
