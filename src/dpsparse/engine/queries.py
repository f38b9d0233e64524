"""Records as queries see them, and the queries of algorithms: functions of records and public numbers that give sums.

The sums are of integers. A record's term depends on that record and the public numbers alone, and its size is bounded.
So the sum over all records is the sum of what a query gives for any division of them into blocks: in threads here, or
on the workers of a cluster.
"""

from dataclasses import dataclass, replace

import numpy as np

from dpsparse.engine import vector_sums
from dpsparse.engine.arrays import module_of, square_root
from dpsparse.engine.quantize import weight_levels


def total(values):
    """The sum of what one query gives for several blocks: arrays of integers, or tuples of them."""
    values = iter(values)
    result = next(values)
    for value in values:
        result = tuple(map(np.add, result, value)) if isinstance(result, tuple) else result + value
    return result


@dataclass(frozen=True)
class Column:
    """A selected feature in public units: as it is, and with NaN as 0 and huge values clipped."""

    units: np.ndarray
    sanitized: np.ndarray

    @classmethod
    def of(cls, units):
        """A column of these values."""
        return cls(units, vector_sums.sanitized(units))

    def take(self, rows):
        """Some of the records."""
        return Column(self.units[rows], self.sanitized[rows])


@dataclass(frozen=True)
class Records:
    """Some records: responses, all features quantized (None where they are elsewhere), columns of the selected ones."""

    y: np.ndarray
    quantized: object
    columns: tuple

    def take(self, rows):
        """Some of these records."""
        quantized = None if self.quantized is None else self.quantized.take(rows)
        return Records(self.y[rows], quantized, tuple(column.take(rows) for column in self.columns))

    def sanitized(self, positions):
        """The columns at some positions, as one array with NaN as 0 and huge values clipped."""
        return module_of(self.y).stack([self.columns[k].sanitized for k in positions])

    def residuals(self, center, effects):
        """Responses minus predictions in float64."""
        with np.errstate(all="ignore"):
            return vector_sums.subtract_columns(self.y - center, (column.units for column in self.columns), effects)


def residual_counts(records, center, effects, thresholds, sizes=False):
    """For each of some rising thresholds how many residuals, or sizes of residuals, are at or below it."""
    residuals = records.residuals(center, effects)
    return vector_sums.counts_at_most(abs(residuals) if sizes else residuals, thresholds)


def pick_weights(records, center, effects, bound):
    """Levels of the residuals, clipped at `bound`: one for each record, and no sum."""
    return weight_levels(records.residuals(center, effects), bound)


def pick_sums(records, center, effects, bound):
    """For each feature the sum of its levels times the residuals' levels."""
    return records.quantized.weighted_sums(pick_weights(records, center, effects, bound))


def product_sums(records, positions, bound):
    """Sums of the products of some columns with the last of them, as vectors clipped to norm `bound`."""
    columns = records.sanitized(positions)
    with np.errstate(all="ignore"):
        products = vector_sums.sanitized(columns * columns[-1])
    return vector_sums.vector_sums(products, vector_sums.clip_factor(products, bound), bound)


def gradient_sums(records, center, effects, tau, positions, bound):
    """Sums of some columns clipped to norm `bound` times residuals clipped at tau; how many of these are within tau."""
    residuals = records.residuals(center, effects)
    columns = records.sanitized(positions)
    row_scale = vector_sums.clipped_psi(residuals, tau) * vector_sums.clip_factor(columns, bound)
    return vector_sums.vector_sums(columns, row_scale, bound), int((abs(residuals) <= tau).sum())


def gram_sums(records, positions, first, second):
    """Sums of products of some columns with each other, one factor clipped to norm `first`, the other to `second`."""
    columns = records.sanitized(positions)
    row_scale = square_root(vector_sums.clip_factor(columns, first) * vector_sums.clip_factor(columns, second))
    return vector_sums.gram_sums(columns, row_scale, np.sqrt(first * second))


def loss_sums(rows, quantizer, loss, coef, features, clip_predictions):
    """For each feature the sum of its levels times the levels of psi of the residuals; here of `Rows`."""
    residuals = rows.residuals(coef, features, quantizer if clip_predictions else replace(quantizer, clip_bound=np.inf))
    return rows.weighted_sums(quantizer, weight_levels(loss.psi(residuals), loss.bound))


def nonfinite_blocks(rows):
    """1 if a feature of these `Rows` is not finite, 0 otherwise."""
    return rows.has_nonfinite()
