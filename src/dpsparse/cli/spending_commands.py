"""What commands that spend a budget on a model share: its ledger, its files, and what is said when they are stopped."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpsparse.cli.own_ledger import OwnLedger
    from dpsparse.fitting import FileFit
    from dpsparse.model.released import LinearModel
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

NO_OUT = (
    "--out is missing, so nothing was fitted and nothing spent: a fit spends epsilon, and its model would be lost. "
    "Give --out model.json, or --report report.html, which saves the model beside it."
)
# A release may have been made, though none was shown.
UNCOUNTED = "dpsparse: there is no --ledger to tell what was released: count the whole epsilon as spent"

# A model, further notes, facts for JSON, and headings with sentences for the screen.
FitOutcome = tuple["LinearModel", Sequence[str], dict[str, Any], list[tuple[str, str]]]


@contextmanager
def interruptible(ledger: "OwnLedger | None") -> Iterator[None]:
    """After an interruption, give back what was reserved and not charged, and say what stays spent."""
    try:
        yield
    except KeyboardInterrupt:
        if ledger is None:
            click.echo(UNCOUNTED, err=True)
        else:
            told = "what was reserved or charged stays spent"
            if ledger.give_back():
                told = "nothing was released, and nothing is spent"
            # A ledger, which shows no password.
            click.echo(f"dpsparse: {told}; see: dpsparse budget history {ledger}", err=True)
        raise


def opened_ledger(ledger: "str | PrivacyLedger | None") -> "OwnLedger | None":
    """The ledger at a place; None where none was given."""
    if ledger is None:
        return None
    from dpsparse.cli.own_ledger import OwnLedger

    return OwnLedger(ledger)


def require_target(data: str, target: str | None, hint: str = "'--target'") -> None:
    """Refuse a table without a target; a store knows its own. `hint` names the options that say it."""
    from dpsparse.io.store.manifest import is_store
    from dpsparse.schema import existing_path

    if target is None and not is_store(existing_path(data)):
        raise click.MissingParameter(param_hint=hint, param_type="option")


def asked_fit(data: str, target: str | None, epsilon: float, shared: dict[str, Any], **own: Any) -> "FileFit":
    """The fit on a file that `options.of_a_fit`, and a command's own options, ask for."""
    from dpsparse.fitting import FileFit
    from dpsparse.privacy.guarantee import check_epsilon

    if shared["formula"] is None:
        require_target(data, target, "'--target', or '--formula'")
    # Before `--out` is asked for.
    check_epsilon(epsilon)
    return FileFit(data, target, epsilon, **{**shared, "ledger": opened_ledger(shared["ledger"]), **own})


def model_path(out: str | None, report: str | None) -> str:
    """Where a model goes: `--out`, or beside the report. Without either nothing is fitted."""
    if out is not None:
        return out
    if report is None:
        raise click.UsageError(NO_OUT)
    return str(Path(report).with_suffix(".json"))


def fit_and_save(
    asked: "FileFit",
    notes: Sequence[str],
    fit: Callable[[], FitOutcome],
    *,
    out: str | None,
    report: str | None,
    witness: str | None,
    as_json: bool,
) -> None:
    """Spend, print what came of it, save the model and write the report.

    `notes` are known before the fit. `fit` gives the model, further notes, and what JSON and the screen tell beside the
    model: facts by name, and a list of headings and sentences.
    """
    from dpsparse.cli import output
    from dpsparse.cli.witness import witnessed
    from dpsparse.model.json_file import write_model
    from dpsparse.report.fit_page import fit_page

    saved, ledger = model_path(out, report), asked.ledger
    inputs = [path for path in (asked.data, asked.bounds) if path is not None]
    # Opened before anything is spent: a model that cannot be saved is not fitted. Saved before the report is made: none
    # that was paid for is lost.
    with witnessed(witness, ledger), output.writing(report, *inputs, saved) as report_stream:
        with output.writing(saved, *inputs, replace=False) as stream:
            with interruptible(ledger):
                model, warned, facts, sentences = fit()
            notes = [*notes, *warned]
            # Shown first: should the disk fill up now, what was paid for is not lost.
            with output.reader_may_leave():
                if as_json:
                    told = {**output.model_facts(model), **facts, "notes": notes, "out": saved, "report": report}
                    output.print_json(told)
                else:
                    columns = f"{model.n_columns:,} columns used"
                    output.say("Data", f"{inputs[0]}: {model.privacy.size}, {columns}")
                    output.print_notes(notes)
                    output.say("Guarantee", model.privacy.statement())
                    for heading, text in sentences:
                        output.say(heading, text)
                    output.print_effects(model)
                    output.print_budget(model.context, ledger)
            write_model(model, stream)
        if not as_json:
            output.say("Model", f"{saved}; use it with: dpsparse predict {shlex.quote(saved)} new.csv")
        if report_stream is not None:
            report_stream.write(fit_page(model).encode())
    if not as_json and report is not None:
        output.say("Report", report)
