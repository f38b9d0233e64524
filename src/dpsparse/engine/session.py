"""Rows as a pursuit reads them: responses, feature levels on one grid, and the chosen features as columns.

A question is a function of `Records` and public numbers whose answer is a sum over the records, in integers. It is put
to blocks of records, in threads here and on the workers of a cluster elsewhere, and the answers are added.
"""

from dataclasses import dataclass

import numpy as np

from dpsparse.engine.arrays import module_of
from dpsparse.engine.queries import pick_weights
from dpsparse.engine.threads import parallel_map
from dpsparse.engine.vector_sums import bounded


def total(answers):
    """The sum of the answers to one question: arrays of integers, or tuples of them."""
    answers = iter(answers)
    found = next(answers)
    for answer in answers:
        found = tuple(map(np.add, found, answer)) if isinstance(found, tuple) else found + answer
    return found


@dataclass(frozen=True)
class Column:
    """A chosen feature in public units: as it is, and with NaN as 0 and values cut."""

    units: np.ndarray
    bounded: np.ndarray

    @classmethod
    def of(cls, units):
        """A column of these values."""
        return cls(units, bounded(units))

    def take(self, rows):
        """Some of the records."""
        return Column(self.units[rows], self.bounded[rows])


@dataclass(frozen=True)
class Records:
    """Some records: responses, levels of all features (None where they are elsewhere), columns of the chosen ones."""

    y: np.ndarray
    levels: object
    columns: tuple

    def take(self, rows):
        """Some of these records."""
        levels = None if self.levels is None else self.levels.take(rows)
        return Records(self.y[rows], levels, tuple(column.take(rows) for column in self.columns))

    def bounded(self, positions):
        """The columns at some positions, as one array with NaN as 0 and values cut."""
        return module_of(self.y).stack([self.columns[k].bounded for k in positions])

    def residuals(self, center, effects):
        """Responses minus predictions in float64, one feature after another in one fixed order."""
        with np.errstate(all="ignore"):
            residual = self.y - center
            for column, effect in zip(self.columns, effects, strict=True):
                residual = residual - column.units * float(effect)
        return residual


class Reading:
    """One pursuit's reading of rows; see `Rows.reading`."""

    def __init__(self, rows, grid, constant, levels):
        self._rows, self._grid, self._levels = rows, grid, levels
        self.n_records, self.n_features = rows.n_records, rows.n_features
        self._open(rows.y)
        if constant:
            self._append(self._ones())

    def _open(self, y):
        self._records = Records(y, None, ())

    def _ones(self):
        return module_of(self._rows.y).ones_like(self._rows.y)

    def add(self, feature, tell=None):
        """Read one more feature; `tell` is given the share that is done, by those that take long."""
        self._append(self._grid.units(self._rows.column(feature), feature))

    def _append(self, column):
        before = self._records
        if len(column) != len(before.y):
            # One value would be taken for every record's.
            raise ValueError("a column and the responses are not as many: X changed while it was read")
        self._records = Records(before.y, before.levels, (*before.columns, Column.of(column)))

    def close(self):
        """Nothing more is asked: what others keep for this reading may go."""

    def evaluate(self, query, *public):
        """The sum over records that a question asks for, given public numbers."""
        return total(self._answers(query, *public))

    def _answers(self, query, *public):
        blocks = self._rows.blocks()
        if len(blocks) < 2:
            return [query(self._records, *public)]
        return parallel_map(lambda block: query(self._records.take(block), *public), blocks)

    def scores(self, center, effects, bound, tell=None):
        """Sizes of the sums that `questions.pick_sums` asks for.

        Weights of records first, then a pass over levels in their own order.
        """
        weights = np.concatenate(list(self._answers(pick_weights, center, effects, bound)))
        return abs(self._levels.weighted_sums(weights, tell))
