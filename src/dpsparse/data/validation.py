"""Input checks whose messages come from public facts: shapes, dtypes, parameters, never from a value."""

import numbers
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from dpsparse.data.object_tables import as_numbers, listed, refuse_types
from dpsparse.engine.refusals import (
    BROKEN_SPARSE,
    MASKED,
    NOT_DECIMAL,
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_NUMERIC,
    Y_NOT_NUMERIC,
)
from dpsparse.schema import is_name

# Public numbers beyond this have squares and products that overflow.
LARGEST = 1e100

# scikit-learn's messages that speak of shapes, names and types only; any other might quote a value.
_PUBLIC_MESSAGES = (
    "Found array with",
    "Found input variables with inconsistent numbers",
    "Sparse data was passed",
    "The feature names should match",
    "X has",
    "np.matrix is not supported",
    "y should be a 1d array",
    "y cannot be None",
    "Only sparse matrices with",
    NOT_DECIMAL,
)


def validate_table(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    reset: bool,
    min_samples: int = 1,
    check_finite: bool = True,
    allow_missing: bool = False,
) -> tuple[Any, Any]:
    """X as float ndarray or canonical CSR, y as float64, both finite; only data frames, integers and CSC are copied.

    With `allow_missing` they need not be finite, and NA, None and null become NaN, as infinite responses do.

    The estimator gets `n_features_in_` and `feature_names_in_` when `reset`, as in `fit`; y is None at prediction.
    """
    X, y = _check_shape(X), on_host(y)
    options = {
        "reset": reset,
        "accept_sparse": "csr",
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": False,
        "ensure_min_samples": min_samples,
    }
    if reset:
        options["y_numeric"] = True
        if y is None:
            name = type(estimator).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        refuse_masked(y)
        with naming_y():
            refuse_types(y)
    X, missing = as_numbers(X, allow_missing=allow_missing), None
    if reset:
        with naming_y():
            # Categories are objects or numbers once they are an array.
            y = np.asarray(y) if hasattr(getattr(y, "dtype", None), "categories") else y
            y, missing = _filled(y) if allow_missing else (as_numbers(y, allow_missing=False), None)
    try:
        with np.errstate(all="ignore"):
            checked = validate_data(estimator, X, *((y,) if reset else ()), **options)
    except (ValueError, TypeError) as error:
        if str(error).startswith("Input y contains"):
            raise ValueError(NOT_FINITE) from None
        if str(error).startswith(_PUBLIC_MESSAGES):
            raise
        if isinstance(error, TypeError):
            raise TypeError(NOT_NUMBERS) from None
        raise ValueError(NOT_NUMERIC) from None
    except OverflowError:
        raise ValueError(NOT_FINITE) from None
    X, y = checked if reset else (checked, None)
    X = _canonical(X) if sparse.issparse(X) else X
    if check_finite and not allow_missing:
        require_finite(X.data if sparse.issparse(X) else X)
    if y is not None:
        if y.dtype.kind not in "biuf":
            raise ValueError(Y_NOT_NUMERIC)
        with np.errstate(all="ignore"):
            y = np.asarray(y, dtype=np.float64)
        require_finite(y)
        if missing is not None and missing.any():
            y = np.where(missing, np.nan, y)
    return X, y


@contextmanager
def naming_y() -> Iterator[None]:
    """Have the refusal of what is no number name y."""
    try:
        yield
    except ValueError as error:
        if str(error) != NOT_NUMERIC:
            raise
        raise ValueError(Y_NOT_NUMERIC) from None


def _filled(y: Any) -> tuple[Any, Any]:
    """Responses with 0 in place of those that are missing, which scikit-learn would refuse, and where these are."""
    y = as_numbers(y if isinstance(y, list | tuple) else np.asarray(y), allow_missing=True)
    with np.errstate(all="ignore"):
        missing = ~np.isfinite(y.astype(np.float64))
    return np.where(missing, 0.0, y), missing.ravel()


def validate_proxy(
    estimator: Any,
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    y: Any = None,
    *,
    reset: bool,
    min_samples: int = 1,
    allow_missing: bool = False,
) -> Any:
    """`validate_table` for features that stay where they are, and y.

    An array of their shape that takes no memory is their proxy, and passes the checks of any other X.
    """
    proxy = np.broadcast_to(np.zeros((), dtype=dtype), shape)
    return validate_table(
        estimator, proxy, y, reset=reset, min_samples=min_samples, check_finite=False, allow_missing=allow_missing
    )[1]


def is_on_card(values: Any) -> bool:
    """Whether this is a torch CUDA tensor, or an array of CuPy or its like."""
    on_card = getattr(values, "is_cuda", None)
    return hasattr(type(values), "__cuda_array_interface__") if on_card is None else bool(on_card)


def on_host(values: Any) -> Any:
    """Values of a tensor or GPU array as a NumPy array; anything else as it is."""
    if not is_on_card(values):
        return values
    return values.get() if hasattr(values, "get") else values.detach().cpu().numpy()


