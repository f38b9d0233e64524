"""Rows in the pieces of a dask graph: workers read them, and integer sums come back.

The client gets answers to questions, which are sums over the records of a piece, and of each piece how many records it
has and whether all of it is finite. Features, responses, levels and chosen columns stay with the workers. What a worker
computes is a function of its piece and of public numbers, so that whatever is lost with a worker is computed again, to
the same bits. Keys of tasks are random: none is made from data.

Tasks run where dask runs them: on the cluster of the current `distributed.Client`, otherwise in threads here.
"""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from dpsparse.engine.cpu.rows import NOT_FINITE
from dpsparse.engine.dask.actors import (
    PartitionActor,
    answer,
    answer_of_rows,
    answer_once,
    as_floats,
    column_of,
    count_hurt,
    count_not_finite,
    open_piece,
)
from dpsparse.engine.quantize import check_exact
from dpsparse.engine.queries import blocks_not_finite, pick_sums
from dpsparse.engine.session import total

try:
    import dask
    import dask.array as da
    from dask.core import flatten
    from distributed import futures_of, wait
except ImportError:
    raise ImportError("dask arrays and data frames need dask: pip install 'dpsparse[dask]'") from None

# How often clerks are hired for a question before tasks have to answer it.
ATTEMPTS = 2


class DaskTable:
    """Features in pieces of whole rows, each a task of a graph.

    Parameters
    ----------
    X : dask Array or DataFrame
        Features, in NumPy chunks or pandas partitions. Where the number of rows is unknown it is computed.
    dtype : dtype
        float32 or float64, in which the features are read.
    """

    def __init__(self, X, dtype):
        self.source, self.dtype = X, np.dtype(dtype)
        lengths = (np.nan,)
        if hasattr(X, "rechunk"):
            X = X.rechunk({1: -1})
            lengths = X.chunks[0]
        self.futures = _by_key(X)
        self.persisted = self.futures.keys() >= set(flatten(X.__dask_keys__()))
        pieces = np.ravel(X.to_delayed())
        if np.isnan(lengths).any():
            lengths = dask.compute(*[dask.delayed(len, pure=False)(piece) for piece in pieces])
        kept = [(piece, length) for piece, length in zip(pieces, lengths, strict=True) if length]
        self.pieces, self.lengths = zip(*kept, strict=True) if kept else ((), ())
        self.shape = (sum(self.lengths), X.shape[1])
        self.form = (X.shape[1], self.dtype)

    def responses(self, y):
        """Responses, an array or a dask array, in float64 and in the pieces of the features; they are computed once."""
        if isinstance(y, np.ndarray):
            return da.from_array(as_floats(y), chunks=(self.lengths,), name=False).persist()
        return y.map_blocks(as_floats, dtype=np.float64).rechunk((self.lengths,)).persist()

    def rows_with(self, y):
        """The rows with their `responses`."""
        return DaskRows(self, y)


def of_known_length(y):
    """A dask array or series as an array of known length; where it must be computed for that, it is kept."""
    y = y.map_partitions(as_floats, meta=(None, "f8")).to_dask_array() if hasattr(y, "to_dask_array") else y
    return y.persist().compute_chunk_sizes() if np.isnan(y.shape).any() else y


def all_finite(y):
    """Whether all of a dask array is finite."""
    count = dask.delayed(count_not_finite, pure=False)
    return not sum(dask.compute(*[count(piece) for piece in y.to_delayed()]))


class DaskRows:
    """Rows of a table, from row `first` on, `step` apart; the protocol is that of `Rows`.

    Parameters
    ----------
    table : DaskTable
        The features.
    y : dask Array
        Its `responses`.
    first, step : int
        Which rows these are.
    """

    def __init__(self, table, y, first=0, step=1):
        self._table, self._y, self._first, self._step = table, y, first, step
        offsets = [(first - start) % step for start in np.cumsum([0, *table.lengths])[:-1].tolist()]
        pieces = zip(table.pieces, y.to_delayed(), offsets, table.lengths, strict=True)
        self._pieces = [(X, y, slice(offset, None, step)) for X, y, offset, length in pieces if offset < length]
        self.n_records, self.n_features = len(range(first, table.shape[0], step)), table.shape[1]
        check_exact(self.n_records)

    def part(self, index, of):
        """Every `of`-th row from row `index` on: part `index` of `of` disjoint parts."""
        return DaskRows(self._table, self._y, self._first + index * self._step, self._step * of)

    def evaluate(self, query, *public):
        """The sum over records that a question asks for, given public numbers."""
        return total(dask.compute(*_tasks(answer_of_rows, self._pieces, (self._table.form, query, public))))

    def require_finite(self):
        """Raise ValueError with a constant text unless all features are finite."""
        if self.evaluate(blocks_not_finite):
            raise ValueError(NOT_FINITE)

    def reading(self, grid, *, constant=False, look=True, tell=None):
        """The rows as a pursuit reads them; see `Rows.reading`."""
        return DaskReading(self._pieces, self._table, self._y, grid, constant, look)


