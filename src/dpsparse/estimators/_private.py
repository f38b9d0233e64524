"""Base classes of all private estimators, and of the linear regressions among them.

`PrivateEstimator` knows the guarantee, the ledger, the noise and the input, and nothing of what is fitted: a classifier
derives from it as `PrivateLinearRegressor` does, and ends its `fit` with `_publish`.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dpsparse.data.as_table import as_table
from dpsparse.data.validation import check_count
from dpsparse.engine.protocols import Table
from dpsparse.engine.refusals import OTHER_SHAPE
from dpsparse.estimators._spending import CommitmentFor, granted_delta, reserved
from dpsparse.estimators._steps_before import refuse_learning_around
from dpsparse.io.cells.person_columns import is_called_as_ids, is_called_so
from dpsparse.model.context import fit_context
from dpsparse.model.effect import Effect
from dpsparse.model.numeric_columns import NumericColumns
from dpsparse.model.released import LinearModel
from dpsparse.model.tidy_frames import ModelFrames
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.privacy.guarantee import Guarantee, check_delta, check_epsilon, default_delta
from dpsparse.privacy.noise import NotPrivateWarning, SecureSource, SeededSource
from dpsparse.privacy.protection import check_adjacency
from dpsparse.schema import quoted

if TYPE_CHECKING:
    from dpsparse.estimators._types import LedgerLocation

MIN_ROWS = 2
# What to do about a column of ids, in Python and on the command line.
HOW_TO_NAME_PEOPLE = "name it as person (--person), or leave it out (--drop) where nobody has another row"
_OF_THE_INPUT = ("n_features_in_", "feature_names_in_")


def as_dtype(coef: NDArray[np.float64], dtype: DTypeLike) -> NDArray[Any]:
    """Coefficients in the features' own dtype, cut to its finite range."""
    most = np.finfo(dtype).max
    return np.clip(coef, -most, most).astype(dtype)


