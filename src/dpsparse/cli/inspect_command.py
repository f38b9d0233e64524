"""`dpsparse inspect`."""

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
