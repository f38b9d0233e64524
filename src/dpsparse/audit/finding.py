"""One result of a check."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One line of the audit's table.

    Parameters
    ----------
    mechanism : str
        The target of the attack.
    claimed, found : str
        The claim and the evidence, in words or numbers.
    good : bool
        Whether the evidence agrees with the claim.
    """

    mechanism: str
    claimed: str
    found: str
    good: bool
