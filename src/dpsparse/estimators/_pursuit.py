"""What estimators by a private pursuit have in common, whatever their responses are: `fit`, prices, intervals."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpsparse.algorithms.pursuit.decisions import n_selected, takes_all
from dpsparse.algorithms.pursuit.pursuit import Pursuit
from dpsparse.algorithms.pursuit.pursuit_constants import COLUMNS_A_VARIABLE
from dpsparse.algorithms.pursuit.schedule import Schedule, n_with_units, schedule_for
from dpsparse.algorithms.pursuit.shared_units import SharedUnits
from dpsparse.data.as_table import as_table, frame_with_text, is_frame
from dpsparse.data.person_ids import ids_beside, people_of, people_rows, without_ids
from dpsparse.data.public_units import PublicUnits, n_units_known, public_units, units_known
from dpsparse.data.raw_data import RawData, join_response, raw_data, refuse_beside
from dpsparse.data.validation import cap_sparsity, check_count, name_of_response
from dpsparse.data.within_person import deviations, of_several
from dpsparse.engine.people import ONE_ROW, People
from dpsparse.engine.protocols import Rows, Table
from dpsparse.estimators._private import MIN_ROWS, PrivateEstimator
from dpsparse.estimators._progress_bar import shown
from dpsparse.estimators._raw_fit import fit_raw, raw_schedule
from dpsparse.estimators._results import set_results
from dpsparse.estimators._types import PerFeature, Progress, ShownProgress
from dpsparse.families import Family
from dpsparse.families.estimands import LOG_MEAN, LOG_ODDS
from dpsparse.inference.inference_constants import SHOWN_LEVEL
from dpsparse.io.bounds import Bounds
from dpsparse.io.cells.raw_table import FrameTable
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
    # Whether rows are deviations from their person's mean; a subclass may have it as a parameter.
    within: bool = False

    # Whether candidates of `tune` share nothing but the guarantee: they make more than one pursuit each.
    _tuned_apart = False
    # Set by `tune` for such candidates: whether their releases are accounted for by the Gaussian account.
    _tight = True
    # Set by `tune` for the length of a fit: its schedule, and the units that it shares with other fits.
    _planned: tuple[Schedule | None, SharedUnits | None] = None, None
    # Set by `tune` and `fit_and_evaluate` in the same way: what the response is called, of which a fit has an array.
    _target: str | None = None

    @property
    def _family(self) -> Family:
        raise NotImplementedError

    def _warn_if_hopeless(self, n: int, d: int, meter: Meter, known: bool) -> None:
        raise NotImplementedError

    @property
    def _is_yes_no(self) -> bool:
        """Whether responses are yes or no."""
        return self._family.estimand == LOG_ODDS

    @property
    def _is_log_mean(self) -> bool:
        """Whether effects are on the log of a mean."""
        return self._family.estimand == LOG_MEAN

    def _part_of(self, y: Any, response: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[Any]:
        """The responses of some rows, as `fit` takes them; `response` are those of all, validated."""
        return response[rows]

    def _expose(self, X: Any, *, person: Any = None) -> None:
        """Find the exposure, before a schedule is made for X."""

    def _family_of(self, data: RawData) -> Family:
        """The family of a fit on a raw table."""
        if data.exposure is not None:
            raise ValueError("exposure is for PrivateSparsePoissonRegressor: leave it out of read_table")
        return self._family

    def _rows(self, table: Table, y: Any) -> Rows:
        """The rows of a fit."""
        return table.rows(y, check_before_release=self._check_before_release)

    def _described(self, data: RawData | None = None) -> dict[str, Any]:
        """Further fields of the released model, beside those of every pursuit; `data` is its raw table."""
        return {}

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
        """Fit privately. The whole guarantee is spent; each release is charged before it is made.

        Parameters
        ----------
        X : array-like, sparse matrix or other table of shape (n_samples, n_features)
            Finite features: also a memory map, a Zarr array or `OnDisk`, which are read block by block, and a torch
            CUDA tensor, a CuPy array or `Streamed`, which are read by a GPU; and a dask array or data frame.

            A frame of pandas, polars or pyarrow with a column of text, categories, objects or dates, by its declared
            types, is read cell by cell unless `feature_center` or `feature_scale` are given, which only numbers have:
            categories are learned within the guarantee, and any cell may be missing. Or what `read_table` gives: such
            a frame or a file, with what is publicly known of it.
        y : array-like of shape (n_samples,) or None
            Finite responses; where X is dask's also a dask array or series. None where X is from `read_table`, and with
            a formula.
        formula : str or None, default=None
            The response and the features of a data frame, such as ``"cost ~ age*sex + log1p(income)"``; see
            `read_table`. `predict` makes the same terms of new records.
        schema : dict or None, default=None
            What is publicly known of the types of a data frame's columns: kinds, or categories; see `read_table`.
        person : array-like of shape (n_samples,), str or None, default=None
            Whose row it is: ids of any type, or the name of the column of a data frame that has them, which is no
            feature then. The guarantee is to each person, whatever number of rows they have. A row without an id is a
            person of its own. None where each row is a person's only one, or for `records_per_person`.
        progress : callable, True or None, default=None
            Called with the steps done, a fraction, and their number; True shows a bar, also in notebooks. A fit that it
            interrupts leaves no result, and what was charged stays charged.

        Returns
        -------
        self
            The fitted estimator.
        """
        with shown(progress) as told:
            read = self._read(X, y, formula, schema, person)
            if read is X:
                return self._fit(X, y, person, told)
            fit_raw(self, read, told)
        return self

    def _fit(self, X: Any, y: Any, person: Any, progress: Progress) -> Self:
        if isinstance(X, RawData):
            refuse_beside(y, person)
            if X.positive is None and getattr(self, "positive", None) is not None:
                raise ValueError(
                    "positive is for arrays: give it to read_table, which reads the responses of this table"
                )
            fit_raw(self, X, progress)
            return self
        self._check_parameters()
        given = y
        X, ids = without_ids(X, person)
        if self.within:
            X, y, ids = of_several(X, y, ids)
        table = as_table(X)
        n_rows, d = self._public_shape(table, y)
        people = None if ids is None else self._people(table, ids, n_rows)
        n = n_rows if people is None else people.n_people
        meter = self._open_meter(n, None if people is None else n_rows)
        planned, shared = self._planned
        rows_per_person = ONE_ROW if people is None else people.rows
        schedule = cache(lambda guarantee: planned or self._schedule(guarantee, n, d, rows=rows_per_person))
        with self._reserved(meter, lambda guarantee: schedule(guarantee).commitment):
            y = self._validated(table, y, (n_rows, d))
            units = self._public_units(table, d)
            asked = getattr(self, self._sparsity_parameter)
            if asked is not None:
                cap_sparsity(asked, self._n_candidates(d), self._sparsity_parameter)
            self._warn_if_weak(meter, table.names, features=table.names)
            facts = schedule(meter.guarantee).facts
            if facts.width:
                # Of several fits in common units the first one says that no feature is looked for.
                self._warn_if_hopeless(n, facts.width, meter, facts.known or facts.takes_over_units)
            rows = self._rows(table, y)
            if self.within:
                assert people is not None  # `of_several` has refused it
                rows = deviations(rows, people, fill=self._allow_missing)
            pursuit = Pursuit(
                rows if people is None or not people.rows.many else people_rows(rows, people),
                meter,
                schedule(meter.guarantee),
                units=units,
                response_center=self.response_center,
                response_scale=self.response_scale,
                shared=shared,
                check_finite=self._refuses_gaps,
                progress=progress,
            )
        self._reset()
        names = getattr(self, "feature_names_in_", None)
        features = NumericColumns(d, names, np.array(units.center), np.array(units.scale), self._allow_missing)
        target = self._target or name_of_response(given, names)
        described = {"target": target, "within": self.within} | self._described()
        set_results(self, pursuit.run(), features, table.dtype, meter, **described)
        return self

    def _public_units(self, table: Table, d: int) -> PublicUnits:
        """The public units of the features of a validated table; what names none of these is refused."""
        return public_units(self.feature_center, self.feature_scale, range(d) if table.names is None else table.names)

    @property
    def _refuses_gaps(self) -> bool:
        """Whether features and responses that are not finite are refused."""
        return self._must_check_finite() and not self._allow_missing

    def _people(self, table: Table, ids: Any, n_rows: int) -> People:
        """Whose rows are whose; refused, from public facts, where a table cannot be divided among people."""
        people = people_of(ids, n_rows)
        if people.n_people < MIN_ROWS:
            raise ValueError(f"person names {people.n_people} person; a fit needs at least {MIN_ROWS} people")
        return people

    def _has_text(self, X: Any) -> bool:
        """Whether X is a frame with text, by its declared types; units of all columns say that they are numbers."""
        return self.feature_center is None and self.feature_scale is None and frame_with_text(X)

    def _read(self, X: Any, y: Any, formula: str | None, schema: Any, person: Any) -> Any:
        """X as a raw table, where cells are to be read, and as it is elsewhere."""
        if isinstance(y, str):
            raise ValueError(
                "y must be the responses, not a text: give a formula as formula=..., or a column as X[name]"
            )
        if type(X).__name__ == "LazyFrame":
            raise ValueError("X must have its records in it: give X.collect() in place of a LazyFrame")
        if formula is None and schema is None:
            return self._as_raw(X, y, person) if self._has_text(X) else X
        given = "schema" if formula is None else "formula"
        if isinstance(X, RawData):
            raise ValueError(f"{given} must be left out: give it to read_table, which reads this table")
        if not is_frame(X):
            raise ValueError(
                f"{given} needs a data frame of pandas, polars or pyarrow; for a file: read_table(path, {given}=...)"
            )
        if self.feature_center is not None or self.feature_scale is not None:
            raise ValueError(
                f"feature_center and feature_scale are for tables of numbers without {given}: give public units in the "
                "bounds of read_table"
            )
        if formula is not None and y is not None:
            raise ValueError("y must be left out: the formula names the response, which is a column of X")
        return self._as_raw(X, y, person, formula=formula, schema=schema)

    def _as_raw(self, X: Any, y: Any, person: Any = None, *, formula: str | None = None, schema: Any = None) -> RawData:
        """A frame with text and its responses, as a fit reads cells; `person` names its column of ids, or has them."""
        known = Bounds(response_center=self.response_center, response_scale=self.response_scale)
        if formula is None:
            return join_response(X, y, known, schema, person)
        person, ids = ids_beside(X, person)
        return raw_data(FrameTable(X, *ids), None, known, formula, schema, person=person)

    @property
    def _sparsity_parameter(self) -> str:
        return "max_sparsity" if self.sparsity == "auto" else "sparsity"

    @property
    def _allow_missing(self) -> bool:  # type: ignore[override]  # here it is a parameter's, above a constant
        return self.missing == "center"

    def _n_candidates(self, d: int) -> int:
        return 2 * d if self._allow_missing else d

    def _picks(self, d: int, n: int, guarantee: Guarantee, *, raw: bool = False) -> int:
        """How many features to select; "auto" never takes all of a raw table, whose features nobody has counted."""
        asked, candidates = getattr(self, self._sparsity_parameter), self._n_candidates(d)
        if asked is None:
            known = units_known(self.feature_center, self.feature_scale, d) == "all"
            rho = guarantee.rho_per_record
            if not raw and takes_all(n, candidates, rho, known, self._family):
                return candidates
            asked = n_selected(n, rho, self._family, COLUMNS_A_VARIABLE if raw else 1)
        return int(min(asked, candidates))

    def _schedule(
        self,
        guarantee: Guarantee,
        n: int,
        d: int,
        *,
        of_units: Schedule | None = None,
        leads: bool = True,
        **others: Any,
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
            known["n_selectable"] = n_with_units(of_units, n_known)
        return schedule_for(guarantee, n, d, self._picks(d, n, guarantee), of_units=of_units, **known)

    def _raw_schedule(self, data: RawData, guarantee: Guarantee) -> Schedule:
        """The releases and prices of a fit on a raw table."""
        return raw_schedule(self, data, guarantee)

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
            Lower and upper ends, in the order of ``released_.features``; NaN outside the support, and where the error
            cannot be trusted. `effects_` has those of the selected features by name.
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
