"""Whether a column may name people with several rows each, for the eyes of the data's curator only.

Values that repeat are names, places or quantities, and no rule tells them apart for certain: each sign here is one of
names. The numbers are of 2,102 public tables of R, where 3,913 columns of text or whole numbers repeat.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.threads import parallel_map
from dpsparse.io.cells.column_cells import texts_of
from dpsparse.io.cells.grammar import Kind

if TYPE_CHECKING:
    from dpsparse.io.cells.block_table import BlockTable

# Different values, and rows a value on average, of columns that are looked at.
MANY, ROWS_A_VALUE = 20, (1.2, 50.0)
# The rows of a value lie together (runs of equal cells for each value), or all values have about as many rows (the
# largest number over the average): 778 columns, most of them names of people, schools, firms, places or dates.
_RUNS_A_VALUE, _EVEN = 1.05, 1.25
# The words of a column's name: the last one, or all of it.
_CALLED_AS_IDS = re.compile(
    "(.* )?(id|ids|pid|uid|uuid|ssn|subjid|usubjid|patid|caseid|hhid|famid)|"
    "person|individual|participant|respondent|subject|patient"
)
# These may also be of ids, or say whether somebody is one.
_CALLED_SO = re.compile("people|customer|client|user|employee|worker|member|student|pupil|child|household|family")
# More texts than categories are.
_TEXTS = 100
# Numbers with equal steps, nearly all, where as many drawn at random would leave gaps, at least so many: 13 columns.
_EQUAL_STEPS, _GAPS = 0.9, 10.0
# Another column is constant for each value: how much more often two rows of a value agree in it than a row of a value
# and one of the next, where 1 is always. Those of the next agree as often as any two rows, or not much more, as numbers
# do of which it is a coarser one, and not nearly always. No value has more than a part of the rows. Columns and rows
# that are looked at. That is so of 3 % of the columns of numbers that no other sign marks.
_CONSTANT, _NEAR, _CHANCE, _LARGEST, _COLUMNS, _ROWS = 0.8, 0.3, 0.95, 0.1, 30, 20_000
_EMPTY = np.iinfo(np.int64).min


class People:
    """Looks for columns that name people. Some columns are at hand, which may be constant for a person."""

    def __init__(self, table: "BlockTable", columns: Sequence[str]) -> None:
        self._table, self._others = table, list(columns)[: _COLUMNS + 1]
        self._known: dict[str, NDArray[np.int64]] = {}

    def may_have_names(self, column: str, *, is_text: bool) -> bool:
        """Whether the values of a column repeat as names of people do."""
        cells: NDArray[Any] = self._codes(column) if is_text else self._table.numbers([column], [Kind.number])[:, 0]
        rows = np.flatnonzero(cells != _EMPTY if is_text else np.isfinite(cells))
        values, places, counts = np.unique(cells[rows], return_inverse=True, return_counts=True)
        runs = 1 + np.count_nonzero(places[1:] != places[:-1])
        return bool(
            runs <= _RUNS_A_VALUE * len(values)
            or counts.max() <= _EVEN * counts.mean()
            or is_called_so(column)
            or (len(values) >= _TEXTS if is_text else _are_counted_off(values, counts))
            or (counts.max() <= _LARGEST * len(rows) and self._has_a_constant(column, rows, places, counts))
        )

    def _has_a_constant(
        self, column: str, rows: NDArray[np.int64], places: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> bool:
        """Whether another column is nearly constant for each value."""
        # The values in the middle, with their neighbours, are enough.
        from_middle = np.abs(np.cumsum(counts) - len(rows) / 2)
        kept = from_middle[places] <= _ROWS / 2
        others = [other for other in self._others if other != column]
        return any(_excess(places[kept], self._codes(other)[rows[kept]]) >= _CONSTANT for other in others)

    def _codes(self, column: str) -> NDArray[np.int64]:
        """A number for each text of a column."""
        if column in self._known:
            return self._known[column]
        codes = np.empty(self._table.n_records, dtype=np.int64)

        def fill(block: Any) -> None:
            places, texts = texts_of(self._table.kept(block, [column])[1][0])
            codes[self._table.rows_of(block)] = np.array([*map(hash, texts), _EMPTY], dtype=np.int64)[places]

        for _ in parallel_map(fill, self._table.blocks):
            pass
        if column in self._others:
            self._known[column] = codes
        return codes


def is_called_so(column: str) -> bool:
    """Whether a column is called as identifiers and people are.

    Examples
    --------
    >>> [name for name in ("patient_id", "SUBJID", "personId", "Student", "patient_age", "paid") if is_called_so(name)]
    ['patient_id', 'SUBJID', 'personId', 'Student']
    """
    return is_called_as_ids(column) or _CALLED_SO.fullmatch(_words(column)) is not None


def is_called_as_ids(column: str) -> bool:
    """Whether a column is called as nothing but identifiers of people and rows is.

    Examples
    --------
    >>> [name for name in ("patient_id", "Patient", "Student", "child") if is_called_as_ids(name)]
    ['patient_id', 'Patient']
    """
    return _CALLED_AS_IDS.fullmatch(_words(column)) is not None


def _words(column: str) -> str:
    return " ".join(re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", column)).lower()


def _are_counted_off(values: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    """Whether numbers have equal steps, and fewer gaps than if as many were drawn at random."""
    equal = np.unique(np.diff(values), return_counts=True)[1].max()
    gaps, expected = len(values) - 1 - equal, len(values) * np.exp(-counts.mean())
    return bool(equal >= _EQUAL_STEPS * (len(values) - 1) and expected >= _GAPS and gaps <= expected / 2)


def _excess(places: NDArray[np.int64], codes: NDArray[np.int64]) -> float:
    """How much more often two rows of a value agree than one of it and one of the next, averaged over values."""
    there = codes != _EMPTY
    _, values, counts = np.unique(places[there], return_inverse=True, return_counts=True)
    kinds, codes = np.unique(codes[there], return_inverse=True)
    # A column with as many values is the same thing in other units.
    if np.count_nonzero(counts > 1) < MANY or not 2 <= len(kinds) <= len(counts) / 2:
        return 0.0
    pairs, rows = np.unique(values * len(kinds) + codes, return_counts=True)
    value = pairs // len(kinds)
    within = np.bincount(value, rows * (rows - 1))[counts > 1] / (counts * (counts - 1))[counts > 1]
    following = np.minimum(np.searchsorted(pairs, pairs + len(kinds)), len(pairs) - 1)
    shared = np.where(pairs[following] == pairs + len(kinds), rows * rows[following], 0)
    between = np.bincount(value, shared)[:-1] / (counts[:-1] * counts[1:])
    chance = float(np.square(np.bincount(codes) / len(codes)).sum())
    near = float(between.mean())
    if near > _CHANCE or near - chance > _NEAR * (1 - chance):
        return 0.0
    return (float(within.mean()) - near) / (1 - near)