class PrivateEstimator(ModelFrames, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of everything that is fitted privately. Parameters of the guarantee are checked before any data are read."""

    # Whether X and y may have gaps.
    _allow_missing = False

    # Set by `tune` for the length of a fit: several fits are then accounted for as one.
    _shared_meter: Meter | None = None

    @property
    def ledger(self) -> "LedgerLocation":
        """Where the budget is kept; a URL is held as a PrivacyLedger, which hides its password in reprs and pickles."""
        result: LedgerLocation = self.__dict__["ledger"]
        return result

    @ledger.setter
    def ledger(self, location: "LedgerLocation") -> None:
        if isinstance(location, str) and "://" in location:
            from dpsparse.privacy.ledger.ledger import PrivacyLedger

            location = PrivacyLedger(location)
        self.__dict__["ledger"] = location

    def _check_guarantee(self) -> None:
        refuse_learning_around(self)
        check_epsilon(self.epsilon)
        if self.delta is not None:
            check_delta(self.delta)
        check_adjacency(self.adjacency)
        check_count("records_per_person", self.records_per_person, remedy="it is the most rows one person has")
        if (self.ledger is None) != (self.dataset is None):
            raise ValueError(
                "ledger and dataset go together: give both, where the budget is kept (--ledger) and the name under "
                "which it was granted there (--dataset)"
            )
        if self.ledger is not None and self.random_state is not None:
            raise ValueError("ledger with random_state: a seeded fit is not private and spends nothing; leave one out")

    def _public_shape(self, table: Table, y: Any) -> tuple[int, int]:
        """Rows and columns before a value is read; tables too small to fit are refused in scikit-learn's words."""
        n, d = table.shape
        if n < MIN_ROWS or d < 1:
            table.validate(self, y, min_samples=MIN_ROWS)
        return n, d

    def _validated(self, table: Table, y: Any, shape: tuple[int, int]) -> Any:
        """The responses, once the table is validated."""
        y = table.validate(self, y, min_samples=MIN_ROWS, allow_missing=self._allow_missing)
        if table.shape != shape:
            raise ValueError(OTHER_SHAPE)
        return y

    @property
    def _check_before_release(self) -> bool:
        """Whether features must be checked before the first release, so that a fit on nonfinite ones is refunded.

        Without a ledger a fit that is refused after its first release has cost nothing: one read of X may be saved.
        """
        return self.ledger is not None or self._shared_meter is not None

    @staticmethod
    def _must_check_finite() -> bool:
        """Whether features that are not finite are to be refused."""
        return not get_config()["assume_finite"]

    def _reset(self) -> None:
        """Drop the results of an earlier fit: a fit that is interrupted leaves none."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in _OF_THE_INPUT]:
            delattr(self, name)

    @contextmanager
    def _reserved(self, meter: Meter, commitment_for: CommitmentFor, **about: Any) -> Iterator[None]:
        """Commit, and reserve from a ledger; the block validates the data, and its failure alone is refunded.

        Releases come after the block: the first one charges what was reserved (`Meter.charge`).
        """
        about = {"estimator": type(self).__name__, "n_records": meter.n_records} | about
        meter.commit(commitment_for(meter.guarantee))
        spends = self.ledger is not None and self._shared_meter is None
        reservation = reserved(self.ledger, self.dataset, meter, commitment_for, **about) if spends else nullcontext()
        with self._restore_names_on_error(), reservation:
            yield

    @contextmanager
    def _restore_names_on_error(self) -> Iterator[None]:
        """Where the data are refused, an earlier fit keeps the names that its coefficients belong to."""
        before = {name: vars(self)[name] for name in _OF_THE_INPUT if name in vars(self)}
        try:
            yield
        except BaseException:
            for name in _OF_THE_INPUT:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "released_")

    def _released(self) -> LinearModel:
        check_is_fitted(self)
        return self.released_

    def _publish(self, model: LinearModel) -> None:
        """Set what the fit publishes: a released model, which has `privacy`, `context` and `as_html`."""
        # Within `tune` the ledger is charged for the whole, and read when that is done.
        charged = (self.ledger, self.dataset) if self._shared_meter is None else (None, None)
        self.released_ = replace(model, context=fit_context(*charged))
        self.privacy_ = model.privacy

    def _open_meter(self, n_records: int, rows: int | None = None) -> Meter:
        """The meter of one fit; warns where a seed voids its guarantee. `rows` where a record is a person's rows."""
        if self._shared_meter is not None:
            return self._shared_meter
        if self.delta is None:
            delta = default_delta(n_records, granted_delta(self.ledger, self.dataset))
        else:
            delta = float(self.delta)
        guarantee = Guarantee(float(self.epsilon), delta, self.adjacency, int(self.records_per_person), rows)
        return Meter(guarantee, n_records, self._noise_source())

    def _warn_if_weak(
        self,
        meter: Meter,
        names: Iterable[str] | None = None,
        fitted_by_person: bool = False,
        features: Iterable[str] | None = None,
    ) -> None:
        """Warn, from public numbers and the names of all columns, where a guarantee is weak or dearer than it must be.

        Ids cost a person nothing, `records_per_person` its square. Nothing but what columns are called is looked at.
        `features` are the names of those that are features. `fitted_by_person` says that the model to evaluate was
        fitted by person.
        """
        if fitted_by_person and meter.guarantee.rows is None and self.records_per_person == 1:
            warnings.warn(
                "the model was fitted by person, and here each row counts as a person of its own: name the column of "
                "people (person, --person), or say how many rows a person has at most (records_per_person)",
                UserWarning,
                stacklevel=3,
            )
        named = next(filter(is_called_so, names if names is not None else ()), None)
        ids = next(filter(is_called_as_ids, features if features is not None else ()), None)
        if self.records_per_person == 1 and meter.guarantee.rows is None and ids is not None:
            warnings.warn(
                f"the guarantee is for a row: if the column {quoted(ids)} says whose row it is, {HOW_TO_NAME_PEOPLE}",
                UserWarning,
                stacklevel=3,
            )
        if self.records_per_person > 1 and named is not None:
            warnings.warn(
                f"records_per_person={self.records_per_person} costs {self.records_per_person**2} times the rho; if "
                f"the column {quoted(named)} says whose row it is, name it as person and leave records_per_person out",
                UserWarning,
                stacklevel=3,
            )
        delta, n = meter.guarantee.delta, meter.n_records
        if delta > 1 / n:
            warnings.warn(
                f"delta={delta:.3g} is above 1/n={1 / n:.3g}: a guarantee that weak allows publishing a whole "
                "record; use delta=None for n**-1.1",
                UserWarning,
                stacklevel=3,
            )
        if self.epsilon > 10:
            warnings.warn(
                f"epsilon={self.epsilon:g} is above 10 and guarantees little; common choices are 0.1 to 10",
                UserWarning,
                stacklevel=3,
            )

    def _noise_source(self) -> SecureSource | SeededSource:
        if self.random_state is None:
            return SecureSource()
        warnings.warn(
            "random_state is set: the noise is seeded and the fit is NOT private; leave it None for a private fit",
            NotPrivateWarning,
            stacklevel=4,
        )
        try:
            generator = check_random_state(self.random_state)
        except (TypeError, ValueError):
            raise ValueError(
                f"random_state={self.random_state!r} must be None, a whole number from 0 to 2**32 - 1, or a RandomState"
            ) from None
        return SeededSource(generator.randint(np.iinfo(np.int32).max))

    def _repr_html_inner(self) -> str:
        """What `_repr_html_` shows: the released model once fitted, scikit-learn's diagram before."""
        return self.released_._repr_html_() if hasattr(self, "released_") else super()._repr_html_inner()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)
        # Jupyter asks for this one first.
        result: dict[str, str] = bundle | {"text/html": self._repr_html_inner()} if "text/html" in bundle else bundle
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrivateLinearRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the private linear regressions: `predict`, and a `LinearModel` as what they publish."""

    def _names_of(self, places: Iterable[int]) -> list[str]:
        """The names of features, or their numbers where X has no names."""
        return [
            str(name) for name in (self.feature_names_in_[places] if hasattr(self, "feature_names_in_") else places)
        ]

    def _linear_model(
        self,
        effects: Sequence[Effect],
        privacy: PrivacyRecord,
        target: str,
        **facts: Any,
    ) -> LinearModel:
        """The released model of a fit on features in their own units."""
        names = getattr(self, "feature_names_in_", None)
        return LinearModel(
            estimator=type(self).__name__,
            target=target,
            features=NumericColumns(self.n_features_in_, names, np.array(0.0), np.array(1.0)),
            effects=tuple(effects),
            intercept=float(self.intercept_),
            privacy=privacy,
            **{"noise_floor": None, "response_scale_known": True} | facts,
        )

    def predict(self, X: Any) -> Any:
        """Predict responses; it reads nothing but the released coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, GPU array, dask array or data frame of shape (n_samples, n_features)
            The caller's own records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions, within `prediction_range_` where the method releases one; a dask array, not computed yet,
            where X is dask's.
        """
        check_is_fitted(self)
        return as_table(X).predict(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # At the sizes of scikit-learn's checks noise drowns any signal: the guarantee asks for that.
        tags.regressor_tags.poor_score = True
        return tags
