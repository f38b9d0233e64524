"""One result of a check."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One line of the audit's table.

    `mechanism`: the target of the attack.
    `claimed`, `found`: the claim and the evidence, in words or numbers.
    `good`: whether the evidence agrees with the claim.
    """

    mechanism: str
    claimed: str
    found: str
    good: bool
