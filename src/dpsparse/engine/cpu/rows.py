"""Rows in memory, dense or sparse, and the sums over them.

`Rows` is what an algorithm sees of the data: it can be divided in disjoint parts, and asked questions whose answers are
sums over records. The sums are exact integers (`fixed_point`), so a question may be put to blocks of rows, in threads
or on other machines, and the answers added.
"""

import numpy as np
from scipy import sparse

from dpsparse.data.on_disk import OnDisk
from dpsparse.data.streamed import gpu_rows_of, is_on_gpu
from dpsparse.engine.cpu import dispatch
from dpsparse.engine.cpu.passes import (
    DenseLevels,
    block_size,
    blocks_of,
    empty_levels,
    feature_sums,
    not_finite,
    public_numbers,
    round_features,
    subtract_features,
)
from dpsparse.engine.disk.sources import slices
from dpsparse.engine.quantize import check_exact
from dpsparse.engine.queries import blocks_not_finite
from dpsparse.engine.session import Reading, total
from dpsparse.engine.threads import n_threads, parallel_map, share

NOT_FINITE = "Input contains NaN or infinity; the data must be finite: drop such records or fill in public constants"

# Records worked on at a time: few enough for the cache, enough to hide Python's overhead.
LEAST_RECORDS, MOST_RECORDS = 2**11, 2**15


def rows_of(X, y):
    """The rows of a dense or CSR matrix, or of one on a GPU, a disk or a cluster, with y, as the engine for it."""
    if is_on_gpu(X):
        return gpu_rows_of(X, y)
    if isinstance(X, OnDisk):
        from dpsparse.engine.disk.rows import DiskRows

        return DiskRows(X.source, y)
    if hasattr(X, "rows_with"):
        return X.rows_with(y)
    if sparse.issparse(X):
        return SparseRows(X.data, X.indices, X.indptr[:-1], X.indptr[1:], X.shape[1], y)
    return DenseRows(X, y)


class Rows:
    """A set of rows of X with their responses. Subclasses read the features.

    Parameters
    ----------
    y : ndarray
        Responses in float64.
    n_features : int
        Columns of X.
    """

    def __init__(self, y, n_features):
        self.y = y
        self.n_records, self.n_features = len(y), n_features
        check_exact(self.n_records)

    def part(self, index, of):
        """Every `of`-th row from row `index` on: part `index` of `of` disjoint parts."""
        return self.take(slice(index, None, of))

    def blocks(self):
        """Slices that divide the records among threads, for what is computed of a few columns."""
        return slices(self.n_records, share(self.n_records, LEAST_RECORDS, MOST_RECORDS))

    def evaluate(self, query, *public):
        """The sum over records that a question asks for, given public numbers."""
        blocks = self.blocks()
        if len(blocks) < 2:
            return query(self, *public)
        return total(parallel_map(lambda block: query(self.take(block), *public), blocks))

    def reading(self, grid, *, constant=False, look=True, tell=None):
        """The rows as a pursuit reads them.

        Raises ValueError, with a constant text, if a feature is not finite.

        Parameters
        ----------
        grid : FeatureGrid
            The grid of the picks.
        constant : bool
            Whether the columns start with the constant 1.
        look : bool
            False to accept features that are not finite.
        tell : callable or None
            Is given the share that is done, by those that take long.
        """
        return Reading(self, grid, constant, self.prepared(grid, look))

    def require_finite(self):
        """Raise ValueError with a constant text unless all features are finite."""
        if self.evaluate(blocks_not_finite):
            raise ValueError(NOT_FINITE)

    def residuals(self, coef, support, grid):
        """Responses minus predictions, in float64, one feature after another in the order of `support`.

        Elementwise and in one fixed order, so that a record's residual cannot depend on the other records.

        Parameters
        ----------
        coef : ndarray of shape (n_features,)
            Zero outside the support.
        support : sequence of int
            The features to read.
        grid : FeatureGrid
            Gives the units of the features, and clips them; it does not round them.
        """
        residuals = self.y.copy()
        for j in support:
            subtract_features(residuals, self.column(j)[:, None], [0], coef[[j]], grid.of([j]))
        return residuals


