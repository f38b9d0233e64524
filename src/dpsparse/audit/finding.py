"""What a check found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One line of the audit's table.

    Parameters
    ----------
    mechanism : str
        What was attacked.
    claimed, found : str
        The promise and the evidence, in words or numbers.
    good : bool
        Whether the evidence agrees with the promise.
    """

    mechanism: str
    claimed: str
    found: str
    good: bool
