"""Predictions of a released linear model, for every kind of table: the one place that clips them to its range."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot


@np.errstate(all="ignore")
def linear_predictions(
    X: Any,
    coef: Any,
    intercept: Any,
    within: tuple[float, float] | None = None,
    center: Any = None,
    missing_coef: Any = None,
) -> Any:
    """X @ coef + intercept, clipped to a range.

    `within` are the lowest and the highest prediction. X is finite, unless `center` says what a missing cell, one that
    is not finite, counts as; `missing_coef` are the released coefficients of "this feature is missing", on top of that.

    Examples
    --------
    >>> linear_predictions(np.array([[1.0], [9.0]]), np.array([2.0]), 1.0, within=(0.0, 10.0))
    array([ 3., 10.])
    >>> linear_predictions(np.array([[1.0], [np.nan]]), np.array([2.0]), 1.0, center=np.array([4.0]))
    array([3., 9.])
    """
    if center is not None:
        X, gaps = _without_gaps(X)
        # A gap counts as 0 in X, so its indicator has what the centre would add.
        of_gaps = coef * center + (0 if missing_coef is None else missing_coef)
        if gaps is not None:
            intercept = intercept + _products(gaps, of_gaps)
    predictions = _products(X, coef) + intercept
    return predictions if within is None else np.clip(predictions, *within)


def _products(X: Any, coef: NDArray[Any]) -> NDArray[Any]:
    """X @ coef, one feature after another: a prediction depends on its record alone.

    Matrix products may add up a row in another order where it stands elsewhere. Those of sparse rows do not.
    """
    if sparse.issparse(X):
        result: NDArray[Any] = safe_sparse_dot(X, coef)
        return result
    coef = np.asarray(coef)
    total = np.zeros(len(X), dtype=np.result_type(X, coef))
    for place in np.flatnonzero(coef):
        total = total + X[:, place] * coef[place]
    return total


def _without_gaps(X: Any) -> tuple[Any, Any]:
    """X with gaps as 0, and their indicators; X itself, and None, where there are none."""
    cells = X.data if sparse.issparse(X) else X
    missing = ~np.isfinite(cells)
    if not missing.any():
        return X, None
    known, gaps = np.where(missing, 0, cells), missing.astype(cells.dtype)
    if not sparse.issparse(X):
        return known, gaps
    of_known, of_gaps = (sparse.csr_matrix((each, X.indices, X.indptr), shape=X.shape) for each in (known, gaps))
    return of_known, of_gaps


def gap_terms(model: Any) -> dict[str, Any]:
    """The arguments of `linear_predictions` by which a fitted model's gaps count; none where it refuses gaps.

    A model that accepts gaps has `center_` and `missing_coef_`, a number of each for every feature.
    """
    missing_coef = getattr(model, "missing_coef_", None)
    return {} if missing_coef is None else {"center": model.center_, "missing_coef": missing_coef}


def prediction_range(model: Any) -> tuple[float, float] | None:
    """The range of a fitted model's predictions; None where its method releases none."""
    return getattr(model, "prediction_range_", None)
