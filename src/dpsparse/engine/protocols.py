"""The interfaces between the layers of a fit: `Table`, `Rows` and `Session`.

An estimator makes a `Table` of whatever it is given (`data.as_table`), validates it, and takes its `Rows`. An algorithm
divides the rows into disjoint parts and evaluates queries on them; a pursuit opens a `Session`, which keeps what one
fit reads again and again. All that comes back is sums of integers, so engines agree to the last bit.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsparse.engine.links import IDENTITY, Link
from dpsparse.engine.quantize import Quantizer

Query = Callable[..., Any]
OnProgress = Callable[[float], object] | None


class Session(Protocol):
    """One pursuit's view of rows: responses, all features quantized once, the chosen features as columns.

    The features may be quantized by several quantizers, each of which gives a family of scores.
    """

    n_records: int
    n_features: int

    def add(self, feature: int, on_progress: OnProgress = None) -> None:
        """Read one more feature as a column of its raw values; slow engines give `on_progress` the share done.

        Feature d + j of d features is whether feature j is missing. A column is NaN in blank records.
        """

    def rescale(self, center: float, scale: float) -> None:
        """Make (z - center) / scale of the last column z, in float64."""

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum over the records what a query of `Records` and public numbers gives: integers, or tuples of them."""

    def scores(
        self, center: float, effects: ArrayLike, bound: float, level: float = 0.0, on_progress: OnProgress = None
    ) -> NDArray[np.int64]:
        """The sums of `queries.pick_sums`: a row for each quantizer, a column for each feature."""

    def close(self) -> None:
        """Release what other processes keep for this session."""


class Rows(Protocol):
    """Records with their responses, wherever the features are.

    A cell that is not finite is missing, and a record whose response is NaN is blank: see `engine.quantize`.
    `column(j)` gives the raw values of feature j, and `column(d + j)` 1 where it is missing and 0 elsewhere.
    """

    n_records: int
    n_features: int

    def part(self, index: int, of: int) -> "Rows":
        """Every `of`-th row from row `index` on: part `index` of `of` disjoint parts."""

    def differences(self) -> "Rows":
        """The differences of pairs of records: record i less record n - 1 - i, for each i below n // 2.

        Positions count within these rows; the middle record of an odd n is unused. The responses are subtracted in
        float64, the features in their own dtype, elementwise and without a check that they are finite. A pair with a
        gap has a gap, and one with a blank record is blank. Feature d + j is the difference of both indicators.
        """

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum over blocks of rows what a query of in-memory rows and public numbers gives."""

    def require_finite(self) -> None:
        """Raise ValueError(NOT_FINITE) unless all features are finite."""

    def session(
        self,
        quantizers: tuple[Quantizer, ...],
        *,
        constant: bool = False,
        check_finite: bool = True,
        link: Link = IDENTITY,
        on_progress: OnProgress = None,
    ) -> Session:
        """Open a session; raises ValueError(NOT_FINITE) if a feature is not finite.

        Each quantizer makes integers of the features, for scores of its own; there are none where no scores are needed.
        Where `constant`, the columns start with the constant 1. `link` says what residuals are. Without `check_finite`,
        features that are not finite are missing. Slow engines give `on_progress` the share that is done.
        """


class RowsOfPeople(Rows, Protocol):
    """Rows of people who may have several."""

    def own_differences(self) -> Rows:
        """The differences of rows of each person; of people with one row, those of pairs of them.

        A person lies in one pair of people, or is alone: see `people.People.own_pairs`.
        """


class Table(Protocol):
    """Features as a caller passes them; `data.as_table` makes one of any X."""

    @property
    def shape(self) -> tuple[int, int]:
        """Records and features, which are public; raises ValueError unless there are two dimensions."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, in which a fit computes; known once the table is validated."""

    @property
    def names(self) -> Sequence[str] | None:
        """Names of the features, or None; known once the table is validated."""

    def validate(
        self,
        estimator: Any,
        y: Any = None,
        *,
        reset: bool = True,
        min_samples: int = 1,
        allow_missing: bool = False,
    ) -> Any:
        """Check the features and the responses, as scikit-learn does, and return the responses in float64.

        Messages come from public facts alone. The engine checks whether features are finite.

        The estimator gets `n_features_in_` and `feature_names_in_` when `reset`, as in `fit`; `y` is None at
        prediction. Where `allow_missing`, cells and responses may be missing: NaN, infinite, NA, None or null. Missing
        responses come back as NaN; a session on the rows must not `check_finite`.
        """

    def rows(self, y: Any, *, check_before_release: bool = True) -> Rows:
        """The rows, with responses that `validate` returned.

        Without `check_before_release` a fit may check whether features are finite after its first release, which saves
        a read.
        """

    def predict(self, estimator: Any) -> Any:
        """Predictions of a fitted linear model."""
