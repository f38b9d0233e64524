"""Stores of cells as raw tables."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.engine.threads import slices
from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.column_cells import NumberCells
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.row_selection import Rows
from dpsparse.io.provenance import CellProvenance
from dpsparse.io.store.manifest import REPAIR_HINT, Chunk, read_complete
from dpsparse.io.store.store_reader import mapped
from dpsparse.io.store.texts import unpacked
from dpsparse.schema import FileError

# Bytes that a cell is taken to have where records are divided into chunks and blocks, which values must not decide.
CELL_BYTES = 16


class StoreTable(BlockTable):
    """A store of cells: it gives what the file gives that it was made of, and knows the response and the bounds."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._manifest = Path(path), read_complete(path)
        provenance = self._manifest.provenance
        if not isinstance(provenance, CellProvenance):
            raise FileError(
                f"{path} holds features in public units, not the columns themselves; give the table that it was made of"
            )
        self.names, self.target, self.bounds = list(provenance.columns), provenance.target, provenance.bounds
        self.declared = {name: Kind(kind) for name, kind in provenance.declared.items()}
        self._numbers, self._texts_in = divided(self.names, self.declared)
        self._chunks = [self._mapped(chunk) for chunk in self._manifest.chunks]

    def _mapped(self, chunk: Chunk) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        shapes = None, (chunk.rows, len(self._texts_in)), (chunk.rows, len(self._numbers))
        dtypes: list[tuple[type[np.generic], ...]] = [(np.uint8,), (np.int32, np.int64), (np.float64,)]
        texts, ends, numbers = (
            mapped(self.path, chunk, which, shape, *types)
            for which, (shape, types) in enumerate(zip(shapes, dtypes, strict=True))
        )
        return np.asarray(texts), np.asarray(ends), np.asarray(numbers)

    @cached_property
    def blocks(self) -> list[Rows]:
        """Some records of a chunk at a time."""
        blocks, first = [], 0
        step = config.current.csv_block_bytes // (CELL_BYTES * len(self.names))
        for number, chunk in enumerate(self._manifest.chunks):
            blocks += [
                Rows(first + some.start, some.stop - some.start, (number, some)) for some in slices(chunk.rows, step)
            ]
            first += chunk.rows
        return blocks

    def cells(self, block: Rows, columns: Sequence[str]) -> list[Any]:
        """The cells of some columns in a block."""
        number, rows = block.where
        texts, ends, numbers = self._chunks[number]
        in_texts = list(dict.fromkeys(column for column in columns if column in self._texts_in))
        cells = unpacked(texts, ends, rows, [self._texts_in[column] for column in in_texts])
        if cells is None:
            raise FileError(f"{self.path}: a file of chunk {number} is damaged; {REPAIR_HINT}")
        known = dict(zip(in_texts, cells, strict=True))
        for column in {*columns} - {*known}:
            known[column] = NumberCells(numbers[rows, self._numbers[column]], self.declared[column])
        return [known[column] for column in columns]


def divided(names: Sequence[str], declared: Mapping[str, Kind]) -> tuple[dict[str, int], dict[str, int]]:
    """The columns that are kept as numbers and those kept as texts, with their places."""
    numbers = [name for name in names if declared.get(name, Kind.text) != Kind.text]
    texts = [name for name in names if declared.get(name, Kind.text) == Kind.text]
    in_numbers, in_texts = ({name: place for place, name in enumerate(some)} for some in (numbers, texts))
    return in_numbers, in_texts
