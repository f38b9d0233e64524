"""`dpsparse budget`: grant a dataset its budget, show what is left, check that nobody changed the ledger."""

import json
import math
import shlex
import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dpsparse.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from dpsparse.privacy.ledger.events import LedgerState
    from dpsparse.privacy.ledger.ledger import PrivacyLedger
    from dpsparse.privacy.protection import Adjacency

# Letters of a bar, and of a line of text.
_BAR, _LINE = 10, 100


def _refuse_option(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        name = context.info_name
        raise click.UsageError(f"the ledger stands without --ledger here: dpsparse budget {name} {shlex.quote(value)}")


def _ledger(command: Any) -> Any:
    """The ledger as an argument; the option of other commands is refused with the remedy."""
    hidden = click.option("--ledger", "option", hidden=True, is_eager=True, expose_value=False, callback=_refuse_option)
    return click.argument("ledger")(hidden(command))


@click.group(short_help="Grant and watch a budget for many fits.")
def budget() -> None:
    """Budgets kept in a ledger: a file, or a database URL such as postgresql://user@host/database."""


@budget.command(short_help="Grant DATASET its budget, once.")
@_ledger
@click.argument("dataset")
@click.option("--epsilon", type=float, required=True, help="The guarantee to each person over all fits.")
@click.option("--delta", type=float, required=True, help="Its failure probability; below 1 / (number of records).")
@click.option("--adjacency", default="replace-one", show_default=True, help="replace-one or zero-out-one.")
@options.RECORDS_PER_PERSON
@options.WITNESS
@options.AS_JSON
def grant(
    ledger: str,
    dataset: str,
    epsilon: float,
    delta: float,
    adjacency: "Adjacency",
    records_per_person: int,
    witness: str | None,
    as_json: bool,
) -> None:
    """Grant DATASET its budget, once; the same grant again changes nothing."""
    from dpsparse.cli.witness import witnessed
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

    books = PrivacyLedger(ledger)
    with witnessed(witness, books):
        books.grant(dataset, epsilon=epsilon, delta=delta, adjacency=adjacency, records_per_person=records_per_person)
    book = books.state()
    _show(book, [book.name_of(dataset)], as_json)


@budget.command(short_help="Show what was granted, spent and is left.")
@_ledger
@click.argument("dataset", required=False)
@options.out("Where a picture of what DATASET has spent over time goes, as PNG, PDF or SVG.")
@options.AS_JSON
def show(ledger: str, dataset: str | None, out: str | None, as_json: bool) -> None:
    """Show what was granted, spent and is left, and the head of the chain."""
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

    if out is not None and dataset is None:
        raise click.UsageError("--out needs a DATASET, whose spending is drawn")

    books = PrivacyLedger(ledger)
    if dataset is not None:
        books.balance(dataset)
    if dataset is not None and out is not None:
        _draw(books, dataset, out)
    book = books.state()
    _show(book, [book.name_of(dataset)] if dataset else sorted(book.filters), as_json)


def _draw(ledger: "PrivacyLedger", dataset: str, out: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from dpsparse.io.atomic import save_figure
    from dpsparse.report.budget_facts import plot_budget

    figure = plot_budget(ledger, dataset).get_figure(root=True)
    assert figure is not None  # axes of a plot have one
    save_figure(figure, out)


@budget.command()
@_ledger
@click.argument("dataset", required=False)
@options.AS_JSON
def history(ledger: str, dataset: str | None, as_json: bool) -> None:
    """List every event, oldest first."""
    from dpsparse.privacy.ledger.ledger import PrivacyLedger
    from dpsparse.report.budget_facts import EVENT_HEADINGS, EVENTS_MEANING, event_cells

    events = PrivacyLedger(ledger).history(dataset)
    if as_json:
        click.echo(json.dumps([{**vars(event), "payload": event.details} for event in events], indent=2))
        return
    table = _table(*EVENT_HEADINGS)
    for event in events:
        table.add_row(*_plain(*event_cells(event)))
    _print(table)
    _say(EVENTS_MEANING)


@budget.command(short_help="Check that nobody changed the ledger.")
@_ledger
@click.option("--head", help="A head that `show` printed earlier: the ledger must still contain it.")
@options.WITNESS
@options.AS_JSON
def verify(ledger: str, head: str | None, witness: str | None, as_json: bool) -> None:
    """Check that nobody changed the ledger: its chain, and every decision again.

    The exit status is 1 if it was changed. Without --head or --witness nothing can tell that the newest events were
    dropped, or an old copy was restored: keep the head in another place.
    """
    from dpsparse.cli.witness import renew
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

    books = PrivacyLedger(ledger)
    current, count = books.verify(head), len(books.history())
    if witness is not None:
        renew(witness, books)
    if as_json:
        click.echo(json.dumps({"intact": True, "events": count, "head": current}, indent=2))
    else:
        click.echo(f"intact: {count} events, head {current}")


def _show(book: "LedgerState", datasets: Sequence[str], as_json: bool) -> None:
    from dpsparse.report.budget_facts import MEANING, balance_facts

    balances = [balance_facts(book, name) for name in datasets]
    if as_json:
        click.echo(json.dumps({"head": book.head, "datasets": balances}, indent=2))
        return
    headings = (
        "granted",
        "at\ndelta",
        "fits",
        "spent",
        "left for\none fit",
        "share\nleft",
        "",
        "account",
        "neighbours",
    )
    table = _table("dataset", *headings, "records\nper person")
    for values in balances:
        granted, delta, spent, one = (
            f"{values[key]:.4g}" for key in ("epsilon", "delta", "epsilon_spent", "epsilon_left")
        )
        left = 1 - values["share_spent"]
        full = math.floor(_BAR * left)
        bar = "█" * full + "░" * (_BAR - full)
        row = [values["dataset"], granted, delta, str(values["fits"]), spent, one, f"{math.floor(100 * left)} %", bar]
        row += [values["account"] or "", values["adjacency"], str(values["records_per_person"])]
        table.add_row(*_plain(*row))
    _print(table)
    for sentence in MEANING:
        _say(sentence)
    click.echo(f"head {book.head}")


def _table(*headings: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        # A bar has no heading, and stays whole.
        table.add_column(heading, overflow="fold", no_wrap=not heading)
    return table


def _say(text: str) -> None:
    """Print a sentence on lines that a terminal shows whole."""
    click.echo(textwrap.fill(text, min(_LINE, shutil.get_terminal_size((_LINE, 0)).columns)))


def _plain(*cells: Any) -> Any:
    """Names are text, never markup."""
    from rich.text import Text

    return [Text(cell) for cell in cells]


def _print(table: "Table") -> None:
    from rich.console import Console

    console = Console(highlight=False)
    # A pipe has no width of its own: a line must not break where nobody sees it.
    console = console if console.is_terminal else Console(highlight=False, width=240)
    console.print(table)
