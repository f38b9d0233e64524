"""`dpsparse check`: whether a store is still what was written, and what is wrong with a file, for its holder's eyes."""

from typing import Any

import click

from dpsparse.cli import options

HEADING = "For your eyes only: this comes from the records, and no guarantee covers it. Nothing is written or charged."
ENDING = (
    "Nothing seen here may be typed into bounds or decide which columns to use: it comes from the records, so that the "
    "guarantee would not cover it. Correct records at their source, or fit them as they are: a gap or a cell that "
    "cannot be read counts as missing, and a line that cannot be read as a blank record."
)
NO_LEDGER = (
    "check releases nothing and is not private, so that no budget could pay for it; leave out --ledger, and show its "
    "output to nobody"
)


@click.command(short_help="Check a file's cells (for your eyes only), or a store.")
@options.DATA
@click.option("--target", help="The column to explain.")
@options.POSITIVE
@click.option("--bounds", type=options.PATH, help="The bounds file: likely misspellings of its categories are listed.")
@options.dialect
@click.option("--ledger", hidden=True)
@options.AS_JSON
def check(
    data: str,
    target: str | None,
    positive: str | None,
    bounds: str | None,
    separator: str | None,
    encoding: str,
    ledger: str | None,
    as_json: bool,
) -> None:
    """Show the curator what a fit would count as missing in DATA, or check a store.

    Of a .csv or .parquet file it lists gaps and unreadable cells with their lines, and remarks on separators,
    encodings, and columns that may be identifiers or name people with several rows. It points out likely misspellings
    of the categories in --bounds and of the --positive label, and says if no cell of the --target has that label. This
    is for whoever holds the records, and not private: it writes nothing and takes no ledger. It shows no value and no
    range, and no count except how many values a column has that may name people.

    Of a store it compares every file with the checksum that `dpsparse convert` noted; the exit status is 1 if any
    differs.
    """
    from dpsparse.io.store.manifest import is_store
    from dpsparse.schema import existing_path

    if ledger is not None:
        raise click.UsageError(NO_LEDGER)
    if is_store(existing_path(data)):
        _check_store(data, as_json)
    else:
        how = {"positive": positive, "separator": separator, "encoding": encoding}
        _check_file(data, target, bounds, how, as_json)


def _check_store(store: str, as_json: bool) -> None:
    from dpsparse.cli import output
    from dpsparse.io.store.manifest import StoreCorrupted, read_complete
    from dpsparse.io.store.store_reader import check_store

    try:
        with output.step_bar(len(read_complete(store).chunks)) as progress:
            manifest = check_store(store, progress)
    except StoreCorrupted as error:
        if as_json:
            output.print_json({"intact": False, "damaged": error.files})
        raise
    if as_json:
        output.print_json({**output.store_facts(manifest), "intact": True})
    else:
        output.print_store(store, manifest)
        click.echo("Intact: every file is as it was written.")


def _check_file(data: str, target: str | None, bounds: str | None, how: Any, as_json: bool) -> None:
    from dpsparse.cli import output
    from dpsparse.cli.curator import curator_faults

    faults, remarks = curator_faults(data, target, bounds, **how)
    if as_json:
        shown = [
            {"column": column, "fault": what, "lines": lines, "more": more} for column, what, lines, more in faults
        ]
        odd = [{"column": column, "remark": what} for column, what in remarks]
        output.print_json({"for": HEADING, "faults": shown, "remarks": odd, "then": ENDING})
        return
    click.echo(HEADING)
    for column, what in remarks:
        output.say("The file" if column is None else f"Column {column}", what)
    rows = [
        ["(whole line)" if column is None else column, what, ", ".join(map(str, lines)) + ", ..." * more]
        for column, what, lines, more in faults
    ]
    if rows:
        output.print_table(("column", "what", "lines"), rows, texts=3)
    if not rows and not remarks:
        click.echo("No fault was seen.")
    click.echo(ENDING)
