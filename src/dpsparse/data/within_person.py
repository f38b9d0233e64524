"""Deviations of rows from their person's own mean: what fixed effects of people leave of a table.

Theorem. A fit by person on deviations keeps the guarantee that it keeps on rows.

Proof. A person's deviations are a function of that person's rows alone. So tables that differ in all rows of one person
give deviations that differ in all rows of that person, and a fit by person protects these. Whose rows are left out, for
want of a second one, follows from who has how many rows, which is public. QED.

A mean of other people's rows would break this: no fit without ids, and none of `records_per_person`, may do the same.
"""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from dpsparse.data.person_ids import in_memory, people_of
from dpsparse.data.validation import is_dask
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.disk.memory import room
from dpsparse.engine.people import People
from dpsparse.engine.threads import parallel_map

NO_IDS = "within=True needs ids: pass person, which says whose row it is; deviations from other means protect nobody"
ON_WORKERS = "within=True needs X in this machine's memory or on its disk; pass X.compute()"
NOT_WITHIN = (
    "{name} holds out single rows of people, and a model with within=True predicts differences between several rows of "
    "a person; fit it by itself"
)
# People of a fit.
FEWEST = 2
# Rows of a block in which deviations are computed.
_ROWS = 2**14


def rows_of_several(people: People) -> NDArray[np.intp]:
    """The rows of people who have several, in order; warns, from public numbers, of those who have one.

    Examples
    --------
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     rows_of_several(people_of(["a", "b", "a", "c", "c"], 5))
    array([0, 2, 3, 4])
    """
    several = np.diff(people.starts) > 1
    count = int(np.count_nonzero(several))
    if count < FEWEST:
        raise ValueError(f"within: {count} people have several rows; a fit needs at least {FEWEST} who have")
    if count < people.n_people:
        alone = people.n_people - count
        warnings.warn(
            f"within: {alone:,} of {people.n_people:,} people have one row, which tells nothing within a person: they "
            "are left out",
            UserWarning,
            stacklevel=4,
        )
    return np.flatnonzero(several[people.number])


def of_several(X: Any, y: Any, ids: Any) -> tuple[Any, Any, Any]:
    """X, y and ids of the people who have several rows."""
    if ids is None:
        raise ValueError(NO_IDS)
    if is_dask(X):
        raise TypeError(ON_WORKERS)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    people = people_of(ids, n_rows)
    kept = rows_of_several(people)
    if len(kept) == n_rows:
        return X, y, people.number
    if y is not None and (y.shape[0] if hasattr(y, "shape") else len(y)) != n_rows:
        raise ValueError("X and y must have the same number of rows")
    X = X[kept] if not hasattr(X, "columns") and hasattr(X, "shape") else _safe_indexing(X, kept)
    return X, y if y is None else _safe_indexing(y, kept), people.number[kept]


def deviations(rows: Any, people: People, *, fill: bool) -> DenseRows:
    """Rows less their person's mean, of features and responses, in memory.

    Means are over the rows that have a response and, of a feature, a value. A gap stays a gap, or is at the mean where
    `fill`. Each number depends on the rows of one person, in one fixed order of operations.

    Examples
    --------
    >>> rows = DenseRows(np.array([[1.0], [5.0], [3.0]]), np.array([1.0, 7.0, 2.0]))
    >>> less = deviations(rows, People.of(np.array([0, 1, 0])), fill=False)
    >>> less.X.ravel(), less.y
    (array([-1.,  0.,  1.]), array([-0.5,  0. ,  0.5]))
    """
    n, d = rows.n_records, rows.n_features
    if 8 * n * d > room():
        raise ValueError(
            f"within: the deviations of {n:,} rows of {d:,} features take {math.ceil(8 * n * d / 2**30)} GiB, more "
            "than is free; fit fewer features or on a larger machine"
        )
    stored = in_memory(rows)
    X = stored.X if isinstance(stored, DenseRows) else stored.take(np.arange(n)).to_array()
    out, y = np.empty((n, d), dtype=X.dtype), np.empty(n)
    held, there = people.held(), np.isfinite(rows.y)

    def subtract(block: slice) -> None:
        places, starts = people.order[block], held.take(block).starts
        cells = X[places].astype(np.float64)
        less = _less_mean(cells, np.isfinite(cells) & there[places, None], starts)
        if fill:
            less = np.where(np.isfinite(less), less, 0.0)
        most = float(np.finfo(out.dtype).max)
        out[places] = np.clip(less, -most, most)
        y[places] = _less_mean(rows.y[places, None], there[places, None], starts)[:, 0]

    list(parallel_map(subtract, held.blocks(_ROWS)))
    return DenseRows(out, y)


@np.errstate(all="ignore")
def _less_mean(
    values: NDArray[np.float64], counted: NDArray[np.bool_], starts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Values of people, who lie one after another, less the means of those that are counted; NaN where not finite.

    What is less than the error of a rounded mean is 0: otherwise a unit would be learned of the rounding of a feature
    that is constant within people.
    """
    sizes = np.diff(starts)
    counts = np.maximum(np.add.reduceat(counted, starts[:-1], axis=0, dtype=np.float64), 1.0)
    # Shares of a mean, so that no sum of large numbers overflows.
    shares = np.where(counted, values / np.repeat(counts, sizes, axis=0), 0.0)
    means = np.repeat(np.add.reduceat(shares, starts[:-1], axis=0), sizes, axis=0)
    less = values - means
    less[np.abs(less) <= np.finfo(np.float64).eps * np.repeat(counts, sizes, axis=0) * np.abs(means)] = 0.0
    most = np.finfo(np.float64).max
    return np.where(np.isfinite(values), np.clip(less, -most, most), np.nan)
