"""Sums over records of vectors on a few selected features: gradients and Gram matrices, as exact integers.

A record's vector is clipped to an l2 norm. Its entries are scaled to integer levels and truncated toward zero, which
only shrinks them, and the integers' norm is then checked: a record whose vector exceeds the bound counts as zero.
Norms and residuals are computed one feature after another, elementwise, so a record's terms depend on that record
alone. Where people have several records, the same is done to one vector of each person (`person_sums`,
`person_means`), or to all vectors of a person at once (`gram_sums`).
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.arrays import Array, host, like, module_of, quotient, square_root, zero_for_nan
from dpsparse.engine.people import Held

# Levels of a norm bound. Vectors: 2^20 n < 2^53 for n < 2^33. Gram: 2^22 n < 2^53 for n < 2^31, beyond `check_exact`.
VECTOR_LEVELS = 2**20
GRAM_LEVELS = 2**11

# Columns are clipped at this before they are squared, so that no norm overflows.
_LARGEST = 1e150
# Far more than the rounding of a norm and a quotient, far less than a level.
_MARGIN = 1 - 2.0**-40


def subtract_columns(
    residuals: Array, columns: Iterable[Array], effects: Sequence[float] | NDArray[np.float64]
) -> Array:
    """Residuals less columns times their effects, one column after another.

    Elementwise and in one fixed order, so that a record's residual depends on that record alone.
    """
    for column, effect in zip(columns, effects, strict=True):
        residuals = residuals - column * float(effect)
    return residuals


def sanitized(columns: Array) -> Array:
    """Columns with NaN as 0 and values clipped at +-1e150."""
    return zero_for_nan(columns.clip(-_LARGEST, _LARGEST))


def norms(columns: Array) -> Array:
    """The l2 norm of each row."""
    return square_root(_squares(columns))


def clip_factor(norms: Array, bound: float) -> Array:
    """The factor that brings each norm within the bound: at most 1."""
    with np.errstate(all="ignore"):
        return quotient(bound, norms).clip(None, 1.0)


def clipped_psi(residuals: Array, tau: float) -> Array:
    """Residuals in units of tau, clipped at 1; NaN as 0."""
    with np.errstate(all="ignore"):
        return zero_for_nan(quotient(residuals, tau).clip(-1, 1))


def _squares(columns: Array) -> Array:
    total = columns[0] * columns[0]
    for column in columns[1:]:
        total += column * column
    return total


def levels_per_unit(levels: int, norm_bound: float) -> float:
    """The levels of a unit, rounded down, where `norm_bound` has `levels`."""
    return float(levels / norm_bound * _MARGIN)


def integer_vectors(columns: Array, row_scale: Array, norm_bound: float, levels: int) -> Array:
    """Each row times its scale as integers, of l2 norm at most `levels`, the level of `norm_bound`.

    A row of the table is a column of `columns`. Its scale is meant to bring its norm within `norm_bound`, in public
    units. The proof of the sensitivity rests on `levels`, the bound in integers: a row that exceeds it becomes zero.
    The integers are float64.

    Examples
    --------
    >>> integer_vectors(np.array([[3.0, 30.0], [4.0, 40.0]]), np.ones(2), 10.0, 1000)
    array([[299.,   0.],
           [399.,   0.]])
    """
    xp = module_of(row_scale)
    with np.errstate(all="ignore"):
        factor = row_scale * levels_per_unit(levels, norm_bound)
        vectors = columns * xp.where(abs(factor) < np.inf, factor, 0.0)
        xp.trunc(xp.clip(vectors, -levels, levels, out=vectors), out=vectors)
        # Integers add exactly below 2^53; a sum that was rounded lies above that, and so above levels^2 <= 2^40. One of
        # NaN is below nothing.
        return xp.where(_squares(vectors) <= levels**2, vectors, 0.0)


def vector_sums(columns: Array, row_scale: Array, norm_bound: float) -> NDArray[np.int64]:
    """Sums over rows of `integer_vectors`, as int64; one step stands for norm_bound / 2^20."""
    vectors = integer_vectors(columns, row_scale, norm_bound, VECTOR_LEVELS)
    result: NDArray[np.int64] = host(vectors.sum(1)).astype(np.int64)
    return result


def interval_sums(values: Array, below: float, above: float, unit: float) -> NDArray[np.int64]:
    """The sum of numbers in [-below, above] as integers, `unit` having the levels of a norm bound; as int64.

    The proof of the sensitivity rests on the two largest integers, at which they are clipped: together they are at most
    2^21 where unit >= (below + above) / 2, and each is at most 2^20 where unit >= max(below, above).

    Examples
    --------
    >>> interval_sums(np.array([-7.0, 1.0, np.nan, 9.0]), 1.0, 3.0, 2.0)
    array([1572863])
    """
    rate = levels_per_unit(VECTOR_LEVELS, unit)
    with np.errstate(all="ignore"):
        steps = zero_for_nan(values * rate)
    xp = module_of(steps)
    levels = xp.trunc(steps.clip(-_whole(below * rate), _whole(above * rate)))
    return np.atleast_1d(host(levels.sum(0))).astype(np.int64)


def _whole(levels: float) -> float:
    """Levels rounded down; none where public numbers overflowed."""
    return float(math.floor(levels)) if math.isfinite(levels) else 0.0


def person_sums(columns: Array, row_scale: Array, people: Held | None) -> tuple[Array, Array]:
    """Rows times their scales, added up for each person, over the root of the number of the person's rows.

    Vectors of random directions add up to about that root: the sum is as long as one of them. Gives the vectors, and
    their scales; of people with one row each, rows as they are.
    """
    if people is None:
        return columns, row_scale
    total = sanitized(people.sums(columns * row_scale) / np.sqrt(people.sizes))
    return total, np.ones(len(people.sizes))


def person_means(columns: Array, row_scale: Array, people: Held | None) -> tuple[Array, Array]:
    """The mean of a person's rows times their scales, as `person_sums`; it is no longer than the longest of them."""
    if people is None:
        return columns, row_scale
    return sanitized(people.sums(columns * row_scale) / people.sizes), np.ones(len(people.sizes))


def gram_sums(columns: Array, row_scale: Array, norm_bound: float, people: Held | None = None) -> NDArray[np.int64]:
    """Sums over rows of z z', z one of `integer_vectors`, as int64; one step stands for (norm_bound / 2^11)^2.

    The squared norms of a person's vectors are meant to add up to at most norm_bound^2. They are checked in integers: a
    person whose vectors exceed the bound counts as zero.
    """
    vectors = integer_vectors(columns, row_scale, norm_bound, GRAM_LEVELS)
    if people is not None:
        vectors = vectors * people.each(people.sums(_squares(vectors)) <= GRAM_LEVELS**2)
    result: NDArray[np.int64] = np.rint(host(vectors @ vectors.T)).astype(np.int64)
    return result


def counts_at_most(values: Array, thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each of some rising thresholds the number of values at or below it, as int64; NaN counts nowhere."""
    xp = module_of(values)
    passed = xp.searchsorted(like(thresholds, values), values)
    return np.cumsum(host(xp.bincount(passed, minlength=len(thresholds) + 1))[:-1])
