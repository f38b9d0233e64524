"""`dpsparse app`."""

import atexit
import gc
import json

import click

from dpsparse.cli import options

NO_EXTRA = 'the page needs packages that are not installed ({name}): pip install "dpsparse[app]"'


@click.command(short_help="Open a local page that goes from a file to a report.")
@click.argument("data", type=options.PATH, required=False, metavar="[DATA]")
@options.LEDGER
@click.option(
    "--data",
    "tables",
    type=options.PATH,
    default=".",
    help="The folder whose tables the page may open by path, without DATA.",
)
@click.option(
    "--folder",
    type=options.PATH,
    help="Where the page keeps its choices and fits, and the budget without --ledger.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need --expose.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; by default any free one.")
@click.option("--expose", is_flag=True, help="Let other machines in, unencrypted.")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
@options.AS_JSON
def app(
    data: str | None,
    ledger: str,
    tables: str,
    folder: str | None,
    host: str,
    port: int,
    expose: bool,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Open a page on this machine that goes from a file to a report, for people who do not write Python.

    Step 1 names the file DATA, and may open the tables beside it. Without --folder nothing else that was opened before
    is kept. Fits and, without --ledger, the budget are kept in a folder of your account.

    It does what `fit`, `plan`, `report` and `budget` do. Nothing leaves this machine. Ctrl-C ends it, after a fit that
    is already paid for.
    """
    try:
        from dpsparse.app.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("dpsparse"):
            raise
        raise click.UsageError(NO_EXTRA.format(name=error.name)) from None

    from dpsparse.schema import existing_path

    def say(url: str) -> None:
        if expose:
            click.echo("Other machines can connect, and nothing is encrypted on the way.", err=True)
        if as_json:
            click.echo(json.dumps({"url": url}))
        else:
            click.echo(
                f"The page is at {url}\nThe address is secret: whoever has it can spend the budget. Ctrl-C ends it."
            )

    # The end of the interpreter searches everything imported for garbage, which takes seconds after a fit.
    atexit.register(gc.freeze)
    try:
        serve(
            folder or click.get_app_dir("dpsparse"),
            resume=folder is not None,
            opened=tables if data is None else existing_path(data),
            ledger=ledger,
            host=host,
            port=port,
            expose=expose,
            on_ready=say,
            browser=not no_browser,
        )
    except KeyboardInterrupt:
        # The usual end, and not an error.
        click.echo("The page has ended.", err=True)
