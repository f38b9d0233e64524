"""What estimators by a private pursuit have in common, whatever their responses are: `fit`, prices, intervals."""

from functools import cache
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpsparse.algorithms.pursuit.decisions import takes_all
from dpsparse.algorithms.pursuit.pursuit import Pursuit
from dpsparse.algorithms.pursuit.pursuit_constants import MOST_SELECTED
from dpsparse.algorithms.pursuit.schedule import Schedule, n_selectable, schedule_for
from dpsparse.algorithms.pursuit.shared_units import SharedUnits
from dpsparse.data.as_table import as_table
from dpsparse.data.public_units import n_units_known, public_units, units_known
from dpsparse.data.raw_data import RawData
from dpsparse.data.validation import cap_sparsity, check_count
from dpsparse.estimators._private import PrivateEstimator
from dpsparse.estimators._raw_fit import fit_raw
from dpsparse.estimators._results import set_results
from dpsparse.estimators._types import PerFeature, Progress
from dpsparse.families import Family
from dpsparse.families.estimands import LOG_ODDS
from dpsparse.inference.inference_constants import SHOWN_LEVEL
from dpsparse.model.numeric_columns import NumericColumns
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee


class PursuitEstimator(PrivateEstimator):
    """Base of the estimators by a private pursuit; a subclass says what its responses are.

    It has the parameters `sparsity`, `max_sparsity`, `feature_center`, `feature_scale`, `fit_intercept` and `missing`
    beside those of every private estimator.
    """

    sparsity: int | Literal["auto"]
    max_sparsity: int | None
    feature_center: PerFeature
    feature_scale: PerFeature
    fit_intercept: bool
    missing: Literal["refuse", "center"]
    # Public numbers of the response; a subclass may have them as parameters.
    response_center: float | None = None
    response_scale: float | None = None

    # Set by `tune` for the length of a fit: its schedule, and the units that it shares with other fits.
    _planned: tuple[Schedule | None, SharedUnits | None] = None, None

    @property
    def _family(self) -> Family:
        raise NotImplementedError

    def _warn_if_hopeless(self, n: int, d: int, meter: Meter, known: bool) -> None:
        raise NotImplementedError

    @property
    def _is_yes_no(self) -> bool:
        """Whether responses are yes or no."""
        return self._family.estimand == LOG_ODDS

    def _part_of(self, y: Any, response: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[Any]:
        """The responses of some rows, as `fit` takes them; `response` are those of all, validated."""
        return response[rows]

    def _described(self, positive: str | None = None) -> dict[str, Any]:
        """Further fields of the released model; `positive` is the text of yes in a raw table."""
        return {}

    def fit(self, X: Any, y: Any = None, *, progress: Progress = None) -> Self:
        """Fit privately. The whole guarantee is spent; each release is charged before it is made.

        Parameters
        ----------
        X : array-like, sparse matrix or other table of shape (n_samples, n_features)
            Finite features: also a memory map, a Zarr array or `OnDisk`, which are read block by block, and a torch
            CUDA tensor, a CuPy array or `Streamed`, which are read by a GPU; and a dask array or data frame. Or what
            `read_table` gives: a file or data frame with text, dates and gaps.
        y : array-like of shape (n_samples,) or None
            Finite responses; where X is dask's also a dask array or series. None where X is from `read_table`.
        progress : callable or None, default=None
            Called with the steps done, a fraction, and their number. A fit that it interrupts leaves no result, and
            what was charged stays charged.

        Returns
        -------
        self
            The fitted estimator.
        """
        if isinstance(X, RawData):
            if y is not None:
                raise ValueError("y must be left out: the table from read_table names its response")
            fit_raw(self, X, progress)
            return self
        self._check_parameters()
        table = as_table(X)
        n, d = self._public_shape(table, y)
        meter = self._open_meter(n)
        planned, shared = self._planned
        schedule = cache(lambda guarantee: planned or self._schedule(guarantee, n, d))
        with self._reserved(meter, lambda guarantee: schedule(guarantee).commitment):
            y = self._validated(table, y, (n, d))
            columns = range(d) if table.names is None else table.names
            units = public_units(self.feature_center, self.feature_scale, columns)
            asked = getattr(self, self._sparsity_parameter)
            if asked is not None:
                cap_sparsity(asked, self._n_candidates(d), self._sparsity_parameter)
            self._warn_if_weak(meter)
            facts = schedule(meter.guarantee).facts
            self._warn_if_hopeless(n, facts.width, meter, facts.known or facts.takes_over_units)
            pursuit = Pursuit(
                table.rows(y, check_before_release=self._check_before_release),
                meter,
                schedule(meter.guarantee),
                units=units,
                response_center=self.response_center,
                response_scale=self.response_scale,
                shared=shared,
                check_finite=self._must_check_finite() and not self._allow_missing,
                progress=progress,
            )
        self._reset()
        names = getattr(self, "feature_names_in_", None)
        features = NumericColumns(d, names, np.array(units.center), np.array(units.scale), self._allow_missing)
        set_results(self, pursuit.run(), features, table.dtype, meter, **self._described())
        return self

    @property
    def _sparsity_parameter(self) -> str:
        return "max_sparsity" if self.sparsity == "auto" else "sparsity"

    @property
    def _allow_missing(self) -> bool:  # type: ignore[override]  # here it is a parameter's, above a constant
        return self.missing == "center"

    def _n_candidates(self, d: int) -> int:
        return 2 * d if self._allow_missing else d

    def _picks(self, d: int, n: int | None = None, guarantee: Guarantee | None = None) -> int:
        """How many features to select; without a number of records "auto" never takes all."""
        asked, candidates = getattr(self, self._sparsity_parameter), self._n_candidates(d)
        if asked is None:
            known = units_known(self.feature_center, self.feature_scale, d) == "all"
            all_of_them = (
                n is not None
                and guarantee is not None
                and takes_all(n, candidates, guarantee.rho_per_record, known, self._family)
            )
            asked = candidates if all_of_them else MOST_SELECTED
        return int(min(asked, candidates))

    def _schedule(
        self,
        guarantee: Guarantee,
        n: int,
        d: int,
        *,
        of_units: Schedule | None = None,
        leads: bool = True,
        **others: bool,
    ) -> Schedule:
        """The releases and prices of a fit on n records of d features under a guarantee.

        `of_units` is the schedule of releases that it shares with other fits; it makes them if it leads. `others` are
        further facts.
        """
        known: dict[str, Any] = {
            "units_known": units_known(self.feature_center, self.feature_scale, d),
            "center_known": self.response_center is not None,
            "scale_known": self.response_scale is not None,
            "fit_intercept": bool(self.fit_intercept),
            "missing": self._allow_missing,
            "family": self._family,
        } | others
        if of_units is not None and not leads:
            n_known = n_units_known(self.feature_center, self.feature_scale, d)
            known["n_selectable"] = n_selectable(of_units, n_known)
        return schedule_for(guarantee, n, d, self._picks(d, n, guarantee), of_units=of_units, **known)

    def conf_int(self, level: float = SHOWN_LEVEL) -> NDArray[np.float64]:
        """Confidence intervals of the effects, centred at the unshrunk estimates.

        They hold for features selected because they matter; a feature selected by chance is biased away from zero.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.

        Returns
        -------
        ndarray of shape (n_features, 2)
            Lower and upper ends; NaN outside the support, and where the error cannot be trusted.
        """
        check_is_fitted(self)
        return self.released_.conf_int(level)[: self.n_features_in_]

    def summary(self) -> str:
        """The guarantee and the effects as text."""
        check_is_fitted(self)
        return self.released_.summary()

    def _check_parameters(self) -> None:
        self._check_guarantee()
        if self.sparsity == "auto":
            if self.max_sparsity is not None:
                check_count("max_sparsity", self.max_sparsity, remedy="it is the most features to select")
        elif isinstance(self.sparsity, str):
            raise ValueError(f"sparsity={self.sparsity!r} must be a whole number of at least 1, or 'auto'")
        else:
            check_count("sparsity", self.sparsity, remedy="it is the number of features to select, or 'auto'")
        if self.missing not in ("refuse", "center"):
            raise ValueError(f"missing={self.missing!r} must be 'refuse' or 'center'")
