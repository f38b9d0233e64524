"""`dpsparse table`."""

import click

from dpsparse.cli import options


@click.command(short_help="Write the effects of models as a table for a paper.")
@click.argument("models", type=options.PATH, nargs=-1, required=True)
@click.option("--markdown", "style", flag_value="markdown", default=True, help="Markdown, the default.")
@click.option("--latex", "style", flag_value="latex", help="LaTeX, with the package booktabs.")
@click.option("--word", "style", flag_value="word", help="A Word file, which needs --out.")
@click.option("--name", "names", metavar="TEXT", multiple=True, help="The heading of a model; repeat it, one for each.")
@options.out("Where the table goes; printed unless given.")
@options.AS_JSON
def table(models: tuple[str, ...], style: str, names: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """Write the effects of MODELS side by side, with reference rows of categories and notes on the guarantee.

    The model files are all it reads.
    """
    from dpsparse.cli import output
    from dpsparse.model.effect_tables import compare_models
    from dpsparse.model.json_file import load_model

    if style == "word" and out is None:
        raise click.UsageError("--word needs --out, such as --out table.docx")
    with output.writing(out, *models) as stream:
        made = compare_models([load_model(model) for model in models], names or None)
        text = "" if style == "word" else made.to_latex() if style == "latex" else made.to_markdown()
        if style == "word":
            made.write_word(stream)
        elif stream is not None:
            stream.write(text.encode())
    if as_json:
        output.print_json({"style": style, "out": out} | ({"table": text} if out is None else {}))
    else:
        click.echo(text if out is None else f"Table: {out}", nl=out is not None)
