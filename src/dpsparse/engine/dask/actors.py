"""What runs on the workers of a cluster: they open partitions of a table, read columns, and evaluate queries.

The queries are those of `engine.queries`, evaluated as on arrays in memory. `dask_rows` and `session` send the work
from the client.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.engine.cpu.dense_rows import DenseDifferences, DenseRows
from dpsparse.engine.cpu.local_rows import LocalRecords, rescaled
from dpsparse.engine.links import Link
from dpsparse.engine.protocols import Query
from dpsparse.engine.quantize import Quantizer, as_column
from dpsparse.engine.queries import Column, Records, total
from dpsparse.engine.refusals import NOT_AS_DECLARED
from dpsparse.engine.threads import parallel_map, threads

# The number of features, and the dtype in which they are read.
Form = tuple[int, np.dtype[Any]]
# How to open partitions: with which quantizers, whether the columns start with the constant 1, and what residuals are.
Opening = tuple[Form, tuple[Quantizer, ...], bool, Link]


@dataclass(frozen=True)
class Partition:
    """Some records as a pursuit sees them, and whether a feature of theirs is not finite."""

    rows: Any
    records: Records
    nonfinite: int

    def __sizeof__(self) -> int:
        # So dask knows what it would cost to send a partition elsewhere.
        columns = [array for column in self.records.columns for array in (column.units, column.sanitized)]
        exposure = [] if self.records.exposure is None else [self.records.exposure]
        arrays = [self.records.y, *exposure, *columns, self.records.quantized]
        result: int = object.__sizeof__(self) + sum(array.nbytes for array in arrays)
        return result


@contextmanager
def single_threaded() -> Iterator[None]:
    """One thread, since dask runs a task on each; and no warning, which would reveal something of a record."""
    with threads(1), np.errstate(all="ignore"):
        yield


def rows_of(X: Any, form: Form, y: Any = None) -> Any:
    """The rows of a partition; responses of 0 where none are given."""
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


def as_array(X: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A partition, an array or a data frame, as an array of floats; NA as NaN."""
    if not hasattr(X, "to_numpy"):
        return np.asarray(X, dtype=dtype)
    if all(isinstance(each, np.dtype) for each in X.dtypes):
        numbers: NDArray[Any] = X.to_numpy(dtype=dtype)
    else:
        numbers = X.to_numpy(dtype=dtype, na_value=np.nan)
    return numbers


class Pairs(NamedTuple):
    """The first records of some pairs, rows of one partition, and the second ones, rows of one partition too."""

    first: Any
    first_rows: slice
    second: Any
    second_rows: slice


def _differences(pairs: Pairs, form: Form, y: NDArray[np.float64]) -> DenseDifferences:
    first, second = rows_of(pairs.first, form).X[pairs.first_rows], rows_of(pairs.second, form).X[pairs.second_rows]
    if not len(first) == len(second) == len(y):
        raise ValueError(NOT_AS_DECLARED)
    return DenseDifferences(first, second, y)


def responses_of_pairs(
    first: NDArray[np.float64], first_rows: slice, second: NDArray[np.float64], second_rows: slice
) -> NDArray[np.float64]:
    """The differences of responses."""
    with single_threaded():
        return first[first_rows] - second[second_rows]


