"""Input of the estimators whose passes can run on a dask cluster. Nothing of dask is imported until some arrives."""

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

from dpsparse.data.validation import NOT_NUMERIC, check_finite, is_dask, table_shape, validate_table
from dpsparse.engine.cpu.rows import NOT_FINITE


def opened(X):
    """A dask array or data frame as a table of known shape, which is public; anything else as it is."""
    if not is_dask(X):
        return X
    from dpsparse.engine.dask.cluster import DaskTable

    return DaskTable(X, _checked_sample(BaseEstimator(), X, reset=True).dtype)


def validate_pieces(estimator, table, y, *, min_samples):
    """What `validate_table` checks in `fit`, for a `DaskTable`: y in its pieces, and finite."""
    from dpsparse.engine.dask.cluster import all_finite, of_known_length

    stand_in = np.broadcast_to(np.zeros((), dtype=table.dtype), table.shape)
    on_workers = is_dask(y)
    if on_workers:
        if getattr(y, "ndim", None) != 1:
            raise ValueError("y must be a 1D dask array or series; take one column of it")
        if getattr(y.dtype, "kind", "") not in "biuf":
            raise ValueError(NOT_NUMERIC)
        y = of_known_length(y)
    shown = np.broadcast_to(0.0, y.shape) if on_workers else y
    _, checked = validate_table(estimator, stand_in, shown, reset=True, min_samples=min_samples, look=False)
    _checked_sample(estimator, table.source, reset=True)
    y = table.responses(y if on_workers else checked)
    if on_workers and not get_config()["assume_finite"] and not all_finite(y):
        raise ValueError(NOT_FINITE)
    return table, y


def predict_lazily(estimator, X):
    """Predictions as a dask array of X's pieces."""
    dtype = _checked_sample(estimator, X, reset=False).dtype
    public = {"read_as": dtype, "coef": estimator.coef_, "intercept": estimator.intercept_}
    meta = np.empty(0, dtype=np.result_type(dtype, estimator.coef_))
    if hasattr(X, "rechunk"):
        return X.rechunk({1: -1}).map_blocks(_predict, drop_axis=1, dtype=meta.dtype, meta=meta, **public)
    return X.map_partitions(_predict, meta=meta, **public)


def _predict(X, read_as, coef, intercept):
    X = np.asarray(X, dtype=read_as)
    check_finite(X)
    with np.errstate(all="ignore"):
        return X @ coef + intercept


def _checked_sample(estimator, X, *, reset):
    """Two rows with X's names and types, as `validate_table` converts them; it refuses what it would refuse of X."""
    from dask.array import Array

    if hasattr(X, "_meta_nonempty"):
        sample = X._meta_nonempty
    elif not isinstance(X, Array):
        raise TypeError(f"X is a dask {type(X).__name__}; pass a dask array or data frame")
    else:
        table_shape(X)
        if not isinstance(X._meta, np.ndarray):
            raise TypeError(f"X has chunks of type {type(X._meta).__name__}; a dask array must have NumPy's")
        if X.dtype.kind == "O" or np.isnan(X.shape[1]):
            raise ValueError(NOT_NUMERIC)
        sample = np.zeros((2, X.shape[1]), dtype=X.dtype)
    y = np.zeros(len(sample)) if reset else None
    return validate_table(estimator, sample, y, reset=reset, look=False)[0]
