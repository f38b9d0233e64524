"""Cells of one column in one block of records: of text, or of numbers with a declared type."""

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.cells.grammar import MICROSECONDS_A_DAY, CellClass, Kind, classify, value

BLANK = -1
# Ticks of a day in the units of moments and durations that have a fixed length.
_DAY_TICKS = {"D": 1, "h": 24, "m": 1_440, "s": 86_400, "ms": 86_400_000, "us": MICROSECONDS_A_DAY}


Mask: TypeAlias = NDArray[np.bool_] | slice
Texts: TypeAlias = tuple[NDArray[np.integer[Any]], list[str]]
"""The place of each record's text in a list, -1 in a blank record, and the list: distinct texts in any order."""
Places: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.integer[Any]], NDArray[np.integer[Any]]]


class Cells(Protocol):
    """What each kind of cells has."""

    @property
    def unread(self) -> bool:
        """Whether a cell, here or in those that these were taken from, has something in it that is not read."""

    def __len__(self) -> int: ...

    def take(self, mask: Mask) -> "Cells":
        """Some of the records."""

    def classes(self) -> NDArray[np.int8]:
        """The class of each cell, `BLANK` in a blank record."""

    def numbers(self, kind: Kind) -> NDArray[np.float64]:
        """The value of each cell, NaN where it does not fit."""

    def texts(self) -> Texts:
        """Places in a list of texts, and the list."""

    def places(self) -> Places:
        """Bytes of UTF-8, and where each cell begins and ends in them; an end of -1 in a blank record."""


class TextCells:
    """Cells of text, each of them a place in a list; -1 in a blank record."""

    def __init__(self, codes: NDArray[np.integer[Any]], texts: list[str], unread: bool = False) -> None:
        self._codes, self._texts, self.unread = codes, texts, unread

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> "TextCells":
        """Cells from their texts, None in blank records."""
        places: dict[str, int] = {}
        codes = [-1 if text is None else places.setdefault(text.strip(), len(places)) for text in texts]
        return cls(np.array(codes, dtype=np.int64), list(places))

    @classmethod
    def encoded(cls, codes: NDArray[np.integer[Any]], texts: Iterable[str]) -> "TextCells":
        """Cells from places in a list whose texts may be the same once stripped; -1 for missing cells."""
        places: dict[str, int] = {}
        numbers = [places.setdefault(text.strip(), len(places)) for text in (*texts, "")]
        return cls(np.array(numbers, dtype=np.int64)[codes], list(places))

    def __len__(self) -> int:
        return len(self._codes)

    def take(self, mask: Mask) -> "TextCells":
        """Some of the records."""
        return TextCells(self._codes[mask], self._texts, self.unread)

    def classes(self) -> NDArray[np.int8]:
        """The class of each cell."""
        classes: NDArray[np.int8] = np.array([*map(classify, self._texts), BLANK], dtype=np.int8)[self._codes]
        return classes

    def numbers(self, kind: Kind) -> NDArray[np.float64]:
        """The value of each cell."""
        numbers: NDArray[np.float64] = np.array([*(value(text, kind) for text in self._texts), math.nan])[self._codes]
        return numbers

    def texts(self) -> Texts:
        """Places in a list of texts, and the list."""
        return self._codes, self._texts

    def places(self) -> Places:
        """Bytes of UTF-8, and where each cell begins and ends in them; an end of -1 in a blank record."""
        # A text of Python's may have half of a character, which UTF-8 has not.
        texts = [text.encode(errors="replace") for text in self._texts]
        ends = np.cumsum([0, *map(len, texts)])
        starts, stops = np.append(ends[:-1], 0), np.append(ends[1:], -1)
        return np.frombuffer(b"".join(texts), dtype=np.uint8), starts[self._codes], stops[self._codes]


