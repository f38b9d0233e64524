"""`dpsparse convert`: a table written once for many fits."""

import shlex

import click

from dpsparse.cli import options


@click.command(short_help="Write a table once, for many fits.")
@options.DATA
@options.STORE
@options.target(required=True)
@options.BOUNDS
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Of the features; float64 takes twice the space.",
)
@options.AS_JSON
def convert(data, store, target, bounds, dtype, as_json):
    """Write DATA, a table as `dpsparse fit` reads it, into the folder STORE, for `dpsparse fit STORE`.

    Rows are read in pieces, so that DATA may be larger than memory; public centres and scales are applied where
    they are given, and every file has a checksum. Stopped, the same command goes on where it was. Nothing is released
    and no budget is spent: a store holds the records, so guard it like them. You alone may read what is written; an
    empty folder that others may enter is refused.
    """
    from dpsparse.cli import output
    from dpsparse.data.inputs import TableInput
    from dpsparse.io.convert import convert as convert_table
    from dpsparse.io.convert import count_chunks
    from dpsparse.io.store.manifest import fit_refuses

    given = TableInput(data, target, bounds)
    try:
        with output.step_bar(count_chunks(given.table, given.provenance, dtype)) as progress:
            manifest = convert_table(given.table, given.provenance, store, dtype, progress)
    except KeyboardInterrupt:
        click.echo("dpsparse: interrupted; the same command goes on where it stopped", err=True)
        raise SystemExit(130) from None
    notes = given.notes + fit_refuses(manifest)
    if as_json:
        output.print_json({**output.store_facts(manifest), "target": target, "notes": notes, "out": store})
    else:
        output.print_store(store, manifest, notes)
        click.echo(f"Use it with: dpsparse fit {shlex.quote(store)} --epsilon 1 --out model.json")
