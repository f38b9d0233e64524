"""`dpsparse audit`."""

import json
from typing import TYPE_CHECKING, Any

import click

from dpsparse.cli import options

if TYPE_CHECKING:
    from rich.table import Table


@click.command()
@click.option("--long", is_flag=True, help="Longer games, more pairs of neighbours.")
@click.option("--only", metavar="NAME", help="One check, or 'planted bugs'; a wrong name lists them all.")
@options.out_file("Where the page goes.", "dpsparse-audit.html")
@options.AS_JSON
def audit(long: bool, only: str | None, out: str, as_json: bool) -> None:
    """Attack the guarantee: replay, games, floating point, planted bugs. Status 0 if all is well, 1 otherwise."""
    from dpsparse.audit.page import audit_page
    from dpsparse.audit.run import BUGS, CHECKS, run_audit, steps
    from dpsparse.cli import output
    from dpsparse.io.atomic import write_file

    names = [*CHECKS, BUGS]
    if only is not None and only not in names:
        raise click.BadParameter(f"choose one of {', '.join(map(repr, names))}", param_hint="--only")
    with output.step_bar(steps(only)) as progress:
        outcome = run_audit(only, long=long, progress=progress)
    write_file(out, audit_page(outcome))
    if as_json:
        click.echo(json.dumps(outcome.to_dict(), indent=2))
    else:
        _print(outcome)
        click.echo(f"{'Every verdict is good' if outcome.good else 'Something is wrong'}. The page: {out}")
    if not outcome.good:
        raise SystemExit(1)


def _print(outcome: Any) -> None:
    from rich.console import Console

    console = Console()
    for check, findings in outcome.findings.items():
        table = _table(check.capitalize(), "mechanism", "claimed", "found", "verdict")
        for finding in findings:
            verdict = "[green]good[/]" if finding.good else "[bold red]BAD[/]"
            table.add_row(*map(_plain, (finding.mechanism, finding.claimed, finding.found)), verdict)
        console.print(table)
    if outcome.catches:
        table = _table("Planted bugs", "bug", "caught by", "what it saw")
        for catch in outcome.catches:
            table.add_row(*map(_plain, (catch.bug, catch.check or "UNNOTICED", catch.seen)))
        console.print(table)


def _table(title: str, *headings: str) -> "Table":
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