class NumberCells:
    """Cells of a declared type that have a number: NaN where they are missing.

    Values are numbers, 0 and 1 for booleans, days for dates; the kind is `number`, `boolean` or `date_ymd`.
    """

    unread = False

    def __init__(self, values: NDArray[np.floating[Any]], kind: Kind) -> None:
        self._values, self._kind = np.where(np.isfinite(values), values, np.nan), kind

    def __len__(self) -> int:
        return len(self._values)

    def take(self, mask: Mask) -> "NumberCells":
        """Some of the records."""
        return NumberCells(self._values[mask], self._kind)

    def classes(self) -> NDArray[np.int8]:
        """The class of each cell."""
        own = {
            Kind.number: CellClass.NUMBER,
            Kind.boolean: CellClass.BOOLEAN,
            Kind.date_ymd: CellClass.DATE_YMD,
        }[self._kind]
        return np.where(np.isnan(self._values), CellClass.EMPTY, own).astype(np.int8)

    def numbers(self, kind: Kind) -> NDArray[np.float64]:
        """The value of each cell. A type leaves no doubt: a date has every order, and a number every separator."""
        same = _family(kind) == _family(self._kind)
        return self._values if same else np.full(len(self._values), np.nan)

    def texts(self) -> Texts:
        """Places in a list of texts, and the list."""
        distinct, codes = np.unique(self._values, return_inverse=True)
        return codes, [text_of(number, self._kind) for number in distinct.tolist()]

    def places(self) -> Places:
        """The bytes of their texts; see `TextCells.places`."""
        return TextCells(*self.texts()).places()


def _family(kind: Kind) -> str:
    """The part of a kind's name before what a reading of text adds to it."""
    return kind.partition("_")[0]


class EmptyCells(NumberCells):
    """Cells of a type that is neither a number, a date nor text: all are missing."""

    unread = True

    def __init__(self, n_records: int) -> None:
        super().__init__(np.full(n_records, np.nan), Kind.number)

    def take(self, mask: Mask) -> "EmptyCells":
        """Some of the records."""
        return EmptyCells(len(self._values[mask]))


def days(moments: NDArray[Any]) -> NDArray[np.float64]:
    """Days since 1970 of moments, or the days of durations; NaN for NaT and for units such as months.

    Moments are datetime64 or timedelta64, in any unit: no conversion to another one, which may overflow.

    Examples
    --------
    >>> days(np.array(["1970-01-02T12", "NaT"], dtype="datetime64[h]")), days(np.array([36], dtype="timedelta64[h]"))
    (array([1.5, nan]), array([1.5]))
    """
    (unit, count), ticks = np.datetime_data(moments.dtype), moments.astype(np.int64)
    if unit == "ns":
        # As coarse as text is read.
        unit, ticks = "us", ticks // 1000
    elif unit == "W":
        unit, count = "D", 7 * count
    return np.where(np.isnat(moments), np.nan, count * (ticks / _DAY_TICKS.get(unit, math.nan)))


def codes_of(cells: Cells, categories: Sequence[str]) -> NDArray[np.int64]:
    """The place of each cell's text in a list of categories; -1 for any other text, and in blank records."""
    codes, texts = cells.texts()
    places = {category.strip(): place for place, category in enumerate(categories)}
    return np.array([*(places.get(text, -1) for text in texts), -1], dtype=np.int64)[codes]


def text_of(number: float, kind: Kind) -> str:
    """A number as text that does not depend on the type of its column: one gap makes floats of whole numbers."""
    if not math.isfinite(number):
        return ""
    if kind == Kind.boolean:
        return str(bool(number))
    if kind == Kind.date_ymd:
        try:
            moment = datetime.timedelta(microseconds=round(number * MICROSECONDS_A_DAY))
            text = (datetime.datetime(1970, 1, 1) + moment).isoformat(sep=" ")
        except OverflowError:
            return str(number)
        return text.removesuffix(" 00:00:00")
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)


def texts_of(cells: Cells) -> Texts:
    """Places in a list of texts, -1 for empty cells and blank records, and the list."""
    codes, texts = cells.texts()
    return np.where(cells.classes() == CellClass.EMPTY, -1, codes), texts
