"""Tables whose types do not say what their cells are: objects become numbers one by one, and other types are refused.

A type is public, and decides at once. A cell is not: where gaps are allowed, whatever is no number is one, and nothing
is raised or warned. Where they are not, a cell that is no number raises one of the constant sentences of
`engine.refusals`, as one that is not finite does.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.refusals import NOT_FINITE, NOT_NUMBERS, NOT_NUMERIC
from dpsparse.io.cells.object_cells import real_number
from dpsparse.io.cells.typed_cells import NUMERIC_KINDS, arrow_kind

_NUMERIC = "biuf"
# Most objects are of these types.
_PLAIN = frozenset((float, int, bool, np.float64, np.float32, np.int64))


def refuse_types(values: Any) -> None:
    """Raise ValueError where a type says that values are no real numbers; objects and categories may be.

    Values are of NumPy, pandas, polars or pyarrow; lists have no type.
    """
    for dtype in _types(values):
        if getattr(dtype, "kind", "") == "c":
            raise ValueError("Complex data not supported: pass real numbers")
        if not _may_be_numbers(dtype):
            raise ValueError(NOT_NUMERIC)


def _types(values: Any) -> Any:
    if hasattr(values, "schema") and hasattr(values.schema, "types"):
        return values.schema.types
    if hasattr(values, "type") and type(values).__module__.partition(".")[0] == "pyarrow":
        return [values.type]
    dtypes = getattr(values, "dtypes", None)
    return [getattr(values, "dtype", None)] if dtypes is None else list(np.ravel(dtypes))


def _may_be_numbers(dtype: Any) -> bool:
    library = type(dtype).__module__.partition(".")[0]
    if library == "pyarrow":
        from pyarrow import types

        return arrow_kind(dtype) in NUMERIC_KINDS or types.is_null(dtype)
    if hasattr(dtype, "pyarrow_dtype"):
        return _may_be_numbers(dtype.pyarrow_dtype)
    if hasattr(dtype, "is_numeric") and hasattr(dtype, "is_temporal"):
        # polars
        return dtype.is_numeric() or str(dtype) in ("Boolean", "Null", "Object")
    if library == "pandas":
        return getattr(dtype, "kind", "") in _NUMERIC or hasattr(dtype, "categories")
    # scikit-learn reads numbers in texts.
    return getattr(dtype, "kind", "O") not in "Mm"


def as_numbers(values: Any, *, allow_missing: bool) -> Any:
    """Values with floats in place of objects; those of a type of numbers as they are.

    With `allow_missing` what is no number is NaN; otherwise it is refused. It is a data frame where a data frame was
    given, an array otherwise.

    Examples
    --------
    >>> as_numbers([1, None, "2.5", 1j, np.timedelta64(1, "s")], allow_missing=True)
    array([1. , nan, 2.5, nan, nan])
    """
    if isinstance(values, list | tuple):
        return _floats(listed(values), allow_missing)
    if isinstance(values, np.ndarray):
        return _floats(values, allow_missing)
    if hasattr(values, "iloc") and values.ndim == 2:
        return _pandas_numbers(values, allow_missing)
    if hasattr(values, "with_columns"):
        places = [place for place, dtype in enumerate(values.dtypes) if str(dtype) in ("Object", "Int128", "UInt128")]
        columns = {
            values.columns[place]: _floats(as_objects(values.to_series(place)), allow_missing) for place in places
        }
        return values.with_columns(**columns) if columns else values
    return values


def listed(values: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """A list as an array of numbers where NumPy makes one of it, of objects otherwise: a row for each list in it."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in _NUMERIC:
            return array
    except Exception:
        # An object may be a sequence, or refuse to be asked whether it is.
        pass
    rows = [row for row in values if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1)]
    width = len(rows[0]) if rows else 0
    if len(rows) < len(values) or any(len(row) != width for row in rows):
        return as_objects(values)
    return np.vstack([np.empty((0, width), dtype=object), *(as_objects(row) for row in rows)])


def as_objects(cells: Any) -> NDArray[np.object_]:
    """A list as an array of its objects, as they are: no cell changes the type of another."""
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


def _pandas_numbers(frame: Any, allow_missing: bool) -> Any:
    places = [place for place, dtype in enumerate(frame.dtypes) if dtype.kind not in _NUMERIC]
    if not places:
        return frame
    frame = frame.copy(deep=False)
    for place in places:
        frame.isetitem(place, _floats(frame.iloc[:, place].to_numpy(dtype=object), allow_missing))
    return frame


def _floats(array: NDArray[Any], allow_missing: bool) -> NDArray[Any]:
    """An array of objects in float64; any other as it is."""
    if array.dtype.kind != "O":
        if allow_missing and array.dtype.kind not in _NUMERIC:
            raise ValueError(NOT_NUMERIC)
        return array
    number = _number_or_gap if allow_missing else _number
    try:
        with np.errstate(all="ignore"):
            numbers = np.fromiter(map(number, array.ravel()), np.float64, array.size)
    except ValueError:
        raise ValueError(NOT_NUMERIC) from None
    except OverflowError:
        raise ValueError(NOT_FINITE) from None
    except Exception:
        raise TypeError(NOT_NUMBERS) from None
    return numbers.reshape(array.shape)


def _number(cell: Any) -> float:
    if type(cell) in _PLAIN or isinstance(cell, str | bytes):
        return float(cell)
    return math.nan if cell is None else real_number(cell)


def _number_or_gap(cell: Any) -> float:
    try:
        return _number(cell)
    except Exception:
        return math.nan
