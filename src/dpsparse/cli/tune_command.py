"""`dpsparse tune`: several fits and a private choice among them, for one guarantee."""

from typing import TYPE_CHECKING, Any

import click

from dpsparse.cli import options

if TYPE_CHECKING:
    from dpsparse.cli.spending_commands import FitOutcome

# Candidates that differ much, as those measured in docs/scikit-learn.md.
CANDIDATES = (2, 5, 15)
ONE_CANDIDATE = (
    "--sparsity is given once, and a choice needs two or more that differ: give another, or fit it alone with the "
    "whole of epsilon: dpsparse fit"
)


@click.command(short_help="Choose the number of features privately, for one guarantee.")
@options.DATA
@options.target(" A store knows its own.")
@options.epsilon(required=True)
@click.option(
    "--sparsity",
    "candidates",
    type=options.Sparsity(),
    multiple=True,
    default=CANDIDATES,
    show_default=True,
    help="A candidate: features to select, or 'auto'. Repeat it for each; two to four that differ much are best.",
)
@options.of_a_fit
@options.of_a_model
def tune(
    data: str,
    target: str | None,
    epsilon: float,
    candidates: tuple[Any, ...],
    witness: str | None,
    out: str | None,
    report: str | None,
    as_json: bool,
    **shared: Any,
) -> None:
    """Fit DATA once for each --sparsity, and choose one by a private score on records held out.

    All of it together has the guarantee of epsilon, and the ledger is charged once. Every fifth record is held out for
    the choice, by position: shuffle the file if every fifth one is special. The candidates must be chosen without
    looking at these records.

    A choice costs: with k candidates each fit has the noise of an epsilon sqrt(k) times smaller, and a fifth fewer
    records. It pays where a wrong number of features would ruin the fit. Otherwise `dpsparse fit --sparsity auto`, one
    fit with the whole budget, does better.
    """
    from dpsparse.cli.spending_commands import asked_fit, fit_and_save

    different = list(dict.fromkeys(candidates))
    if len(different) < 2:
        raise click.UsageError(ONE_CANDIDATE)
    asked = asked_fit(data, target, epsilon, shared)
    given = asked.open()

    def run() -> "FitOutcome":
        model, place, notes = asked.tune(given, different)
        among, one = ", ".join(map(str, different)), model.privacy.guarantee.protects.one
        text = f"--sparsity {different[place]}, among {among}, by a private score on every fifth {one}"
        return model, notes, {"candidates": different, "chosen": different[place]}, [("Chosen", text)]

    fit_and_save(asked, given.notes, run, out=out, report=report, witness=witness, as_json=as_json)
