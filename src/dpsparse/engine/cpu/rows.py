"""Base classes of rows and sessions whose responses are in this process, wherever their features are."""

import numpy as np

from dpsparse.engine import config
from dpsparse.engine.arrays import host, module_of
from dpsparse.engine.protocols import NOT_FINITE
from dpsparse.engine.quantize import check_exact
from dpsparse.engine.queries import Column, Records, nonfinite_blocks, pick_weights, total
from dpsparse.engine.threads import items_per_task, parallel_map, slices
from dpsparse.engine.vector_sums import subtract_columns

# Rows that kernels add up before they spill their sums, and rows that they read at a time.
UNITS = (256, 16)


def block_size(count, size):
    """How many of `count` rows or columns of `size` bytes make a block: a multiple of a unit if it is large."""
    block_bytes = config.current.block_bytes
    block = items_per_task(count, max(1, block_bytes // 8 // size), max(1, block_bytes // size))
    unit = next((unit for unit in UNITS if 2 * unit <= block), 1)
    return -(-block // unit) * unit


class LocalRows:
    """A set of rows of X with their responses: the base of `protocols.Rows` here. Subclasses read the features.

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
        """Slices that divide the records among threads, for what is computed from a few columns."""
        sizes = config.current
        return slices(self.n_records, items_per_task(self.n_records, sizes.least_records, sizes.most_records))

    def evaluate(self, query, *public):
        """Sum what a query gives over blocks of rows."""
        blocks = self.blocks()
        if len(blocks) < 2:
            return query(self, *public)
        return total(parallel_map(lambda block: query(self.take(block), *public), blocks))

    def session(self, quantizer, *, constant=False, check_finite=True, on_progress=None):
        """Open a session; see `protocols.Rows`."""
        return LocalSession(self, quantizer, constant, self.quantized(quantizer, check_finite))

    def require_finite(self):
        """Raise ValueError with a constant text unless all features are finite."""
        if self.evaluate(nonfinite_blocks):
            raise ValueError(NOT_FINITE)

    def residuals(self, coef, support, quantizer):
        """Responses minus predictions in float64, one feature after another in the order of `support`.

        Parameters
        ----------
        coef : ndarray of shape (n_features,)
            Zero outside the support.
        support : sequence of int
            The features to read.
        quantizer : Quantizer
            Gives the units of the features, and clips them; it does not round them.
        """
        columns = (quantizer.clipped(self.column(j), j) for j in support)
        with np.errstate(all="ignore"):
            return host(subtract_columns(self.y, columns, (coef[j] for j in support)))


class LocalSession:
    """A `protocols.Session` whose responses and columns are in this process.

    Parameters
    ----------
    rows : Rows
        They have `y`, `column` and `blocks`.
    quantizer : Quantizer
        Gives the units of the columns.
    constant : bool
        Whether the columns start with the constant 1.
    quantized : object
        All features as integers; it has `weighted_sums`.
    """

    def __init__(self, rows, quantizer, constant, quantized):
        self._rows, self._quantizer, self._quantized = rows, quantizer, quantized
        self.n_records, self.n_features = rows.n_records, rows.n_features
        self._open(rows.y)
        if constant:
            self._append(self._ones())

    def _open(self, y):
        self._records = Records(y, None, ())

    def _ones(self):
        return module_of(self._rows.y).ones_like(self._rows.y)

    def add(self, feature, on_progress=None):
        """Read one more feature."""
        self._append(self._quantizer.units(self._rows.column(feature), feature))

    def _append(self, column):
        before = self._records
        if len(column) != len(before.y):
            # NumPy would repeat a single value for every record.
            raise ValueError("a column and the responses differ in length: X changed while it was read")
        self._records = Records(before.y, before.quantized, (*before.columns, Column.of(column)))

    def close(self):
        """Nothing is kept elsewhere."""

    def evaluate(self, query, *public):
        """Sum what a query gives over the records."""
        return total(self._per_block(query, *public))

    def _per_block(self, query, *public):
        blocks = self._rows.blocks()
        if len(blocks) < 2:
            return [query(self._records, *public)]
        return parallel_map(lambda block: query(self._records.take(block), *public), blocks)

    def scores(self, center, effects, bound, on_progress=None):
        """Absolute values of the sums of `queries.pick_sums`.

        The weights of the records come first, then one pass over the quantized features in their memory order.
        """
        weights = np.concatenate(list(self._per_block(pick_weights, center, effects, bound)))
        return abs(self._quantized.weighted_sums(weights, on_progress))