class DaskReading:
    """One pursuit's reading of rows; the protocol is that of `Reading`.

    What is read of each piece stays where it is read. For each worker of a cluster a clerk answers, however many pieces
    it has. Clerks read features that workers hold; others must not all be there at the same time, so that a task reads
    each piece of them.
    """

    def __init__(self, pieces, table, y, grid, constant, look):
        self._table, self._grid = table, grid
        self._opening = (table.form, grid, constant)
        self._features = [(X, rows) for X, _, rows in pieces]
        self._added, self._clerks = [], None
        if table.persisted:
            self._pieces, self._futures = pieces, table.futures | _by_key(y)
            self._places = _places([X for X, _, _ in pieces], self._futures)
        else:
            self._pieces = dask.persist(*_tasks(open_piece, pieces, self._opening))
            self._futures = _by_key(self._pieces)
            self._places = _places(self._pieces, self._futures)
        if look and sum(self._answers(count_hurt)):
            raise ValueError(NOT_FINITE)

    def add(self, feature, tell=None):
        """Read one more feature."""
        shared = (self._table.form, self._grid.of(feature), feature)
        if self._table.persisted:
            self._added.append((shared, None))
            self._tell_clerks("add", shared)
        else:
            columns = dask.persist(*_tasks(column_of, self._features, shared))
            self._added.append((shared, columns))
            self._futures |= _by_key(columns)
            self._clerks = None

    def evaluate(self, query, *public):
        """The sum over records that a question asks for, given public numbers."""
        return total(self._answers(answer, query, *public))

    def scores(self, center, effects, bound, tell=None):
        """Sizes of the sums that `questions.pick_sums` asks for; see `Reading.scores`."""
        return abs(self.evaluate(pick_sums, center, effects, bound))

    def close(self):
        """Have the workers forget what they read, and wait until they have: the next reading may need the memory."""
        self._tell_clerks("forget")
        self._clerks = None

    def _answers(self, function, *public):
        """Answers for all pieces: of quick clerks on a cluster; of tasks elsewhere, and where clerks are lost again."""
        for _ in range(ATTEMPTS if self._futures else 0):
            self._clerks = self._clerks or self._hired()
            answers = self._tell_clerks("answer", function, *public)
            if answers:
                return answers
        task = dask.delayed(answer_once, pure=False)
        tasks = [task(function, public, *self._post(place, lambda value: value)) for place in self._places]
        return dask.compute(*tasks, optimize_graph=False)

    def _hired(self):
        """A clerk for each worker, or none where that fails: whatever the trouble is, it comes again in a task."""
        client = next(iter(self._futures.values())).client
        with suppress(Exception):
            return client.gather([self._hire(client, place) for place in self._places])

    def _hire(self, client, place):
        post = self._post(place, lambda value: self._futures[value.key])
        # Not bound to a worker: it may have died by then.
        where = {"workers": place.worker, "allow_other_workers": True} if place.worker else {}
        return client.submit(PartitionActor, *post, place.threads, actor=True, pure=False, **where)

    def _tell_clerks(self, what, *arguments):
        """What the clerks answer, all told before the first is waited for; None where one is lost.

        With a worker its pieces are lost too, and dask makes them anew. Those hired then are told what was added.
        """
        try:
            return [told.result() for told in [getattr(clerk, what)(*arguments) for clerk in self._clerks or ()]]
        except Exception:
            self._clerks = None

    def _post(self, place, given):
        """What the clerk of a place is given: how to open pieces, the pieces, and what was added."""
        if self._table.persisted:
            pieces = [(given(X), given(y), rows) for X, y, rows in (self._pieces[k] for k in place.pieces)]
        else:
            pieces = [given(self._pieces[k]) for k in place.pieces]
        added = [(shared, columns and [given(columns[k]) for k in place.pieces]) for shared, columns in self._added]
        return self._opening, pieces, added


@dataclass(frozen=True)
class _Place:
    """Where some pieces are: a worker, None if it is lost or there is none, and the number of its threads."""

    pieces: list
    worker: str | None = None
    threads: int = 1


def _places(pieces, futures):
    """Which pieces each worker has; where there are no workers, each piece has its place."""
    if not futures:
        return [_Place([k]) for k in range(len(pieces))]
    held = [futures[piece.key] for piece in pieces]
    wait(held)
    holders, threads_of = held[0].client.who_has(held), held[0].client.nthreads()
    places = defaultdict(list)
    for k, piece in enumerate(pieces):
        places[next(iter(holders.get(piece.key, ())), None)].append(k)
    return [_Place(numbers, worker, threads_of.get(worker, 1)) for worker, numbers in places.items()]


def _by_key(collections):
    return {future.key: future for future in futures_of(collections)}


def _tasks(function, pieces, shared):
    """A task for each piece. What they share is a task too, so that it travels once and not with every piece."""
    shared = dask.delayed(shared, traverse=False, pure=False)
    task = dask.delayed(function, pure=False)
    return [task(*piece, shared) for piece in pieces]
