"""`dpsparse fit`: a table in, a guarantee, a model and a report out."""

from typing import TYPE_CHECKING, Any

import click

from dpsparse.cli import options

if TYPE_CHECKING:
    from dpsparse.cli.spending_commands import FitOutcome
    from dpsparse.model.released import LinearModel


@click.command(short_help="Fit privately on a table.")
@options.DATA
@options.target(" A store knows its own.")
@options.epsilon(required=True)
@options.sparsity("Features to select, or 'auto'.", options.Sparsity())
@options.of_a_fit
@options.WITHIN
@click.option("--holdout", type=float, help="The share of the records to hold out for an evaluation.")
@options.of_a_model
def fit(
    data: str,
    target: str | None,
    epsilon: float,
    sparsity: Any,
    witness: str | None,
    within: bool,
    holdout: float | None,
    out: str | None,
    report: str | None,
    as_json: bool,
    **shared: Any,
) -> None:
    """Fit privately on DATA (.csv, .parquet, .npy, a store): which few columns matter, and by how much.

    DATA may be a folder of Parquet files, or a store, which is what `dpsparse convert` writes.

    Centres and scales of columns that --bounds does not give are learned within the guarantee.

    The whole of epsilon is spent. Each further fit on the same people adds to it: --ledger keeps count, and refuses
    what would exceed the budget granted. Without --out and --report nothing is fitted: the result would be paid for and
    lost.

    --holdout 0.2 fits on four records of five and evaluates on the fifth, by position, for the same epsilon.
    """
    from dpsparse.cli import output
    from dpsparse.cli.spending_commands import asked_fit, fit_and_save
    from dpsparse.io.store.manifest import FEATURES, is_store, read_manifest

    if holdout is not None and is_store(data) and read_manifest(data).layout == FEATURES:
        raise click.UsageError(
            "--holdout needs the table, or a store of its cells: this one holds features; hold records out before "
            "`dpsparse convert`"
        )
    asked = asked_fit(data, target, epsilon, shared, sparsity=sparsity, holdout=holdout, within=within)
    given = asked.open()

    def run() -> "FitOutcome":
        with output.share_bar() as progress:
            model, notes = asked.fit(given, progress)
        return model, notes, {}, [("Chosen", _looked_for(model))] if sparsity == "auto" else []

    fit_and_save(asked, given.notes, run, out=out, report=report, witness=witness, as_json=as_json)


def _looked_for(model: "LinearModel") -> str:
    """What `--sparsity auto` came to: a pick for each feature, by public numbers alone."""
    groups = model.privacy.grouped().items()
    picks = max((len(made) for name, made in groups if name.rpartition(": ")[2] == "pick"), default=0)
    where = "" if model.parts is None else " in each part"
    features = f"up to {picks} features{where} were looked for" if picks else "all features were taken"
    return (
        f"--sparsity auto: {features}, by the number of {model.privacy.guarantee.protects.many} and the guarantee alone"
    )
