"""The released number of records whose response is there and could be read."""

import math
from dataclasses import dataclass

from dpsparse.algorithms.pursuit.pursuit_constants import RESPONSE_DEVIATIONS, SHORT_SHARE, TEN, TOO_SHORT_SHARE


@dataclass(frozen=True)
class ResponseCount:
    """A noisy number of responses.

    Parameters
    ----------
    number : float
        How many there are; all records where it is within noise of them.
    noise : float
        Its standard deviation.
    n_records : int
        The public number of records.
    empty : float
        The released share of records whose response is an empty cell: left out on purpose, and not unreadable.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.response_count import ResponseCount
    >>> count = ResponseCount(24_683.2, 182.0, 28_155)
    >>> str(count), count.is_short, count.is_too_short
    ('about 24,700 of 28,155', True, False)
    """

    number: float
    noise: float
    n_records: int
    empty: float = 0.0

    def __str__(self) -> str:
        if self.number >= self.n_records:
            return f"as far as the noise lets one tell, all {self.n_records:,}"
        # No digit that the noise alone decides.
        digit = TEN ** max(0, math.floor(math.log10(max(self.noise, 1.0))))
        return f"about {digit * round(self.number / digit):,} of {self.n_records:,}"

    @property
    def is_short(self) -> bool:
        """Whether some could not be read, which must be said."""
        return self._below(SHORT_SHARE)

    @property
    def is_too_short(self) -> bool:
        """Whether most could not be read."""
        return self._below(TOO_SHORT_SHARE)

    def _below(self, share: float) -> bool:
        given = (1 - self.empty) * self.n_records
        return self.number < share * given and self.number < given - RESPONSE_DEVIATIONS * self.noise
