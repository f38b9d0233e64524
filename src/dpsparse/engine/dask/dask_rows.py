"""Rows in the partitions of a dask graph: workers read them, and integer sums come back.

The client receives, for each partition, sums over its records, their number, and whether all values are finite.
Features, responses, levels and selected columns stay with the workers. The result of a worker is a function of its
partition and of public numbers, so results that are lost with a worker are computed again, to the same bits.

Tasks run where dask runs them: on the cluster of the current `distributed.Client`, otherwise in threads here.
"""

from bisect import bisect_right
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.core import flatten
from numpy.typing import DTypeLike

from dpsparse.engine.cpu.local_rows import pair_blocks
from dpsparse.engine.dask.actors import Form, Pairs, as_floats, evaluate_rows, has_nonfinite, responses_of_pairs
from dpsparse.engine.dask.session import DaskSession
from dpsparse.engine.dask.tasks import compute, futures_by_key, persist, tasks
from dpsparse.engine.links import IDENTITY, Link
from dpsparse.engine.protocols import OnProgress, Query
from dpsparse.engine.quantize import Quantizer, check_exact
from dpsparse.engine.queries import nonfinite_blocks, total
from dpsparse.engine.refusals import NOT_FINITE


class Partitions:
    """Features in partitions of whole rows, each a task of a graph.

    Features are in NumPy chunks or pandas partitions. Where the number of rows is unknown it is computed.
    """

    def __init__(self, X: Any, dtype: DTypeLike) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        lengths: tuple[float, ...] = (np.nan,)
        if hasattr(X, "rechunk"):
            X = X.rechunk({1: -1})
            lengths = X.chunks[0]
        self.futures = futures_by_key(X)
        self.persisted = self.futures.keys() >= set(flatten(X.__dask_keys__()))
        features = np.ravel(X.to_delayed())
        if np.isnan(lengths).any():
            lengths = tuple(compute(*[dask.delayed(len, pure=False)(each) for each in features]))
        filled = [(each, length) for each, length in zip(features, lengths, strict=True) if length]
        self.features: tuple[Any, ...] = tuple(each for each, _ in filled)
        self.lengths: tuple[int, ...] = tuple(int(length) for _, length in filled)
        self.shape: tuple[int, int] = (sum(self.lengths), X.shape[1])
        self.form: Form = (X.shape[1], self.dtype)

    def responses(self, y: Any) -> Any:
        """Responses, an array or a dask array, in float64 and divided as the features are; they are computed once."""
        if isinstance(y, np.ndarray):
            return persist(da.from_array(as_floats(y), chunks=(self.lengths,), name=False))[0]
        return persist(y.map_blocks(as_floats, dtype=np.float64).rechunk((self.lengths,)))[0]


class PartitionPairs:
    """Differences of pairs of records, in partitions of their own, each made of rows of two partitions.

    A worker subtracts when it reads, so no differences are kept; see `protocols.Rows.differences`.

    `partitions` are tasks of the features and of the responses of each partition, `records` says which of its rows are
    records.
    """

    persisted: bool = False

    def __init__(
        self, partitions: list[tuple[Any, Any]], records: list[range], features: "Partitions | PartitionPairs"
    ) -> None:
        self.futures: dict[str, Any] = {}
        self.dtype: np.dtype[Any] = features.dtype
        self.form: Form = features.form
        starts = np.cumsum([0, *map(len, records)]).tolist()
        n, n_pairs = starts[-1], starts[-1] // 2
        blocks = pair_blocks(starts, n) if n_pairs else []

        def rows_at(start: int, stop: int, step: int) -> tuple[tuple[Any, Any], slice]:
            place = bisect_right(starts, start) - 1
            rows = records[place][start - starts[place] : stop - starts[place]][::step]
            return partitions[place], slice(rows.start, rows.stop if rows.stop >= 0 else None, rows.step)

        both = [(rows_at(pairs.start, pairs.stop, 1), rows_at(n - pairs.stop, n - pairs.start, -1)) for pairs in blocks]
        self.features = [Pairs(one[0], rows, other[0], others) for (one, rows), (other, others) in both]
        self.lengths = tuple(pairs.stop - pairs.start for pairs in blocks)
        self.shape: tuple[int, int] = n_pairs, features.shape[1]
        task = dask.delayed(responses_of_pairs, pure=False)
        responses = [task(one[1], rows, other[1], others) for (one, rows), (other, others) in both]
        chunks = zip(responses, self.lengths, strict=True)
        self.responses = persist(da.concatenate([da.from_delayed(y, (length,), np.float64) for y, length in chunks]))[0]


def of_known_length(y: Any) -> Any:
    """A dask array or series as an array of known length; where it must be computed for that, it is kept."""
    y = y.map_partitions(as_floats, meta=(None, "f8")).to_dask_array() if hasattr(y, "to_dask_array") else y
    if not np.isnan(y.shape).any():
        return y
    chunks = persist(y)[0].to_delayed()
    lengths = compute(*[dask.delayed(len, pure=False)(chunk) for chunk in chunks])
    return da.concatenate([da.from_delayed(*each, y.dtype) for each in zip(chunks, zip(lengths), strict=True)])


def all_finite(y: Any) -> bool:
    """Whether all of a dask array is finite."""
    count = dask.delayed(has_nonfinite, pure=False)
    return not sum(compute(*[count(chunk) for chunk in y.to_delayed()]))


class DaskRows:
    """A `protocols.Rows`: rows of partitions, from row `first` on, `step` apart."""

    on_workers = True

    def __init__(self, features: Any, y: Any, first: int = 0, step: int = 1) -> None:
        self.features, self.responses, self._first, self._step = features, y, first, step
        offsets = [(first - start) % step for start in np.cumsum([0, *features.lengths])[:-1].tolist()]
        every = zip(features.features, y.to_delayed(), offsets, features.lengths, strict=True)
        mine = [(X, y, range(offset, length, step)) for X, y, offset, length in every if offset < length]
        self._partitions = [(X, y, slice(rows.start, None, step)) for X, y, rows in mine]
        self._records = [rows for _, _, rows in mine]
        self.n_records, self.n_features = len(range(first, features.shape[0], step)), features.shape[1]
        check_exact(self.n_records)

    def part(self, index: int, of: int) -> "DaskRows":
        """Every `of`-th row from row `index` on: part `index` of `of` disjoint parts."""
        return DaskRows(self.features, self.responses, self._first + index * self._step, self._step * of)

    def differences(self) -> "DaskRows":
        """The differences of pairs of records; see `protocols.Rows`."""
        pairs = PartitionPairs([(X, y) for X, y, _ in self._partitions], self._records, self.features)
        return DaskRows(pairs, pairs.responses)

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over the rows."""
        return total(compute(*tasks(evaluate_rows, self._partitions, (self.features.form, query, public))))

    def require_finite(self) -> None:
        """Raise ValueError with a constant text unless all features are finite."""
        if self.evaluate(nonfinite_blocks):
            raise ValueError(NOT_FINITE)

    def session(
        self,
        quantizers: tuple[Quantizer, ...],
        *,
        constant: bool = False,
        check_finite: bool = True,
        link: Link = IDENTITY,
        on_progress: OnProgress = None,
    ) -> DaskSession:
        """Open a session; see `protocols.Rows`."""
        data = self.n_records, self._partitions, self.features, self.responses
        return DaskSession(*data, quantizers, constant, check_finite, link)
