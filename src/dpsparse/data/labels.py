"""Yes/no responses of any type as numbers: 1 for yes, 0 for no, NaN for those that are missing."""

from contextlib import suppress
from typing import Any

import numpy as np

from dpsparse.data.validation import is_dask, refuse_masked

# What a curator reads where responses are neither yes nor no; it is the same whichever they are.
NOT_LABELS = (
    "y must be 0 or 1, or False or True, in every record; for other labels say which one is yes, as in positive='yes', "
    "and every other one is no"
)

# Missing cells of pandas; and truth values as the labels of models have them.
MISSING_TYPES = ("NAType", "NaTType")
TRUTH = {"True": 1.0, "False": 0.0}


def as_labels(y: Any, positive: Any = None) -> Any:
    """Responses as 1, 0 or NaN, in their own shape; dask arrays stay what they are.

    `positive` is the label of yes, and every other one is no. None: 1 and True are yes, 0 and False are no, and
    anything else is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.data.labels import as_labels
    >>> as_labels(["yes", "no", None], "yes"), as_labels(np.array([1, 0, 7]))
    (array([ 1.,  0., nan]), array([ 1.,  0., nan]))
    """
    refuse_masked(y)
    if is_dask(y):
        if hasattr(y, "map_blocks"):
            return y.map_blocks(as_labels, positive, dtype=np.float64)
        return y.map_partitions(as_labels, positive, meta=(None, "f8"))
    values = np.asarray(y)
    if values.dtype.kind in "biuf":
        return _of_numbers(values, positive)
    flat = [_of_cell(value, positive) for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def labels_of(y: Any, classes: tuple[str, str]) -> Any:
    """Responses as 1, 0 or NaN, by a model's labels of no and yes as it has them: as texts.

    Examples
    --------
    >>> from dpsparse.data.labels import labels_of
    >>> labels_of([True, False], ("False", "True")), labels_of(["b", "a", None], ("not b", "b"))
    (array([1., 0.]), array([ 1.,  0., nan]))
    """
    refuse_masked(y)
    values, yes = np.asarray(y), classes[1]
    number = TRUTH.get(yes, np.nan)
    with suppress(ValueError):
        number = float(yes)
    if values.dtype.kind in "biuf":
        return _of_numbers(values, number)
    flat = [_of_text(value, yes, number) for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def _of_numbers(values: Any, positive: Any) -> Any:
    no = values == 0 if positive is None else np.isfinite(values)
    with np.errstate(all="ignore"):
        yes = values == (1 if positive is None else _number(positive))
    return np.where(yes, 1.0, np.where(no, 0.0, np.nan))


def _number(positive: Any) -> float:
    """A label among numbers; no number is equal to a text."""
    return float(positive) if isinstance(positive, int | float | np.number | np.bool_) else np.nan


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in MISSING_TYPES


def _of_text(value: Any, yes: str, number: float) -> float:
    if isinstance(value, bool | int | float):
        return np.nan if _is_missing(value) else float(value == number)
    return float(value == yes) if isinstance(value, str) else np.nan


def _of_cell(value: Any, positive: Any) -> float:
    """Total: an object of which nothing is known is missing, whatever its own comparison does."""
    if _is_missing(value):
        return np.nan
    if positive is None:
        return float(value) if isinstance(value, bool | int | float) and value in (0, 1) else np.nan
    return float(type(value) is type(positive) and bool(value == positive))
