"""The adaptive Huber lasso as scikit-learn estimators. Not private: the reference for the private ones."""

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from dpsparse.algorithms.adaptive_huber import (
    TAU_RULES,
    AdaptiveHuberFit,
    StandardizedDesign,
    adaptive_huber_lasso,
    hard_threshold,
    lambda_grid,
    largest_coefficients,
)
from dpsparse.data.as_table import in_memory
from dpsparse.data.validation import cap_sparsity, check_choice, check_count, check_number


class _AdaHuberBase(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The common part of the two estimators: the solve for one penalty, the fitted attributes, `predict`."""

    def predict(self, X: Any) -> NDArray[np.floating]:
        """Predict the response.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        check_is_fitted(self)
        result: NDArray[np.floating] = in_memory(X, type(self).__name__).predict(self)
        return result

    def _validated(self, X: Any, y: ArrayLike) -> tuple[Any, NDArray[np.float64]]:
        table = in_memory(X, type(self).__name__)
        checked = table.validate(self, y, min_samples=2, check_finite=True)
        return table.X, checked

    def _check_shared_parameters(self) -> None:
        if self.tau is not None:
            check_number("tau", self.tau, above=0, remedy="pass None to tune it")
        check_choice("tau_rule", self.tau_rule, TAU_RULES)
        if self.sparsity is not None:
            check_count("sparsity", self.sparsity, remedy="pass None to keep the lasso's own support")
        check_number("tol", self.tol, above=0, remedy="1e-3 suits a response of unit scale")
        check_count("max_iter", self.max_iter, remedy="500 is the default")

    def _solver_options(self) -> dict[str, Any]:
        return {"tau": self.tau, "tau_rule": self.tau_rule, "tol": self.tol, "max_iter": self.max_iter}

    def _capped_sparsity(self, n_features: int) -> int | None:
        return None if self.sparsity is None else cap_sparsity(self.sparsity, n_features)

    def _solve(self, X: Any, y: NDArray[np.float64], lam: float, sparsity: int | None) -> None:
        fit = adaptive_huber_lasso(X, y, lam, **self._solver_options())
        if sparsity is not None:
            fit = hard_threshold(X, y, fit, sparsity, **self._solver_options())
        if not fit.converged:
            warnings.warn(
                f"the fit did not reach tol={self.tol} in max_iter={self.max_iter} steps; raise max_iter, or lam.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.coef_ = fit.coef.astype(X.dtype)
        self.intercept_ = X.dtype.type(fit.intercept)
        self.tau_ = fit.tau
        self.n_iter_ = fit.n_iter
        self.support_ = np.flatnonzero(self.coef_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class AdaHuber(_AdaHuberBase):
    """Adaptive Huber lasso: sparse linear regression for heavy-tailed responses, **not private**.

    Nothing protects the records: publish its coefficients only where the data may be public. It is the
    non-private reference for `DPIHTH` and `DPIHTL`, and follows `adaHuber.lasso` of the R package
    adaHuber 1.1. With standardised features z it minimises ::

        mean(huber_tau(y - b0 - z'b)) + lam * |b|_1

    and tunes tau between the steps, so that about log(n d) residuals are clipped.

    Parameters
    ----------
    lam : float, default=0.1
        The penalty on the coefficients of the standardised features; 0 for none.
    tau : float, optional
        The residual beyond which the loss turns from quadratic to linear. None tunes it.
    tau_rule : {"residual", "adahuber-1.1"}, default="residual"
        Tune tau on the residuals, or on the centred response as the R package does. The latter is a
        defect that loses accuracy under heavy tails; it is kept to replicate the package's results.
    sparsity : int, optional
        Keep only this many features, those with the largest standardised coefficients of the lasso, and
        refit them without penalty. Fewer are kept where the lasso finds fewer. None keeps the lasso fit.
    tol : float, default=1e-3
        Stop when no coefficient of a standardised feature moves by more, in units of y.
    max_iter : int, default=500
        The largest number of steps of a solve.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients, in X's dtype. A constant feature has 0.
    intercept_ : float
        The intercept.
    support_ : ndarray
        Sorted indices of the nonzero coefficients.
    tau_ : float
        The tau of the last step.
    n_iter_ : int
        The number of steps, those of the refit included.
    n_features_in_ : int
        The number of features seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where X has string column names.

    See Also
    --------
    AdaHuberCV : chooses `lam` by cross-validation.

    Notes
    -----
    Sparse X is centred implicitly and stays sparse. Steps start at the mean of y, as in R, unless outliers
    have carried it more than ten median absolute deviations from the median; then they start there.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from dpsparse import AdaHuber
    >>> X, y, coef = make_regression(200, 50, n_informative=3, noise=1.0, coef=True, random_state=0)
    >>> y[0] = 1e6
    >>> model = AdaHuber(lam=1.0, sparsity=3).fit(X, y)
    >>> bool((model.support_ == coef.nonzero()[0]).all())
    True
    """

    def __init__(
        self,
        *,
        lam: float = 0.1,
        tau: float | None = None,
        tau_rule: str = "residual",
        sparsity: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 500,
    ) -> None:
        self.lam = lam
        self.tau = tau
        self.tau_rule = tau_rule
        self.sparsity = sparsity
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features; float32 and float64 are used as they are, without a copy.
        y : array-like of shape (n_samples,)
            The response.

        Returns
        -------
        AdaHuber
            The fitted estimator.
        """
        self._check_shared_parameters()
        if self.lam != 0:
            check_number("lam", self.lam, above=0, remedy="pass 0 for no penalty")
        X, y = self._validated(X, y)
        self._solve(X, y, self.lam, self._capped_sparsity(X.shape[1]))
        return self


class AdaHuberCV(_AdaHuberBase):
    """`AdaHuber` with the penalty chosen by cross-validation, **not private**.

    Nothing protects the records, neither in the fit nor in the choice of the penalty. As in the R package
    the candidates are log-spaced on `[0.01, 1] * max|z'y|/n` (features z standardised, y centred), the folds
    are random and the criterion is the squared error on the held-out folds.

    Parameters
    ----------
    n_lambdas : int, default=50
        The number of candidate penalties.
    cv : int, default=5
        The number of folds.
    tau : float, optional
        The residual beyond which the loss turns from quadratic to linear. None tunes it.
    tau_rule : {"residual", "adahuber-1.1"}, default="residual"
        How tau is tuned; see `AdaHuber`.
    sparsity : int, optional
        Keep only this many features and refit them without penalty; see `AdaHuber`. The errors compared are
        then those of the thresholded fits.
    tol : float, default=1e-3
        Stop when no coefficient of a standardised feature moves by more, in units of y.
    max_iter : int, default=500
        The largest number of steps of a solve.
    random_state : int, RandomState instance, optional
        Shuffles the records into folds.

    Attributes
    ----------
    lam_ : float
        The chosen penalty.
    lams_ : ndarray of shape (n_lambdas,)
        The candidates, from the largest to the smallest.
    cv_error_ : ndarray of shape (n_lambdas,)
        The mean squared error of each over the held-out records.
    coef_, intercept_, support_, tau_, n_iter_, n_features_in_, feature_names_in_
        Those of `AdaHuber` with `lam=lam_` on all records.

    See Also
    --------
    AdaHuber : one given penalty.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from dpsparse import AdaHuberCV
    >>> X, y = make_regression(100, 20, n_informative=3, noise=1.0, random_state=0)
    >>> model = AdaHuberCV(n_lambdas=10, random_state=0).fit(X, y)
    >>> model.lams_.shape, round(model.score(X, y), 2)
    ((10,), 1.0)
    """

    def __init__(
        self,
        *,
        n_lambdas: int = 50,
        cv: int = 5,
        tau: float | None = None,
        tau_rule: str = "residual",
        sparsity: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_lambdas = n_lambdas
        self.cv = cv
        self.tau = tau
        self.tau_rule = tau_rule
        self.sparsity = sparsity
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the penalty and fit the model with it on all records.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features; each fold's training records are copied, one fold at a time.
        y : array-like of shape (n_samples,)
            The response.

        Returns
        -------
        AdaHuberCV
            The fitted estimator.
        """
        self._check_shared_parameters()
        check_count("n_lambdas", self.n_lambdas, remedy="50 is the default")
        check_count("cv", self.cv, remedy="pass a number of folds, such as 5")
        X, y = self._validated(X, y)
        n_samples = X.shape[0]
        # A training set needs two records to have a spread.
        if not 2 <= self.cv <= n_samples or n_samples < 4:
            raise ValueError(
                f"cv={self.cv} must be between 2 and the number of records, n_samples={n_samples}, "
                "which must be at least 4; pass another number of folds or use AdaHuber with a given lam"
            )
        sparsity = self._capped_sparsity(X.shape[1])
        self.lams_ = lambda_grid(X, y, self.n_lambdas)
        squared_error = np.zeros(self.n_lambdas)
        for train, test in KFold(self.cv, shuffle=True, random_state=self.random_state).split(X):
            X_test, y_test = X[test], y[test]
            for i, fit in enumerate(self._path(X[train], y[train], sparsity)):
                predicted = X_test @ fit.coef.astype(X.dtype) + fit.intercept
                squared_error[i] += np.sum((y_test - predicted) ** 2)
        self.cv_error_ = squared_error / n_samples
        self.lam_ = float(self.lams_[np.argmin(self.cv_error_)])
        self._solve(X, y, self.lam_, sparsity)
        return self

    def _path(self, X: Any, y: NDArray[np.float64], sparsity: int | None) -> Iterator[AdaptiveHuberFit]:
        """The fits along `lams_`, each solve started from the one before."""
        design = StandardizedDesign.of(X)
        options = self._solver_options()
        start = None
        refits = {}
        for lam in self.lams_:
            fit = adaptive_huber_lasso(design, y, lam, start=start, **options)
            start = fit
            if sparsity is not None:
                # Neighbouring penalties mostly keep the same features, whose refit does not depend on lam.
                kept = tuple(largest_coefficients(fit.standardized[1:], sparsity))
                if kept not in refits:
                    refits[kept] = hard_threshold(X, y, fit, sparsity, **options)
                fit = refits[kept]
            yield fit
