"""Sums about a response in two parts: the probability p that it is above 0, and its mean mu where it is.

Responses are 0 or above. A record's p and mu follow from its own columns and public numbers, one column after another,
and p is looked up as `links` does it: a record's terms depend on that record alone, with the same bits on every engine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.arrays import Array, as_float64, like, module_of, quotient, zero_for_nan
from dpsparse.engine.links import LOGIT
from dpsparse.engine.queries import Records, Thresholds, bounded_sums

# What numbers beside the mean prediction count for in `mean_sums`: the level rests on that one, and marginal effects on
# the others.
BESIDE = 0.5
# The largest norm of its vectors: a number within 1/2, and four within half of that.
MEANS_NORM = math.sqrt((1 + 4 * BESIDE**2) / 4)
# What may be negative is clipped from minus this part of its bound on: amounts are above 0, and a line of their mean is
# below it far out alone.
BELOW = 0.25


@dataclass(frozen=True)
class Lines:
    """Public numbers that make p and mu of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.engine.queries import Column, Records
    >>> from dpsparse.engine.two_part_sums import Lines
    >>> records = Records(np.array([5.0, 0.0]), None, (Column.of(np.array([1.0, -4.0])),))
    >>> Lines(0.0, (0.0,), 3.0, (1.0,), 0.0, 10.0, (2.0,)).of(records)
    (array([0.5, 0.5]), array([4., 0.]), array([ 5., -5.]))
    """

    # The log odds of a response above 0: a constant, and the effect of each column.
    odds_constant: float
    odds: tuple[float, ...]
    # The same of mu, as it predicts, and the range to which it is clipped there.
    constant: float
    effects: tuple[float, ...]
    low: float
    high: float
    unshrunk: tuple[float, ...]  # The effects on mu that are not shrunk.

    def of(self, records: Records) -> tuple[Array, Array, Array]:
        """The probabilities p; mu as it predicts; and mu of effects that are not shrunk, not clipped."""
        columns, nothing = [each.sanitized for each in records.columns], module_of(records.y).zeros_like(records.y)
        p = -LOGIT.residuals(nothing, self.odds_constant, columns, self.odds)
        predicted = self._line(nothing, columns, self.effects).clip(self.low, self.high)
        return p, predicted, self._line(nothing, columns, self.unshrunk)

    def _line(self, nothing: Array, columns: Sequence[Array], effects: Sequence[float]) -> Array:
        """A linear predictor; 0 where it overflowed twice."""
        amounts = nothing + self.constant
        for column, effect in zip(columns, effects, strict=True):
            amounts = amounts + column * float(effect)
        return zero_for_nan(amounts)


def amount_counts(records: Records, thresholds: Thresholds) -> NDArray[np.int64]:
    """For each of some rising thresholds how many responses above 0 are at or below it."""
    y = records.y
    return records.counts_at_most(module_of(y).where(y > 0, y, like(np.nan, y)), thresholds)


def amount_sums(records: Records, bound: float, start: float, rise: float) -> NDArray[np.int64]:
    """The sum of responses, clipped, over the most that they can be, less 1/2: of a number in [-1/2, 1/2].

    A response u becomes min(u, bound) + rise (min(u, bound) - start)_+.
    """
    most = bound + max(bound - start, 0.0) * rise
    with np.errstate(all="ignore"):
        inside = records.y.clip(0.0, bound)
        share = quotient(inside + (inside - start).clip(0.0, None) * rise, most).clip(0.0, 1.0)
        return bounded_sums(records, [share - 0.5], 0.5)


def prediction_sums(records: Records, lines: Lines, bound: float) -> NDArray[np.int64]:
    """The sum of p mu as it predicts, clipped to [0, `bound`], as a share of that less 1/2."""
    with np.errstate(all="ignore"):
        p, predicted, _ = lines.of(records)
        return bounded_sums(records, [quotient((p * predicted).clip(0.0, bound), bound) - 0.5], 0.5)


def mean_sums(records: Records, lines: Lines, slope_bound: float, mean_bound: float) -> NDArray[np.int64]:
    """Sums of five numbers of a record, of norm <= `MEANS_NORM`.

    p mu as it predicts, clipped to [0, `mean_bound`]. And times `BESIDE`, of mu that is not shrunk: p (1 - p) mu, up to
    `slope_bound`, and p mu, up to `mean_bound`, clipped from minus `BELOW` of that on; whether the response is above 0;
    and 4 p (1 - p). Each is a share of its range, less 1/2.
    """
    with np.errstate(all="ignore"):
        p, predicted, amounts = lines.of(records)
        means = quotient((p * predicted).clip(0.0, mean_bound), mean_bound)
        slopes, unshrunk = _signed_share(p * (1 - p) * amounts, slope_bound), _signed_share(p * amounts, mean_bound)
        beside = [slopes, unshrunk, as_float64(records.y > 0), 4 * p * (1 - p)]
        entries = [means - 0.5, *((each - 0.5) * BESIDE for each in beside)]
        return bounded_sums(records, entries, MEANS_NORM)


def _signed_share(values: Array, bound: float) -> Array:
    """Numbers clipped to [-`BELOW` x `bound`, `bound`], as shares of that range."""
    return quotient(quotient(values.clip(-BELOW * bound, bound), bound) + BELOW, 1 + BELOW)
