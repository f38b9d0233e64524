"""CSV files as raw tables, whose cells compiled kernels read where these can."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.engine.threads import n_threads, parallel_map, slices
from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.column_cells import Cells, TextCells
from dpsparse.io.cells.faults import FaultGroup
from dpsparse.io.cells.lines import BAD_QUOTES, BAD_TEXT, OTHER_WIDTH, SEPARATORS, Block, Lines, decoded, split
from dpsparse.io.cells.row_selection import TableBlock
from dpsparse.io.tables.table_reader import fingerprint

_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
# Lines that show how often a separator occurs.
_LINES = 1_000


class CsvTable(BlockTable):
    r"""A CSV file. Nothing is declared: kinds are learned, or given by the user.

    `path`: the file. Its first line names the columns.
    `separator`: between cells; None to take it from the first line.
    `encoding`: of the text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dpsparse.io.cells.grammar import Kind
    >>> from dpsparse.io.cells.raw_table import CsvTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("age;fee\n31;1,5\n47\nn/a;2\n")
    ...     table = CsvTable(path)
    ...     print(table.n_records)
    ...     print(table.numbers(["age", "fee"], [Kind.number, Kind.number_comma]))
    3
    [[31.   1.5]
     [ nan  nan]
     [ nan  2. ]]
    """

    def __init__(self, path: str | os.PathLike[str], *, separator: str | None = None, encoding: str = "utf-8") -> None:
        self._lines = Lines(path, separator=separator, encoding=encoding)
        self._lines.check_names()
        self.path, self.names, self.declared = self._lines.path, self._lines.names, {}

    @property
    def dialect(self) -> tuple[str, str]:
        """The separator, printable, and the encoding."""
        return ascii(self._lines.separator)[1:-1], self._lines.encoding

    def fingerprint(self) -> str:
        """A digest that changes when the file does; see `tables.reader.fingerprint`."""
        return fingerprint("CSV", self.names, [self.path])

    @property
    def blocks(self) -> list[Block]:
        """Blocks of whole lines."""
        return self._lines.blocks

    def cells(self, block: TableBlock, columns: Sequence[str]) -> list[Cells]:
        """The cells of some columns in a block."""
        distinct, compiled = list(dict.fromkeys(columns)), compiled_cells()
        places = [self._places[column] for column in distinct]
        if compiled is not None:
            cells = compiled.byte_cells(self._lines, block, places)
        else:
            records, encoding = self._lines.records(block), self._lines.encoding
            cells = [
                TextCells.of(None if record is None else decoded(record[place], encoding) for record in records)
                for place in places
            ]
        known = dict(zip(distinct, cells, strict=True))
        return [known[column] for column in columns]

    def cell_blocks(self, columns: Sequence[str], start: int = 0) -> Iterator[list[Cells]]:
        """The cells of some columns in blocks of any size, from record `start` on; a few blocks are in memory."""
        later = [block for block in self.blocks if block.first + block.n_records > start]
        for some in slices(len(later), n_threads()):
            read = parallel_map(lambda block: self.cells(block, columns), later[some])
            for block, cells in zip(later[some], read, strict=True):
                yield [each.take(slice(max(0, start - block.first), None)) for each in cells]

    def line_of(self, position: int) -> int:
        """The line of a record; the first line names the columns."""
        return position + 2

    def line_faults(self, block: TableBlock, positions: NDArray[np.int64]) -> list[str]:
        """What is wrong with the lines of blank records."""
        lines = self._lines.lines(block) if len(positions) else []
        # Every blank record has a fault.
        return [cast(str, self._lines.fault(lines[position - block.first])) for position in positions.tolist()]

    def remarks(self, groups: Sequence[FaultGroup]) -> list[tuple[str | None, str]]:
        """What seems odd about the file: its separator, its encoding."""
        return [(None, remark) for remark in file_remarks(self._lines, {group.what for group in groups})]


def file_remarks(lines: Lines, faults: set[str]) -> Iterator[str]:
    """Words about the separator, quotes and the encoding."""
    separator = _better_separator(lines)
    if separator is not None:
        yield f"cells seem to be separated by {_NAMES[separator]}: give it as the separator"
    elif OTHER_WIDTH in faults:
        yield "some lines have another number of cells: text with separators in it must be in quotes"
    if BAD_QUOTES in faults:
        yield "some lines have broken quotes: a text in quotes must end in its line, and quotes in it be doubled"
    if BAD_TEXT in faults:
        yield "some lines are not UTF-8: if the file comes from Windows, give cp1252 as its encoding, or else latin-1"


def _better_separator(lines: Lines) -> str | None:
    """A separator by which more lines agree on several cells than by the one in use; None where there is none."""
    first = [line for block in lines.blocks[:1] for line in lines.lines(block)[:_LINES] if line]
    agree = {separator: _agreement(first, separator) for separator in {*SEPARATORS, lines.separator}}
    best = max(SEPARATORS, key=agree.__getitem__)
    return best if agree[best] > max(agree[lines.separator], len(first) / 2) else None


def _agreement(lines: Iterable[bytes], separator: str) -> int:
    """How many lines have the most common number of cells, if that is above 1."""
    counts: dict[int, int] = {}
    for line in lines:
        cells = split(line, separator.encode())
        if cells is not None and len(cells) > 1:
            counts[len(cells)] = counts.get(len(cells), 0) + 1
    return max(counts.values(), default=0)


def compiled_cells() -> ModuleType | None:
    """The module `byte_cells`; None where there is no numba that fits this machine, or where it is not wanted."""
    return _byte_cells() if config.current.compiled else None


@cache
def _byte_cells() -> ModuleType | None:
    try:
        from dpsparse.io.cells import byte_cells

        byte_cells.try_kernels()
    except Exception:
        # Beside a missing numba: one that does not fit this NumPy or this machine.
        return None
    return byte_cells
