"""Rows in memory, dense or sparse, and the sums over them.

`Rows` is what an algorithm sees of the data: it can be divided in disjoint parts, asked for the residuals of a
sparse linear model, and for weighted sums of clipped features. The sums are exact integers (`fixed_point`).
"""

import numpy as np
from scipy import sparse

from dpsparse.engine.fixed_point import check_exact
from dpsparse.engine.gpu import gpu_rows_of, is_on_gpu
from dpsparse.engine.kernels import weighted_level_sums

NOT_FINITE = "Input contains NaN or infinity; the data must be finite: drop such records or fill in public constants"

# Cells read at a time: small enough for the cache, large enough to hide Python's overhead.
BLOCK_CELLS = 2**16


def rows_of(X, y, block_cells=BLOCK_CELLS):
    """The rows of a dense or CSR matrix, or of one on a GPU, and their responses, as the engine for that storage."""
    if is_on_gpu(X):
        return gpu_rows_of(X, y)
    return (SparseRows if sparse.issparse(X) else DenseRows)(X, y, slice(None), block_cells)


class Rows:
    """A set of rows of X with their responses.

    Parameters
    ----------
    X : ndarray or CSR matrix
        Never copied.
    y : ndarray
        Responses in float64.
    rows : slice
        Which rows of X and y belong to this set.
    block_cells : int
        Cells to read at a time; it cannot change a bit of a result.
    """

    def __init__(self, X, y, rows, block_cells):
        self.X, self.rows, self.block_cells = X, rows, block_cells
        self._all_y = y
        self.y = y[rows]
        self.n_records, self.n_features = len(self.y), X.shape[1]
        check_exact(self.n_records)

    def part(self, index, of):
        """Every `of`-th row from row `index` on: part `index` of `of` disjoint parts."""
        return type(self)(self.X, self._all_y, slice(index, None, of), self.block_cells)

    def residuals(self, coef, support, features):
        """Responses minus predictions, in float64, one feature after another in the order of `support`.

        Elementwise and in one fixed order, so that a record's residual cannot depend on the other records.

        Parameters
        ----------
        coef : ndarray of shape (n_features,)
            Zero outside the support.
        support : sequence of int
            The features to read.
        features : callable
            Turns a raw column (values, column index) into what the prediction uses.
        """
        residual = self.y
        with np.errstate(all="ignore"):
            for j in support:
                residual = residual - features(self.column(j), j) * float(coef[j])
        return residual


class DenseRows(Rows):
    """Rows of an ndarray in either memory order."""

    def prepared(self, grid):
        """The rows as levels in int8, a byte a cell, for several sums on the same grid."""
        X = self.X[self.rows]
        levels = np.empty(X.shape, dtype=np.int8)
        for rows, columns in self._blocks(X):
            levels[rows, columns] = grid.levels(X[rows, columns], columns)
        return DenseLevels(levels)

    def _blocks(self, X):
        """Blocks that follow the memory order: columns of a Fortran array, rows of any other."""
        n, d = X.shape
        if X.strides[0] < X.strides[1]:
            step = max(1, self.block_cells // n)
            return [(slice(None), slice(start, start + step)) for start in range(0, d, step)]
        step = max(1, self.block_cells // d)
        return [(slice(start, start + step), slice(None)) for start in range(0, n, step)]

    def column(self, j):
        """Raw values of a feature."""
        return self.X[self.rows, j]

    def weighted_sums(self, grid, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        X = self.X[self.rows]
        sums = np.zeros(self.n_features)
        for rows, columns in self._blocks(X):
            sums[columns] += weights[rows] @ grid.levels(X[rows, columns], columns).astype(np.float64, copy=False)
        return sums.astype(np.int64)


class DenseLevels:
    """Feature levels kept for the length of a fit. They depend on the budget's clip, so they are never a file."""

    def __init__(self, levels):
        self._levels = levels

    def weighted_sums(self, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        return weighted_level_sums(self._levels, weights.astype(np.int32))


class SparseRows(Rows):
    """Rows of a canonical CSR matrix: time and memory in proportion to what is stored."""

    def prepared(self, grid):
        """The rows on a grid. Nothing is kept: a pass costs what is stored, no more."""
        return SparseLevels(self, grid)

    def column(self, j):
        """Raw values of a feature, the unstored ones as 0."""
        stop = self.X.shape[0]
        values = np.zeros(stop, dtype=self.X.dtype)
        found = np.flatnonzero(self.X.indices == j)
        values[np.searchsorted(self.X.indptr, found, side="right") - 1] = self.X.data[found]
        return values[self.rows]

    def weighted_sums(self, grid, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        at_zero = grid.levels(np.zeros((1, self.n_features), dtype=self.X.dtype))[0].astype(np.float64)
        sums = at_zero * weights.sum()
        rows = np.arange(self.X.shape[0])[self.rows]
        ends = np.cumsum(self.X.indptr[rows + 1] - self.X.indptr[rows])
        start, stored = 0, 0
        while start < len(rows):
            limit = stored + max(self.block_cells, self.n_features)
            stop = max(start + 1, int(np.searchsorted(ends, limit, side="right")))
            block = self.X[rows[start:stop]]
            levels = grid.levels(block.data, block.indices).astype(np.float64, copy=False)
            moved = (levels - at_zero[block.indices]) * np.repeat(weights[start:stop], np.diff(block.indptr))
            sums += np.bincount(block.indices, weights=moved, minlength=self.n_features)
            start, stored = stop, int(ends[stop - 1])
        return sums.astype(np.int64)


class SparseLevels:
    """Sparse rows and the grid they are read on."""

    def __init__(self, rows, grid):
        self._rows, self._grid = rows, grid

    def weighted_sums(self, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        return self._rows.weighted_sums(self._grid, weights)
