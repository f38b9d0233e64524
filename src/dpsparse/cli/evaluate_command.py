"""`dpsparse evaluate`."""

import json
from typing import TYPE_CHECKING

import click

from dpsparse.cli import options

if TYPE_CHECKING:
    from dpsparse.privacy.ledger.ledger import PrivacyLedger


@click.command(short_help="Estimate held-out error.")
@options.MODEL
@options.DATA
@options.epsilon(required=True)
@options.DELTA
@options.dialect
@options.PERSON
@options.RECORDS_PER_PERSON
@options.LEDGER
@options.DATASET
@options.WITNESS
@options.out("Where the evaluation goes, as JSON.")
@options.AS_JSON
def evaluate(
    model: str,
    data: str,
    epsilon: float,
    delta: float | None,
    separator: str | None,
    encoding: str,
    person: str | None,
    records_per_person: int,
    ledger: "str | PrivacyLedger | None",
    dataset: str | None,
    witness: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Estimate the error of MODEL on the records of DATA, which it was not fitted on.

    DATA is a table, or a store of its cells, with the columns that the model was fitted on, the target included. Three
    means are released, each with a 95 % interval: the error of the model, that of the constant that it would predict
    without any feature (for a model of the mean, the training mean), and how much the model improves on it. R² follows
    from the same releases. For a yes/no model these are Brier scores, and log losses, the AUC and calibration come with
    them. For a Poisson model there is the explained deviance, D², too. A record whose response is missing counts as
    blank.

    The whole of epsilon is spent, on the people in DATA; --ledger keeps count.
    """
    from dpsparse.cli import output
    from dpsparse.cli.spending_commands import interruptible, opened_ledger
    from dpsparse.cli.witness import witnessed
    from dpsparse.evaluation import evaluate_records
    from dpsparse.fitting import collected, explained
    from dpsparse.model.context import fit_context
    from dpsparse.model.json_file import load_model
    from dpsparse.model.table_predictions import ModelTable

    ledger = opened_ledger(ledger)
    released = load_model(model)
    notes: list[str] = []
    table = ModelTable(released, data, separator=separator, encoding=encoding)
    # Opened before anything is spent.
    with witnessed(witness, ledger), output.writing(out, model, data, replace=False) as stream:
        with collected(notes, _tell), explained(data), interruptible(ledger):
            evaluation = evaluate_records(
                released,
                table.n_records,
                lambda: (table.responses(), table.predictions(), table.exposures()),
                epsilon=epsilon,
                delta=delta,
                ledger=ledger,
                dataset=dataset,
                people=None if person is None else table.people(person),
                records_per_person=records_per_person,
            )
        context = fit_context(ledger, dataset)
        # Shown first: should the disk fill up now, what was paid for is not lost.
        with output.reader_may_leave():
            if as_json:
                output.print_json({**evaluation.to_dict(), "context": context.to_dict(), "notes": notes, "out": out})
            else:
                output.say("Data", f"{data}: {evaluation.privacy.size}")
                output.say("Guarantee", evaluation.privacy.statement())
                output.print_scores(evaluation)
                output.print_budget(context, ledger)
        if stream is not None:
            stream.write(json.dumps(evaluation.to_dict(), indent=1, allow_nan=False).encode() + b"\n")


def _tell(note: str) -> None:
    """Print a note at once, before anything is spent."""
    click.echo(f"Note: {note}", err=True)
