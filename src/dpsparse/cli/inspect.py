"""`dpsparse inspect`."""

import click

from dpsparse.cli import options


@click.command(short_help="Show a model's guarantee and effects.")
@options.MODEL
@options.AS_JSON
def inspect(model, as_json):
    """Show the guarantee of MODEL, in plain words and in full, and its effects."""
    from dpsparse.cli import output
    from dpsparse.model.json_file import load_model

    released = load_model(model)
    if as_json:
        output.print_json(output.model_facts(released))
        return
    output.say("Model", f"{released.target} from {len(released.features):,} features, by {released.estimator}")
    output.say("In plain words", released.privacy.plain_words())
    output.print_effects(released)
    output.say("In full", "")
    click.echo(str(released.privacy))
