"""How much worse than the best of several linear models each does on a record, summed in integers."""

import numpy as np

from dpsparse.engine.quantize import WEIGHT_LEVELS, Quantizer, weight_levels


@np.errstate(all="ignore")
def absolute_errors(rows, coefs, intercepts):
    """Absolute errors, a row for each model and a column for each record; elementwise, in one fixed order.

    Coefficients beyond the features are those of the indicators of gaps, which count as 0 themselves: where a model has
    a gap at a centre c, coef * c is part of them. The error of a blank record is NaN.
    """
    errors = [
        np.abs(rows.residuals(coef, np.flatnonzero(coef), Quantizer(np.inf)) - intercept)
        for coef, intercept in zip(coefs, intercepts, strict=True)
    ]
    return np.array(errors)


@np.errstate(all="ignore")
def regrets(errors):
    """Each record's errors less its smallest; NaN where one is NaN."""
    return errors - errors.min(axis=0)


@np.errstate(all="ignore")
def regret_sums(errors, bound):
    """For each model the sum over records of its regret, as int64; one level stands for bound / 2^16.

    Regrets are clipped to [0, bound]; they are 0 where an error is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.engine.regrets import regret_sums
    >>> regret_sums(np.array([[1.0, 5.0, np.nan], [1.5, 0.0, 2.0]]), 1.0)
    array([65536, 32768])
    """
    levels = weight_levels(regrets(errors), bound)
    return np.clip(levels, 0, WEIGHT_LEVELS).sum(axis=1).astype(np.int64)
