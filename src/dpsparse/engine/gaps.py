"""Missing cells and blank records, for NumPy and torch alike.

A cell that is not finite is missing: a *gap*. It has level 0, lies at 0 in units, and counts nowhere. A record whose
response is NaN is *blank*: it adds 0 to every sum, the constant's included. Feature d + j of d features says whether
feature j is missing: 1 or 0. No value takes the place of a gap, and no record is left out.
"""

import numpy as np

from dpsparse.engine.arrays import Array, as_float64, like, module_of


def indicators(values: Array) -> Array:
    """1 where a value is missing and 0 elsewhere, in the dtype of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.engine.gaps import indicators
    >>> indicators(np.array([2.0, np.nan, -np.inf, 0.0]))
    array([0., 1., 1., 0.])
    """
    missing = ~module_of(values).isfinite(values)
    return missing.astype(values.dtype) if isinstance(values, np.ndarray) else missing.to(values.dtype)


def feature_of(table: Array, feature: int) -> Array:
    """The values of a feature of a table of d features; of feature d + j the indicators of feature j."""
    n_features = table.shape[1]
    return table[:, feature] if feature < n_features else indicators(table[:, feature - n_features])


def as_column(values: Array, y: Array) -> Array:
    """Values in float64, with NaN for gaps and for blank records."""
    values, xp = as_float64(values), module_of(y)
    return xp.where(xp.isfinite(values) & ~xp.isnan(y), values, like(np.nan, y))
