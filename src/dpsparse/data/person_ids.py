"""Ids of people, of any type, as a division of rows. Ids are equal or not, exactly: nothing is hashed to fewer bits.

An id that is missing (None, NaN, NaT or NA) is that of a person of their own. No person may become two because their
id was read in two ways: texts beside other ids, as a file that is read in pieces leaves them (7 here and "7" there),
are refused. What is raised here follows from types and lengths, but for constant sentences.
"""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.streamed import Streamed
from dpsparse.data.validation import is_dask, on_host
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.people_rows import PeopleRows
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.disk.disk_people import DiskPeopleRows
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.engine.disk.memory import room
from dpsparse.engine.people import People
from dpsparse.engine.refusals import MIXED_IDS, NOT_IDS
from dpsparse.engine.threads import ALL

_COMPARED = "iubSUMm"
# Quantizers of a session, at most: features are seen in public units, by a threshold and by their gaps.
_MOST_QUANTIZERS = 3


def people_of(ids: Any, n_rows: int) -> People:
    """Whose row is whose, from one id for each row.

    Examples
    --------
    >>> people_of(["b", "a", "b", None, None], 5).number
    array([0, 1, 0, 2, 3])
    """
    values = _values(ids)
    if values.ndim != 1:
        raise ValueError(f"person must be one id for each row, got {values.ndim} dimensions; pass a 1D array or a list")
    if len(values) != n_rows:
        raise ValueError(f"person has {len(values)} ids and X {n_rows} rows; pass one id for each row")
    if values.dtype.kind == "O":
        number = _numbered(values.tolist())
    else:
        missing = values != values
        number = np.unique(values, return_inverse=True)[1].ravel()
        number[missing] = len(values) + np.flatnonzero(missing)
    return People.of(number)


def _values(ids: Any) -> NDArray[Any]:
    """Ids as an array, in a type that holds each of them exactly."""
    ids = computed(ids) if is_dask(ids) else on_host(ids)
    if isinstance(ids, np.ma.MaskedArray):
        ids = ids.tolist()
    if isinstance(ids, np.ndarray) and ids.dtype.kind in _COMPARED + "fcO":
        return ids
    dtype = getattr(ids, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in _COMPARED + "f":
        return np.asarray(ids)
    # Other tables would make floats of whole numbers beside gaps, and texts of numbers beside texts.
    listed = next((getattr(ids, name) for name in ("to_list", "to_pylist", "tolist") if hasattr(ids, name)), None)
    items = listed() if listed else list(ids)
    values = np.empty(len(items), dtype=object)
    values[:] = items
    return values


def computed(values: Any) -> Any:
    """A dask collection beside X in memory; an error of its tasks quotes nothing."""
    from dpsparse.engine.dask.tasks import computed

    return computed(values)


def _numbered(values: list[Any]) -> NDArray[np.intp]:
    """For each value the number of the first one equal to it; one that is missing is equal to none."""
    first: dict[Any, int] = {}
    try:
        numbers = [
            place if _is_missing(value) else first.setdefault(value, place) for place, value in enumerate(values)
        ]
    except (TypeError, ArithmeticError):
        raise TypeError(NOT_IDS) from None
    if len({isinstance(value, str) for value in first}) > 1:
        raise TypeError(MIXED_IDS)
    return np.array(numbers, dtype=np.intp)


def _is_missing(value: Any) -> bool:
    """Whether an id is none: None, or not equal to itself, or pandas' NA, which is what it gives when asked."""
    if value is None or type(value) is str:
        return value is None
    differs = value != value
    if isinstance(differs, bool | np.bool_):
        return bool(differs)
    if differs is not value:
        raise TypeError(NOT_IDS)  # an array, say
    return True


def without_ids(X: Any, person: Any) -> tuple[Any, Any]:
    """X without the column of ids that `person` names, and these; where it names none, both as they are.

    Where there are ids, features that a GPU would read are brought to the host, where rows are brought together.

    Examples
    --------
    >>> import pandas as pd
    >>> X, ids = without_ids(pd.DataFrame({"id": [7, 7], "age": [30.0, 31.0]}), "id")
    >>> list(X.columns), list(ids)
    (['age'], [7, 7])
    """
    if not isinstance(person, str):
        return X if person is None else on_host(X.array if isinstance(X, Streamed) else X), person
    columns = getattr(X, "columns", None)
    if columns is None or not hasattr(X, "drop"):
        raise TypeError(f"person={person!r} is the name of a column, and X no data frame; pass the ids themselves")
    if list(columns).count(person) != 1:
        raise ValueError(f"person={person!r} must be the name of one column of X")
    return (X.drop(columns=person) if hasattr(X, "iloc") or is_dask(X) else X.drop(person)), X[person]


def ids_beside(X: Any, person: Any, target: str | None = None) -> tuple[str | None, list[tuple[str, NDArray[np.intp]]]]:
    """What the column of people is called, and that column, of whole numbers, where ids are given beside a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> name, ((_, numbers),) = ids_beside(pd.DataFrame({"person": ["he", "she", "she"]}), ["A", "b", "b"])
    >>> name, numbers.tolist(), ids_beside(pd.DataFrame({"who": [1]}), "who")
    ('people', [0, 1, 1], ('who', []))
    """
    if person is None or isinstance(person, str):
        return person, []
    taken = {target, *map(str, getattr(X, "column_names", X.columns))}
    names = itertools.chain(["person", "people"], map("person {}".format, itertools.count()))
    name = next(name for name in names if name not in taken)
    return name, [(name, people_of(person, len(X)).number)]


def people_rows(rows: Any, people: People) -> Any:
    """The rows of people, as `protocols.Rows`; refused, from public facts, where there is no room for them."""
    if getattr(rows, "on_workers", False):
        from dpsparse.engine.dask.dask_people import DaskPeopleRows

        return DaskPeopleRows.of(rows, people)
    if isinstance(rows, DiskRows):
        return DiskPeopleRows(rows, people)
    n, d = rows.n_records, rows.n_features
    if _MOST_QUANTIZERS * n * d <= room():
        return PeopleRows(rows, people)
    if isinstance(rows, DenseRows):
        # Levels of some columns at a time.
        read = DiskRows(ArraySource([rows.X]), rows.y)
        read.exposure = rows.exposure
        return DiskPeopleRows(read, people)
    raise ValueError(
        f"person: the {n:,} rows of {d:,} features are brought together by person in memory, and take "
        f"{math.ceil(_MOST_QUANTIZERS * n * d / 2**30)} GiB there, more than is free; fit fewer features or on a "
        "larger machine"
    )


def in_memory(rows: DenseRows | SparseRows | DiskRows) -> DenseRows | SparseRows:
    """Rows of which features on a disk have been read."""
    if not isinstance(rows, DiskRows):
        return rows
    cells = [rows.source.cells((block, ALL)) for block in rows.source.row_blocks()]
    read = DenseRows(np.concatenate(cells), rows.y)
    read.exposure = rows.exposure
    return read
