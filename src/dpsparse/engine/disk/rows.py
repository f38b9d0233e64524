"""Rows whose features are read from a disk block by block.

The responses and the few selected columns are held in memory. The features are read once, and kept as levels of a byte
each as far as memory allows; the other blocks are read again in each pass. While threads work on some blocks
the system reads the next.
"""

import math

import numpy as np

from dpsparse.engine import config
from dpsparse.engine.cpu.dense import (
    DenseRows,
    QuantizedDense,
    empty_levels,
    feature_sums,
    has_nonfinite,
    round_features,
)
from dpsparse.engine.cpu.rows import LocalRows, LocalSession
from dpsparse.engine.disk.memory import available_bytes
from dpsparse.engine.protocols import NOT_FINITE
from dpsparse.engine.queries import total
from dpsparse.engine.threads import ALL, n_threads, parallel_map


class DiskRows(LocalRows):
    """Rows of a source, from row `first` on, `step` apart.

    Parameters
    ----------
    source : FeatureSource
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
        """Sum what a query gives over the rows; every row of the file is read."""

        def evaluate_block(k):
            rows = blocks[k][0]
            mine = slice((self._first - rows.start) % self._step, None, self._step)
            return query(DenseRows(self.source.cells(blocks[k])[mine], self._all_y[rows][mine]), *public)

        blocks = [(rows, ALL) for rows in self.source.row_blocks() if self._has(rows)]
        return total(_each_block(self.source, blocks, evaluate_block))

    def _has(self, rows):
        return rows.start + (self._first - rows.start) % self._step < rows.stop

    def column(self, j, on_progress=None):
        """Raw values of a feature."""
        return self.source.columns([j], on_progress)[:, 0]

    def session(self, quantizer, *, constant=False, check_finite=True, on_progress=None):
        """Open a session; see `protocols.Rows`."""
        quantized = QuantizedDisk(self.source, quantizer, check_finite, on_progress)
        return DiskSession(self, quantizer, constant, quantized)


class DiskSession(LocalSession):
    """A session that reports its progress."""

    def add(self, feature, on_progress=None):
        """Read one more feature."""
        self._append(self._quantizer.units(self._rows.column(feature, on_progress), feature))


class QuantizedDisk:
    """Feature levels of the blocks for which there is memory; the others are computed again in each pass.

    Raises ValueError, with a constant text, if the features are not all finite and `check_finite` is set.
    """

    def __init__(self, source, quantizer, check_finite, on_progress):
        self._source, self._quantizer, self._blocks = source, quantizer, source.blocks()
        cells = np.cumsum([_n_cells(block, source.shape) for block in self._blocks])
        room = np.searchsorted(cells, config.current.disk_memory_share * available_bytes(), side="right")

        def quantize(k):
            X = source.cells(self._blocks[k])
            if k >= room:
                return None, has_nonfinite(X)
            levels = empty_levels(X)
            return QuantizedDense(levels), round_features(X, quantizer.of(self._blocks[k][1]), levels)

        self._kept, nonfinite = zip(*_each_block(source, self._blocks, quantize, on_progress), strict=True)
        if check_finite and any(nonfinite):
            raise ValueError(NOT_FINITE)

    def weighted_sums(self, weights, on_progress=None):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""

        def add(k):
            rows, columns = self._blocks[k]
            if self._kept[k] is not None:
                return self._kept[k].weighted_sums(weights[rows])
            return feature_sums(self._source.cells(self._blocks[k]), self._quantizer.of(columns), weights[rows])

        sums = np.zeros(self._source.shape[1], dtype=np.int64)
        for k, block_sums in enumerate(_each_block(self._source, self._blocks, add, on_progress, self._kept)):
            sums[self._blocks[k][1]] += block_sums
        return sums


def _each_block(source, blocks, function, on_progress=None, kept=()):
    """Yield the results of a function of each block's number, in order; later blocks are prefetched unless kept."""
    reach = 2 * n_threads()

    def run(k):
        soon = k + reach
        if soon < len(blocks) and not any(kept[soon : soon + 1]):
            source.prefetch(blocks[soon])
        return function(k)

    for k, result in enumerate(parallel_map(run, range(len(blocks)))):
        if on_progress:
            on_progress((k + 1) / len(blocks))
        yield result


def _n_cells(block, shape):
    return math.prod(len(range(*part.indices(size))) for part, size in zip(block, shape, strict=True))
