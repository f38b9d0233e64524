"""`dpsparse fit`: a table in, a guarantee, a model and a report out."""

import shlex
import warnings
from contextlib import contextmanager

import click

from dpsparse.cli import options

NO_OUT = (
    "--out is missing, so nothing was fitted and nothing spent: a fit spends epsilon, and its model would be lost. "
    "Give --out model.json; a --report alone keeps no model."
)


class _Sparsity(click.ParamType):
    name = "integer or auto"

    def convert(self, value, parameter, context):
        return value if value == "auto" else click.INT.convert(value, parameter, context)


@click.command(short_help="Fit privately on a table.")
@options.DATA
@options.target(" A store knows its own.")
@options.epsilon(required=True)
@options.sparsity("Features to select, or 'auto'.", _Sparsity())
@options.DELTA
@options.BOUNDS
@options.RECORDS_PER_PERSON
@click.option("--ledger", help="Where the budget is kept: a file or a database URL; see `dpsparse budget`.")
@click.option("--dataset", help="The name under which it was granted there.")
@options.out("Where the model goes, as JSON.")
@click.option("--report", type=options.PATH, help="Where a report goes, as HTML; see `dpsparse report`.")
@options.AS_JSON
def fit(data, target, epsilon, sparsity, delta, bounds, records_per_person, ledger, dataset, out, report, as_json):
    """Fit privately on DATA (.csv, .parquet, .npy, a store): which few columns matter, and by how much.

    DATA may be a folder of Parquet files, or a store, which is what `dpsparse convert` writes.

    Centres and scales of columns that --bounds does not give are learned within the guarantee.

    The whole of epsilon is spent. Each further fit on the same people adds to it: --ledger keeps count, and refuses
    what would exceed the budget granted. Without --out nothing is fitted: the result would be paid for and lost.
    """
    from dpsparse import PrivateSparseRegressor
    from dpsparse.cli import output
    from dpsparse.data.inputs import open_input
    from dpsparse.io.store.manifest import is_store
    from dpsparse.model.json_file import write_model
    from dpsparse.report.fit import fit_page
    from dpsparse.schema import existing_path

    if target is None and not is_store(existing_path(data)):
        raise click.MissingParameter(param_hint="'--target'", param_type="option")
    if ledger is not None:
        from dpsparse.privacy.ledger.ledger import PrivacyLedger

        ledger = PrivacyLedger(ledger)
    given = open_input(data, target, bounds)
    if out is None:
        raise click.UsageError(NO_OUT)
    notes = list(given.notes)
    inputs = [data] if bounds is None else [data, bounds]
    # Opened before anything is spent: a model that cannot be saved is not fitted, and none that was paid for is lost.
    with (
        output.writing(out, *inputs, replace=False) as stream,
        output.writing(report, *inputs, out) as report_stream,
    ):
        X, y = given.read()
        with _collected(notes), _explained(data, ledger), output.share_bar() as progress:
            estimator = PrivateSparseRegressor(
                sparsity=sparsity,
                epsilon=epsilon,
                delta=delta,
                **given.parameters,
                records_per_person=records_per_person,
                ledger=ledger,
                dataset=dataset,
            ).fit(X, y, progress=progress)
        model = given.model(estimator.released_)
        # Shown first: should the disk fill up now, what was paid for is not lost.
        if as_json:
            output.print_json({**output.model_facts(model), "notes": notes, "out": out, "report": report})
        else:
            output.say("Data", f"{data}: {model.privacy.n_records:,} records, {len(model.features):,} features")
            output.print_notes(notes)
            output.say("Guarantee", model.privacy.statement())
            output.print_effects(model)
            output.print_budget(model, ledger)
        write_model(model, stream)
        if report_stream is not None:
            report_stream.write(fit_page(model).encode())
    if not as_json:
        output.say("Model", f"{out}; use it with: dpsparse predict {shlex.quote(out)} new.csv")
        if report is not None:
            output.say("Report", report)


@contextmanager
def _collected(notes):
    """Put the estimators' warnings, which tell public facts, in a list of notes; leave out those of other projects."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]


@contextmanager
def _explained(data, ledger):
    """Say what a cell that is no number looks like in a file, and where to look after an interrupted fit."""
    from dpsparse.engine.refusals import NOT_FINITE, NOT_FINITE_IN_FILE

    try:
        yield
    except ValueError as error:
        if str(error) != NOT_FINITE:
            raise
        raise ValueError(NOT_FINITE_IN_FILE.format(path=data)) from None
    except KeyboardInterrupt:
        if ledger is not None:
            # A PrivacyLedger, which shows no password.
            click.echo(f"dpsparse: what was charged stays spent; see: dpsparse budget history {ledger}", err=True)
        raise
