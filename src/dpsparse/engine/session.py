"""Records as a pursuit sees them, and the session that holds them in this process.

A query (`queries`) is a function of `Records` and public numbers that gives a sum over the records, in integers. It is
evaluated on blocks of records, in threads here and on the workers of a cluster, and the results are added.
"""

from dataclasses import dataclass

import numpy as np

from dpsparse.engine.arrays import module_of
from dpsparse.engine.queries import pick_weights
from dpsparse.engine.threads import parallel_map
from dpsparse.engine.vector_sums import sanitized, subtract_columns


def total(values):
    """The sum of what one query gives for several blocks: arrays of integers, or tuples of them."""
    values = iter(values)
    result = next(values)
    for value in values:
        result = tuple(map(np.add, result, value)) if isinstance(result, tuple) else result + value
    return result


@dataclass(frozen=True)
class Column:
    """A chosen feature in public units: as it is, and with NaN as 0 and huge values cut."""

    units: np.ndarray
    sanitized: np.ndarray

    @classmethod
    def of(cls, units):
        """A column of these values."""
        return cls(units, sanitized(units))

    def take(self, rows):
        """Some of the records."""
        return Column(self.units[rows], self.sanitized[rows])


@dataclass(frozen=True)
class Records:
    """Some records: responses, all features quantized (None where they are elsewhere), columns of the chosen ones."""

    y: np.ndarray
    quantized: object
    columns: tuple

    def take(self, rows):
        """Some of these records."""
        quantized = None if self.quantized is None else self.quantized.take(rows)
        return Records(self.y[rows], quantized, tuple(column.take(rows) for column in self.columns))

    def sanitized(self, positions):
        """The columns at some positions, as one array with NaN as 0 and huge values cut."""
        return module_of(self.y).stack([self.columns[k].sanitized for k in positions])

    def residuals(self, center, effects):
        """Responses minus predictions in float64."""
        with np.errstate(all="ignore"):
            return subtract_columns(self.y - center, (column.units for column in self.columns), effects)


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
