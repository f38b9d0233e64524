"""Sums over rows of vectors on a few chosen features: gradients and Gram matrices, as exact integers.

A record's vector is held to an l2 norm. Its entries are scaled to integer levels and truncated toward zero, which only
shrinks them, and the integers' norm is then checked: a record whose vector still exceeded the bound counts as zero.
Norms and residuals are computed one feature after another, elementwise, so a record's terms depend on that record
alone.
"""

import numpy as np

# Levels of a norm bound. Vectors: 2^20 n < 2^53 for n < 2^33. Gram: 2^22 n < 2^53 for n < 2^31, beyond `check_exact`.
VECTOR_LEVELS = 2**20
GRAM_LEVELS = 2**11

# Columns beyond this are cut before they are squared, so that no norm overflows.
_LARGEST = 1e150
# Far more than the rounding of a norm and a quotient, far less than a level.
_MARGIN = 1 - 2.0**-40


class SupportColumns:
    """The chosen features of all rows, in public units, one array each, in the order of choosing.

    Parameters
    ----------
    rows : Rows
        The data.
    grid : FeatureGrid
        Its public centre and scale are applied; its clip is not.
    """

    def __init__(self, rows, grid):
        self._rows, self._grid = rows, grid
        self.features, self.columns = [], []

    def add_constant(self):
        """Start with a column of ones, for an intercept."""
        self.columns.append(np.ones(self._rows.n_records))

    def add(self, feature):
        """Read one more feature."""
        self.features.append(int(feature))
        self.columns.append(self._grid.units(self._rows.column(feature), feature))

    def residuals(self, response, coef):
        """Responses minus predictions in float64, one feature after another."""
        residual = np.array(response, dtype=np.float64)
        with np.errstate(all="ignore"):
            for column, effect in zip(self.columns, coef, strict=True):
                residual -= column * effect
        return residual


def bounded(columns):
    """Columns with NaN as 0 and values cut at +-1e150."""
    return [np.clip(np.nan_to_num(column, nan=0.0), -_LARGEST, _LARGEST) for column in columns]


def norms(columns):
    """The l2 norm of each row."""
    return np.sqrt(_squares(columns))


def _squares(columns):
    total = np.zeros(len(columns[0]))
    for column in columns:
        total += column * column
    return total


def integer_vectors(columns, row_scale, norm_bound, levels):
    """Each row times its scale as integers, of l2 norm at most `levels`, the level of `norm_bound`.

    Parameters
    ----------
    columns : list of ndarray
        The features, one array each.
    row_scale : ndarray
        A factor for each row; meant to bring its norm within the bound.
    norm_bound : float
        What `levels` integer steps stand for.
    levels : int
        The bound in integers. A row that exceeds it becomes zero.

    Returns
    -------
    list of ndarray
        Integer-valued float64, one array for each feature.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.engine.support import integer_vectors
    >>> found = integer_vectors([np.array([3.0, 30.0]), np.array([4.0, 40.0])], np.ones(2), 10.0, 1000)
    >>> [column.tolist() for column in found]
    [[299.0, 0.0], [399.0, 0.0]]
    """
    with np.errstate(all="ignore"):
        factor = np.nan_to_num(row_scale * (levels / norm_bound * _MARGIN), nan=0.0, posinf=0.0, neginf=0.0)
        vectors = [np.trunc(np.clip(column * factor, -levels, levels)) for column in columns]
    # Squares of at most 2^20 in at most 2^12 features: the integer norm is exact.
    within = _squares(vectors) <= levels**2
    return [np.where(within & ~np.isnan(vector), vector, 0.0) for vector in vectors]


def vector_sums(columns, row_scale, norm_bound):
    """Sums over rows of `integer_vectors`, as int64; one step stands for norm_bound / 2^20."""
    vectors = integer_vectors(columns, row_scale, norm_bound, VECTOR_LEVELS)
    return np.array([int(vector.sum()) for vector in vectors], dtype=np.int64)


def gram_sums(columns, row_scale, norm_bound):
    """Sums over rows of z z', z one of `integer_vectors`, as int64; one step stands for (norm_bound / 2^11)^2."""
    vectors = np.array(integer_vectors(columns, row_scale, norm_bound, GRAM_LEVELS))
    return np.rint(vectors @ vectors.T).astype(np.int64)


def counts_at_most(values, thresholds):
    """For each threshold the number of values at or below it, as int64; NaN counts nowhere."""
    return np.searchsorted(np.sort(values), thresholds, side="right").astype(np.int64)
