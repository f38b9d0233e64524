"""CSV files as tables of plain numbers and public categories: the first line names the columns, a dot in decimals."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.threads import n_threads, parallel_map, slices
from dpsparse.io.cells.column_cells import codes_of
from dpsparse.io.cells.csv_table import CsvTable
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.lines import Block
from dpsparse.io.tables.table_reader import Categories, Columns, TableReader


class CsvReader(TableReader):
    """A CSV file. It has no schema: only its values show which columns are text, and which first line holds names.

    A cell that is no plain number is NaN, as are all cells of a malformed record.
    """

    kind = "CSV"

    def _read_names(self) -> list[str]:
        self._table = CsvTable(self.path)
        result: list[str] = self._table.names
        return result

    def _text_columns(self) -> list[str]:
        return []

    def _n_records(self) -> int:
        result: int = self._table.n_records
        return result

    def _read(self, numbers: list[str], categories: Categories) -> Columns:
        matrix = self._table.numbers(numbers, [Kind.number] * len(numbers))
        return matrix, {name: self._table.category_codes(name, public) for name, public in categories.items()}

    def _blocks(self, numbers: list[str], categories: Categories, start: int) -> Iterator[Columns]:
        later = [block for block in self._table.blocks if block.first + block.n_records > start]
        # Only the blocks that threads are reading are in memory.
        for some in slices(len(later), n_threads()):
            for first, matrix, codes in parallel_map(
                lambda block: self._block(block, numbers, categories), later[some]
            ):
                skipped = max(0, start - first)
                yield matrix[skipped:], {name: column[skipped:] for name, column in codes.items()}

    def _block(
        self, block: Block, numbers: list[str], categories: Categories
    ) -> tuple[int, NDArray[np.float64], dict[str, NDArray[np.int64]]]:
        cells = dict(zip([*numbers, *categories], self._table.cells(block, [*numbers, *categories]), strict=True))
        matrix = np.empty((block.n_records, len(numbers)), order="F")
        for place, name in enumerate(numbers):
            matrix[:, place] = cells[name].numbers(Kind.number)
        return block.first, matrix, {name: codes_of(cells[name], public) for name, public in categories.items()}
