"""`dpsparse demo`."""

import json

import click

from dpsparse.cli import options


@click.command()
@options.epsilon(default=0.5, show_default=True)
@options.out_file("Where the picture goes.", "dpsparse-demo.png")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the synthetic data (not of the noise).")
@options.AS_JSON
def demo(epsilon: float, out: str, seed: int | None, as_json: bool) -> None:
    """Fit privately on synthetic data, and draw the result."""
    from rich.console import Console

    from dpsparse.demo import run_demo

    story = run_demo(epsilon, out, seed, Console(quiet=as_json))
    if as_json:
        click.echo(json.dumps(story, indent=2))
