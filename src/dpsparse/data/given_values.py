"""Responses and exposures as a caller gives them beside records, or as a column of these; both may be missing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.as_table import as_table
from dpsparse.data.labels import as_labels
from dpsparse.data.object_tables import as_numbers, refuse_types
from dpsparse.data.person_ids import computed
from dpsparse.data.validation import frame_names, is_dask, naming_y, on_host, refuse_masked
from dpsparse.schema import alternatives, quoted


def responses_of(y: Any, n_records: int, classes: tuple[str, str] | None = None) -> NDArray[np.float64]:
    """Responses as float64, NaN where one is missing; messages come from public facts or are constant.

    None, NaN and nulls are missing. With `classes`, a model's labels of no and yes, yes is 1 and any other response 0.

    Examples
    --------
    >>> responses_of([1, None, 2.5], 3)
    array([1. , nan, 2.5])
    """
    if y is None:
        raise ValueError("y is None; pass the responses of the records")
    refuse_masked(y)
    if classes is None:
        with naming_y():
            refuse_types(y)
    y = computed(y) if is_dask(y) else on_host(y)
    if classes is not None:
        y = as_labels(y, classes[1])
    with naming_y():
        values = _as_floats(y)
    if values.shape not in ((n_records,), (n_records, 1)):
        raise ValueError(f"y has shape {values.shape}; it must have one response for each of the {n_records} rows of X")
    return values.reshape(n_records)


def _as_floats(values: Any) -> NDArray[np.float64]:
    """Values as float64, NaN where one is missing."""
    given = values if isinstance(values, list | tuple) else np.asarray(values)
    numbers: NDArray[np.float64] = as_numbers(given, allow_missing=True).astype(np.float64)
    return numbers


def place_of(X: Any, column: str | int) -> int:
    """The place of the exposure, a column of X, by its name or its place.

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
    n_records, numbers = as_table(X).shape[0], _as_floats(on_host(values))
    if numbers.shape not in ((n_records,), (n_records, 1)):
        raise ValueError(f"exposure has shape {numbers.shape}; it must have one for each of the {n_records} rows of X")
    return numbers.reshape(n_records)
