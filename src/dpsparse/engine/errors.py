"""How far predictions are off. Sums over records of a model's absolute errors, of a constant's, and of the difference.

A record's terms are computed from its response and its prediction alone, elementwise. Each is clipped to an interval,
scaled to integer levels, rounded, and clipped again in integers. A record without a response, NaN, adds 0 everywhere.

Of yes and no: how many records have log odds in each of some bins, and how many of these are yes, as exact counts. A
record's bin follows from its own prediction alone. One without a response, or whose log odds are NaN, lies in none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsparse.engine.vector_sums import VECTOR_LEVELS, counts_at_most

# Errors are summed less half of their bound, so that the sums hardly depend on the number of responses.
HALF_LEVELS = VECTOR_LEVELS // 2


@dataclass(frozen=True)
class Errors:
    """The errors of some records, one number for each; NaN where there is no response."""

    # Absolute errors of the predictions and of a constant.
    model: NDArray[np.float64]
    constant: NDArray[np.float64]

    @classmethod
    @np.errstate(all="ignore")
    def of(
        cls, responses: NDArray[np.float64], predictions: NDArray[np.float64], constant: float | NDArray[np.float64]
    ) -> "Errors":
        """The errors of predictions, and of a constant or one for each record. A response not finite is none."""
        responses = np.where(np.isfinite(responses), responses, np.nan)
        return cls(np.abs(responses - predictions), np.abs(responses - constant))

    @property
    @np.errstate(all="ignore")
    def improvement(self) -> NDArray[np.float64]:
        """How much nearer to the response the prediction is than the constant."""
        return self.constant - self.model

    @property
    def _answered(self) -> NDArray[np.bool_]:
        """Whether all numbers of a record are numbers: otherwise the record counts as without a response."""
        return ~np.isnan(self.improvement)

    def count(self) -> NDArray[np.int64]:
        """The number of records with a response."""
        return np.array([np.count_nonzero(self._answered)], dtype=np.int64)

    def size_counts(self, thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
        """For each of some rising thresholds how many records have both errors at or below it."""
        return counts_at_most(np.where(self._answered, np.maximum(self.model, self.constant), np.nan), thresholds)

    def improvement_counts(self, thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
        """For each of some rising thresholds how many improvements have a size at or below it."""
        return counts_at_most(np.abs(self.improvement), thresholds)

    def error_sums(self, cut: float) -> NDArray[np.int64]:
        """Sums of min(error, cut) - cut / 2 of the model and of the constant; `cut` has 2^20 levels."""
        return self._sums([levels(each, cut) - HALF_LEVELS for each in (self.model, self.constant)])

    def improvement_sums(self, bound: float) -> NDArray[np.int64]:
        """The sum of the improvements, clipped at +-bound, which has 2^20 levels."""
        return self._sums([levels(self.improvement, bound)])

    def square_sums(self, cut: float, bound: float) -> NDArray[np.int64]:
        """Sums of the squares of what the other sums add up, each in [0, 1] of `cut` or `bound`, in 2^20 levels.

        The errors are taken whole, without the cut / 2.
        """
        terms = [(self.model, cut), (self.constant, cut), (self.improvement, bound)]
        with np.errstate(all="ignore"):
            squares = [(np.clip(each / most, -1.0, 1.0)) ** 2 for each, most in terms]
        return self._sums([levels(square, 1.0) for square in squares])

    def cut_counts(self, cut: float, bound: float) -> NDArray[np.int64]:
        """How many errors of the model and of the constant exceed `cut`, and how many improvements +-bound."""
        with np.errstate(all="ignore"):
            beyond = [self.model > cut, self.constant > cut, np.abs(self.improvement) > bound]
        return self._sums(beyond)

    def _sums(self, terms: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        return np.array([np.where(self._answered, term, 0).sum(dtype=np.int64) for term in terms], dtype=np.int64)


def levels(values: ArrayLike, bound: float) -> NDArray[np.int64]:
    """Values as integers: `bound` has 2^20 levels, larger values are clipped at +-2^20, and NaN is 0.

    Examples
    --------
    >>> levels(np.array([-9.0, 0.5, np.nan, np.inf]), 1.0).tolist()
    [-1048576, 524288, 0, 1048576]
    """
    with np.errstate(all="ignore"):
        scaled = np.rint(np.clip(np.asarray(values, dtype=np.float64) / bound, -1.0, 1.0) * VECTOR_LEVELS)
    return np.nan_to_num(scaled, nan=0.0).astype(np.int64)


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
