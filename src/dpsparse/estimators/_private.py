"""What every private estimator shares: the promise, the source of noise, prediction, tags."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from dpsparse.engine.gpu import is_on_gpu
from dpsparse.estimators._gpu_input import predict_on_gpu, validate_anywhere
from dpsparse.estimators._validation import check_count
from dpsparse.privacy.budget import Promise, check_adjacency, check_delta, check_epsilon
from dpsparse.privacy.noise import NotPrivateWarning, SecureSource, SeededSource
from dpsparse.privacy.record import Meter


def as_dtype(coef, dtype):
    """Coefficients in the features' own dtype, cut to its finite range."""
    most = np.finfo(dtype).max
    return np.clip(coef, -most, most).astype(dtype)


class PrivateLinearRegressor(RegressorMixin, BaseEstimator):
    """Base of the private linear models. Parameters of the promise are checked before any data are read."""

    def _check_promise(self):
        check_epsilon(self.epsilon)
        if self.delta is not None:
            check_delta(self.delta)
        check_adjacency(self.adjacency)
        check_count("records_per_person", self.records_per_person, remedy="it is the most rows one person has")

    def _open_meter(self, n_records):
        """The meter of one fit; warns, from public numbers, where a promise is weak or a seed voids it."""
        delta = float(n_records) ** -1.1 if self.delta is None else float(self.delta)
        if delta > 1 / n_records:
            warnings.warn(
                f"delta={delta:.3g} is above 1/n={1 / n_records:.3g}: a promise that weak allows publishing a whole "
                "record; use delta=None for n**-1.1",
                UserWarning,
                stacklevel=3,
            )
        if self.epsilon > 10:
            warnings.warn(
                f"epsilon={self.epsilon:g} is above 10 and promises little; common choices are 0.1 to 10",
                UserWarning,
                stacklevel=3,
            )
        promise = Promise(float(self.epsilon), delta, self.adjacency, int(self.records_per_person))
        return Meter(promise, n_records, self._noise_source())

    def _noise_source(self):
        if self.random_state is None:
            return SecureSource()
        warnings.warn(
            "random_state is set: the noise is seeded and the fit is NOT private; leave it None for a private fit",
            NotPrivateWarning,
            stacklevel=4,
        )
        return SeededSource(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def predict(self, X):
        """Predict responses; it reads nothing but the released coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or GPU array of shape (n_samples, n_features)
            The caller's own records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X, _ = validate_anywhere(self, X, reset=False)
        if is_on_gpu(X):
            return predict_on_gpu(X, self.coef_, self.intercept_)
        return safe_sparse_dot(X, self.coef_) + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # At the sizes of scikit-learn's checks noise drowns any signal: that is the promise at work.
        tags.regressor_tags.poor_score = True
        return tags
