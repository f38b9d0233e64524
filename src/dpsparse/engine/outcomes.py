"""How many records have log odds in each of some bins, and how many of these are yes: exact counts.

A record's bin follows from its own prediction alone. A record without a response, or whose log odds are NaN, lies in
none.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Outcomes:
    """The predicted log odds of some records that have a response, and whether they are yes."""

    log_odds: NDArray[np.float64]
    yes: NDArray[np.bool_]

    @classmethod
    def of(cls, responses: NDArray[np.float64], log_odds: NDArray[np.float64]) -> "Outcomes":
        """Those of responses that are 1 or 0; anything else is none.

        Examples
        --------
        >>> import numpy as np
        >>> from dpsparse.engine.outcomes import Outcomes
        >>> outcomes = Outcomes.of(np.array([1.0, 0.0, np.nan]), np.array([2.0, -1.0, 0.0]))
        >>> outcomes.counts(np.array([0.0])), outcomes.table(np.array([0.0]), np.array([0, 1]), 2).tolist()
        (array([1, 1]), [[1, 0], [0, 1]])
        """
        seen = ((responses == 0) | (responses == 1)) & ~np.isnan(log_odds)
        return cls(log_odds[seen], responses[seen] == 1)

    def counts(self, edges: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of records in each bin between rising edges; the first and the last bin have no end."""
        return np.bincount(np.searchsorted(edges, self.log_odds), minlength=len(edges) + 1)

    def table(self, edges: NDArray[np.float64], groups: NDArray[np.intp], n_groups: int) -> NDArray[np.int64]:
        """The numbers of no and of yes, two rows, in each group of bins; `groups` has that of each bin."""
        place = groups[np.searchsorted(edges, self.log_odds)]
        return np.stack([np.bincount(place[self.yes == is_yes], minlength=n_groups) for is_yes in (False, True)])
