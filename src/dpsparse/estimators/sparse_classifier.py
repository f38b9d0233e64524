"""`PrivateSparseClassifier`: logistic regression of a yes/no response by a private pursuit."""

import math
import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from dpsparse.data.as_table import as_table
from dpsparse.data.labels import as_labels, label_of
from dpsparse.data.raw_data import RawData
from dpsparse.data.validation import is_dask, on_host
from dpsparse.engine.protocols import Table
from dpsparse.engine.refusals import NOT_LABELS
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators._types import LedgerLocation, PerFeature
from dpsparse.families.binomial import BINOMIAL, Binomial
from dpsparse.planning.forecast import plan_under
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.protection import Adjacency

# A fit is hopeless where nothing smaller than an odds ratio of 4.5 can be found, even at the best share of yes, one
# half; one of 1.6 is worth finding. As logs.
BEST_SHARE = 0.5
HOPELESS, USEFUL = 1.5, 0.5


class PrivateSparseClassifier(ClassifierMixin, PursuitEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Private sparse logistic regression: the few features that tell yes from no, and their log odds.

    Features are selected one at a time by the exponential mechanism on scores y - p, which lie in [-1, 1] whatever the
    data are; centres and scales of selected features are learned within the guarantee, unless they are given. Effects
    follow from noisy Newton steps, and the last ones lead to the coefficients that logistic regression gives for the
    selected features without privacy. Standard errors come from released matrices, with privacy noise.

    Parameters
    ----------
    sparsity : int or "auto", default=5
        Features to select. "auto" takes all of them where the records allow it, and otherwise selects some (see
        `max_sparsity`).
    positive : bool, int, float, str or None, default=None
        The label of yes; every other one is no. None: responses are 0 or 1, or False or True, and anything else is
        refused. Labels are public: they are not learned from the records.
    epsilon : float, default=1.0
        The guarantee to each person; smaller is more private.
    delta : float or None, default=None
        The guarantee's failure probability; None for n**-1.1, or the ledger's if that is smaller.
    feature_center, feature_scale : float, array-like of shape (n_features,), dict, Series or None, default=None
        Public centres and scales of the features; see `PrivateSparseRegressor`. None: learned within the guarantee.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    missing : {"refuse", "center"}, default="refuse"
        What to do with gaps; see `PrivateSparseRegressor`.
    max_sparsity : int or None, default=None
        The most features for ``sparsity="auto"``; None for six where not all are taken.
    adjacency : {"replace-one", "zero-out-one"}, default="replace-one"
        Which tables the guarantee covers: one record changed to any other, or blanked. n is public in both.
    records_per_person : int, default=1
        The most rows one person may have in X; the guarantee is to the person.
    random_state : int, RandomState or None, default=None
        Leave None for a private fit. A seed makes the noise repeatable and the fit not private; its record says so.
    ledger : path, URL or PrivacyLedger, default=None
        Where the budget of `dataset` is kept over many fits; see `PrivacyLedger`. None for no ledger.
    dataset : str or None, default=None
        The name under which that budget was granted.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels of no and yes.
    coef_ : ndarray of shape (n_features,)
        Released log odds for a step of 1 of each feature, shrunk by their own error; zero outside the support.
    intercept_ : float
        The log odds of yes where all features are 0.
    coef_se_, pvalues_, clear_, support_, units_, missing_coef_, center_, explains_, privacy_, released_
        As those of `PrivateSparseRegressor`.

    Notes
    -----
    Effects, errors and intervals are of log odds, and `odds_ratios` has them as odds ratios. `score` on the training
    data is not private.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20_000, 10))
    >>> y = rng.random(20_000) < 1 / (1 + np.exp(1 - 1.2 * X[:, 3]))
    >>> model = PrivateSparseClassifier(sparsity=1, feature_center=0, feature_scale=1).fit(X, y)
    >>> model.support_, bool(abs(model.coef_[3] - 1.2) < 0.3), model.predict_proba(X[:1]).shape
    (array([3]), True, (1, 2))
    """

    def __init__(
        self,
        *,
        sparsity: int | Literal["auto"] = 5,
        positive: Any = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        feature_center: PerFeature = None,
        feature_scale: PerFeature = None,
        fit_intercept: bool = True,
        missing: Literal["refuse", "center"] = "refuse",
        max_sparsity: int | None = None,
        adjacency: Adjacency = "replace-one",
        records_per_person: int = 1,
        random_state: Any = None,
        ledger: LedgerLocation = None,
        dataset: str | None = None,
    ) -> None:
        self.sparsity = sparsity
        self.positive = positive
        self.epsilon = epsilon
        self.delta = delta
        self.feature_center = feature_center
        self.feature_scale = feature_scale
        self.fit_intercept = fit_intercept
        self.missing = missing
        self.max_sparsity = max_sparsity
        self.adjacency = adjacency
        self.records_per_person = records_per_person
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset

    @property
    def _family(self) -> Binomial:
        return BINOMIAL

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.positive is not None and label_of(self.positive) in (None, "", np.inf, -np.inf):
            raise ValueError(f"positive={self.positive!r} must be the label of yes: a number, a text, True or False")

    def _warn_if_hopeless(self, n: int, d: int, meter: Meter, known: bool) -> None:
        """Warn, from public numbers, where a fit would learn next to nothing even if half of the responses are yes."""
        asked = meter.guarantee
        forecast = plan_under(asked, n, d, min(d, self._picks(d, n, asked)), known, share_of_yes=BEST_SHARE)
        if forecast.smallest_effect > HOPELESS:
            ratio = f"{forecast.smallest_odds_ratio:.2g}"
            warnings.warn(
                f"With n={n} and epsilon={asked.epsilon:g} only odds ratios above {ratio}, for a step of one standard "
                "deviation, can be detected, and only larger ones where few responses are yes. About "
                f"n={forecast.n_for_effect(USEFUL):,} would detect odds ratios of {math.exp(USEFUL):.2g}",
                UserWarning,
                stacklevel=3,
            )

    def _described(self, data: RawData | None = None) -> dict[str, Any]:
        given = None if data is None else data.positive
        self.classes_ = _classes(self.positive if given is None else given)
        return {"classes": tuple(map(str, self.classes_.tolist()))}

    def _validated(self, table: Table, y: Any, shape: tuple[int, int]) -> Any:
        """The responses as 0 and 1, once the table is validated."""
        labels = y if y is None else as_labels(y, self.positive)
        must_check = self._must_check_finite() and not self._allow_missing
        if labels is not None and must_check and not is_dask(y) and np.isnan(labels).any():
            raise ValueError(NOT_LABELS)
        return super()._validated(table, labels, shape)

    def _as_raw(self, X: Any, y: Any, person: Any = None, **public: Any) -> RawData:
        # A text is a label of cells, which a model keeps for other tables; other labels are numbers.
        if isinstance(self.positive, str):
            return replace(super()._as_raw(X, y, person, **public), positive=self.positive)
        if self.positive is not None and public.get("formula") is not None:
            raise ValueError(
                f"positive={self.positive!r} is for arrays: write the label of yes in the formula, such as "
                f"I(outcome == {self.positive!r}) ~ age"
            )
        return super()._as_raw(X, y if y is None else as_labels(y, self.positive), person, **public)

    def _part_of(self, y: Any, response: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[Any]:
        """The labels of some rows, as they were given."""
        return np.asarray(on_host(y)).reshape(len(response))[rows]

    def decision_function(self, X: Any) -> Any:
        """The log odds of yes of the caller's own records; it reads nothing but the released coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log odds.
        """
        check_is_fitted(self)
        return self.released_.log_odds(X) if self.released_.reads_cells else as_table(X).predict(self)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probabilities of no and yes.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The caller's own records.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            A row for each record, in the order of `classes_`.
        """
        odds = np.asarray(self.decision_function(X))
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable label.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The caller's own records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[(np.asarray(self.decision_function(X)) > 0).astype(np.int64)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the caller's own records whose more probable label is their own; not private of the fit's own.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The records.
        y : array-like of shape (n_samples,)
            Their labels, as `fit` reads them.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the records in the share.

        Returns
        -------
        float
            The accuracy.
        """
        predicted = np.asarray(self.decision_function(X)) > 0
        return float(
            accuracy_score(np.asarray(as_labels(y, self.positive)) == 1, predicted, sample_weight=sample_weight)
        )

    def odds_ratios(self, level: float = 0.95) -> Any:
        """Odds ratios of the selected features for a step of 1, with confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.

        Returns
        -------
        dict of str to (float, float, float)
            The ratio and the ends of its interval by feature; NaN for ends where an error cannot be trusted.

        Examples
        --------
        >>> import numpy as np
        >>> from dpsparse import PrivateSparseClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((20_000, 3))
        >>> y = rng.random(20_000) < 1 / (1 + np.exp(-X[:, 1]))
        >>> model = PrivateSparseClassifier(sparsity=1, feature_center=0, feature_scale=1).fit(X, y)
        >>> ratio, low, high = model.odds_ratios()["1"]
        >>> low < ratio < high
        True
        """
        check_is_fitted(self)
        return self.released_.odds_ratios(level)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # At the sizes of scikit-learn's checks noise drowns any signal: the guarantee asks for that.
        tags.classifier_tags.poor_score = True
        return tags


def _classes(positive: Any) -> NDArray[Any]:
    """The labels of no and yes, by a parameter alone: the type of responses may have been inferred from them."""
    if isinstance(positive, bool | np.bool_):
        return np.array([not positive, bool(positive)])
    if positive is None or positive == 1:
        return np.array([0, 1])
    return np.array([f"not {positive}", str(positive)])
