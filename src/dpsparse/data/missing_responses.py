"""Responses that may be missing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.labels import as_labels
from dpsparse.data.object_tables import as_numbers, refuse_types
from dpsparse.data.validation import is_dask, is_on_card, naming_y, refuse_masked
from dpsparse.engine.refusals import NOT_COMPUTED


class _NotComputed(Exception):
    """A task of dask's failed; its own error may quote a value."""


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
    try:
        y = _on_host(y)
    except _NotComputed:
        raise ValueError(NOT_COMPUTED) from None
    if classes is not None:
        y = as_labels(y, classes[1])
    with naming_y():
        values = as_numbers(y if isinstance(y, list | tuple) else np.asarray(y), allow_missing=True).astype(np.float64)
    if values.shape not in ((n_records,), (n_records, 1)):
        raise ValueError(f"y has shape {values.shape}; it must have one response for each of the {n_records} rows of X")
    result: NDArray[np.float64] = values.reshape(n_records)
    return result


def _on_host(y: Any) -> Any:
    if is_dask(y):
        try:
            return y.compute()
        except Exception:
            raise _NotComputed from None
    if is_on_card(y):
        return y.get() if hasattr(y, "get") else y.detach().cpu().numpy()
    return y
