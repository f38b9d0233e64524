"""Input of the estimators whose passes can run on a GPU."""

import numpy as np

from dpsparse.engine.gpu import gpu_table, is_on_gpu, on_host
from dpsparse.estimators._validation import check_finite, table_shape, validate_table


def validate_anywhere(estimator, X, y=None, *, reset, min_samples=1):
    """`validate_table`, or for X on a GPU its table, and y on the host. The engine looks whether X is finite.

    An array of the same shape that takes no memory stands in for X there, and meets the checks of any other X.
    """
    if not is_on_gpu(X):
        return validate_table(estimator, X, on_host(y), reset=reset, min_samples=min_samples, look=not reset)
    table_shape(X)
    table = gpu_table(X)
    # Without a ledger a fit that is refused after its first release has cost nothing: one read of X is saved.
    table.look_first = estimator.ledger is not None or estimator._lent_meter is not None
    stand_in = np.broadcast_to(np.zeros((), dtype=table.dtype), table.shape)
    _, y = validate_table(estimator, stand_in, on_host(y), reset=reset, min_samples=min_samples, look=False)
    return table, y


def predict_on_gpu(table, coef, intercept):
    """Predictions as a NumPy array; only the columns of nonzero coefficients are read."""
    support = np.flatnonzero(coef)
    values = table.on_host(support)
    check_finite(values)
    return values @ coef[support].astype(np.float64) + intercept
