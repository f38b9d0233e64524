"""Exposures as a caller gives them: a column of X, or an array beside it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.as_table import as_table
from dpsparse.data.object_tables import as_numbers, refuse_types
from dpsparse.data.validation import frame_names, is_dask, on_host, refuse_masked
from dpsparse.schema import alternatives, quoted


def place_of(X: Any, column: str | int) -> int:
    """The place of a column of X, by its name or its place.

    Examples
    --------
    >>> place_of(np.zeros((2, 3)), -1)
    2
    """
    table = as_table(X)
    if isinstance(column, str):
        names = frame_names(X) or list(getattr(table, "names", None) or [])
        if column not in names:
            among = alternatives(column, names) if names else "it has no names: give its place"
            raise ValueError(f"exposure: X has no column {quoted(column)}; {among}")
        return names.index(column)
    n_features = table.shape[1]
    if not -n_features <= column < n_features:
        raise ValueError(f"exposure={column!r} must be the place of a column of X, which has {n_features}")
    return column % n_features


def as_exposure(X: Any, values: Any) -> NDArray[np.float64]:
    """Exposures beside X as float64, NaN where one is missing; messages come from public facts or are constant.

    Examples
    --------
    >>> as_exposure(np.zeros((2, 3)), [1, None])
    array([ 1., nan])
    """
    if is_dask(X) or is_dask(values):
        raise ValueError("exposure must be a column of X, by its name or its place, where X is dask's")
    refuse_masked(values)
    refuse_types(values)
    n_records = as_table(X).shape[0]
    values = on_host(values)
    numbers = as_numbers(values if isinstance(values, list | tuple) else np.asarray(values), allow_missing=True)
    numbers = numbers.astype(np.float64)
    if numbers.shape not in ((n_records,), (n_records, 1)):
        raise ValueError(f"exposure has shape {numbers.shape}; it must have one for each of the {n_records} rows of X")
    result: NDArray[np.float64] = numbers.reshape(n_records)
    return result
