"""`dpsparse audit`."""

import json
from typing import TYPE_CHECKING, Any

import click

from dpsparse.cli import options

if TYPE_CHECKING:
    from rich.table import Table


@click.command(short_help="Attack the guarantee of this installation.")
@click.option("--long", is_flag=True, help="Longer games, more pairs of neighbours.")
@click.option("--only", metavar="NAME", help="Run one check; an unknown name lists them all.")
@options.out_file("Where the page goes.", "dpsparse-audit.html")
@options.AS_JSON
def audit(long: bool, only: str | None, out: str, as_json: bool) -> None:
    """Attack the guarantee of this installation by replay, games and floating point.

    Every fit, command and page runs on made-up neighbouring tables; no table of yours is read. The exit status is 0 if
    all is well, and 1 otherwise. The project's own tests plant bugs to show that the checks notice them.
    """
    from dpsparse.audit.run import CHECKS, audit_page, run_audit
    from dpsparse.cli import output
    from dpsparse.io.atomic import write_file

    if only is not None and only not in CHECKS:
        raise click.BadParameter(f"choose one of {', '.join(map(repr, CHECKS))}", param_hint="--only")
    if only is None:
        with output.step_bar(len(CHECKS)) as progress:
            outcome = run_audit(long=long, progress=progress)
    else:
        # Without a bar: a check may look at all that its process writes.
        outcome = run_audit(only, long=long)
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


def _table(title: str, *headings: str) -> "Table":
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
