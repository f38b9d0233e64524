"""Base class of tables whose features are read piecemeal, from a disk or by a GPU."""

import warnings
from functools import cached_property

import numpy as np

from dpsparse.data.predictions import gap_terms, linear_predictions, prediction_range
from dpsparse.data.validation import require_finite, table_shape, validate_proxy


class RemoteTable:
    """Features that are not converted as a whole. Subclasses open them.

    Opened features have `shape`, `dtype`, and `on_host`, which reads some columns.
    """

    def __init__(self, X):
        self._given = X

    @cached_property
    def _features(self):
        table_shape(self._given)
        return self._open(self._given)

    @property
    def shape(self):
        """Rows and columns as X states them; nothing is opened."""
        return table_shape(self._given)

    @property
    def dtype(self):
        """float32 or float64."""
        return self._features.dtype

    @property
    def names(self):
        """Names of the columns, or None."""
        return getattr(self._features, "names", None)

    def validate(self, estimator, y=None, *, reset=True, min_samples=1, allow_missing=False):
        """Check shape, names and y; see `protocols.Table`."""
        shape, dtype, names = self._features.shape, self.dtype, self.names
        with warnings.catch_warnings():
            if names is not None:
                # The proxy has no names; the table's are checked next.
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
            options = {"reset": reset, "min_samples": min_samples, "allow_missing": allow_missing}
            y = validate_proxy(estimator, shape, dtype, y, **options)
        _check_names(estimator, names, reset)
        return y

    def predict(self, estimator):
        """Predictions as an array; only columns that they depend on are read."""
        self.validate(estimator, reset=False)
        gaps = gap_terms(estimator)
        support = np.flatnonzero((estimator.coef_ != 0) | (gaps["missing_coef"] != 0 if gaps else False))
        values = self._features.on_host(support)
        if not gaps:
            require_finite(values)
        coef = estimator.coef_[support].astype(np.float64)
        gaps = {name: numbers[support] for name, numbers in gaps.items()}
        return linear_predictions(values, coef, estimator.intercept_, prediction_range(estimator), **gaps)


def _check_names(estimator, names, reset):
    """Keep the columns' names in a fit, and require the same ones, in the same order, in a prediction."""
    if reset and names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif names is not None and list(getattr(estimator, "feature_names_in_", names)) != list(names):
        raise ValueError("The feature names should match those that were passed during fit, in the same order")
