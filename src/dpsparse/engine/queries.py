"""What algorithms ask of records: functions of some records and public numbers, whose answers are sums in integers.

A record's term depends on that record and the public numbers alone, and is held to a bound. So the sum over all records
is the sum of the answers for any division of them.
"""

from dataclasses import replace

import numpy as np

from dpsparse.engine import vector_sums
from dpsparse.engine.arrays import square_root
from dpsparse.engine.quantize import weight_levels


def residual_counts(records, center, effects, thresholds, sizes=False):
    """For each of some rising thresholds how many residuals, or sizes of residuals, are at or below it."""
    residuals = records.residuals(center, effects)
    return vector_sums.counts_at_most(abs(residuals) if sizes else residuals, thresholds)


def pick_weights(records, center, effects, bound):
    """Levels of the residuals, cut at `bound`: one for each record, and no sum."""
    return weight_levels(records.residuals(center, effects), bound)


def pick_sums(records, center, effects, bound):
    """For each feature the sum of its levels times the residuals' levels."""
    return records.levels.weighted_sums(pick_weights(records, center, effects, bound))


def product_sums(records, positions, bound):
    """Sums of the products of some columns with the last of them, as vectors held to norm `bound`."""
    columns = records.bounded(positions)
    with np.errstate(all="ignore"):
        products = vector_sums.bounded(columns * columns[-1])
    return vector_sums.vector_sums(products, vector_sums.within(products, bound), bound)


def gradient_sums(records, center, effects, tau, positions, bound):
    """Sums of some columns held to norm `bound` times the residuals cut at tau, and how many are within it."""
    residuals = records.residuals(center, effects)
    columns = records.bounded(positions)
    row_scale = vector_sums.clipped_psi(residuals, tau) * vector_sums.within(columns, bound)
    return vector_sums.vector_sums(columns, row_scale, bound), int((abs(residuals) <= tau).sum())


def gram_sums(records, positions, first, second):
    """Sums of products of some columns with each other, one factor held to norm `first`, the other to `second`."""
    columns = records.bounded(positions)
    row_scale = square_root(vector_sums.within(columns, first) * vector_sums.within(columns, second))
    return vector_sums.gram_sums(columns, row_scale, np.sqrt(first * second))


def loss_sums(rows, grid, loss, coef, features, clip_predictions):
    """For each feature the sum of its levels times the levels of psi of the residuals; here of `Rows`."""
    residuals = rows.residuals(coef, features, grid if clip_predictions else replace(grid, clip_bound=np.inf))
    return rows.weighted_sums(grid, weight_levels(loss.psi(residuals), loss.bound))


def blocks_not_finite(rows):
    """1 if a feature of these `Rows` is not finite, 0 otherwise."""
    return rows.count_not_finite()
