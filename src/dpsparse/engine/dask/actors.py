"""What the workers of a cluster do with pieces of a table: open them, read columns, and answer questions in sums."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpsparse.engine.cpu.rows import DenseRows
from dpsparse.engine.session import Column, Records, total
from dpsparse.engine.threads import parallel_map, threads

NOT_AS_DECLARED = "a piece of X has not the shape or the numbers that X declares; persist X, or repair its metadata"

# Workers give what they free back at once, so large arrays are slow to come by: these fit in 64 kB for a few columns.
BLOCK_RECORDS = 2**11


@dataclass(frozen=True)
class Piece:
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


def answer_of_rows(X, y, rows, shared):
    """The answer of some rows of a piece to a question."""
    form, query, public = shared
    with _alone():
        return _rows(X, form, y).take(rows).evaluate(query, *public)


def as_floats(y):
    """Responses in float64."""
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(NOT_AS_DECLARED) from None


def count_not_finite(y):
    """1 if a response is not finite, 0 otherwise."""
    return int(not np.isfinite(y).all())


def open_piece(X, y, rows, shared):
    """Some rows of a piece as a pursuit reads them."""
    form, grid, constant = shared
    with _alone():
        read = _rows(X, form, y).take(rows)
        columns = (Column.of(np.ones_like(read.y)),) if constant else ()
        try:
            levels, hurt = read.prepared(grid), 0
        except ValueError:
            levels, hurt = read.prepared(grid, look=False), 1
        return Piece(rows, Records(read.y, levels, columns), hurt)


class PartitionActor:
    """Answers for some pieces without the scheduler's help: a task takes several times as long to come about.

    Parameters
    ----------
    opening : tuple
        How to open pieces; see `open_piece`.
    pieces : list
        Of Piece, or where the features are held anyway of what `open_piece` makes one of.
    added : list of tuple
        The features that were added: what tells which, and their columns or None.
    threads : int
        How many to use.
    """

    def __init__(self, opening, pieces, added, threads=1):
        self._threads, self._features, self._pieces = threads, None, pieces
        if not isinstance(pieces[0], Piece):
            self._features = [X for X, _, _ in pieces]
            self._pieces = self._each(lambda *piece: open_piece(*piece, opening), *zip(*pieces, strict=True))
        for shared, columns in added:
            self.add(shared, columns)

    def _each(self, function, *values):
        with threads(self._threads):
            return list(parallel_map(lambda each: function(*each), list(zip(*values, strict=True))))

    def add(self, shared, columns=None):
        """Add one feature to what was read of each piece."""
        self._pieces = self._each(partial(_with_column, shared), self._pieces, columns or self._features)

    def answer(self, function, *public):
        """What the function makes of the pieces."""
        with threads(self._threads):
            return function(self._pieces, *public)

    def forget(self):
        """Let go of all pieces."""
        self._pieces = self._features = None


def answer_once(function, public, *post):
    """The answer of a clerk hired for one question."""
    return PartitionActor(*post).answer(function, *public)


def count_hurt(pieces):
    """How many pieces have a feature that is not finite."""
    return sum(piece.hurt for piece in pieces)


def column_of(X, rows, shared):
    """One feature of some rows of a piece."""
    form, grid, feature = shared
    with _alone():
        return Column.of(grid.units(_rows(X, form).take(rows).column(feature)))


def _with_column(shared, piece, column):
    column = column if isinstance(column, Column) else column_of(column, piece.rows, shared)
    if len(column.units) != len(piece.records.y):
        # One value would be taken for every record's.
        raise ValueError(NOT_AS_DECLARED)
    return replace(piece, records=replace(piece.records, columns=(*piece.records.columns, column)))


def answer(pieces, query, *public):
    """The sum over the records of pieces that a question asks for."""
    blocks = [
        (piece.records, slice(start, start + BLOCK_RECORDS))
        for piece in pieces
        for start in range(0, len(piece.records.y), BLOCK_RECORDS)
    ]
    return total(parallel_map(lambda block: query(block[0].take(block[1]), *public), blocks))
