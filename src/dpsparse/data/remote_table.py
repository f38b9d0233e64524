"""Tables whose features are read piecemeal: from a disk, block by block, or by a GPU.

Nothing of torch or triton is imported until features that a GPU reads are opened.
"""

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dpsparse.data.on_disk import OnDisk
from dpsparse.data.predictions import gap_terms, linear_predictions, prediction_range
from dpsparse.data.streamed import Streamed
from dpsparse.data.validation import require_finite, table_shape, validate_proxy
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.protocols import Rows


class RemoteTable:
    """Features that are not converted as a whole. Subclasses open them.

    Opened features have `shape`, `dtype`, and `on_host`, which reads some columns.
    """

    def __init__(self, X: Any) -> None:
        self._given = X

    def _open(self, X: Any) -> Any:
        raise NotImplementedError

    @cached_property
    def _features(self) -> Any:
        table_shape(self._given)
        return self._open(self._given)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns as X states them; nothing is opened."""
        return table_shape(self._given)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        result: np.dtype[Any] = self._features.dtype
        return result

    @property
    def names(self) -> Sequence[str] | None:
        """Names of the columns, or None."""
        return getattr(self._features, "names", None)

    def validate(
        self, estimator: Any, y: Any = None, *, reset: bool = True, min_samples: int = 1, allow_missing: bool = False
    ) -> Any:
        """Check shape, names and y; see `protocols.Table`."""
        shape, dtype, names = self._features.shape, self.dtype, self.names
        with warnings.catch_warnings():
            if names is not None:
                # The proxy has no names; the table's are checked next.
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
            y = validate_proxy(
                estimator, shape, dtype, y, reset=reset, min_samples=min_samples, allow_missing=allow_missing
            )
        _check_names(estimator, names, reset)
        return y

    def predict(self, estimator: Any) -> Any:
        """Predictions as an array; only columns that they depend on are read."""
        self.validate(estimator, reset=False)
        gaps = gap_terms(estimator)
        support = np.flatnonzero((estimator.coef_ != 0) | (gaps["missing_coef"] != 0 if gaps else False))
        values = self._features.on_host(support)
        if not gaps:
            require_finite(values)
        coef = estimator.coef_[support].astype(np.float64)
        gaps = {name: numbers[support] for name, numbers in gaps.items()}
        return linear_predictions(values, coef, estimator.intercept_, prediction_range(estimator), **gaps)


def _check_names(estimator: Any, names: Sequence[str] | None, reset: bool) -> None:
    """Keep the columns' names in a fit, and require the same ones, in the same order, in a prediction."""
    if reset and names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif names is not None and list(getattr(estimator, "feature_names_in_", names)) != list(names):
        raise ValueError("The feature names should match those that were passed during fit, in the same order")


class CudaTable(RemoteTable):
    """A torch CUDA tensor, an array of CuPy or its like, or `Streamed`."""

    @staticmethod
    def _open(X: Any) -> Any:
        from dpsparse.engine.cuda.cuda_features import on_card, streamed

        return streamed(X.array, X.device) if isinstance(X, Streamed) else on_card(X)

    def rows(self, y: Any, *, check_before_release: bool = True) -> Rows:
        """The rows with their responses."""
        features = self._features
        from dpsparse.engine.cuda.cuda_rows import CudaRows

        return CudaRows(features, y, check_before_release)


class DiskTable(RemoteTable):
    """Features of `OnDisk`, a memory map, a Zarr array or an array of integers."""

    @staticmethod
    def _open(X: Any) -> OnDisk:
        return X if isinstance(X, OnDisk) else OnDisk(X)

    def rows(self, y: Any, *, check_before_release: bool = True) -> Rows:
        """The rows with their responses; a session always checks them when it is opened."""
        return DiskRows(self._features.source, y)
