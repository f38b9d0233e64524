"""`dpsparse demo`."""

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
def demo(epsilon, out, seed):
    """Fit privately on synthetic data: the promise, the findings, the price."""
    from dpsparse.demo import run_demo

    run_demo(epsilon, out, seed)
