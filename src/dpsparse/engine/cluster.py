"""Rows in the pieces of a dask graph: workers read them, and integer sums come back.

The client gets answers to questions, which are sums over the records of a piece, and of each piece how many records it
has and whether all of it is finite. Features, responses, levels and chosen columns stay with the workers. What a worker
computes is a function of its piece and of public numbers, so that whatever is lost with a worker is computed again, to
the same bits. Keys of tasks are random: none is made from data.

Tasks run where dask runs them: on the cluster of the current `distributed.Client`, otherwise in threads here.
"""

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpsparse.engine.fixed_point import check_exact
from dpsparse.engine.questions import blocks_not_finite, pick_sums
from dpsparse.engine.reading import Column, Records, total
from dpsparse.engine.rows import NOT_FINITE, DenseRows
from dpsparse.engine.threads import threads

try:
    import dask
    import dask.array as da
    from dask.core import flatten
    from distributed import futures_of, wait
except ImportError:
    raise ImportError("dask arrays and data frames need dask: pip install 'dpsparse[dask]'") from None

NOT_AS_DECLARED = "a piece of X has not the shape or the numbers that X declares; persist X, or repair its metadata"


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
        self.persisted = {future.key for future in futures_of(X)}.issuperset(flatten(X.__dask_keys__()))
        pieces = np.ravel(X.to_delayed())
        if np.isnan(lengths).any():
            lengths = dask.compute(*[dask.delayed(len, pure=False)(piece) for piece in pieces])
        kept = [(piece, length) for piece, length in zip(pieces, lengths, strict=True) if length]
        self.pieces, self.lengths = zip(*kept, strict=True) if kept else ((), ())
        self.shape = (sum(self.lengths), X.shape[1])
        self.form = (X.shape[1], self.dtype)

    def responses(self, y):
        """Responses, an array or a dask array, in float64 and in the pieces of the features; they are computed once."""
        y = da.from_array(y, chunks=(self.lengths,), name=False) if isinstance(y, np.ndarray) else y
        return y.map_blocks(_floats, dtype=np.float64).rechunk((self.lengths,)).persist()

    def rows_with(self, y):
        """The rows with their `responses`."""
        return DaskRows(self, y)


def of_known_length(y):
    """A dask array or series as an array of known length; where it must be computed for that, it is kept."""
    y = y.map_partitions(_floats, meta=(None, "f8")).to_dask_array() if hasattr(y, "to_dask_array") else y
    return y.persist().compute_chunk_sizes() if np.isnan(y.shape).any() else y


def all_finite(y):
    """Whether all of a dask array is finite."""
    count = dask.delayed(_count_not_finite, pure=False)
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

    def ask(self, question, *public):
        """The sum over records that a question asks for, given public numbers."""
        return total(dask.compute(*_tasks(_answer_of_rows, self._pieces, (self._table.form, question, public))))

    def require_finite(self):
        """Raise ValueError with a constant text unless all features are finite."""
        if self.ask(blocks_not_finite):
            raise ValueError(NOT_FINITE)

    def reading(self, grid, *, constant=False, look=True, tell=None):
        """The rows as a pursuit reads them; see `Rows.reading`."""
        return DaskReading(self._pieces, self._table, grid, constant, look)


class DaskReading:
    """One pursuit's reading of rows; the protocol is that of `Reading`.

    What was read of each piece stays where it was read, on shelves: one for each thread of a worker, so that a question
    takes as many tasks as there are threads, however many pieces there are.
    """

    def __init__(self, pieces, table, grid, constant, look):
        self._table, self._grid = table, grid
        self._features = [(X, rows) for X, _, rows in pieces]
        pieces = dask.persist(*_tasks(_open, pieces, (table.form, grid, constant)))
        self._places, self._workers = _places(pieces)
        self._shelves, self._clerks = self._shelved(_shelf, pieces), None
        if look and sum(self._answers(_count_hurt)):
            raise ValueError(NOT_FINITE)

    def add(self, feature, tell=None):
        """Read one more feature."""
        shared = (self._table.form, self._grid.of(feature), feature)
        # Features that workers hold already need no task each; others must not all be there at the same time.
        columns = [X for X, _ in self._features]
        if not self._table.persisted:
            columns = _tasks(_column, self._features, shared)
        self._shelves = self._shelved(_add, columns, self._shelves, [shared] * len(self._places))
        self._clerks = None

    def ask(self, question, *public):
        """The sum over records that a question asks for, given public numbers."""
        return total(self._answers(_answer, question, *public))

    def scores(self, center, effects, bound, tell=None):
        """Sizes of the sums that `questions.pick_sums` asks for; see `Reading.scores`."""
        return abs(self.ask(pick_sums, center, effects, bound))

    def _answers(self, function, *public):
        """Answers of the shelves: of quick clerks on a cluster; of tasks elsewhere, and where a clerk is lost."""
        if futures_of(self._shelves):
            try:
                self._clerks = self._clerks or self._hired()
                asked = [clerk.answer(function, *public) for clerk in self._clerks]
                return [answer.result() for answer in asked]
            except Exception:
                # With a worker its shelves are lost too, and dask makes them anew. Any other trouble comes again below.
                self._clerks = None
        task = dask.delayed(function, pure=False)
        return dask.compute(*[task(shelf, *public) for shelf in self._shelves], optimize_graph=False)

    def _hired(self):
        futures = futures_of(self._shelves)
        client = futures[0].client
        hire = partial(client.submit, _Clerk, actor=True, pure=False, allow_other_workers=True)
        return client.gather([hire(shelf, workers=[at]) for shelf, at in zip(futures, self._workers, strict=True)])

    def _shelved(self, function, pieces, *shelves):
        task = dask.delayed(function, pure=False)
        places = zip(self._places, *shelves, strict=True)
        return dask.persist(*[task(*shelf, *[pieces[k] for k in place]) for place, *shelf in places])


