"""`dpsparse convert`: a table written once for many fits."""

import shlex

import click

from dpsparse.cli import options


@click.command(short_help="Write a table once, for many fits.")
@options.DATA
@click.argument("store", type=options.PATH, required=False)
@options.target(required=True)
@options.POSITIVE
@options.BOUNDS
@options.DROP
@options.dialect
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Type of features in public units; float64 takes twice the space. Cells keep all their digits.",
)
@options.out("The folder STORE, as other commands name what they write.")
@options.AS_JSON
def convert(
    data: str,
    store: str | None,
    target: str,
    positive: str | None,
    bounds: str | None,
    drop: tuple[str, ...],
    separator: str | None,
    encoding: str,
    dtype: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Write DATA, a table as `dpsparse fit` reads it, into the folder STORE, for `dpsparse fit STORE`.

    The cells are stored as they are: text, gaps, dates. Each fit learns what the columns are, as on DATA itself. Where
    every column is declared as numbers or categories, by --bounds or by the types of a Parquet file, the store
    holds features instead, with public centres and scales applied where they are given.

    Rows are read in pieces, so that DATA may be larger than memory, and every file has a checksum. If it is stopped,
    the same command resumes. Nothing is released and no budget is spent: a store holds the records, so guard it
    like them. You alone may read what is written; an empty folder that others may enter is refused.
    """
    from dpsparse.cli import output
    from dpsparse.data.inputs import open_for_store

    if (store is None) == (out is None):
        raise click.UsageError("name the folder of the store once: --out STORE, or as the second argument")
    store = str(store or out)
    given = open_for_store(data, target, bounds, drop=drop, positive=positive, separator=separator, encoding=encoding)
    try:
        with output.step_bar(given.count_chunks(dtype)) as progress:
            manifest = given.convert(store, dtype, progress)
    except KeyboardInterrupt:
        click.echo("dpsparse: interrupted; the same command goes on where it stopped", err=True)
        raise SystemExit(130) from None
    if as_json:
        output.print_json({**output.store_facts(manifest), "target": target, "notes": given.notes, "out": store})
    else:
        output.print_store(store, manifest, given.notes)
        click.echo(f"Use it with: dpsparse fit {shlex.quote(store)} --epsilon 1 --out model.json")
