"""What commands that spend a budget on a model share: its ledger, its files, and what is said when they are stopped."""

import shlex
from contextlib import contextmanager
from pathlib import Path

import click

NO_OUT = (
    "--out is missing, so nothing was fitted and nothing spent: a fit spends epsilon, and its model would be lost. "
    "Give --out model.json, or --report report.html, which saves the model beside it."
)


@contextmanager
def interruptible(ledger):
    """Say where to look after an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        if ledger is not None:
            # A PrivacyLedger, which shows no password.
            click.echo(f"dpsparse: what was charged stays spent; see: dpsparse budget history {ledger}", err=True)
        raise


def opened_ledger(ledger):
    """The ledger at a place; None where none was given."""
    if ledger is None:
        return None
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

    return PrivacyLedger(ledger)


def require_target(data, target):
    """Refuse a table without a target; a store knows its own."""
    from dpsparse.io.store.manifest import is_store
    from dpsparse.schema import existing_path

    if target is None and not is_store(existing_path(data)):
        raise click.MissingParameter(param_hint="'--target'", param_type="option")


def model_path(out, report):
    """Where a model goes: `--out`, or beside the report. Without either nothing is fitted."""
    if out is None and report is None:
        raise click.UsageError(NO_OUT)
    return str(Path(report).with_suffix(".json")) if out is None else out


def fit_and_save(asked, notes, fit, *, out, report, witness, as_json):
    """Spend, print what came of it, save the model and write the report.

    Parameters
    ----------
    asked : FileFit
        What was asked for.
    notes : list of str
        What is known before the fit.
    fit : callable
        Gives the model, further notes, and what JSON and the screen tell beside the model: facts by name, and a list of
        headings and sentences.
    out, report : path or None
        Where the model and the report go.
    witness : path or None
        The file that keeps the ledger's newest head.
    as_json : bool
        Whether to print JSON.
    """
    from dpsparse.cli import output
    from dpsparse.cli.witness import witnessed
    from dpsparse.model.json_file import write_model
    from dpsparse.report.fit import fit_page

    out, ledger = model_path(out, report), asked.ledger
    inputs = [path for path in (asked.data, asked.bounds) if path is not None]
    # Opened before anything is spent: a model that cannot be saved is not fitted. Saved before the report is made: none
    # that was paid for is lost.
    with witnessed(witness, ledger), output.writing(report, *inputs, out) as report_stream:
        with output.writing(out, *inputs, replace=False) as stream:
            with interruptible(ledger):
                model, warned, facts, sentences = fit()
            notes = [*notes, *warned]
            # Shown first: should the disk fill up now, what was paid for is not lost.
            with output.reader_may_leave():
                if as_json:
                    told = {**output.model_facts(model), **facts, "notes": notes, "out": out, "report": report}
                    output.print_json(told)
                else:
                    columns = f"{model.n_columns:,} columns used"
                    output.say("Data", f"{inputs[0]}: {model.privacy.n_records:,} records, {columns}")
                    output.print_notes(notes)
                    output.say("Guarantee", model.privacy.statement())
                    for heading, text in sentences:
                        output.say(heading, text)
                    output.print_effects(model)
                    output.print_budget(model.context, ledger)
            write_model(model, stream)
        if not as_json:
            output.say("Model", f"{out}; use it with: dpsparse predict {shlex.quote(out)} new.csv")
        if report_stream is not None:
            report_stream.write(fit_page(model).encode())
    if not as_json and report is not None:
        output.say("Report", report)
