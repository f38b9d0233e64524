"""`dpsparse bounds init`."""

import click

from dpsparse.cli import options


@click.group()
def bounds() -> None:
    """State what is publicly known of the columns."""


@bounds.command(short_help="Write a template of bounds, to fill in by hand.")
@options.DATA
@click.option("--target", help="The column to explain, which needs no bounds.")
@options.dialect
@options.out("Where the template goes; printed unless given.")
@options.AS_JSON
def init(data: str, target: str | None, separator: str | None, encoding: str, out: str | None, as_json: bool) -> None:
    """Write a template of bounds for DATA, to be filled in BY HAND from public knowledge.

    Only the names and kinds of the columns are read: bounds taken from the data would leak what is to be protected.

    A CSV file does not say whether its first line is names or a record. It is printed only if --target is one of its
    cells; without --target it goes to --out, which you alone can read.
    """
    from dpsparse.cli import output
    from dpsparse.io.bounds_writer import template
    from dpsparse.io.cells.raw_table import as_raw_table
    from dpsparse.io.formats import open_table
    from dpsparse.schema import FileError, existing_path

    with output.writing(out, data, replace=False, private=target is None) as stream:
        is_csv = str(data).lower().endswith(".csv")
        table = (
            as_raw_table(existing_path(data), separator=separator, encoding=encoding) if is_csv else open_table(data)
        )
        # A record does not hold the target's name: who knows it has confirmed that the line is one of names.
        if target is None and is_csv and (out is None or as_json):
            raise FileError(
                f"{data}: the first line, of {len(table.names):,} cells, would be printed, and might be a record; name "
                "one of its columns as --target, or have the template written with --out and no --json"
            )
        text_columns = [] if is_csv else table.text_columns()
        text = template(table.path.name, table.names, text_columns, target)
        if stream is not None:
            stream.write(text.encode())
    if as_json:
        output.print_json({"columns": table.names, "text_columns": text_columns, "out": out, "template": text})
    elif out is None:
        click.echo(text, nl=False)
    else:
        click.echo(
            f'{out}: remove the # before what you know of a column without these records, and replace its "?" BY HAND; '
            "bounds read off the data would leak what the guarantee is to protect."
        )
