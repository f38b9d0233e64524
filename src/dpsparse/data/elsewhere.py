"""Input of the estimators whose passes can run elsewhere than over an array in memory: on a GPU, cluster or disk."""

import warnings

import numpy as np

from dpsparse.data.dask_input import validate_pieces
from dpsparse.data.on_disk import OnDisk, is_read_in_pieces
from dpsparse.data.streamed import gpu_table, is_on_gpu, on_host
from dpsparse.data.validation import check_finite, is_dask, table_shape, validate_table


def is_elsewhere(X):
    """Whether X is no array of floats in memory but a table on a GPU, on a disk, on a cluster, or of integers."""
    return is_on_gpu(X) or is_dask(X) or is_read_in_pieces(X)


def validate_anywhere(estimator, X, y=None, *, reset, min_samples=1):
    """`validate_table`, or for X on a GPU or a disk its table, and y in memory. The engine looks whether X is finite.

    An array of the same shape that takes no memory stands in for X there, and meets the checks of any other X.
    """
    if hasattr(X, "rows_with"):
        return validate_pieces(estimator, X, y, min_samples=min_samples)
    if not is_elsewhere(X):
        return validate_table(estimator, X, on_host(y), reset=reset, min_samples=min_samples, look=not reset)
    table_shape(X)
    table = gpu_table(X) if is_on_gpu(X) else X if isinstance(X, OnDisk) else OnDisk(X)
    if reset and is_on_gpu(X):
        # Without a ledger a fit that is refused after its first release has cost nothing: one read of X is saved.
        table.check_before_release = estimator.ledger is not None or estimator._shared_meter is not None
    names = getattr(table, "names", None)
    stand_in = np.broadcast_to(np.zeros((), dtype=table.dtype), table.shape)
    with warnings.catch_warnings():
        if names is not None:
            # The stand-in has no names; the table's are looked at next.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
        _, y = validate_table(estimator, stand_in, on_host(y), reset=reset, min_samples=min_samples, look=False)
    _check_names(estimator, names, reset)
    return table, y


def _check_names(estimator, names, reset):
    """Keep the columns' names in a fit, and require the same ones, in the same order, in a prediction."""
    if reset and names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif names is not None and list(getattr(estimator, "feature_names_in_", names)) != list(names):
        raise ValueError("The feature names should match those that were passed during fit, in the same order")


def predict_elsewhere(table, coef, intercept):
    """Predictions as a NumPy array; only the columns of nonzero coefficients are read."""
    support = np.flatnonzero(coef)
    values = table.on_host(support)
    check_finite(values)
    return values @ coef[support].astype(np.float64) + intercept
