"""`PrivateSparseTwoPartRegressor`: the mean of a response that is mostly 0, by two private pursuits."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpsparse.algorithms.guarantee_shares import share_of
from dpsparse.algorithms.overall_level import HOW_MUCH, SHARES, WHETHER
from dpsparse.data.raw_data import RawData, refuse_beside
from dpsparse.estimators import _two_part_fit
from dpsparse.estimators._progress_bar import shown
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators._raw_fit import raw_schedule
from dpsparse.estimators._two_part_plan import Schedules, TwoPartPlan, two_part_plan
from dpsparse.estimators._types import LedgerLocation, PerFeature, ShownProgress
from dpsparse.estimators.sparse_classifier import BEST_SHARE, HOPELESS, PrivateSparseClassifier
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
from dpsparse.families.robust_linear import RobustLinear, RobustWords
from dpsparse.planning.forecast import plan
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import Adjacency

# What both parts have in common with the whole.
_SHARED = (
    *("sparsity", "max_sparsity", "feature_center", "feature_scale", "missing"),
    *("epsilon", "delta", "adjacency", "records_per_person"),
)


# What is said of amounts otherwise than of other numbers.
_WORDS = RobustWords(
    too_few_records="{n:,} records are too few at this epsilon to learn the centre and the scale of amounts",
    too_few_responses="too few records at this epsilon have a response above 0: about {count:,.0f} of {n:,}",
    all_equal="nearly all responses above 0 are equal",
    most_equal="most responses above 0 are equal",
)


class _Amounts(PrivateSparseRegressor):
    """The mean of responses above 0."""

    @property
    def _family(self) -> RobustLinear:
        return replace(super()._family, words=_WORDS, amounts=True)


class PrivateSparseTwoPartRegressor(RegressorMixin, PursuitEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Private sparse two-part regression: for costs, claims and donations, which are mostly 0 and otherwise skewed.

    One fit, one guarantee: a logistic regression of whether the response is above 0, as `PrivateSparseClassifier` makes
    it, and a linear regression of its mean among those above 0, as `PrivateSparseRegressor` makes it. Each part selects
    its own features. A last release sets the level, so that predictions of the overall mean are right on average.

    Parameters
    ----------
    sparsity : int or "auto", default=5
        Features to select in each part. "auto" takes all of them where the records allow it, and otherwise selects some
        (see `max_sparsity`).
    epsilon : float, default=1.0
        The guarantee to each person, of both parts together; smaller is more private.
    delta : float or None, default=None
        The guarantee's failure probability; None for n**-1.1, or the ledger's if that is smaller.
    feature_center, feature_scale : float, array-like of shape (n_features,), dict, Series or None, default=None
        Public centres and scales of the features; see `PrivateSparseRegressor`. None: learned within the guarantee.
    missing : {"refuse", "center"}, default="refuse"
        What to do with gaps; see `PrivateSparseRegressor`. A record without a response counts in neither part.
    max_sparsity : int or None, default=None
        The most features of a part for ``sparsity="auto"``.
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
    whether_ : PrivateSparseClassifier
        The first part, fitted: log odds of a response above 0.
    how_much_ : PrivateSparseRegressor
        The second part, fitted: the mean among responses above 0.
    coef_ : ndarray of shape (n_features,)
        Average marginal effects on the overall mean, from the shrunk effects that predictions use.
    coef_se_, pvalues_, clear_, support_
        As those of `PrivateSparseRegressor`, of average marginal effects that are not shrunk.
    intercept_ : float
        The prediction where all features are 0.
    explains_, noise_floor_, privacy_, released_
        As those of `PrivateSparseRegressor`, of both parts together.

    Notes
    -----
    A response that is not above 0 is no cost, and counts as 0. An average marginal effect is the mean over the records
    of the slope of p mu along a feature, p (1 - p) mu g + p b, where p is the probability of a response above 0, mu its
    mean, and g and b are the feature's effects on the log odds and on mu. It is the slope of 0/1 features too, not the
    difference between 1 and 0. A feature that a part has not selected has no effect there. Standard errors are by the
    delta method.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseTwoPartRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20_000, 5))
    >>> some = rng.random(20_000) < 1 / (1 + np.exp(1 - X[:, 2]))
    >>> cost = some * (100 + 30 * X[:, 2]) * rng.exponential(1.0, 20_000)
    >>> model = PrivateSparseTwoPartRegressor(sparsity=1, feature_center=0, feature_scale=1).fit(X, cost)
    >>> model.support_, bool(abs(model.predict(X).mean() / cost.mean() - 1) < 0.2), model.privacy_.epsilon <= 1.0
    (array([2]), True, True)
    """

    # A level needs one.
    fit_intercept = True
    _tuned_apart = True

    def __init__(
        self,
        *,
        sparsity: int | Literal["auto"] = 5,
        epsilon: float = 1.0,
        delta: float | None = None,
        feature_center: PerFeature = None,
        feature_scale: PerFeature = None,
        missing: Literal["refuse", "center"] = "refuse",
        max_sparsity: int | None = None,
        adjacency: Adjacency = "replace-one",
        records_per_person: int = 1,
        random_state: Any = None,
        ledger: LedgerLocation = None,
        dataset: str | None = None,
    ) -> None:
        self.sparsity = sparsity
        self.epsilon = epsilon
        self.delta = delta
        self.feature_center = feature_center
        self.feature_scale = feature_scale
        self.missing = missing
        self.max_sparsity = max_sparsity
        self.adjacency = adjacency
        self.records_per_person = records_per_person
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset

    @property
    def _family(self) -> RobustLinear:
        return _Amounts()._family

    def _parts(self) -> dict[str, PursuitEstimator]:
        """The estimators of both parts, unfitted, in order of time."""
        shared = {name: getattr(self, name) for name in _SHARED}
        return {WHETHER: PrivateSparseClassifier(**shared), HOW_MUCH: _Amounts(**shared)}

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        formula: str | None = None,
        schema: Mapping[str, Any] | None = None,
        person: Any = None,
        progress: ShownProgress = None,
    ) -> Self:
        """Fit privately; see `PrivateSparseRegressor.fit`. Responses that are not above 0 count as 0.

        Parameters
        ----------
        X : array-like, sparse matrix or other table of shape (n_samples, n_features)
            Features, or what `read_table` gives.
        y : array-like of shape (n_samples,) or None
            Responses. None where X is from `read_table`, and with a formula.
        formula, schema : str, dict or None, default=None
            The terms of a data frame, and what is public of its types; see `PrivateSparseRegressor.fit`.
        person : array-like of shape (n_samples,), str or None, default=None
            Whose row it is; see `PrivateSparseRegressor.fit`. The overall mean is that of people, each with the mean of
            their rows.
        progress : callable, True or None, default=None
            Called with the steps done, a fraction, and their number; True shows a bar.

        Returns
        -------
        self
            The fitted estimator.
        """
        read = self._read(X, y, formula, schema, person)
        with shown(progress) as told:
            if not isinstance(read, RawData):
                _two_part_fit.fit_array(self, X, y, person, told)
                return self
            if read is X:
                refuse_beside(y, person)
            _two_part_fit.fit_raw_parts(self, read, told)
        return self

    def _schedule(self, guarantee: Guarantee, n: int, d: int, **others: Any) -> TwoPartPlan:  # type: ignore[override]
        """The releases and prices of both parts and of the level."""
        parts = self._parts()
        schedules = Schedules(lambda name, share: parts[name]._schedule(share, n, d, **others))
        return two_part_plan(guarantee, schedules, self._tight)

    def _raw_schedule(self, data: RawData, guarantee: Guarantee) -> TwoPartPlan:  # type: ignore[override]
        parts = self._parts()
        return two_part_plan(
            guarantee,
            Schedules(
                lambda name, share: raw_schedule(parts[name], data, share, prepare=False),
                lambda whole: raw_schedule(parts[HOW_MUCH], data, whole),
            ),
            self._tight,
        )

    def predict(self, X: Any) -> Any:
        """Predict the overall mean: the probability of a response above 0 times its mean, at the released level.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The caller's own records; after a fit on what `read_table` gives also a file or a data frame with text.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions, at least 0; a dask array, not computed yet, where X is dask's.
        """
        check_is_fitted(self)
        if self.released_.reads_cells:
            return self.released_.predict(X)
        parts = self.released_.parts
        assert parts is not None  # a fit has set them
        return parts.combined(self.whether_.decision_function(X), self.how_much_.predict(X))

    def _warn_if_hopeless(self, n: int, d: int, meter: Meter, known: bool) -> None:
        """Warn, from public numbers, where a fit would learn next to nothing even if half of the responses are 0."""
        asked = meter.guarantee
        share = share_of(asked, SHARES[WHETHER], len(SHARES), by_mu=True)
        picks = min(d, self._picks(d, n, asked))
        forecast = plan(
            n,
            d,
            picks,
            share.epsilon,
            share.delta,
            units_known=known,
            records_per_person=asked.records_per_person,
            rows_per_person=1.0 if asked.rows is None else max(1.0, asked.rows / n),
            share_of_yes=BEST_SHARE,
        )
        if forecast.smallest_effect > HOPELESS:
            warnings.warn(
                f"With n={n} and epsilon={asked.epsilon:g} for two parts only odds ratios above "
                f"{forecast.smallest_odds_ratio:.2g} of a response above 0, for a step of one standard deviation, can "
                "be detected; the selection will be close to random",
                UserWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # At the sizes of scikit-learn's checks noise drowns any signal: the guarantee asks for that.
        tags.regressor_tags.poor_score = True
        return tags
