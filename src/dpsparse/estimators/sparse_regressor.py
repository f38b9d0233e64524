"""`PrivateSparseRegressor`: the package's own private method."""

import warnings
from copy import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsparse.data.as_table import as_table
from dpsparse.data.validation import check_number
from dpsparse.estimators._private import PrivateLinearRegressor
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators._types import LedgerLocation, PerFeature
from dpsparse.families.estimands import ESTIMANDS, TYPICAL, EstimandName
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.planning import plan
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import Adjacency

# Minimum detectable effects, in units of the noise: beyond the first a selection is close to random; beyond the second
# most effects of practical size are missed, which is worth a word where public units would help.
HOPELESS, WEAK = 1.5, 0.5
HOW_TO_GIVE_UNITS = (
    "if your features are standardised, pass feature_center=0, feature_scale=1 (in a bounds file [default] with "
    "center = 0, scale = 1)"
)


class PrivateSparseRegressor(PursuitEstimator, PrivateLinearRegressor):
    """Private robust pursuit: sparse linear regression close to the non-private fit.

    Features are selected one at a time by the exponential mechanism: on clipped correlations with the residuals where
    units are public, and otherwise by the signs of differences of pairs of records and by splits, which need no units.
    Centre and scale of a selected feature are then learned from private quantiles, unless they are given, so that
    dollars and log units do equally well. Its effect starts from slopes of pairs; a noisy gradient on the few selected
    features follows, and all releases so far are combined by least squares. Standard errors are sandwich errors from
    released matrices, with privacy noise. Residuals are clipped, so that outliers have bounded influence.

    Parameters
    ----------
    sparsity : int or "auto", default=5
        Features to select. "auto" takes all of them where the records allow it, and otherwise selects some (see
        `max_sparsity`).
    estimand : {"mean", "typical"}, default="mean"
        What effects and predictions are of. "mean": the mean response; effects are those that least squares gives for
        the selected features without privacy (statsmodels' ``OLS``). "typical": the response of most records, whatever
        outliers do; effects are those of Huber's M-estimator (statsmodels' ``RLM`` with ``HuberT()``). A mean needs
        more records: where there are too few at this epsilon, effects have no intervals, and the result says so.
    epsilon : float, default=1.0
        The guarantee to each person; smaller is more private.
    delta : float or None, default=None
        The guarantee's failure probability; None for n**-1.1.
    feature_center, feature_scale : float, array-like of shape (n_features,), dict, Series or None, default=None
        Public centres and scales of the features, near their means and standard deviations, by position or by column
        name; see `scale_from_bounds`. None, NaN in an array, or no entry in a dict: not known, and learned within the
        guarantee as far as the fit needs them. For features that are publicly standardised pass 0 and 1, which leaves
        more of the guarantee to the effects. A StandardScaler, an imputer or a feature selection fitted on the same
        records would void the guarantee. The guarantee does not depend on these numbers being right, accuracy does.
    response_center, response_scale : float or None, default=None
        Public centre (median) and scale (median distance from it) of the response; None to release them privately.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    missing : {"refuse", "center"}, default="refuse"
        What to do with NaN, infinite values and nulls. "refuse" raises an error. "center": a missing feature is at its
        centre, whether a feature is missing is a feature of its own that may be selected, and a record without a
        response adds nothing. No row is dropped and nothing is filled in from the data.
    max_sparsity : int or None, default=None
        The most features for ``sparsity="auto"``. None takes all features if they are few for the number of records
        and epsilon, or at most 300 in known units with ``estimand="typical"``; otherwise, and for what `read_table`
        gives, it stands for 10, or for as few as 5 where the mean of the response is asked for and records are few.
    within : bool, default=False
        Whether effects are within people, for `fit` with `person`: every row is taken less its person's own mean, as
        fixed effects of people do. What is constant for a person tells nothing then, and people with one row are left
        out. A gap is at the person's mean. Units of features are those of deviations, whose centre is 0.
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
        Released effects, shrunk by their own error; zero outside the support.
    coef_se_ : ndarray of shape (n_features,)
        Standard errors of the unshrunk effects, from privacy noise and sampling; NaN outside the support, and where
        the error cannot be trusted.
    pvalues_ : ndarray of shape (n_features,)
        Two-sided p-values of single effects, not adjusted for the number of features or for the selection; NaN where
        `coef_se_` is.
    clear_ : ndarray of bool of shape (n_features,)
        Which effects are significant at the 5 % family-wise level (Bonferroni over d features): the unshrunk effect
        is more than z(1 - 0.025/d) standard errors from zero, so its p-value is below 0.05/d. No effect is marked where
        its error cannot be trusted, where the response's scale could not be learned, or where the features explain
        nothing.
    missing_coef_ : ndarray of shape (n_features,)
        With ``missing="center"``: released effects of a feature being missing, against its being at its centre;
        `released_` has their errors and intervals.
    center_ : ndarray of shape (n_features,)
        With ``missing="center"``: where `predict` puts a selected feature that is missing.
    noise_floor_ : float
        The smallest significant effect of a feature of typical standard error, in units of the response per scaled
        feature; NaN where no error can be trusted.
    intercept_ : float
        Released intercept: the prediction where all features are 0.
    median_shift_ : float or None
        By how much a predicted median lies above ``X @ coef_ + intercept_``, from releases; None where
        ``fit_intercept=False``.
    calibration_slope_ : float
        Predictions of a mean are this many times as far from the constant prediction as
        ``X @ coef_ + intercept_``, from releases. Effects discount outliers; what the features explain of these counts
        here. Often 1.
    support_ : ndarray of int
        Features selected, in order of selection; for "auto" those kept.
    units_ : dict of str to (float, float)
        Centre and scale of each feature of the support, by its name or number: the public ones where they were given
        and kept, releases otherwise.
    prediction_range_ : tuple of float or None
        The released range of the response to which `predict` clips; None for no limits.
    explains_ : bool
        False where the private estimates show no predictive value: `predict` gives a constant then.
    equation_ : object
        The estimating equation that the effects solve up to noise: `features`, their `center` and `scale`, `tau`,
        where residuals are cut, and the norms `inner` and `outer` at which rows are cut.
    privacy_ : PrivacyRecord
        The guarantee, every release and its cost.
    released_ : LinearModel
        All of the above as one object, which `summary`, files, reports and notebooks read.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where X has names.

    Notes
    -----
    Standard errors, `clear_`, `noise_floor_` and "auto" are computed from releases and cost nothing. `score` on the
    training data is not private: publish only scores on data of your own. There is no `sample_weight`: a weight
    multiplies a record's influence, and with it the sensitivity.

    Examples
    --------
    >>> from dpsparse import PrivateSparseRegressor
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, coef = make_heavy_tailed(5000, 100, 3, random_state=0)
    >>> model = PrivateSparseRegressor(sparsity=3, epsilon=1.0, feature_center=0, feature_scale=1).fit(X, y)
    >>> model.privacy_.private, model.privacy_.epsilon <= 1.0
    (True, True)
    >>> bool(abs(model.coef_ - coef).max() < 0.5)
    True
    """

    def __init__(
        self,
        *,
        sparsity: int | Literal["auto"] = 5,
        estimand: EstimandName = "mean",
        epsilon: float = 1.0,
        delta: float | None = None,
        feature_center: PerFeature = None,
        feature_scale: PerFeature = None,
        response_center: float | None = None,
        response_scale: float | None = None,
        fit_intercept: bool = True,
        missing: Literal["refuse", "center"] = "refuse",
        max_sparsity: int | None = None,
        within: bool = False,
        adjacency: Adjacency = "replace-one",
        records_per_person: int = 1,
        random_state: Any = None,
        ledger: LedgerLocation = None,
        dataset: str | None = None,
    ) -> None:
        self.sparsity = sparsity
        self.estimand = estimand
        self.epsilon = epsilon
        self.delta = delta
        self.feature_center = feature_center
        self.feature_scale = feature_scale
        self.response_center = response_center
        self.response_scale = response_scale
        self.fit_intercept = fit_intercept
        self.missing = missing
        self.max_sparsity = max_sparsity
        self.within = within
        self.adjacency = adjacency
        self.records_per_person = records_per_person
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset

    def _warn_if_hopeless(self, n: int, d: int, meter: Meter, known: bool) -> None:
        """Warn, from public numbers, where a fit would learn next to nothing."""
        picks = min(d, self._picks(d, n, meter.guarantee))
        warning = forecast_warning(n, d, picks, meter.guarantee, known, self.estimand)
        if warning is not None:
            warnings.warn(warning, UserWarning, stacklevel=3)

    @property
    def _family(self) -> RobustLinear:
        return RobustLinear(estimand=ESTIMANDS[self.estimand])

    def predict(self, X: Any, statistic: Literal["mean", "median"] | None = None) -> Any:
        """Predict responses; it reads nothing but the released coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The caller's own records; after a fit on what `read_table` gives also a file or a data frame with text.
        statistic : {"mean", "median"} or None, default=None
            What to predict of the responses of such records. None: what the effects are of, by `estimand`: the mean, or
            the typical response. "mean" is right on average, and needs ``estimand="mean"``. "median" has half of them
            below it, and is nearer to most where they are skewed, as costs and incomes are.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions, within `prediction_range_`; a dask array, not computed yet, where X is dask's.

        Examples
        --------
        >>> import numpy as np
        >>> from dpsparse import PrivateSparseRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((20_000, 3))
        >>> cost = X[:, 0] + rng.lognormal(0, 1, 20_000)
        >>> model = PrivateSparseRegressor(sparsity=1, feature_center=0, feature_scale=1).fit(X, cost)
        >>> bool(abs(cost - model.predict(X, "median")).mean() < abs(cost - model.predict(X)).mean())
        True
        """
        check_is_fitted(self)
        released = self.released_
        return released.predict(X, statistic) if released.reads_cells else as_table(X).predict(self._line(statistic))

    def _line(self, statistic: str | None = None) -> Any:
        """The same model with the coefficients and the intercept that predict this statistic."""
        line, factor = copy(self), 1.0 if statistic == "median" else self.calibration_slope_
        line.intercept_, line.coef_ = self.released_.for_statistic(statistic).intercept, self.coef_ * factor
        if self._allow_missing:
            line.missing_coef_ = self.missing_coef_ * factor
        return line

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.estimand, str) or self.estimand not in ESTIMANDS:
            raise ValueError(f"estimand={self.estimand!r} must be 'mean' or 'typical'")
        if not isinstance(self.within, bool | np.bool_):
            raise ValueError(f"within={self.within!r} must be True or False")
        if self.within and not all(_is_zero(center) for center in (self.feature_center, self.response_center)):
            raise ValueError(
                "within=True: rows are deviations, whose centre is 0; leave feature_center and response_center out, or "
                "give 0"
            )
        if self.response_center is not None:
            check_number("response_center", self.response_center, remedy="use None to release it privately")
        if self.response_scale is not None:
            check_number("response_scale", self.response_scale, above=0, remedy="use None to release it privately")


