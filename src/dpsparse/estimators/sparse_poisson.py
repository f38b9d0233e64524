"""`PrivateSparsePoissonRegressor`: Poisson regression of counts and costs by a private pursuit."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.validation import check_is_fitted

from dpsparse.data.given_values import as_exposure, place_of
from dpsparse.data.person_ids import without_ids
from dpsparse.data.raw_data import RawData
from dpsparse.data.validation import is_dask
from dpsparse.engine.links import BESIDE, Log
from dpsparse.engine.protocols import Rows, Table
from dpsparse.engine.refusals import NOT_COUNTS
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators._types import LedgerLocation, PerFeature, ShownProgress
from dpsparse.families.poisson import POISSON, Poisson
from dpsparse.planning.forecast import plan_under
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.protection import Adjacency

# A fit is hopeless where nothing smaller than a rate ratio of 2.7 can be found of a Poisson law of mean 1; one of 1.35
# is worth finding. As logs.
USUAL_MEAN = 1.0
HOPELESS, USEFUL = 1.0, 0.3


class PrivateSparsePoissonRegressor(RegressorMixin, PursuitEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Private sparse Poisson regression: the few features that multiply a mean, and their rate ratios.

    For counts such as visits, and for costs whose effects are ratios. Means are exponentials of a linear predictor.
    Features are selected one at a time by the exponential mechanism on scores; centres and scales of selected features
    are learned within the guarantee, unless they are given. The last steps lead to the coefficients that Poisson
    regression gives for the selected features without privacy. Standard errors are sandwich errors from released
    matrices, with privacy noise: variances need not be those of a Poisson law.

    Parameters
    ----------
    sparsity : int or "auto", default=5
        Features to select. "auto" takes all of them where the records allow it, and otherwise selects some (see
        `max_sparsity`).
    exposure : str, int or None, default=None
        The column of X, by its name or its place, to which means are in proportion: years observed, people at risk. It
        is no feature. A record whose exposure is no positive number counts as one without a response. None for none,
        or for one that is given to `fit`.
    epsilon : float, default=1.0
        The guarantee to each person; smaller is more private.
    delta : float or None, default=None
        The guarantee's failure probability; None for n**-1.1, or the ledger's if that is smaller.
    feature_center, feature_scale : float, array-like of shape (n_features,), dict, Series or None, default=None
        Public centres and scales of the features; see `PrivateSparseRegressor`. None: learned within the guarantee.
    missing : {"refuse", "center"}, default="refuse"
        What to do with gaps; see `PrivateSparseRegressor`.
    max_sparsity : int or None, default=None
        The most features for ``sparsity="auto"``.
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
    coef_ : ndarray of shape (n_features,)
        Released effects on the log of the mean for a step of 1 of each feature, shrunk by their own error; zero outside
        the support.
    intercept_ : float
        The log of the mean where all features are 0, for an exposure of 1.
    prediction_range_ : tuple of float or None
        The released range of the log of the mean to which `predict` clips, for an exposure of 1.
    coef_se_, pvalues_, clear_, support_, units_, missing_coef_, center_, explains_, privacy_, released_
        As those of `PrivateSparseRegressor`.

    Notes
    -----
    Effects, errors and intervals are of logs of means, and `rate_ratios` has them as ratios. `score` on the training
    data is not private.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparsePoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20_000, 10))
    >>> visits = rng.poisson(np.exp(0.5 + 0.4 * X[:, 3]))
    >>> model = PrivateSparsePoissonRegressor(sparsity=1, feature_center=0, feature_scale=1).fit(X, visits)
    >>> model.support_, bool(abs(model.coef_[3] - 0.4) < 0.1)
    (array([3]), True)
    >>> bool(abs(model.predict(X).mean() / visits.mean() - 1) < 0.1)
    True
    """

    # The mean of a response has a unit, and a model without a constant would depend on it.
    fit_intercept = True
    # Where the exposure of the present fit is: a feature's place, or beside them, with its values.
    _exposed: tuple[int, Any] | None = None

    def __init__(
        self,
        *,
        sparsity: int | Literal["auto"] = 5,
        exposure: str | int | None = None,
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
        self.exposure = exposure
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

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        exposure: Any = None,
        formula: str | None = None,
        schema: Mapping[str, Any] | None = None,
        person: Any = None,
        progress: ShownProgress = None,
    ) -> Self:
        """Fit privately. The whole guarantee is spent; each release is charged before it is made.

        Parameters
        ----------
        X : array-like, sparse matrix or other table of shape (n_samples, n_features)
            Finite features, as for `PrivateSparseRegressor`; or what `read_table` gives.
        y : array-like of shape (n_samples,) or None
            Responses from 0 on. None where X is from `read_table`, and with a formula.
        exposure : str, int, array-like of shape (n_samples,) or None, default=None
            A column of X, in place of the parameter, or the exposures of all records where they are no column of it:
            `predict` is for an exposure of 1 then. A table from `read_table` names its own.
        formula, schema : str, dict or None, default=None
            The terms of a data frame, and what is public of its types; see `PrivateSparseRegressor.fit`.
        person : array-like of shape (n_samples,), str or None, default=None
            Whose row it is; see `PrivateSparseRegressor.fit`.
        progress : callable, True or None, default=None
            Called with the steps done, a fraction, and their number; True shows a bar.

        Returns
        -------
        self
            The fitted estimator.
        """
        # A table of cells keeps its column of ids.
        self._expose(X, exposure, person if formula is None and schema is None else None)
        try:
            super().fit(X, y, formula=formula, schema=schema, person=person, progress=progress)
        finally:
            self.__dict__.pop("_exposed", None)
        return self

    def _expose(self, X: Any, exposure: Any = None, person: Any = None) -> None:
        given = self.exposure if exposure is None else exposure
        if isinstance(X, RawData):
            if given is not None:
                raise ValueError("exposure is for arrays: give it to read_table, which reads the columns of this table")
        elif given is not None:
            self._check_parameters()
            # The place of a column counts among the features; ids that a column has are none.
            self._exposed = _exposed(X if self._has_text(X) else without_ids(X, person)[0], given)

    def _as_raw(self, X: Any, y: Any, person: Any = None, **public: Any) -> RawData:
        data = super()._as_raw(X, y, person, **public)
        if self._exposed is None:
            return data
        if self._exposed[0] == BESIDE:
            raise ValueError("exposure must be the name of a column of X, where X is a frame with text")
        return replace(data, exposure=data.table.names[self._exposed[0]])

    @property
    def _family(self) -> Poisson:
        return POISSON if self._exposed is None else replace(POISSON, link=Log(self._exposed[0]))

    def _family_of(self, data: RawData) -> Poisson:
        return POISSON if data.exposure is None else replace(POISSON, link=Log(BESIDE))

    def _rows(self, table: Table, y: Any) -> Rows:
        rows = super()._rows(table, y)
        if self._exposed is not None and self._exposed[0] == BESIDE:
            rows.exposure = self._exposed[1]  # type: ignore[attr-defined]  # rows of dask are refused before
        return rows

    def _described(self, data: RawData | None = None) -> dict[str, Any]:
        if data is not None:
            return {"exposure": data.exposure}
        if self._exposed is None:
            return {}
        place, names = self._exposed[0], getattr(self, "feature_names_in_", None)
        if place == BESIDE:
            # A feature that is called so is another column.
            taken = names is not None and "exposure" in names
            return {"exposure": "the exposure" if taken else "exposure"}
        return {"exposure": str(place if names is None else names[place])}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.exposure is not None and (isinstance(self.exposure, bool) or not isinstance(self.exposure, str | int)):
            raise ValueError(
                f"exposure={self.exposure!r} must be the name or the place of a column of X; give an array to fit"
            )

    def _warn_if_hopeless(self, n: int, d: int, meter: Meter, known: bool) -> None:
        """Warn, from public numbers, where a fit would learn next to nothing of a Poisson law of mean 1."""
        asked = meter.guarantee
        forecast = plan_under(asked, n, d, min(d, self._picks(d, n, asked)), known, mean_response=USUAL_MEAN)
        if forecast.smallest_effect > HOPELESS:
            warnings.warn(
                f"With n={n} and epsilon={asked.epsilon:g} only rate ratios above {forecast.smallest_rate_ratio:.2g}, "
                "for a step of one standard deviation, can be detected of a response of mean 1, and only larger ones "
                f"where it varies more than a Poisson law. About n={forecast.n_for_effect(USEFUL):,} would detect rate "
                f"ratios of {math.exp(USEFUL):.2g}",
                UserWarning,
                stacklevel=3,
            )

    def _validated(self, table: Table, y: Any, shape: tuple[int, int]) -> Any:
        """The responses, none below 0, once the table is validated."""
        y = super()._validated(table, y, shape)
        if y is None:
            return y
        if is_dask(y):
            return y.map_blocks(POISSON.responses, dtype=np.float64)
        counts = POISSON.responses(y)
        if self._must_check_finite() and not self._allow_missing and np.isnan(counts).any():
            raise ValueError(NOT_COUNTS)
        return counts

    def predict(self, X: Any) -> Any:
        """Predict means; it reads nothing but the released coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The caller's own records; after a fit on what `read_table` gives also a file or a data frame with text.

        Returns
        -------
        ndarray of shape (n_samples,)
            Means, for the exposure of each record where it is a column of X, and otherwise for an exposure of 1; a dask
            array, not computed yet, where X is dask's.
        """
        check_is_fitted(self)
        return self.released_.predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the deviance of the caller's own records that is explained; not private of the fit's own.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The records.
        y : array-like of shape (n_samples,)
            Their responses.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the records.

        Returns
        -------
        float
            D2 of the Poisson deviance, as scikit-learn's `PoissonRegressor.score`.
        """
        return float(d2_tweedie_score(y, np.asarray(self.predict(X)), sample_weight=sample_weight, power=1))

    def rate_ratios(self, level: float = 0.95) -> dict[str, tuple[float, float, float]]:
        """Rate ratios of the selected features for a step of 1, with confidence intervals.

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
        >>> from dpsparse import PrivateSparsePoissonRegressor
        >>> rng = np.random.default_rng(0)
        >>> X, years = rng.standard_normal((20_000, 3)), rng.uniform(0.5, 2, 20_000)
        >>> visits = rng.poisson(years * np.exp(0.5 * X[:, 1]))
        >>> model = PrivateSparsePoissonRegressor(sparsity=1, feature_center=0, feature_scale=1)
        >>> ratio, low, high = model.fit(X, visits, exposure=years).rate_ratios()["1"]
        >>> low < ratio < high
        True
        """
        check_is_fitted(self)
        ratios: dict[str, tuple[float, float, float]] = self.released_.rate_ratios(level)
        return ratios

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        # At the sizes of scikit-learn's checks noise drowns any signal: the guarantee asks for that.
        tags.regressor_tags.poor_score = True
        return tags


def _exposed(X: Any, given: Any) -> tuple[int, Any]:
    """Where the exposure is, and its values where it is no feature."""
    if isinstance(given, str | int) and not isinstance(given, bool):
        return place_of(X, given), None
    return BESIDE, as_exposure(X, given)
