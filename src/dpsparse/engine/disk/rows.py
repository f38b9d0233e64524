"""Rows whose features are read from a disk piece by piece.

What a pass needs of every record (its response, the few columns that were picked) is held in memory. The features are
read once, and kept as levels of a byte each as far as memory allows; what is not kept is read again in each pass. While
one piece is worked on the next are read.
"""

import math

import numpy as np

from dpsparse.engine.cpu.passes import DenseLevels, empty_levels, feature_sums, not_finite, round_features
from dpsparse.engine.cpu.rows import NOT_FINITE, DenseRows, Rows
from dpsparse.engine.disk.memory import available_bytes
from dpsparse.engine.disk.sources import ALL
from dpsparse.engine.session import Reading, total
from dpsparse.engine.threads import n_threads, parallel_map

# The share of the memory there is that levels may take.
KEPT_SHARE = 0.5


class DiskRows(Rows):
    """Rows of a source, from row `first` on, `step` apart.

    Parameters
    ----------
    source : Source
        The features.
    y : ndarray
        Responses to all its rows, in float64.
    first, step : int
        Which rows these are.
    """

    def __init__(self, source, y, first=0, step=1):
        super().__init__(y[first::step], source.shape[1])
        self.source = source
        self._all_y, self._first, self._step = y, first, step

    def part(self, index, of):
        """Every `of`-th row from row `index` on."""
        return DiskRows(self.source, self._all_y, self._first + index * self._step, self._step * of)

    def evaluate(self, query, *public):
        """The sum over records that a question asks for, given public numbers; it reads every row of the file."""

        def answer(k):
            rows = bands[k][0]
            mine = slice((self._first - rows.start) % self._step, None, self._step)
            return query(DenseRows(self.source.cells(bands[k])[mine], self._all_y[rows][mine]), *public)

        bands = [(rows, ALL) for rows in self.source.bands() if self._has(rows)]
        return total(_one_by_one(self.source, bands, answer))

    def _has(self, rows):
        return rows.start + (self._first - rows.start) % self._step < rows.stop

    def column(self, j, tell=None):
        """Raw values of a feature."""
        return self.source.columns([j], tell)[:, 0]

    def reading(self, grid, *, constant=False, look=True, tell=None):
        """The rows as a pursuit reads them; see `Rows.reading`."""
        return DiskReading(self, grid, constant, DiskLevels(self.source, grid, look, tell))


class DiskReading(Reading):
    """A reading that tells how far it has come."""

    def add(self, feature, tell=None):
        """Read one more feature."""
        self._append(self._grid.units(self._rows.column(feature, tell), feature))


class DiskLevels:
    """Feature levels of the pieces for which there is memory; the others are computed again in each pass.

    Raises ValueError, with a constant text, if the features are not all finite.
    """

    def __init__(self, source, grid, look, tell):
        self._source, self._grid, self._pieces = source, grid, source.pieces()
        cells = np.cumsum([_cells(piece, source.shape) for piece in self._pieces])
        room = np.searchsorted(cells, KEPT_SHARE * available_bytes(), side="right")

        def prepare(k):
            X = source.cells(self._pieces[k])
            if k >= room:
                return None, not_finite(X)
            levels = empty_levels(X)
            return DenseLevels(levels), round_features(X, grid.of(self._pieces[k][1]), levels)

        self._kept, bad = zip(*_one_by_one(source, self._pieces, prepare, tell), strict=True)
        if look and any(bad):
            raise ValueError(NOT_FINITE)

    def weighted_sums(self, weights, tell=None):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""

        def add(k):
            rows, columns = self._pieces[k]
            if self._kept[k] is not None:
                return self._kept[k].weighted_sums(weights[rows])
            return feature_sums(self._source.cells(self._pieces[k]), self._grid.of(columns), weights[rows])

        sums = np.zeros(self._source.shape[1], dtype=np.int64)
        for k, found in enumerate(_one_by_one(self._source, self._pieces, add, tell, self._kept)):
            sums[self._pieces[k][1]] += found
        return sums


def _one_by_one(source, pieces, function, tell=None, kept=()):
    """Results of a function of each piece's number, in order; what is read next is on its way, unless it is kept."""
    reach = 2 * n_threads()

    def run(k):
        soon = k + reach
        if soon < len(pieces) and not any(kept[soon : soon + 1]):
            source.ahead(pieces[soon])
        return function(k)

    for k, result in enumerate(parallel_map(run, range(len(pieces)))):
        if tell:
            tell((k + 1) / len(pieces))
        yield result


def _cells(piece, shape):
    return math.prod(len(range(*part.indices(size))) for part, size in zip(piece, shape, strict=True))
