"""`dpsparse convert` and `check`: a table written once for many fits, and whether it is still what was written."""

import click

from dpsparse.cli.files import AS_JSON


@click.command(short_help="Write a table once, for many fits.")
@click.argument("data", type=click.Path())
@click.argument("store", type=click.Path())
@click.option("--target", required=True, help="The column to explain; its number, from 0, in an npy file.")
@click.option("--bounds", type=click.Path(), help="Public bounds of the columns; see `dpsparse bounds init`.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Of the features; float64 takes twice the space.",
)
@AS_JSON
def convert(data, store, target, bounds, dtype, as_json):
    """Write DATA, a table as `dpsparse fit` reads it, into the folder STORE, for `dpsparse fit STORE`.

    Rows are read in pieces, so that DATA may be larger than memory; public centres and scales are applied, and every
    file has a checksum. Stopped, the same command goes on where it was. Nothing is released and no budget is spent: a
    store holds the records, so guard it like them. You alone may read what is written; an empty folder that others may
    enter is refused.
    """
    from dpsparse.cli import show
    from dpsparse.cli.progress import step_bar
    from dpsparse.data.inputs import TableInput
    from dpsparse.io.convert import convert as convert_table
    from dpsparse.io.convert import count_chunks
    from dpsparse.io.store.manifest import fit_refuses

    given = TableInput(data, target, bounds)
    try:
        with step_bar(count_chunks(given.table, given.provenance, dtype)) as progress:
            found = convert_table(given.table, given.provenance, store, dtype, progress)
    except KeyboardInterrupt:
        click.echo("dpsparse: interrupted; the same command goes on where it stopped", err=True)
        raise SystemExit(130) from None
    notes = given.notes + fit_refuses(found)
    if as_json:
        show.as_json({**_told(found), "target": target, "notes": notes, "out": store})
    else:
        show.store(store, found, notes)
        if not found.refused:
            click.echo(f"Use it with: dpsparse fit {store} --epsilon 1")


@click.command(short_help="Check a store against its checksums.")
@click.argument("store", type=click.Path())
@AS_JSON
def check(store, as_json):
    """Compare every file of STORE with the checksum that `dpsparse convert` noted. Status 1 where any differs."""
    from dpsparse.cli import show
    from dpsparse.cli.progress import step_bar
    from dpsparse.io.store.manifest import StoreCorrupted, fit_refuses, read_complete
    from dpsparse.io.store.reader import check_store

    try:
        with step_bar(len(read_complete(store).chunks)) as progress:
            found = check_store(store, progress)
    except StoreCorrupted as error:
        if as_json:
            show.as_json({"intact": False, "damaged": error.files})
        raise
    if as_json:
        show.as_json({**_told(found), "intact": True, "notes": fit_refuses(found)})
    else:
        show.store(store, found, fit_refuses(found))
        click.echo("Intact: every file is as it was written.")


def _told(found):
    n, d = found.shape
    return {
        "n_records": n,
        "n_features": d,
        "dtype": found.dtype.name,
        "chunks": len(found.chunks),
        "refused": found.refused,
    }
