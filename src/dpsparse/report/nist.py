"""A sheet along the pyramid of NIST SP 800-226 (Guidelines for Evaluating Differential Privacy), as Markdown.

Every level rests on those below it. Each lists what the model says, the hazard to look for, and what only people know.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dpsparse.report import deployment
from dpsparse.report.deployment import to_fill

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


def nist_sheet(model: "LinearModel") -> str:
    """The sheet of a released model.

    The model must be private, and nothing else is read. Returns Markdown.
    """
    deployment.require_private(model)
    lines = [
        f"# A differentially private model of {model.target}, along the pyramid of NIST SP 800-226",
        "",
        f"{deployment.description(model)} What is marked TO FILL only people know.",
    ]
    for heading, facts, hazard in _levels(model):
        lines += ["", f"## {heading}", "", *(f"- {fact}" for fact in facts), "", f"Hazard: {hazard}"]
    return "\n".join([*lines, ""])


def _more(model: "LinearModel") -> Iterator[str]:
    """What is open where the number of a person's records was taken on trust."""
    if model.privacy.guarantee.rows is None:
        yield to_fill("whether a person can have more records")


def _levels(model: "LinearModel") -> Iterator[tuple[str, Sequence[str], str]]:
    record, one = model.privacy, model.privacy.guarantee.protects.one
    yield (
        "Epsilon, and delta",
        [
            f"epsilon {record.epsilon:.6g}, delta {record.delta:.3g}, rho {record.rho:.4g} (zCDP, for a {one})",
            record.plain_words(),
            to_fill("why this epsilon, and what it means to the people in the data"),
        ],
        "epsilon without its unit, or a delta that is not far below 1 / (number of "
        f"{record.guarantee.protects.many}), says little.",
    )
    yield (
        "Unit of privacy",
        [deployment.unit(model), deployment.neighbors(model), *_more(model)],
        "a unit that is an event rather than a person protects less than it seems.",
    )
    yield (
        "Mechanisms and composition",
        [*deployment.mechanisms(model), deployment.composition(model), deployment.post_processing(model)],
        "budgets that are spent again and again, and releases that nobody counts.",
    )
    yield (
        "Utility and bias",
        [
            "Every significant effect has a 95 % interval and a p-value that count privacy noise; an effect whose "
            "error cannot be trusted has none.",
            to_fill("whether small groups are served worse, and who was asked about it"),
        ],
        "noise hides small groups first, and clipping weighs what is typical more.",
    )
    yield (
        "Implementation and side channels",
        [*deployment.implementation(model), f"Not covered: {deployment.unprotected(model)}"],
        "floating-point noise, running time, error messages and logs can leak what the mathematics protects.",
    )
    yield (
        "Trust model and access",
        [
            "Central: whoever runs the fit sees the data; everybody else sees releases only.",
            to_fill("who may read the data and the ledger, and how that is controlled"),
        ],
        "the guarantee says nothing about people with access to the data.",
    )
    yield (
        "Data collection",
        [deployment.preparation(model), to_fill("consent, purpose, minimisation and deletion of the data")],
        "differential privacy does not protect data that are stolen, or that should not have been collected.",
    )
