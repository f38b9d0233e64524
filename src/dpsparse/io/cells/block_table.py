"""What all raw tables share: queries on blocks of records.

Every method gives what a map of single records gives, or exact integer sums of it: blocks, threads and the order of
records change nothing.
"""

import copy
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.refusals import UNREAD_IDS
from dpsparse.engine.threads import parallel_map
from dpsparse.io.cells.column_cells import Cells, Texts, codes_of, texts_of
from dpsparse.io.cells.faults import FaultGroup, Faults, find_faults
from dpsparse.io.cells.grammar import CellClass, Kind, is_empty_word
from dpsparse.io.cells.grammar import bucket as bucket_of
from dpsparse.io.cells.row_selection import Positions, Selection, TableBlock
from dpsparse.schema import FileError, quoted


class BlockTable:
    """A raw table in blocks of records. Subclasses give `names`, `declared`, `blocks` and `cells`."""

    names: list[str]
    declared: dict[str, Kind]
    _selection: Selection | Positions | None = None

    if TYPE_CHECKING:

        @property
        def blocks(self) -> Sequence[TableBlock]:
            """The records in blocks, in order."""

        def cells(self, block: TableBlock, columns: Sequence[str]) -> list[Cells]:
            """The cells of some columns in a block."""

    @property
    def n_records(self) -> int:
        """The number of records, which is public; blank records count."""
        blocks = self.blocks
        n = blocks[-1].first + blocks[-1].n_records if blocks else 0
        return int(n if self._selection is None else self._selection.count(n))

    def part(self, modulus: int, residues: Iterable[int]) -> Self:
        """The records whose position, divided by a number, leaves one of some residues.

        Positions in the part begin at 0 again.
        """
        part = copy.copy(self)
        part._selection = Selection(modulus, tuple(residues), self._selection)
        return part

    def at(self, positions: NDArray[np.intp]) -> Self:
        """The records at some positions, in the order of the table."""
        places = np.sort(positions)
        if self._selection is not None:
            blocks = self.blocks
            n = blocks[-1].first + blocks[-1].n_records if blocks else 0
            places = np.flatnonzero(self._selection.mask(0, n))[places]
        part = copy.copy(self)
        part._selection = Positions(places)
        return part

    def names_of(self, column: str) -> list[str | None]:
        """The text of each record in a column of ids, None where there is none, and in blank records.

        Unlike other cells an id is never a number too large to be read: 12e345 is a name as others are. Ids of which
        some cannot be told apart, and a column without any, are refused by a constant sentence.
        """
        (column,), names = self._known([column]), list[str | None]()
        for cells in parallel_map(lambda block: self.kept(block, [column])[1][0], self.blocks):
            if cells.unread:
                raise FileError(UNREAD_IDS)
            codes, texts = cells.texts()
            known = [None if is_empty_word(text) else text for text in texts]
            names += [None if code < 0 else known[code] for code in codes.tolist()]
        # Some of the records of a table may lack what others have.
        if self._selection is None and names and not any(names):
            raise FileError(UNREAD_IDS)
        return names

    def class_counts(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """How many cells of each column have each class; cells of blank records count nowhere.

        A row for each column, a column for each `CellClass`.
        """
        columns = self._known(columns)

        def count(block: TableBlock) -> NDArray[np.int64]:
            cells = (cell.classes() for cell in self.kept(block, columns)[1])
            # Place 0 is for blank records.
            counts = [np.bincount(classes + 1, minlength=len(CellClass) + 1)[1:] for classes in cells]
            return np.array(counts, dtype=np.int64)

        total = np.zeros((len(columns), len(CellClass)), dtype=np.int64)
        for counts in parallel_map(count, self.blocks if columns else []):
            total += counts
        return total

    def numbers(self, columns: Sequence[str], kinds: Sequence[Kind]) -> NDArray[np.float64]:
        """Columns as numbers.

        The kinds say how each is read; none is `text`. The array is in Fortran order, with NaN where a cell is missing
        or does not fit, and in blank records.
        """
        columns, kinds = self._known(columns), [Kind(kind) for kind in kinds]
        if Kind.text in kinds or len(kinds) != len(columns):
            raise ValueError("numbers takes one kind for each column, and text is none of them")
        values = np.empty((self.n_records, len(columns)), order="F")

        def fill(block: TableBlock) -> None:
            rows = self.rows_of(block)
            for place, (cells, kind) in enumerate(zip(self.kept(block, columns)[1], kinds, strict=True)):
                values[rows, place] = cells.numbers(kind)

        for _ in parallel_map(fill, self.blocks):
            pass
        return values

    def buckets(self, column: str) -> NDArray[np.int16]:
        """The bucket of each record's text.

        From 0 to N_BUCKETS - 1; -1 where the cell is empty, and in blank records.
        """
        (column,), buckets = self._known([column]), np.empty(self.n_records, dtype=np.int16)

        def fill(block: TableBlock) -> None:
            codes, texts = self._texts(block, column)
            buckets[self.rows_of(block)] = np.array([*map(bucket_of, texts), -1], dtype=np.int16)[codes]

        for _ in parallel_map(fill, self.blocks):
            pass
        return buckets

    def category_codes(self, column: str, categories: Sequence[str]) -> NDArray[np.int64]:
        """The place of each record's text in a list of public categories.

        The categories may be words that count as empty elsewhere, such as "none". -1 stands for any other text, and in
        blank records.
        """
        (column,), codes = self._known([column]), np.empty(self.n_records, dtype=np.int64)

        def fill(block: TableBlock) -> None:
            _, (cells,) = self.kept(block, [column])
            codes[self.rows_of(block)] = codes_of(cells, categories)

        for _ in parallel_map(fill, self.blocks):
            pass
        return codes

    def texts(self, column: str) -> list[str]:
        """The cells of one column as text, to be handed on as they are: "" in blank records."""
        (column,), cells = self._known([column]), []
        for codes, texts in parallel_map(lambda block: self.kept(block, [column])[1][0].texts(), self.blocks):
            cells += [texts[code] if code >= 0 else "" for code in codes.tolist()]
        return cells

    def distinct_counts(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """How many different texts each column holds; empty cells do not count."""
        columns = self._known(columns)

        def hashes(block: TableBlock) -> list[NDArray[np.int64]]:
            # A hash for a text: one record changes the number of different hashes by at most one, as that of texts.
            # They stay integers where a block has no text at all: as floats many of them would be the same.
            columns_of_block = (texts_of(cells) for cells in self.kept(block, columns)[1])
            there = ((np.unique(codes[codes >= 0]), texts) for codes, texts in columns_of_block)
            return [np.array([hash(texts[code]) for code in codes], dtype=np.int64) for codes, texts in there]

        known = [np.empty(0, dtype=np.int64)] * len(columns)
        for found in parallel_map(hashes, self.blocks if columns else []):
            known = [np.union1d(*pair) for pair in zip(known, found, strict=True)]
        return np.array([len(each) for each in known], dtype=np.int64)

    def value_counts(self, column: str, bucket: int) -> dict[str, int]:
        """How often each text of a bucket occurs."""
        (column,) = self._known([column])
        total: dict[str, int] = {}
        for codes, texts in parallel_map(lambda block: self._texts(block, column), self.blocks):
            counts = np.bincount(codes[codes >= 0], minlength=len(texts))
            for text, count in zip(texts, counts.tolist(), strict=True):
                if count and bucket_of(text) == bucket:
                    total[text] = total.get(text, 0) + count
        return total

    def _known(self, columns: Sequence[str]) -> list[str]:
        columns = list(columns)
        for column in columns:
            if column not in self._places:
                raise FileError(f"there is no column {quoted(column)}")
        return columns

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def rows_of(self, block: TableBlock) -> slice:
        """The places of a block's records in a result."""
        first, last = block.first, block.first + block.n_records
        count = (lambda n: n) if self._selection is None else self._selection.count
        return slice(count(first), count(last))

    def kept(self, block: TableBlock, columns: Sequence[str]) -> tuple[NDArray[np.int64], list[Cells]]:
        """The positions of the selected records of a block in the whole table, and their cells in some columns."""
        cells, rows = self.cells(block, columns), np.arange(block.first, block.first + block.n_records)
        if self._selection is None:
            return rows, cells
        mask = self._selection.mask(block.first, block.n_records)
        return rows[mask], [column.take(mask) for column in cells]

    def faults(self, columns: Sequence[str], kinds: Sequence[Kind], *, most: int = 10) -> Faults:
        """What is wrong with cells and lines, for the eyes of the data's curator only.

        Groups of faults have counts and `most` lines at most; iterating gives (line, column, what).
        """
        columns, kinds = self._known(columns), [Kind(kind) for kind in kinds]
        if len(kinds) != len(columns):
            raise ValueError("faults takes one kind for each column")
        return find_faults(self, columns, kinds, most) if columns else Faults((), ())

    def line_of(self, position: int) -> int:
        """How people count a record: from 1 on."""
        return position + 1

    def line_faults(self, block: TableBlock, positions: NDArray[np.int64]) -> list[str]:
        """What is wrong with the lines of blank records; only text files have such."""
        return []

    def remarks(self, groups: Sequence[FaultGroup]) -> Sequence[tuple[str | None, str]]:
        """What seems odd about the table as a whole, given its faults: pairs of no column and words."""
        return ()

    def _texts(self, block: TableBlock, column: str) -> Texts:
        return texts_of(self.kept(block, [column])[1][0])
