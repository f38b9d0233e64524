"""Commands that read a model file: `dpsparse inspect`, `dpsparse report` and `dpsparse table`."""

import click

from dpsparse.cli import options


@click.command(short_help="Show a model's guarantee and effects.")
@options.MODEL
@click.option("--registry", type=options.PATH, help="Where an entry for the registry of deployments goes, as YAML.")
@click.option("--nist", type=options.PATH, help="Where a sheet along the pyramid of NIST SP 800-226 goes, as Markdown.")
@options.AS_JSON
def inspect(model: str, registry: str | None, nist: str | None, as_json: bool) -> None:
    """Show the guarantee of MODEL, in plain words and in full, and its effects.

    --registry and --nist write drafts for the public registry of differential-privacy deployments and for a review
    along NIST SP 800-226. What only people know is marked TO FILL.
    """
    from dpsparse.cli import output
    from dpsparse.model.json_file import load_model
    from dpsparse.report.nist import nist_sheet
    from dpsparse.report.registry import registry_entry

    with (
        output.writing(registry, model, replace=False) as entry,
        output.writing(nist, model, *([] if registry is None else [registry]), replace=False) as sheet,
    ):
        released = load_model(model)
        for stream, text in ((entry, registry_entry), (sheet, nist_sheet)):
            if stream is not None:
                stream.write(text(released).encode())
    if as_json:
        written = {name: path for name, path in (("registry", registry), ("nist", nist)) if path is not None}
        output.print_json(output.model_facts(released) | written)
        return
    output.say("Model", f"{released.target} from {released.n_features:,} features, by {released.estimator}")
    output.say("In plain words", released.privacy.plain_words())
    output.print_effects(released)
    output.say("In full", "")
    click.echo(str(released.privacy))
    for heading, path in (("Registry", registry), ("NIST", nist)):
        if path is not None:
            output.say(heading, f"{path}; fill in what is marked TO FILL")


@click.command(short_help="Write the report of a fitted model.")
@options.MODEL
@options.out("Where the report goes, as HTML.", default="report.html")
@options.AS_JSON
def report(model: str, out: str | None, as_json: bool) -> None:
    """Write a report of MODEL: guarantee, effects, budget, forecast, how to cite it and how to run it again.

    One page that opens offline. The model is all it reads.
    """
    from dpsparse.cli import output
    from dpsparse.model.json_file import load_model
    from dpsparse.report.fit_page import fit_page

    with output.writing(out, model) as stream:
        stream.write(fit_page(load_model(model)).encode())
    if as_json:
        output.print_json({"out": out})
    else:
        click.echo(f"Report: {out}")


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