def _refuse_masked(values: object) -> None:
    """Refuse a masked piece of an array that declares others: NumPy would read what lies under the mask."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(NOT_AS_DECLARED)


def evaluate_rows(X: Any, y: NDArray[np.float64], rows: Any, shared: tuple[Form, Query, tuple[Any, ...]]) -> Any:
    """Evaluate a query on some rows of a partition."""
    form, query, public = shared
    with single_threaded():
        return rows_of(X, form, y).take(rows).evaluate(query, *public)


def as_floats(y: Any) -> NDArray[np.float64]:
    """Responses in float64."""
    _refuse_masked(y)
    try:
        result: NDArray[np.float64] = y.astype(np.float64)
        return result
    except (TypeError, ValueError):
        raise ValueError(NOT_AS_DECLARED) from None


def has_nonfinite(y: NDArray[np.float64]) -> int:
    """1 if a response is not finite, 0 otherwise."""
    return int(not np.isfinite(y).all())


def open_partition(X: Any, y: NDArray[np.float64], rows: Any, shared: Opening) -> Partition:
    """Some rows of a partition as a pursuit sees them."""
    form, quantizers, constant, link = shared
    with single_threaded():
        read = rows_of(X, form, y).take(rows)
        columns = (Column.of(as_column(np.ones_like(read.y), read.y)),) if constant else ()
        try:
            quantized, nonfinite = read.quantized(quantizers), 0 if quantizers else read.has_nonfinite()
        except ValueError:
            quantized, nonfinite = read.quantized(quantizers, check_finite=False), 1
        exposure = None if link.exposure is None else as_column(read.column(link.exposure), read.y)
        return Partition(rows, LocalRecords(read.y, quantized, columns, link, exposure), nonfinite)


class PartitionActor:
    """Evaluates queries on some partitions without the scheduler, through which a task takes several times as long.

    The partitions are of `Partition` or, where workers hold the features anyway, the arguments from which
    `open_partition` makes one. `steps` is what was done to the columns: names of methods, each with its arguments.
    """

    def __init__(
        self, opening: Opening, partitions: list[Any], steps: list[tuple[str, tuple[Any, ...]]], threads: int = 1
    ) -> None:
        self._threads = threads
        self._features: Any = None
        self._partitions: Any = partitions
        if not isinstance(partitions[0], Partition):
            self._features = [X for X, _, _ in partitions]
            self._partitions = self._each(
                lambda X, y, rows: open_partition(X, y, rows, opening), *zip(*partitions, strict=True)
            )
        for method, arguments in steps:
            getattr(self, method)(*arguments)

    def _each(self, function: Callable[..., Any], *values: Iterable[Any]) -> list[Any]:
        with threads(self._threads):
            return list(parallel_map(lambda each: function(*each), list(zip(*values, strict=True))))

    def add(self, shared: tuple[Form, int], columns: list[NDArray[Any]] | None = None) -> None:
        """Add one feature to the records of each partition."""
        columns = columns or self._each(partial(_column_of, shared), self._partitions, self._features)
        self._partitions = self._each(_with_column, self._partitions, columns)

    def rescale(self, center: float, scale: float) -> None:
        """Make (z - center) / scale of the last column z of each partition."""

        def with_rescaled(partition: Partition) -> Partition:
            return replace(partition, records=rescaled(partition.records, center, scale))

        self._partitions = self._each(with_rescaled, self._partitions)

    def evaluate(self, function: Callable[..., Any], *public: Any) -> Any:
        """Evaluate a function of the partitions."""
        with threads(self._threads):
            return function(self._partitions, *public)

    def release(self) -> None:
        """Release the memory of all partitions."""
        self._partitions = self._features = None


def evaluate_once(function: Callable[..., Any], public: tuple[Any, ...], *args: Any) -> Any:
    """Evaluate a function by an actor made for it alone."""
    return PartitionActor(*args).evaluate(function, *public)


def count_nonfinite(partitions: list[Partition]) -> int:
    """How many partitions have a feature that is not finite."""
    return sum(partition.nonfinite for partition in partitions)


def _column_of(shared: tuple[Form, int], partition: Partition, X: Any) -> NDArray[Any]:
    return column_of(X, partition.rows, shared)


def column_of(X: Any, rows: Any, shared: tuple[Form, int]) -> NDArray[Any]:
    """The raw values of one feature of some rows of a partition, in their own dtype."""
    form, feature = shared
    with single_threaded():
        result: NDArray[Any] = rows_of(X, form).take(rows).column(feature).copy()
        return result


def difference_of(first: NDArray[Any], second: NDArray[Any], rows: slice, _: object) -> NDArray[Any]:
    """Some of the differences of two raw columns."""
    if len(first) != len(second):
        raise ValueError(NOT_AS_DECLARED)
    with single_threaded():
        result: NDArray[Any] = (first - second)[rows]
        return result


def _with_column(partition: Partition, values: NDArray[Any]) -> Partition:
    records = partition.records
    if len(values) != len(records.y):
        # NumPy would repeat a single value for every record.
        raise ValueError(NOT_AS_DECLARED)
    column = Column.of(as_column(values, records.y))
    return replace(partition, records=replace(records, columns=(*records.columns, column)))


def evaluate_records(partitions: list[Partition], query: Query, *public: Any) -> Any:
    """Sum what a query gives over the records of partitions."""
    blocks = [
        (partition.records, block)
        for partition in partitions
        for block in partition.records.blocks(config.current.dask_records)
    ]
    return total(parallel_map(lambda block: query(block[0].take(block[1]), *public), blocks))
