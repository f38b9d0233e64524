"""What is wrong with the cells and lines of a raw table, for the eyes of the data's curator only.

All of this depends on the records: nothing of it may be published, or decide what a fit is told.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.threads import parallel_map
from dpsparse.io.cells.column_cells import BLANK
from dpsparse.io.cells.grammar import CellClass, Kind
from dpsparse.io.cells.person_columns import MANY, ROWS_A_VALUE, People
from dpsparse.io.cells.row_selection import TableBlock

if TYPE_CHECKING:
    from dpsparse.io.cells.block_table import BlockTable

Found: TypeAlias = tuple[tuple[str | None, str], int, list[int]]
"""A column and what is wrong with it, how often, and where first."""
MISSING = "missing"
_EXPECTED = {
    Kind.number: "not a plain number",
    Kind.number_grouped: "not a number",
    Kind.number_comma: "not a number with a decimal comma",
    Kind.boolean: "neither true nor false",
    Kind.date_ymd: "not a date as 2024-01-31",
    Kind.date_dmy: "not a date as 31/01/2024",
    Kind.date_mdy: "not a date as 01/31/2024",
}


@dataclass(frozen=True)
class FaultGroup:
    """Cells or lines with the same fault.

    `column`: the column; None where whole lines are meant.
    `what`: the fault, in words that quote no cell.
    `count`: how many there are.
    `lines`: where the first of them are: lines of a CSV file, whose first line is 1, or else records from 1 on.
    """

    column: str | None
    what: str
    count: int
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Faults:
    """The faults of a table; iterating gives the first ones as (line, column, what), in the order of lines.

    `groups`: faulty lines, then unreadable and missing cells column by column.
    `remarks`: what seems odd about a column, or about the table as a whole.
    """

    groups: tuple[FaultGroup, ...]
    remarks: tuple[tuple[str | None, str], ...]

    def __iter__(self) -> Iterator[tuple[int, str | None, str]]:
        faults = [(line, group.column, group.what) for group in self.groups for line in group.lines]
        return iter(sorted(faults, key=lambda fault: fault[0]))


def find_faults(table: "BlockTable", columns: Sequence[str], kinds: Sequence[Kind], most: int) -> Faults:
    """The faults of some columns of a table.

    A group lists `most` lines at most.
    """
    counts: dict[tuple[str | None, str], int] = {}
    lines: dict[tuple[str | None, str], tuple[int, ...]] = {}
    for found in parallel_map(lambda block: _in_block(table, block, columns, kinds, most), table.blocks):
        for key, count, first in found:
            counts[key] = counts.get(key, 0) + count
            lines[key] = (*lines.get(key, ()), *first)[:most]
    order = {None: -1} | {column: place for place, column in enumerate(columns)}
    keys = sorted(counts, key=lambda key: (order[key[0]], key[1]))
    groups = tuple(FaultGroup(*key, counts[key], lines[key]) for key in keys)
    return Faults(groups, (*table.remarks(groups), *_identifiers(table, columns)))


def _in_block(
    table: "BlockTable", block: TableBlock, columns: Sequence[str], kinds: Sequence[Kind], most: int
) -> list[Found]:
    """Faults of a block: a column and what is wrong, how often, and where first."""
    rows, cells = table.kept(block, columns)
    faults: list[Found] = []
    for column, kind, of_column in zip(columns, kinds, cells, strict=True):
        classes = of_column.classes()
        if column == columns[0]:
            blank = rows[classes == BLANK]
            faults += _grouped(None, table.line_faults(block, blank), blank, table, most)
        wrong = ~np.isin(classes, [BLANK, CellClass.EMPTY, *kind.reads])
        for mask, what in ((wrong, _EXPECTED.get(kind, "")), (classes == CellClass.EMPTY, MISSING)):
            places = rows[mask]
            faults += _grouped(column, [what] * len(places), places, table, most)
    return faults


def _grouped(
    column: str | None, faults: Sequence[str], places: NDArray[np.int64], table: "BlockTable", most: int
) -> Iterator[Found]:
    for what in sorted(set(faults)):
        where = [table.line_of(place) for place, fault in zip(places.tolist(), faults, strict=True) if fault == what]
        yield (column, what), len(where), where[:most]


def _identifiers(table: "BlockTable", columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Columns of text, or of whole numbers, in which hardly any value occurs twice, or which may name people."""
    counts, people = table.class_counts(columns), People(table, columns)
    for column, classes, distinct in zip(columns, counts, table.distinct_counts(columns).tolist(), strict=True):
        filled = int(classes.sum() - classes[CellClass.EMPTY])
        is_text = classes[CellClass.TEXT] > 0.9 * filled
        if distinct < MANY or not (is_text or _are_whole(table.numbers([column], [Kind.number]), filled)):
            continue
        if distinct >= (0.9 if is_text else 1.0) * filled:
            yield column, "hardly any value occurs twice: it may be an identifier, which a fit has no use for"
        elif ROWS_A_VALUE[0] <= filled / distinct <= ROWS_A_VALUE[1] and people.may_have_names(column, is_text=is_text):
            yield (
                column,
                f"it has {distinct:,} values in {table.n_records:,} rows: if it names people, a person has several "
                f"rows, and without --person {column} (person={column!r} in Python), or --records-per-person, the "
                "guarantee is to a row and not to a person",
            )


def _are_whole(numbers: NDArray[np.float64], count: int) -> bool:
    return int((np.remainder(numbers, 1) == 0).sum()) == count
