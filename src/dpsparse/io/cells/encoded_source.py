"""Features of a raw table that are encoded block by block, whenever a fit reads them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.disk.feature_sources import Block, FeatureSource
from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.column_cells import Cells
from dpsparse.io.cells.encoding import encode
from dpsparse.io.cells.row_selection import Rows, TableBlock
from dpsparse.io.table_features import Feature


class EncodedSource(FeatureSource):
    """What `encode` gives of a raw table, a block of records at a time."""

    dtype = np.dtype(np.float64)

    def __init__(self, table: BlockTable, features: Sequence[Feature]) -> None:
        self._table, self._features = table, features
        self._blocks = {
            rows.start: (rows, block) for block in table.blocks if (rows := table.rows_of(block)).stop > rows.start
        }
        self._starts = np.array(list(self._blocks), dtype=np.int64)
        self.shape = table.n_records, len(features)

    def row_blocks(self) -> list[slice]:
        """The table's own blocks of records."""
        return [rows for rows, _ in self._blocks.values()]

    def read(self, block: Block) -> NDArray[Any]:
        """The cells of a block, or of some of its rows."""
        rows, columns = block
        features = self._features[columns] if isinstance(columns, slice) else [self._features[k] for k in columns]
        start = self._starts[np.searchsorted(self._starts, rows.start, side="right") - 1]
        whole, of_table = self._blocks[int(start)]
        inside = slice(rows.start - whole.start, rows.stop - whole.start)
        return encode(_Part(self._table, of_table, inside), list(features))


class _Part(BlockTable):
    """Some records of one block of a table."""

    blocks: list[Rows]

    def __init__(self, table: BlockTable, block: TableBlock, rows: slice) -> None:
        self.names, self.declared = table.names, table.declared
        self.blocks = [Rows(0, rows.stop - rows.start)]
        self._table, self._block, self._kept = table, block, rows

    def cells(self, block: TableBlock, columns: Sequence[str]) -> list[Cells]:
        """The cells of some columns."""
        return [cells.take(self._kept) for cells in self._table.kept(self._block, columns)[1]]
