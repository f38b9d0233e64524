"""The records of a CSV file: every physical line after the first is one record, whatever the other lines hold.

Lines end in LF or CR LF, and the last line end adds no record. Quotes (RFC 4180: doubled quotes are one) act within
their line only. A record is blank, and its cells are missing, where the line is empty, has another number of cells than
the header, leaves a quote open, has text after a closing quote, is not valid in the file's encoding or is longer than
1 MiB. The separator is an option, or that of ``, ; tab |`` of which the header has most.
"""

import codecs
import itertools
import mmap
import os
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpsparse.engine import config
from dpsparse.engine.refusals import (
    HEADER_NOT_TEXT,
    HEADER_QUOTES,
    HEADER_TOO_LONG,
    HEADER_WIDE,
    NO_NAME,
    NOT_A_NAME,
    SAME_NAME,
)
from dpsparse.engine.threads import parallel_map
from dpsparse.io.cells.number_grammar import read_number
from dpsparse.schema import FileError, checked_path, is_name

LONGEST_LINE = 2**20
SEPARATORS = (",", ";", "\t", "|")
ENCODINGS = ("utf-8", "latin-1", "cp1252")
# Latin-1 is read as browsers read it, as the encoding of Windows, in which its control characters are signs such as
# the euro: no CSV file means the former, and no message could say so, since it would depend on a cell. Windows gives no
# character to five bytes; they are what they are in latin-1, so that no byte makes a line unreadable.
_CP1252 = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256))
_BOM = b"\xef\xbb\xbf"
# Before the header of a file in UTF-16 or UTF-32.
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")

# Why a line is a blank record.
EMPTY_LINE = "the line is empty"
LONG_LINE = "the line is longer than 1 MiB"
BAD_TEXT = "the line is not valid in the file's encoding"
BAD_QUOTES = "a quote is left open, or text follows a closing quote"
OTHER_WIDTH = "the line has another number of cells than line 1"


@dataclass(frozen=True)
class Block:
    """Some whole lines of a file.

    `start` and `stop` are their bytes in the file, `first` the number of records before them.
    """

    start: int
    stop: int
    first: int
    n_records: int


class Lines:
    """A CSV file: its header, and its records in blocks.

    `separator` is a single ASCII character between cells; None takes it from the header.
    """

    def __init__(self, path: str | os.PathLike[str], *, separator: str | None = None, encoding: str = "utf-8") -> None:
        self.path, self.encoding = checked_path(path), encoding
        if separator is not None and not (len(separator) == 1 and separator.isascii() and separator not in '"\r\n'):
            raise FileError("the separator must be one ASCII character, and neither a quote nor a line end")
        if encoding not in ENCODINGS:
            raise FileError(f"the encoding must be one of {', '.join(ENCODINGS)}")
        with open(self.path, "rb") as file:
            if not file.seek(0, 2):
                raise FileError(f"{self.path} is empty; its first line must name the columns")
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.bytes[:4].startswith(_WIDE_BOMS):
            raise FileError(HEADER_WIDE.format(path=self.path))
        start = len(_BOM) if encoding == "utf-8" and self.bytes[:3] == _BOM else 0
        end = self.bytes.find(b"\n", start)
        stop = len(self.bytes) if end < 0 else end
        self._records_start = len(self.bytes) if end < 0 else end + 1
        if stop - start > LONGEST_LINE:
            raise FileError(HEADER_TOO_LONG.format(path=self.path))
        header = bytes(self.bytes[start:stop]).removesuffix(b"\r")
        self.separator = separator or _most_common_separator(header)
        self.names = self._names(header)

    def _names(self, header: bytes) -> list[str]:
        try:
            decoded(header, self.encoding)
        except UnicodeDecodeError:
            raise FileError(HEADER_NOT_TEXT.format(path=self.path, encoding=self.encoding)) from None
        cells = split(header, self.separator.encode())
        if cells is None:
            raise FileError(HEADER_QUOTES.format(path=self.path))
        names = [decoded(cell, self.encoding) for cell in cells]
        # Names are printed: a first record must not pass for them.
        if not all(map(may_be_a_name, names)):
            raise FileError(NOT_A_NAME.format(path=self.path))
        return names

    def check_names(self) -> None:
        """Raise FileError unless every column has a printable name of its own."""
        known = set()
        for place, name in enumerate(self.names, 1):
            where = f"{self.path}: line 1, field {place}"
            if not is_name(name):
                raise FileError(NO_NAME.format(path=where))
            if name in known:
                raise FileError(SAME_NAME.format(path=where))
            known.add(name)

    @cached_property
    def blocks(self) -> list[Block]:
        """The records in blocks of whole lines, of about `csv_block_bytes` bytes each."""
        # Places in a block are numbers of 32 bits.
        size, cuts = min(config.current.csv_block_bytes, 2**30), [self._records_start]
        while cuts[-1] < len(self.bytes):
            cuts.append(self._line_start(cuts[-1] + size))
        spans = list(itertools.pairwise(cuts))
        counts = list(parallel_map(self._count_lines, spans))
        firsts = np.cumsum([0, *counts]).tolist()
        return [Block(*span, first, count) for span, first, count in zip(spans, firsts, counts, strict=False)]

    @property
    def n_records(self) -> int:
        """The number of records, blank ones included."""
        return sum(block.n_records for block in self.blocks)

    def _line_start(self, place: int) -> int:
        """The beginning of the first line that begins at a place or after it."""
        end = self.bytes.find(b"\n", place - 1)
        return len(self.bytes) if end < 0 else end + 1

    def _count_lines(self, span: tuple[int, int]) -> int:
        view = np.frombuffer(self.bytes, dtype=np.uint8, count=span[1] - span[0], offset=span[0])
        return int(np.count_nonzero(view == ord("\n"))) + int(view[-1] != ord("\n"))

    def lines(self, block: Block) -> list[bytes]:
        """The lines of a block without their ends."""
        lines = bytes(self.bytes[block.start : block.stop]).removesuffix(b"\n").split(b"\n")
        return [line.removesuffix(b"\r") for line in lines]

    def records(self, block: Block) -> list[list[bytes] | None]:
        """The cells of each record of a block as bytes, without their quotes; None for a blank record."""
        return [None if self.fault(line) else split(line, self.separator.encode()) for line in self.lines(block)]

    def fault(self, line: bytes) -> str | None:
        """Why a line is a blank record; None where it is none."""
        if not line:
            return EMPTY_LINE
        if len(line) > LONGEST_LINE:
            return LONG_LINE
        try:
            decoded(line, self.encoding)
        except UnicodeDecodeError:
            return BAD_TEXT
        cells = split(line, self.separator.encode())
        if cells is None:
            return BAD_QUOTES
        return None if len(cells) == len(self.names) else OTHER_WIDTH