def _places(pieces):
    """Which pieces stand on each shelf, those that a worker has, divided among its threads; and the workers."""
    futures = futures_of(pieces)
    if not futures:
        return [[k] for k in range(len(pieces))], [None] * len(pieces)
    wait(futures)
    client = futures[0].client
    holders, threads_of = client.who_has(futures), client.nthreads()
    held = defaultdict(list)
    for k, piece in enumerate(pieces):
        held[next(iter(holders.get(piece.key, ())), None)].append(k)
    shelves = [
        (places[first :: threads_of.get(worker, 1)], worker)
        for worker, places in held.items()
        for first in range(threads_of.get(worker, 1))
    ]
    return tuple(zip(*[shelf for shelf in shelves if shelf[0]], strict=True))


def _tasks(function, pieces, shared):
    """A task for each piece. What they share is a task too, so that it travels once and not with every piece."""
    shared = dask.delayed(shared, traverse=False, pure=False)
    task = dask.delayed(function, pure=False)
    return [task(*piece, shared) for piece in pieces]


# What follows runs on the workers.

# Workers give what they free back at once, so large arrays are slow to come by: these fit in 64 kB for a few columns.
BLOCK_RECORDS = 2**11


@dataclass(frozen=True)
class _Piece:
    """Some records as a pursuit reads them, and whether one has a feature that is not finite."""

    rows: slice
    records: Records
    hurt: int

    def __sizeof__(self):
        # So dask knows what it would cost to send a piece elsewhere.
        columns = [array for column in self.records.columns for array in (column.units, column.bounded)]
        arrays = [self.records.y, *columns, *vars(self.records.levels).values()]
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays)


@contextmanager
def _alone():
    """One thread, since dask runs as many tasks as there are; and no warning, which would tell of a record."""
    with threads(1), np.errstate(all="ignore"):
        yield


def _rows(X, form, y=None):
    n_features, dtype = form
    try:
        X = X.to_numpy(dtype=dtype) if hasattr(X, "to_numpy") else np.asarray(X, dtype=dtype)
    except (TypeError, ValueError):
        raise ValueError(NOT_AS_DECLARED) from None
    y = np.zeros(len(X)) if y is None else y
    if X.shape != (len(y), n_features):
        raise ValueError(NOT_AS_DECLARED)
    return DenseRows(X, y)


def _answer_of_rows(X, y, rows, shared):
    form, question, public = shared
    with _alone():
        return _rows(X, form, y).take(rows).ask(question, *public)


def _floats(y):
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(NOT_AS_DECLARED) from None


def _count_not_finite(y):
    return int(not np.isfinite(y).all())


def _open(X, y, rows, shared):
    form, grid, constant = shared
    with _alone():
        read = _rows(X, form, y).take(rows)
        columns = (Column.of(np.ones_like(read.y)),) if constant else ()
        try:
            levels, hurt = read.prepared(grid), 0
        except ValueError:
            levels, hurt = read.prepared(grid, look=False), 1
        return _Piece(rows, Records(read.y, levels, columns), hurt)


class _Clerk:
    """Answers for a shelf without the scheduler's help: a task takes several times as long to come about."""

    def __init__(self, shelf):
        self._shelf = shelf

    def answer(self, function, *public):
        """What the function makes of the shelf."""
        return function(self._shelf, *public)


def _shelf(*pieces):
    return pieces


def _count_hurt(shelf):
    return sum(piece.hurt for piece in shelf)


def _column(X, rows, shared):
    form, grid, feature = shared
    with _alone():
        return Column.of(grid.units(_rows(X, form).take(rows).column(feature)))


def _add(shelf, shared, *columns):
    return tuple(map(partial(_with_column, shared), shelf, columns))


def _with_column(shared, piece, column):
    column = column if isinstance(column, Column) else _column(column, piece.rows, shared)
    if len(column.units) != len(piece.records.y):
        # One value would be taken for every record's.
        raise ValueError(NOT_AS_DECLARED)
    return replace(piece, records=replace(piece.records, columns=(*piece.records.columns, column)))


def _answer(shelf, question, *public):
    with _alone():
        return total(
            question(piece.records.take(slice(start, start + BLOCK_RECORDS)), *public)
            for piece in shelf
            for start in range(0, len(piece.records.y), BLOCK_RECORDS)
        )
