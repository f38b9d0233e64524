"""What runs on the workers of a cluster: they open partitions of a table, read columns, and evaluate queries.

The queries are those of `engine.queries`, evaluated as on arrays in memory. `rows` and `session` send the work from the
client.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dpsparse.engine import config
from dpsparse.engine.cpu.dense import DenseDifferences, DenseRows
from dpsparse.engine.cpu.rows import LocalRecords, rescaled
from dpsparse.engine.gaps import as_column
from dpsparse.engine.queries import Column, Records, total
from dpsparse.engine.refusals import NOT_AS_DECLARED
from dpsparse.engine.threads import parallel_map, slices, threads


@dataclass(frozen=True)
class Partition:
    """Some records as a pursuit sees them, and whether a feature of theirs is not finite."""

    rows: slice
    records: Records
    nonfinite: int

    def __sizeof__(self):
        # So dask knows what it would cost to send a partition elsewhere.
        columns = [array for column in self.records.columns for array in (column.units, column.sanitized)]
        levels = [array for family in self.records.quantized.families for array in vars(family).values()]
        arrays = [self.records.y, *columns, *levels]
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays)


@contextmanager
def single_threaded():
    """One thread, since dask runs a task on each; and no warning, which would reveal something of a record."""
    with threads(1), np.errstate(all="ignore"):
        yield


def _rows(X, form, y=None):
    if isinstance(X, Pairs):
        return _differences(X, form, y)
    n_features, dtype = form
    _refuse_masked(X)
    try:
        X = as_array(X, dtype)
    except (TypeError, ValueError):
        raise ValueError(NOT_AS_DECLARED) from None
    y = np.zeros(len(X)) if y is None else y
    if X.shape != (len(y), n_features):
        raise ValueError(NOT_AS_DECLARED)
    return DenseRows(X, y)


def as_array(X, dtype):
    """A partition, an array or a data frame, as an array of floats; NA as NaN."""
    if not hasattr(X, "to_numpy"):
        return np.asarray(X, dtype=dtype)
    if all(isinstance(each, np.dtype) for each in X.dtypes):
        return X.to_numpy(dtype=dtype)
    return X.to_numpy(dtype=dtype, na_value=np.nan)


class Pairs(NamedTuple):
    """The first records of some pairs, rows of one partition, and the second ones, rows of one partition too."""

    first: Any
    first_rows: slice
    second: Any
    second_rows: slice


def _differences(pairs, form, y):
    first, second = _rows(pairs.first, form).X[pairs.first_rows], _rows(pairs.second, form).X[pairs.second_rows]
    if not len(first) == len(second) == len(y):
        raise ValueError(NOT_AS_DECLARED)
    return DenseDifferences(first, second, y)


def responses_of_pairs(first, first_rows, second, second_rows):
    """The differences of responses."""
    with single_threaded():
        return first[first_rows] - second[second_rows]


def _refuse_masked(values):
    """Refuse a masked piece of an array that declares others: NumPy would read what lies under the mask."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(NOT_AS_DECLARED)


def evaluate_rows(X, y, rows, shared):
    """Evaluate a query on some rows of a partition."""
    form, query, public = shared
    with single_threaded():
        return _rows(X, form, y).take(rows).evaluate(query, *public)


def as_floats(y):
    """Responses in float64."""
    _refuse_masked(y)
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(NOT_AS_DECLARED) from None


def has_nonfinite(y):
    """1 if a response is not finite, 0 otherwise."""
    return int(not np.isfinite(y).all())


def open_partition(X, y, rows, shared):
    """Some rows of a partition as a pursuit sees them."""
    form, quantizers, constant = shared
    with single_threaded():
        read = _rows(X, form, y).take(rows)
        columns = (Column.of(as_column(np.ones_like(read.y), read.y)),) if constant else ()
        try:
            quantized, nonfinite = read.quantized(quantizers), 0 if quantizers else read.has_nonfinite()
        except ValueError:
            quantized, nonfinite = read.quantized(quantizers, check_finite=False), 1
        return Partition(rows, LocalRecords(read.y, quantized, columns), nonfinite)


class PartitionActor:
    """Evaluates queries on some partitions without the scheduler, through which a task takes several times as long.

    Parameters
    ----------
    opening : tuple
        How to open partitions; see `open_partition`.
    partitions : list
        Of Partition or, where workers hold the features anyway, of the arguments from which `open_partition` makes one.
    steps : list of tuple
        What was done to the columns: names of methods, each with its arguments.
    threads : int
        How many to use.
    """

    def __init__(self, opening, partitions, steps, threads=1):
        self._threads, self._features, self._partitions = threads, None, partitions
        if not isinstance(partitions[0], Partition):
            self._features = [X for X, _, _ in partitions]
            self._partitions = self._each(lambda *each: open_partition(*each, opening), *zip(*partitions, strict=True))
        for method, arguments in steps:
            getattr(self, method)(*arguments)

    def _each(self, function, *values):
        with threads(self._threads):
            return list(parallel_map(lambda each: function(*each), list(zip(*values, strict=True))))

    def add(self, shared, columns=None):
        """Add one feature to the records of each partition."""
        columns = columns or self._each(partial(_column_of, shared), self._partitions, self._features)
        self._partitions = self._each(_with_column, self._partitions, columns)

    def rescale(self, center, scale):
        """Make (z - center) / scale of the last column z of each partition."""

        def with_rescaled(partition):
            return replace(partition, records=rescaled(partition.records, center, scale))

        self._partitions = self._each(with_rescaled, self._partitions)

    def evaluate(self, function, *public):
        """Evaluate a function of the partitions."""
        with threads(self._threads):
            return function(self._partitions, *public)

    def release(self):
        """Release the memory of all partitions."""
        self._partitions = self._features = None


def evaluate_once(function, public, *args):
    """Evaluate a function by an actor made for it alone."""
    return PartitionActor(*args).evaluate(function, *public)


def count_nonfinite(partitions):
    """How many partitions have a feature that is not finite."""
    return sum(partition.nonfinite for partition in partitions)


def _column_of(shared, partition, X):
    return column_of(X, partition.rows, shared)


def column_of(X, rows, shared):
    """The raw values of one feature of some rows of a partition, in their own dtype."""
    form, feature = shared
    with single_threaded():
        return _rows(X, form).take(rows).column(feature).copy()


def difference_of(first, second, rows, _):
    """Some of the differences of two raw columns."""
    if len(first) != len(second):
        raise ValueError(NOT_AS_DECLARED)
    with single_threaded():
        return (first - second)[rows]


def _with_column(partition, values):
    records = partition.records
    if len(values) != len(records.y):
        # NumPy would repeat a single value for every record.
        raise ValueError(NOT_AS_DECLARED)
    column = Column.of(as_column(values, records.y))
    return replace(partition, records=replace(records, columns=(*records.columns, column)))


def evaluate_records(partitions, query, *public):
    """Sum what a query gives over the records of partitions."""
    blocks = [
        (partition.records, block)
        for partition in partitions
        for block in slices(len(partition.records.y), config.current.dask_records)
    ]
    return total(parallel_map(lambda block: query(block[0].take(block[1]), *public), blocks))