def frame_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns; None where X is none, or a name is no text."""
    # pandas, polars and dask; pyarrow.
    names = getattr(X, "columns", None) if hasattr(X, "dtypes") else getattr(X, "column_names", None)
    return list(names) if names is not None and all(isinstance(name, str) for name in names) else None


def name_of_response(y: Any, names: Collection[str] | None) -> str:
    """What responses are called: as their series is, of pandas, polars or dask, where no feature is called so.

    The names of dask's arrays are no names: they are made of what is in them.

    Examples
    --------
    >>> import pandas as pd
    >>> name_of_response(pd.Series([1.0, 2.0], name="cost"), ["age"]), name_of_response([1.0, 2.0], None)
    ('cost', 'y')
    """
    named = y.name if type(y).__name__ == "Series" else None
    taken = set() if names is None else set(names)
    return next(each for each in (named, "y", "response", "the response") if is_name(each) and each not in taken)


def is_dask(values: Any) -> bool:
    """Whether this is an array, a data frame or a series of dask's."""
    return type(values).__module__.partition(".")[0] == "dask"


def is_zarr(X: Any) -> bool:
    """Whether this is a Zarr array."""
    return type(X).__module__.partition(".")[0] == "zarr" and hasattr(X, "chunks")


def table_shape(X: Any) -> tuple[int, int]:
    """Rows and columns as X states them, so that nothing is read before it is paid for; lists are counted."""
    if isinstance(X, str | Path):
        raise TypeError("X is a path; pass OnDisk(path) or read_table(path, target), or read the file first")
    refuse_masked(X)
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple):
        shape = listed(X).shape if isinstance(X, list | tuple) else _array_shape(X)
    if len(shape) != 2:
        raise ValueError(
            f"X must be a 2D array of shape (n_samples, n_features), got {len(shape)}D. Reshape your data: "
            "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one sample"
        )
    return shape


def _array_shape(X: Any) -> tuple[int, ...]:
    """The shape of the array that an object stands for."""
    try:
        return np.asarray(X).shape
    except (ValueError, TypeError):
        raise ValueError(NOT_NUMERIC) from None


def refuse_masked(values: Any) -> None:
    """Raise TypeError if these are a masked array, or rows or entries of one, by type: the mask itself is data."""
    # A dask array says by its meta of which type its chunks are; a sparse matrix may have any array as its data.
    arrays = [
        values,
        getattr(values, "_meta", None),
        getattr(values, "data", None) if sparse.issparse(values) else None,
    ]
    if isinstance(values, list | tuple):
        arrays += values
        arrays += [cell for row in values if isinstance(row, list | tuple) for cell in row]
    if any(isinstance(each, np.ma.MaskedArray) for each in arrays):
        raise TypeError(MASKED)


def _check_shape(X: Any) -> Any:
    refuse_masked(X)
    if sparse.issparse(X):
        return _checked_indices(X)
    refuse_types(X)
    if hasattr(X, "shape") or isinstance(X, list | tuple):
        table_shape(X)
    return X


def _checked_indices(X: Any) -> Any:
    """The matrix rebuilt from its arrays, if compiled code may follow its indices: they can be set at will."""
    try:
        if X.format == "coo":
            return type(X)((X.data, (X.row, X.col)), shape=X.shape)
        if X.format not in ("csr", "csc", "bsr"):
            return X
        fresh = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
        fresh.check_format(full_check=True)
        # scipy's full check passes over a matrix without entries.
        if (fresh.indptr[1:] < fresh.indptr[:-1]).any():
            raise ValueError
    except (ValueError, IndexError):
        raise ValueError(BROKEN_SPARSE) from None
    return fresh


def _canonical(X: Any) -> Any:
    """Duplicates summed, in a copy if there are any: the caller's matrix is never changed, nor its flags trusted.

    The indices are copied and then checked: kernels follow them unchecked, and a record's bound rests on them.
    """
    places = X.indices.copy(), X.indptr.copy()
    fresh = _checked_indices(sparse.csr_matrix((X.data, *places), shape=X.shape, copy=False))
    if not fresh.has_canonical_format:
        fresh = fresh.copy()
        with np.errstate(all="ignore"):
            fresh.sum_duplicates()
    return fresh


def require_finite(values: Any) -> None:
    """Raise ValueError with a constant text unless all values are finite."""
    try:
        # The check adds values up; an overflow there must not become a warning, which would reveal something of them.
        with np.errstate(all="ignore"):
            assert_all_finite(values)
    except ValueError:
        raise ValueError(NOT_FINITE) from None


def check_number(name: str, value: Any, *, above: float | None = None, remedy: str) -> None:
    """Raise ValueError unless `value` is a real number of ordinary size, above `above` if that is given."""
    is_number: bool = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if (
        not is_number
        or not abs(value) <= LARGEST
        or (above is not None and not value > above)
        or (above == 0 and value < 1 / LARGEST)
    ):
        limit = f"within +-{LARGEST:g}" if above is None else f"above {above} and from {1 / LARGEST:g} to {LARGEST:g}"
        raise ValueError(f"{name}={value!r} must be a finite number {limit}; {remedy}")


def check_count(name: str, value: Any, *, remedy: str) -> None:
    """Raise ValueError unless `value` is a whole number of at least 1, and below 2^53 so that floats can hold it."""
    is_whole: bool = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or not 1 <= value < 2**53:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1 and below 2**53; {remedy}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}")


def cap_sparsity(sparsity: int, n_features: int, name: str = "sparsity") -> int:
    """`sparsity`, or `n_features` with a warning if that is less."""
    check_count(name, sparsity, remedy="it is the number of features to select")
    if sparsity > n_features:
        warnings.warn(
            f"{name}={sparsity} is more than the {n_features} features of X; all are used",
            UserWarning,
            stacklevel=4,
        )
    return int(min(sparsity, n_features))
