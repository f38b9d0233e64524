"""The released number of records whose response is there and could be read."""

import math
from dataclasses import dataclass

# A warning is given below the first share, and nothing is to be predicted below the second; and only where the number
# is this many standard deviations of its noise below all records, so that no complete response is called short.
SHORT, TOO_SHORT, SURELY = 0.98, 0.5, 3.0


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

    def __str__(self) -> str:
        if self.number >= self.n_records:
            return f"as far as the noise lets one tell, all {self.n_records:,}"
        # No digit that the noise alone decides.
        digit = 10 ** max(0, math.floor(math.log10(max(self.noise, 1.0))))
        return f"about {digit * round(self.number / digit):,} of {self.n_records:,}"

    @property
    def is_short(self) -> bool:
        """Whether so many are missing or could not be read that it must be said."""
        return self._below(SHORT)

    @property
    def is_too_short(self) -> bool:
        """Whether most are missing or could not be read."""
        return self._below(TOO_SHORT)

    def _below(self, share: float) -> bool:
        return self.number < share * self.n_records and self.number < self.n_records - SURELY * self.noise
