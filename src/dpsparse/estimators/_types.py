"""Types of the estimators' parameters."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from numpy.typing import ArrayLike

from dpsparse.algorithms.progress import Progress as Progress

if TYPE_CHECKING:
    # A ledger imports SQLAlchemy, which a fit without one does not need.
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

ShownProgress = Progress | Literal[True]
"""A function that is told the steps done and all steps; or True, for a bar."""
Calibration = Literal["tight", "paper"]
LedgerLocation: TypeAlias = "str | os.PathLike[str] | PrivacyLedger | None"
PerFeature = ArrayLike | Sequence[float | None] | Mapping[str, float | None] | None
"""One public number, one for each feature, or numbers by the features' names; None for what is not known."""
