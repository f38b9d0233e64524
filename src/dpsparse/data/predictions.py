"""Predictions of a released linear model, for every kind of table: the one place that clips them to its range."""

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot


@np.errstate(all="ignore")
def linear_predictions(X: Any, coef: Any, intercept: float, within: tuple[float, float] | None = None) -> Any:
    """X @ coef + intercept, clipped to a range.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Finite features.
    coef : ndarray of shape (n_features,)
        Released coefficients.
    intercept : float
        Released intercept.
    within : pair of float or None
        Lowest and highest prediction; None for no limits.

    Returns
    -------
    ndarray of shape (n_samples,)
        Predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.data.predictions import linear_predictions
    >>> linear_predictions(np.array([[1.0], [9.0]]), np.array([2.0]), 1.0, within=(0.0, 10.0))
    array([ 3., 10.])
    """
    predictions = safe_sparse_dot(X, coef) + intercept
    return predictions if within is None else np.clip(predictions, *within)


@np.errstate(all="ignore")
def elementwise_predictions(X: Any, coef: Any, intercept: float, within: tuple[float, float] | None = None) -> Any:
    """`linear_predictions` of a dense X, one feature after another: each prediction depends on its record alone.

    Matrix products may add up a row in another order where it stands elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.data.predictions import elementwise_predictions
    >>> elementwise_predictions(np.array([[1.0, 7.0], [9.0, 7.0]]), np.array([2.0, 0.0]), 1.0, within=(0.0, 10.0))
    array([ 3., 10.])
    """
    coef = np.asarray(coef)
    predictions = np.full(len(X), intercept, dtype=np.result_type(X, coef))
    for place in np.flatnonzero(coef):
        predictions = predictions + X[:, place] * coef[place]
    return predictions if within is None else np.clip(predictions, *within)


def prediction_range(model: Any) -> tuple[float, float] | None:
    """The range of a fitted model's predictions; None where its method releases none."""
    return getattr(model, "prediction_range_", None)
