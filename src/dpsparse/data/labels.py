"""Yes/no responses of any type as numbers: 1 for yes, 0 for no, NaN for those that are missing.

A response is read by itself. NumPy, pandas and the readers of files choose one type for all responses of a table: a
single text among numbers makes texts or objects of them all. So a number, its text, and true and false as 1 and 0 are
the same label whatever they are stored as, and no record decides how another one is read.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.object_tables import listed, refuse_types
from dpsparse.data.validation import is_dask, on_host, refuse_masked
from dpsparse.io.cells.object_cells import real_number

_TRUTHS = {"true": 1.0, "false": 0.0}


def as_labels(y: Any, positive: Any = None) -> Any:
    """Responses as 1, 0 or NaN, in their own shape; dask arrays stay what they are.

    `positive` is the label of yes, and every other one is no. None: 1 and True are yes, 0 and False are no, and
    anything else is missing.

    Examples
    --------
    >>> as_labels(["yes", "no", None], "yes"), as_labels(np.array([1, 0, 7]))
    (array([ 1.,  0., nan]), array([ 1.,  0., nan]))
    """
    refuse_masked(y)
    if is_dask(y):
        if hasattr(y, "map_blocks"):
            return y.map_blocks(as_labels, positive, dtype=np.float64)
        return y.map_partitions(_of_partition, positive, meta=(None, "f8"))
    yes = 1.0 if positive is None else label_of(positive)
    values = _array(on_host(y))
    if values.dtype.kind == "c":
        refuse_types(values)
    if values.dtype.kind in "biuf":
        return _of_numbers(values.astype(np.float64), yes, positive is None)
    flat = [_of_label(label_of(cell), yes, positive is None) for cell in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def label_of(cell: Any) -> float | str | None:
    """A label that does not depend on how it is stored: a number, a text, or None where it is missing.

    It is total. An object that is neither a number nor a text is a label of its own, equal to no other.

    Examples
    --------
    >>> label_of(True), label_of("1"), label_of("no"), label_of(float("nan"))
    (1.0, 1.0, 'no', None)
    """
    try:
        if isinstance(cell, bytes):
            cell = cell.decode()
        number = _number_of(str.strip(cell)) if isinstance(cell, str) else real_number(cell)
        return None if math.isnan(number) else number
    except Exception:
        # Any class may refuse to be asked.
        if isinstance(cell, str):
            return str.strip(cell)
        return None if cell is None or type(cell).__name__ in ("NAType", "NaTType") else ""


def _number_of(text: str) -> float:
    return _TRUTHS[text.lower()] if text.lower() in _TRUTHS else float(text)


def _array(y: Any) -> NDArray[Any]:
    return listed(y) if isinstance(y, list | tuple) else np.asarray(y)


def _of_partition(y: Any, positive: Any) -> Any:
    return type(y)(as_labels(y, positive), index=y.index)


def _of_numbers(values: NDArray[np.float64], yes: float | str | None, only: bool) -> NDArray[np.float64]:
    no = values == 0 if only else np.isfinite(values)
    # No number is equal to a text.
    is_yes = values == yes if isinstance(yes, float) else np.zeros(values.shape, dtype=bool)
    return np.where(is_yes, 1.0, np.where(no, 0.0, np.nan))


def _of_label(label: float | str | None, yes: float | str | None, only: bool) -> float:
    if label is None or label in (math.inf, -math.inf) or (only and label not in (0.0, 1.0)):
        return math.nan
    return float(label == yes)
