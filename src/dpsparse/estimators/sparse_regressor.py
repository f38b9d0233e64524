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
from dpsparse.planning.forecast import plan_under
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

    Features are selected one at a time by the exponential mechanism, from signals that need no units. Units, effects
    and sandwich errors come from noisy sums over the few selected ones; residuals are clipped, so that outliers have
    bounded influence. The documentation has the method, and how to read a result.

    Parameters
    ----------
    sparsity : int or "auto", default=5
        Features to select. "auto" takes all where the records allow it, and otherwise some (see `max_sparsity`).
    estimand : {"mean", "typical"}, default="mean"
        What effects and predictions are of: the mean response, as least squares gives them for the selected features
        (statsmodels' ``OLS``), or that of most records, as Huber's M-estimator does (``RLM`` with ``HuberT()``). A mean
        needs more records: where they are too few, effects have no intervals, and the result says so.
    epsilon, delta : float, default=1.0, None
        The guarantee to each person, and its failure probability; smaller is more private. None for n**-1.1,
        or the ledger's delta if that is smaller.
    feature_center, feature_scale : float, array-like of shape (n_features,), dict, Series or None, default=None
        Public centres and scales, near means and standard deviations, by position or name (`scale_from_bounds`). None,
        NaN, or no entry: learned within the guarantee. For features that are publicly standardised pass 0 and 1. The
        guarantee does not depend on these numbers being right, accuracy does.
    response_center, response_scale : float or None, default=None
        Public median of the response and median distance from it; None to release them privately.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    missing : {"refuse", "center"}, default="refuse"
        NaN, infinite values and nulls raise an error. "center": such a cell is at its feature's centre, whether it is
        missing is a feature of its own, and a record without a response adds nothing.
    max_sparsity : int or None, default=None
        The most features for ``sparsity="auto"``. None takes all if they are few for n and epsilon, and else 5 to 10.
    within : bool, default=False
        Whether effects are within people, for `fit` with `person`: rows less their person's own mean, as fixed effects
        of people do. People with one row are left out, and a gap is at the person's mean.
    adjacency : {"replace-one", "zero-out-one"}, default="replace-one"
        Which tables the guarantee covers: one record changed to any other, or blanked. n is public in both.
    records_per_person : int, default=1
        The most rows one person may have in X; the guarantee is to the person.
    random_state : int, RandomState or None, default=None
        Leave None for a private fit: a seed makes the noise repeatable and the fit not private; its record says so.
    ledger, dataset : path, URL or PrivacyLedger, and str, default=None
        Where a budget is kept over many fits, and the name under which it was granted there.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_features,), float
        Effects shrunk by their own error, 0 outside the support, and the prediction where all features are 0.
    coef_se_, pvalues_, clear_ : ndarray of shape (n_features,)
        Standard errors of the unshrunk effects and two-sided p-values, not adjusted, NaN where none can be trusted; and
        which effects are significant at the 5 % family-wise level (Bonferroni over all features).
    missing_coef_, center_ : ndarray of shape (n_features,)
        With ``missing="center"``: effects of a feature being missing, and where `predict` puts a missing one.
    support_, units_ : ndarray of int, dict of str to (float, float)
        Features selected, in order, and the centre and scale of each by its name or number.
    noise_floor_, explains_ : float, bool
        The smallest significant effect of a typical scaled feature; and whether the features explain anything.
    prediction_range_, median_shift_, median_slope_, calibration_slope_ : tuple of float, float or None, float, float
        The range to which `predict` clips; by how much a predicted median lies above ``X @ coef_ + intercept_``; and
        how many times as far from the constant predictions of a mean are.
    equation_, privacy_, released_ : object, PrivacyRecord, LinearModel
        The equation that the effects solve up to noise; the guarantee, with every release and its cost; and all of
        this as one object, which files, reports and notebooks read.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Features seen in `fit`, and their names, where X has names.

    Notes
    -----
    `score` on the training data is not private: publish only scores on data of your own. There is no `sample_weight`: a
    weight multiplies a record's influence, and with it the sensitivity.

    Examples
    --------
    >>> from dpsparse import PrivateSparseRegressor
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, coef = make_heavy_tailed(5000, 100, 3, random_state=0)
    >>> model = PrivateSparseRegressor(sparsity=3, epsilon=1.0, feature_center=0, feature_scale=1).fit(X, y)
    >>> model.privacy_.private, bool(abs(model.coef_ - coef).max() < 0.5)
    (True, True)
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
        asked = self.sparsity != "auto"
        warning = forecast_warning(n, d, picks, meter.guarantee, known, self.estimand, asked=asked)
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
        line, factor = copy(self), self.median_slope_ if statistic == "median" else self.calibration_slope_
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
    n: int, d: int, sparsity: int, guarantee: Guarantee, known: bool, estimand: EstimandName, *, asked: bool = True
) -> str | None:
    """From public numbers: would even large effects be missed, and would public units help? None for no warning.

    Also where not as many features are looked for as somebody `asked` for.
    """
    forecast = plan_under(guarantee, n, d, sparsity, known, estimand=estimand)
    if not forecast.has_intervals:
        # What can be found is what the pursuit finds with the whole budget. The result says that nothing is tested.
        forecast = replace(forecast, estimand=TYPICAL.name)
    effect, with_units = forecast.smallest_effect, replace(forecast, units_known=True).smallest_effect
    looked_for = forecast.n_looked_for
    few = asked and 0 < looked_for < sparsity
    if effect > HOPELESS:
        epsilon = forecast.epsilon_for_effect(0.5)
        or_epsilon = f" or epsilon={epsilon:.2g}" if epsilon <= 10 else ""
        random = "; the selection will be close to random" if looked_for else ""
        n_for_half = f"{forecast.n_for_effect(0.5):,}"
        advice = f"{random}. About n={n_for_half}{or_epsilon} would detect effects of half the response's noise"
    elif effect > WEAK and with_units <= WEAK:
        advice = ""
    elif few:
        advice = f". About n={forecast.n_for_features(sparsity):,} would allow all of them"
    else:
        return None
    if not known and with_units <= HOPELESS:
        advice += f". With public units it would be those above {with_units:.2g}: {HOW_TO_GIVE_UNITS}"
    what = f"only effects above {effect:.2g} times the response's noise can be detected"
    if not looked_for:
        what = "the fit looks for no feature and spends all of the budget on a constant"
    elif few:
        what = f"{looked_for} of {sparsity} features {'is' if looked_for == 1 else 'are'} looked for, and {what}"
    asked_of = f"epsilon={guarantee.epsilon:g}"
    told = f"n={n} and {asked_of}" if known else f"n={n}, {asked_of} and features in unknown units"
    return f"With {told}, {what}{advice}"
