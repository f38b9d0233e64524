"""Cells of text as bytes of a CSV file, read by compiled kernels; what these leave is read by `grammar`."""

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.cells import csv_kernels as kernels
from dpsparse.io.cells import text_kernels
from dpsparse.io.cells.column_cells import Mask, Places, TextCells, Texts
from dpsparse.io.cells.grammar import Kind, classify, value
from dpsparse.io.cells.lines import LONGEST_LINE, Block, Lines, decoded

_READINGS = {
    Kind.number: kernels.PLAIN,
    Kind.number_grouped: kernels.THOUSANDS,
    Kind.number_comma: kernels.DECIMAL_COMMA,
}


class ByteCells:
    """Cells of one column in a block of lines.

    `starts` and `ends` say where cells lie in `data`, the block, as in `csv_kernels`.
    """

    unread = False

    def __init__(
        self, data: NDArray[np.uint8], encoding: str, starts: NDArray[np.int32], ends: NDArray[np.int32]
    ) -> None:
        self._data, self._encoding, self._starts, self._ends = data, encoding, starts, ends

    def __len__(self) -> int:
        return len(self._starts)

    def take(self, mask: Mask) -> "ByteCells":
        """Some of the records."""
        return ByteCells(self._data, self._encoding, self._starts[mask], self._ends[mask])

    def classes(self) -> NDArray[np.int8]:
        """The class of each cell."""
        out = np.empty(len(self._starts), dtype=np.int8)
        kernels.classes(self._data, self._starts, self._ends, out)
        hard = out == kernels.HARD
        if hard.any():
            codes, texts = self.take(hard).texts()
            out[hard] = np.array([classify(text) for text in texts], dtype=np.int8)[codes]
        return out

    def numbers(self, kind: Kind) -> NDArray[np.float64]:
        """The value of each cell."""
        out, hard = np.empty(len(self._starts)), np.empty(len(self._starts), dtype=np.bool_)
        if kind in _READINGS:
            count = kernels.numbers(self._data, self._starts, self._ends, _READINGS[kind], out, hard)
        else:
            # Dates and truth values repeat themselves: each is read once.
            hard[:], out[:], count = self._ends != -1, np.nan, 1
        if count:
            codes, texts = self.take(hard).texts()
            out[hard] = np.array([value(text, kind) for text in texts], dtype=np.float64)[codes]
        return out

    def texts(self) -> Texts:
        """Places in a list of texts, and the list."""
        n = len(self._starts)
        codes, places = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        table = np.full(1 << (2 * n).bit_length(), -1, dtype=np.int32)
        count = text_kernels.distinct(self._data, self._starts, self._ends, table, codes, places)
        # Texts that differ as bytes may be the same once doubled quotes are one and all white space is stripped.
        known: dict[str, int] = {}
        renumbered = [known.setdefault(self._text(place), len(known)) for place in places[:count].tolist()]
        return np.array([*renumbered, -1], dtype=np.int64)[codes], list(known)

    def places(self) -> Places:
        """Bytes of UTF-8, and where each cell begins and ends in them; see `TextCells.places`."""
        if self._encoding != "utf-8" or (self._ends < -1).any():
            return TextCells(*self.texts()).places()
        return self._data, self._starts, self._ends

    def _text(self, place: int) -> str:
        start, end = self._starts[place], self._ends[place]
        cell = self._data[start : end if end >= 0 else -2 - end].tobytes()
        return decoded(cell if end >= 0 else cell.replace(b'""', b'"'), self._encoding).strip()


def try_kernels() -> None:
    """Compile the kernels, or raise what numba raises where it cannot."""
    data = np.frombuffer(b"1\n", dtype=np.uint8)
    starts, ends = np.zeros((2, 1, 1), dtype=np.int32)
    kernels.split(data, ord(","), 1, np.zeros(1, dtype=np.int64), True, LONGEST_LINE, starts, ends)
    cells = ByteCells(data, "utf-8", starts[:, 0], ends[:, 0])
    cells.classes()
    cells.numbers(Kind.number)
    cells.texts()


def byte_cells(lines: Lines, block: Block, places: list[int]) -> list[ByteCells]:
    """The cells of some columns in a block."""
    data = np.frombuffer(lines.bytes, dtype=np.uint8, count=block.stop - block.start, offset=block.start)
    slots = np.full(len(lines.names), -1, dtype=np.int64)
    slots[places] = np.arange(len(places))
    starts, ends = np.zeros((2, block.n_records, len(places)), dtype=np.int32)
    utf8 = lines.encoding == "utf-8"
    kernels.split(data, ord(lines.separator), len(slots), slots, utf8, LONGEST_LINE, starts, ends)
    return [ByteCells(data, lines.encoding, starts[:, slot], ends[:, slot]) for slot in range(len(places))]
