"""Features on a dask cluster: what a fit checks before a worker reads a feature, and lazy predictions.

The responses are computed in `validate`, and rows are counted where dask does not know their number: n is public.
"""

from functools import cached_property
from typing import Any

import numpy as np
from dask.array import Array
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator

from dpsparse.data.predictions import gap_terms, linear_predictions, prediction_range
from dpsparse.data.validation import (
    is_dask,
    refuse_masked,
    require_finite,
    table_shape,
    validate_proxy,
    validate_table,
)
from dpsparse.engine.dask.actors import as_array
from dpsparse.engine.dask.dask_rows import DaskRows, Partitions, all_finite, of_known_length
from dpsparse.engine.protocols import Rows
from dpsparse.engine.refusals import NOT_FINITE, NOT_NUMERIC, Y_NOT_NUMERIC


class DaskTable:
    """A dask array or data frame."""

    def __init__(self, X: Any) -> None:
        self._given = X
        self.names = None

    @cached_property
    def _partitions(self) -> Partitions:
        return Partitions(self._given, _checked_sample(BaseEstimator(), self._given, reset=True).dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, which are public; rows are counted where dask does not know their number."""
        return self._partitions.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._partitions.dtype

    def validate(
        self, estimator: Any, y: Any = None, *, reset: bool = True, min_samples: int = 1, allow_missing: bool = False
    ) -> Any:
        """Check names, types and y; see `protocols.Table`. The responses come back divided as the features are."""
        on_workers = is_dask(y)
        if on_workers:
            refuse_masked(y)
            if getattr(y, "ndim", None) != 1:
                raise ValueError("y must be a 1D dask array or series; take one column of it")
            if getattr(y.dtype, "kind", "") not in "biuf":
                raise ValueError(Y_NOT_NUMERIC)
            y = of_known_length(y)
        shown = np.broadcast_to(0.0, y.shape) if on_workers else y
        checked = validate_proxy(
            estimator, self.shape, self.dtype, shown, reset=reset, min_samples=min_samples, allow_missing=allow_missing
        )
        _checked_sample(estimator, self._given, reset=reset)
        self.names = getattr(estimator, "feature_names_in_", None)
        y = self._partitions.responses(y if on_workers else checked)
        if on_workers and allow_missing:
            return y.map_blocks(_known, dtype=np.float64).persist()
        if on_workers and not get_config()["assume_finite"] and not all_finite(y):
            raise ValueError(NOT_FINITE)
        return y

    def rows(self, y: Any, *, check_before_release: bool = True) -> Rows:
        """The rows with their responses; a session always checks them when it is opened."""
        return DaskRows(self._partitions, y)

    def predict(self, estimator: Any) -> Any:
        """Predictions as a dask array with a chunk for each partition; nothing is computed."""
        X = self._given
        dtype = _checked_sample(estimator, X, reset=False).dtype
        public = {
            "read_as": dtype,
            "coef": estimator.coef_,
            "intercept": estimator.intercept_,
            "within": prediction_range(estimator),
            "gaps": gap_terms(estimator),
        }
        meta = np.empty(0, dtype=np.result_type(dtype, estimator.coef_))
        if hasattr(X, "rechunk"):
            return X.rechunk({1: -1}).map_blocks(_predict, drop_axis=1, dtype=meta.dtype, meta=meta, **public)
        return X.map_partitions(_predict, meta=meta, **public)


def _predict(
    X: Any,
    read_as: np.dtype[Any],
    coef: NDArray[Any],
    intercept: float,
    within: tuple[float, float] | None,
    gaps: dict[str, Any],
) -> NDArray[Any]:
    """Predictions for a chunk; it runs on a worker."""
    X = as_array(X, read_as)
    if not gaps:
        require_finite(X)
    result: NDArray[Any] = linear_predictions(X, coef, intercept, within, **gaps)
    return result


def _known(y: Any) -> NDArray[np.float64]:
    """Responses with NaN for infinite ones."""
    return np.where(np.isfinite(y), y, np.nan)


def _checked_sample(estimator: Any, X: Any, *, reset: bool) -> NDArray[Any]:
    """Two rows with X's names and types, as `validate_table` converts them; it refuses what it would refuse of X."""
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
    result: NDArray[Any] = validate_table(estimator, sample, y, reset=reset, check_finite=False)[0]
    return result
