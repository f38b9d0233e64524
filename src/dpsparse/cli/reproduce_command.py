"""`dpsparse reproduce`."""

import json

import click

from dpsparse.cli import options


@click.command(short_help="Run the paper's figures and tables.")
@click.argument("parts", nargs=-1, metavar="[PART]...")
@click.option("--quick", is_flag=True, help="Small data, few repetitions: a check that it runs, in about a minute.")
@click.option("--repeats", type=click.IntRange(min=2), help="Repetitions and splits; 20 by default, 3 with --quick.")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Processes.")
@options.out(
    "Folder of the results; a run that was stopped goes on from there.",
    click.Path(file_okay=False, writable=True),
    "reproduction",
)
@options.AS_JSON
def reproduce(parts: tuple[str, ...], quick: bool, repeats: int | None, jobs: int, out: str, as_json: bool) -> None:
    """Run the paper's figures and tables: as stated, corrected, and by this package's own method.

    PART is any of fig1a to fig1d, fig2a to fig2d, table1 (NCI-60), table2 (METABRIC), or all, the default. The tables
    need files that are not shipped: DPSPARSE_DATA names their folder. With --json progress goes to standard error.
    """
    from rich.console import Console

    from dpsparse.paper.reproduce import reproduce_parts

    summary = reproduce_parts(parts, quick=quick, repeats=repeats, jobs=jobs, out=out, console=Console(stderr=as_json))
    if as_json:
        click.echo(json.dumps(summary, indent=2))
