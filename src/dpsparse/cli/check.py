"""`dpsparse check`: whether a store is still what was written."""

import click

from dpsparse.cli import options


@click.command(short_help="Check a store against its checksums.")
@options.STORE
@options.AS_JSON
def check(store, as_json):
    """Compare every file of STORE with the checksum that `dpsparse convert` noted. Status 1 where any differs."""
    from dpsparse.cli import output
    from dpsparse.io.store.manifest import StoreCorrupted, fit_refuses, read_complete
    from dpsparse.io.store.reader import check_store

    try:
        with output.step_bar(len(read_complete(store).chunks)) as progress:
            manifest = check_store(store, progress)
    except StoreCorrupted as error:
        if as_json:
            output.print_json({"intact": False, "damaged": error.files})
        raise
    notes = fit_refuses(manifest)
    if as_json:
        output.print_json({**output.store_facts(manifest), "intact": True, "notes": notes})
    else:
        output.print_store(store, manifest, notes)
        click.echo("Intact: every file is as it was written.")