def _is_zero(center: Any) -> bool:
    """Whether a centre is not given, or is 0."""
    return center is None or (isinstance(center, int | float) and center == 0)


def forecast_warning(
    n: int, d: int, sparsity: int, guarantee: Guarantee, known: bool, estimand: EstimandName
) -> str | None:
    """From public numbers: would even large effects be missed, and would public units help? None for no warning."""
    forecast = plan(
        n,
        d,
        sparsity,
        guarantee.epsilon,
        guarantee.delta,
        estimand=estimand,
        units_known=known,
        records_per_person=guarantee.records_per_person,
        rows_per_person=1.0 if guarantee.rows is None else max(1.0, guarantee.rows / n),
    )
    if not forecast.has_intervals:
        # What can be found is what the pursuit finds with the whole budget. The result says that nothing is tested.
        forecast = replace(forecast, estimand=TYPICAL.name)
    effect, with_units = forecast.smallest_effect, replace(forecast, units_known=True).smallest_effect
    if effect > HOPELESS:
        epsilon = forecast.epsilon_for_effect(0.5)
        or_epsilon = f" or epsilon={epsilon:.2g}" if epsilon <= 10 else ""
        advice = (
            "; the selection will be close to random. About "
            f"n={forecast.n_for_effect(0.5):,}{or_epsilon} would detect effects of half the noise"
        )
    elif effect > WEAK and with_units <= WEAK:
        advice = ""
    else:
        return None
    if not known and with_units <= HOPELESS:
        advice += f". With public units it would be those above {with_units:.2g}: {HOW_TO_GIVE_UNITS}"
    return (
        f"With n={n} and epsilon={guarantee.epsilon:g}{'' if known else ', and features in unknown units,'} only "
        f"effects above {effect:.2g} times the noise can be detected{advice}"
    )
