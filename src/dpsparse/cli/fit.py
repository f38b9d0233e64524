"""`dpsparse fit`: a table in, a guarantee, a model and a report out."""

import shlex
from typing import Any

import click

from dpsparse.cli import options

NO_OUT = (
    "--out is missing, so nothing was fitted and nothing spent: a fit spends epsilon, and its model would be lost. "
    "Give --out model.json; a --report alone keeps no model."
)


class _Sparsity(click.ParamType[Any]):
    name = "integer or auto"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        return value if value == "auto" else click.INT.convert(value, parameter, context)


@click.command(short_help="Fit privately on a table.")
@options.DATA
@options.target(" A store knows its own.")
@options.epsilon(required=True)
@options.sparsity("Features to select, or 'auto'.", _Sparsity())
@options.DELTA
@options.BOUNDS
@options.dialect
@options.RECORDS_PER_PERSON
@options.LEDGER
@options.DATASET
@options.WITNESS
@click.option(
    "--holdout", type=float, help="The share of the records to hold out, to tell how well the model predicts them."
)
@options.out("Where the model goes, as JSON.")
@click.option("--report", type=options.PATH, help="Where a report goes, as HTML; see `dpsparse report`.")
@options.AS_JSON
def fit(
    data: str,
    target: str | None,
    epsilon: float,
    sparsity: Any,
    delta: float | None,
    bounds: str | None,
    separator: str | None,
    encoding: str,
    records_per_person: int,
    ledger: str | None,
    dataset: str | None,
    witness: str | None,
    holdout: float | None,
    out: str | None,
    report: str | None,
    as_json: bool,
) -> None:
    """Fit privately on DATA (.csv, .parquet, .npy, a store): which few columns matter, and by how much.

    DATA may be a folder of Parquet files, or a store, which is what `dpsparse convert` writes.

    Centres and scales of columns that --bounds does not give are learned within the guarantee.

    The whole of epsilon is spent. Each further fit on the same people adds to it: --ledger keeps count, and refuses
    what would exceed the budget granted. Without --out nothing is fitted: the result would be paid for and lost.

    --holdout 0.2 fits on four records of five and evaluates on the fifth, by position, for the same epsilon.
    """
    from dpsparse.cli import output
    from dpsparse.cli.spending import interruptible
    from dpsparse.cli.witness import witnessed
    from dpsparse.fitting import FileFit
    from dpsparse.io.store.manifest import FEATURES, is_store, read_manifest
    from dpsparse.model.json_file import write_model
    from dpsparse.report.fit import fit_page
    from dpsparse.schema import existing_path

    if target is None and not is_store(existing_path(data)):
        raise click.MissingParameter(param_hint="'--target'", param_type="option")
    if holdout is not None and is_store(data) and read_manifest(data).layout == FEATURES:
        raise click.UsageError(
            "--holdout needs the table, or a store of its cells: this one holds features; hold records out before "
            "`dpsparse convert`"
        )
    books = None
    if ledger is not None:
        from dpsparse.privacy.ledger.ledger import PrivacyLedger

        books = PrivacyLedger(ledger)
    asked = FileFit(
        data,
        target,
        epsilon,
        sparsity=sparsity,
        delta=delta,
        bounds=bounds,
        separator=separator,
        encoding=encoding,
        records_per_person=records_per_person,
        ledger=books,
        dataset=dataset,
        holdout=holdout,
    )
    given = asked.open()
    if out is None:
        raise click.UsageError(NO_OUT)
    inputs = [data] if bounds is None else [data, bounds]
    # Opened before anything is spent: a model that cannot be saved is not fitted. Saved before the report is made: none
    # that was paid for is lost.
    with witnessed(witness, books), output.writing(report, *inputs, out) as report_stream:
        with output.writing(out, *inputs, replace=False) as stream:
            with interruptible(books), output.share_bar() as progress:
                model, warned = asked.fit(given, progress)
            notes = [*given.notes, *warned]
            # Shown first: should the disk fill up now, what was paid for is not lost.
            with output.reader_may_leave():
                if as_json:
                    output.print_json({**output.model_facts(model), "notes": notes, "out": out, "report": report})
                else:
                    columns = f"{model.n_columns:,} columns used"
                    output.say("Data", f"{data}: {model.privacy.n_records:,} records, {columns}")
                    output.print_notes(notes)
                    output.say("Guarantee", model.privacy.statement())
                    output.print_effects(model)
                    output.print_budget(model.context, books)
            write_model(model, stream)
        if not as_json:
            output.say("Model", f"{out}; use it with: dpsparse predict {shlex.quote(out)} new.csv")
        if report_stream is not None:
            report_stream.write(fit_page(model).encode())
    if not as_json and report is not None:
        output.say("Report", report)