def decoded(text: bytes, encoding: str) -> str:
    r"""Bytes as text; raises UnicodeDecodeError where they are not valid in an encoding, as some are not in UTF-8.

    Examples
    --------
    >>> decoded(b"5 \x80", "cp1252"), decoded(b"5 \x80", "latin-1")
    ('5 €', '5 €')
    """
    return text.decode(encoding) if encoding == "utf-8" else codecs.charmap_decode(text, "strict", _CP1252)[0]


def split(line: bytes, separator: bytes) -> list[bytes] | None:
    """The cells of a line; None where a quote is left open or followed by text."""
    if b'"' not in line:
        return line.split(separator)
    cells, place = [], 0
    while True:
        if line[place : place + 1] == b'"':
            cell, place = _quoted_cell(line, place + 1)
            if cell is None or line[place : place + 1] not in (separator, b""):
                return None
        else:
            end = line.find(separator, place)
            end = len(line) if end < 0 else end
            cell, place = line[place:end], end
        cells.append(cell)
        if place >= len(line):
            return cells
        place += 1


def _quoted_cell(line: bytes, place: int) -> tuple[bytes | None, int]:
    """A quoted cell from behind its first quote, and the place behind its last; None where it is left open."""
    pieces = []
    while True:
        end = line.find(b'"', place)
        if end < 0:
            return None, place
        pieces.append(line[place:end])
        if line[end + 1 : end + 2] != b'"':
            return b'"'.join(pieces), end + 1
        place = end + 2


def _most_common_separator(header: bytes) -> str:
    outside = b"".join(header.split(b'"')[::2])
    return max(SEPARATORS, key=lambda separator: outside.count(separator.encode()))


# What a record holds and a name does not: dates with a month in words or a time, e-mail addresses, UUIDs and values
# that programs write for nothing, yes and no.
_NO_NAME = re.compile(
    r"""\d{4}-\d\d-\d\d.*
    |\d{1,4}[-/.\s]*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/.,\s]*\d{1,4}.*
    |(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/.,\s]+\d{1,2}[-/.,\s]+\d{2,4}.*
    |[^@\s]+@[^@\s]+\.[^@\s]+
    |[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
    |nan|null|none|true|false""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def may_be_a_name(text: str) -> bool:
    """Whether a cell of the first line may be the name of a column, as far as it tells by itself."""
    text = text.strip()
    digits, letters = any(map(str.isdigit, text)), any(map(str.isalpha, text))
    return not (digits and (not letters or _is_number(text))) and not _NO_NAME.fullmatch(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        # EUR 1.234,50 is an amount, while EUR 2019 may be the name of a column.
        return read_number(text) is not None and not "".join(text.split()).isalnum()
    return True