class DenseRows(Rows):
    """Rows of an ndarray in either memory order, never copied."""

    def __init__(self, X, y):
        super().__init__(y, X.shape[1])
        self.X = X

    def take(self, rows):
        """Some of the rows."""
        return DenseRows(self.X[rows], self.y[rows])

    def column(self, j):
        """Raw values of a feature."""
        return self.X[:, j]

    def residuals(self, coef, support, grid):
        """Responses minus predictions; all features are read together, so that each page is visited once."""
        residuals, support = self.y.copy(), np.asarray(support, dtype=np.int64)
        subtract_features(residuals, self.X, support, coef[support], grid.of(support))
        return residuals

    def evaluate(self, query, *public):
        """The sum over records that a question asks for; the sums over an array that runs along columns divide it."""
        return query(self, *public) if dispatch.by_columns(self.X) else super().evaluate(query, *public)

    def prepared(self, grid, look=True):
        """The rows as levels in int8, a byte a cell, for several sums on the same grid."""
        out = empty_levels(self.X)
        blocks = blocks_of(self.X)
        bad = list(parallel_map(lambda block: round_features(self.X[block], grid.of(block[1]), out[block]), blocks))
        if look and any(bad):
            raise ValueError(NOT_FINITE)
        return DenseLevels(out)

    def count_not_finite(self):
        """1 if a feature is not finite, 0 otherwise."""
        return not_finite(self.X)

    def weighted_sums(self, grid, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        return feature_sums(self.X, grid, weights)


class SparseRows(Rows):
    """Rows of a canonical CSR matrix: time and memory in proportion to what is stored.

    A zero's level times the sum of the weights stands for the empty cells.

    Parameters
    ----------
    data, indices : ndarray
        Stored cells and their columns, which rise in each row.
    starts, stops : ndarray
        Where each row's cells lie.
    n_features : int
        Columns.
    y : ndarray
        Responses in float64.
    """

    def __init__(self, data, indices, starts, stops, n_features, y):
        super().__init__(y, n_features)
        self.data, self.indices, self.starts, self.stops = data, indices, starts, stops

    def take(self, rows):
        """Some of the rows."""
        starts, stops = self.starts[rows], self.stops[rows]
        return SparseRows(self.data, self.indices, starts, stops, self.n_features, self.y[rows])

    def column(self, j):
        """Raw values of a feature, the unstored ones as 0."""
        values = np.zeros(self.n_records, dtype=self.data.dtype)
        dispatch.run("stored_column", self.data, self.indices, self.starts, self.stops, j, values)
        return values

    def prepared(self, grid, look=True):
        """The stored cells as levels, two bytes each."""
        out = np.empty(len(self.data), dtype=np.int16)
        public = public_numbers(grid, self.data.dtype, self.n_features)
        at_zero = grid_at_zero(grid, self.data.dtype, self.n_features)
        parts = slices(len(out), block_size(len(out), self.data.itemsize))

        def round_part(part):
            return dispatch.run("round_stored", self.data[part], self.indices[part], *public, at_zero, out[part])

        if any(list(parallel_map(round_part, parts))) and look:
            raise ValueError(NOT_FINITE)
        return SparseLevels(out, self.indices, self.starts, self.stops, at_zero)

    def count_not_finite(self):
        """Rows with features that are not finite."""
        cells = self.data[self.starts.min(initial=0) : self.stops.max(initial=0)]
        return int(not np.isfinite(cells).all())

    def weighted_sums(self, grid, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        weights = np.ascontiguousarray(weights, dtype=np.int32)
        at_zero = grid_at_zero(grid, self.data.dtype, self.n_features)
        sums = at_zero * weights.sum(dtype=np.int64)
        public = public_numbers(grid, self.data.dtype, self.n_features)
        rows = (self.indices, self.starts, self.stops, weights)
        dispatch.run("add_stored_cells", self.data, *public, at_zero, *rows, sums)
        return sums


def grid_at_zero(grid, dtype, n_features):
    """The level of an empty cell of each feature."""
    return grid.levels(np.zeros((1, n_features), dtype=dtype))[0].astype(np.int16)


class SparseLevels:
    """Levels of stored cells, less those of empty ones."""

    def __init__(self, levels, indices, starts, stops, at_zero):
        self._levels, self._indices, self._at_zero = levels, indices, at_zero
        self._starts, self._stops = starts, stops

    def weighted_sums(self, weights, tell=None):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        weights = np.ascontiguousarray(weights, dtype=np.int32)

        def add(rows):
            sums = np.zeros(len(self._at_zero), dtype=np.int64)
            places = (self._indices, self._starts[rows], self._stops[rows])
            dispatch.run("add_stored", self._levels, *places, weights[rows], sums)
            return sums

        # Each thread has sums of its own, which may be many: one block for each.
        rows = slices(len(weights), max(LEAST_RECORDS, -(-len(weights) // n_threads())))
        return sum(parallel_map(add, rows), start=self._at_zero * weights.sum(dtype=np.int64))
