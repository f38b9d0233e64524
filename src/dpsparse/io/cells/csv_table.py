"""CSV files as raw tables."""

import os
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.threads import n_threads, parallel_map, slices
from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.column_cells import Cells, TextCells
from dpsparse.io.cells.compiled import compiled_cells
from dpsparse.io.cells.faults import FaultGroup
from dpsparse.io.cells.line_faults import file_remarks
from dpsparse.io.cells.lines import Block, Lines, decoded
from dpsparse.io.cells.row_selection import TableBlock
from dpsparse.io.tables.table_reader import fingerprint


class CsvTable(BlockTable):
    r"""A CSV file. Nothing is declared: kinds are learned, or given by the user.

    Parameters
    ----------
    path : str or path
        The file. Its first line names the columns.
    separator : str or None
        Between cells; None to take it from the first line.
    encoding : {"utf-8", "latin-1", "cp1252"}
        Of the text.

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
