"""`dpsparse demo`."""

import json

import click


@click.command()
@click.option("--epsilon", default=0.5, show_default=True, help="The promise; smaller is more private.")
@click.option(
    "--out",
    default="dpsparse-demo.png",
    show_default=True,
    type=click.Path(dir_okay=False, writable=True),
    help="Where the picture goes.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the synthetic data (not of the noise).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the story.")
def demo(epsilon, out, seed, as_json):
    """Fit privately on synthetic data: the promise, the findings, the price."""
    from rich.console import Console

    from dpsparse.demo import run_demo

    found = run_demo(epsilon, out, seed, Console(quiet=as_json))
    if as_json:
        click.echo(json.dumps(found, indent=2))
