"""The one place that decides what kind of table X is, for `fit`, `predict` and `tune` alike.

`as_table` gives a `protocols.Table`. Arrays of floats, sparse matrices, data frames and lists are read in memory, by
`MemoryTable`. Nothing of torch, dask or a file format is imported before some X needs it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from dpsparse.data.on_disk import OnDisk
from dpsparse.data.predictions import gap_terms, linear_predictions, prediction_range
from dpsparse.data.streamed import Streamed
from dpsparse.data.validation import is_dask, is_on_card, is_zarr, table_shape, validate_table
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.protocols import Table
from dpsparse.io.cells.typed_cells import NUMERIC_KINDS, frame_columns


def as_table(X: Any) -> Table:
    """A table of whatever a caller passes as X; no value is read."""
    if is_dask(X):
        from dpsparse.data.dask_table import DaskTable

        return DaskTable(X)
    if isinstance(X, Streamed) or is_on_card(X):
        from dpsparse.data.remote_table import CudaTable

        return CudaTable(X)
    if isinstance(X, OnDisk | np.memmap) or is_zarr(X) or _holds_integers(X):
        from dpsparse.data.remote_table import DiskTable

        return DiskTable(X)
    return MemoryTable(X)


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas, polars or pyarrow, in memory."""
    pandas, polars, pyarrow = (hasattr(X, name) for name in ("iloc", "get_columns", "column_names"))
    return (polars or pyarrow or (pandas and X.ndim == 2)) and not is_dask(X)


def frame_with_text(X: Any) -> bool:
    """Whether X is a frame of pandas, polars or pyarrow with a column that is no number and no boolean by its type."""
    return is_frame(X) and any(column.kind not in NUMERIC_KINDS for column in frame_columns(X))


def in_memory(X: Any, reader: str) -> "MemoryTable":
    """X as a table in memory, for a `reader` that works on nothing else; raises TypeError where X is elsewhere."""
    if isinstance(X, Streamed) or is_on_card(X):
        raise TypeError(f"{reader} reads X in host memory; pass X.cpu().numpy()")
    if isinstance(X, OnDisk) or is_dask(X):
        raise TypeError(f"{reader} reads X in memory; pass an array, a data frame or a sparse matrix")
    return MemoryTable(X)


def _holds_integers(X: Any) -> bool:
    """Whether X is an array of integers, which a copy in floats would make up to eight times as large."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "biu" and X.ndim == 2 and X.size > 0


class MemoryTable:
    """Features in memory; `X` is what was given until `validate` makes floats of it."""

    def __init__(self, X: Any) -> None:
        self.X, self._given = X, X
        self.names = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns as X states them, so that nothing is read before it is paid for."""
        return table_shape(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, once validated."""
        result: np.dtype[Any] = self.X.dtype
        return result

    def validate(
        self,
        estimator: Any,
        y: Any = None,
        *,
        reset: bool = True,
        min_samples: int = 1,
        allow_missing: bool = False,
        check_finite: bool = False,
    ) -> Any:
        """Check and convert X and y; see `protocols.Table`. The engine checks X unless `check_finite`."""
        self.X, y = validate_table(
            estimator,
            self._given,
            y,
            reset=reset,
            min_samples=min_samples,
            check_finite=check_finite,
            allow_missing=allow_missing,
        )
        self.names = getattr(estimator, "feature_names_in_", None)
        return y

    def rows(self, y: Any, *, check_before_release: bool = True) -> DenseRows | SparseRows:
        """The rows with their responses; a session always checks them when it is opened."""
        return SparseRows.of(self.X, y) if sparse.issparse(self.X) else DenseRows(self.X, y)

    def take(self, rows: NDArray[np.intp]) -> Any:
        """Some of the rows: of a data frame with its names, otherwise as they were converted."""
        return self.X[rows] if self.names is None else _safe_indexing(self._given, rows)

    def predict(self, estimator: Any) -> NDArray[Any]:
        """Predictions as an array."""
        gaps = gap_terms(estimator)
        self.validate(estimator, reset=False, check_finite=True, allow_missing=bool(gaps))
        result: NDArray[Any] = linear_predictions(
            self.X, estimator.coef_, estimator.intercept_, prediction_range(estimator), **gaps
        )
        return result
