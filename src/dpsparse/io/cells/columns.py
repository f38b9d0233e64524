"""Cells of one column in one block of records: of text, or of numbers with a declared type.

Each kind of cells has `classes()`, the class of each cell or `BLANK` in a blank record; `numbers(kind)`, NaN where a
cell does not fit; and `texts()`, distinct texts in any order and for each record the place of its own, -1 in a blank
record. `take(mask)` keeps some records; `places()` gives the bytes of the texts.
"""

import datetime
import math

import numpy as np

from dpsparse.io.cells.grammar import MICROSECONDS_A_DAY, CellClass, Kind, classify, value

BLANK = -1
# Ticks of a day in the units of moments and durations that have a fixed length.
_DAY_TICKS = {"D": 1, "h": 24, "m": 1_440, "s": 86_400, "ms": 86_400_000, "us": MICROSECONDS_A_DAY}


class TextCells:
    """Cells of text, each of them a place in a list; -1 in a blank record."""

    def __init__(self, codes, texts):
        self._codes, self._texts = codes, texts

    @classmethod
    def of(cls, texts):
        """Cells from their texts, None in blank records."""
        places = {}
        codes = [-1 if text is None else places.setdefault(text.strip(), len(places)) for text in texts]
        return cls(np.array(codes, dtype=np.int64), list(places))

    @classmethod
    def encoded(cls, codes, texts):
        """Cells from places in a list whose texts may be the same once stripped; -1 for missing cells."""
        places = {}
        numbers = [places.setdefault(text.strip(), len(places)) for text in (*texts, "")]
        return cls(np.array(numbers, dtype=np.int64)[codes], list(places))

    def __len__(self):
        return len(self._codes)

    def take(self, mask):
        """Some of the records."""
        return TextCells(self._codes[mask], self._texts)

    def classes(self):
        """The class of each cell."""
        return np.array([*map(classify, self._texts), BLANK], dtype=np.int8)[self._codes]

    def numbers(self, kind):
        """The value of each cell."""
        return np.array([*(value(text, kind) for text in self._texts), math.nan])[self._codes]

    def texts(self):
        """Places in a list of texts, and the list."""
        return self._codes, self._texts

    def places(self):
        """Bytes of UTF-8, and where each cell begins and ends in them; an end of -1 in a blank record."""
        # A text of Python's may have half of a character, which UTF-8 has not.
        texts = [text.encode(errors="replace") for text in self._texts]
        ends = np.cumsum([0, *map(len, texts)])
        starts, stops = np.append(ends[:-1], 0), np.append(ends[1:], -1)
        return np.frombuffer(b"".join(texts), dtype=np.uint8), starts[self._codes], stops[self._codes]


class NumberCells:
    """Cells of a declared type that have a number: NaN where they are missing.

    Parameters
    ----------
    values : ndarray of float64
        Numbers, 0 and 1 for booleans, days for dates.
    kind : Kind
        `number`, `boolean` or `date_ymd`.
    """

    def __init__(self, values, kind):
        self._values, self._kind = np.where(np.isfinite(values), values, np.nan), kind

    def __len__(self):
        return len(self._values)

    def take(self, mask):
        """Some of the records."""
        return NumberCells(self._values[mask], self._kind)

    def classes(self):
        """The class of each cell."""
        own = {
            Kind.number: CellClass.NUMBER,
            Kind.boolean: CellClass.BOOLEAN,
            Kind.date_ymd: CellClass.DATE_YMD,
        }[self._kind]
        return np.where(np.isnan(self._values), CellClass.EMPTY, own).astype(np.int8)

    def numbers(self, kind):
        """The value of each cell. A type leaves no doubt: a date has every order, and a number every separator."""
        same = _family(kind) == _family(self._kind)
        return self._values if same else np.full(len(self._values), np.nan)

    def texts(self):
        """Places in a list of texts, and the list."""
        distinct, codes = np.unique(self._values, return_inverse=True)
        return codes, [text_of(number, self._kind) for number in distinct.tolist()]

    def places(self):
        """The bytes of their texts; see `TextCells.places`."""
        return TextCells(*self.texts()).places()


def _family(kind):
    """The part of a kind's name before what a reading of text adds to it."""
    return kind.partition("_")[0]


class EmptyCells(NumberCells):
    """Cells of a type that is neither a number, a date nor text: all are missing."""

    def __init__(self, n_records):
        super().__init__(np.full(n_records, np.nan), Kind.number)

    def take(self, mask):
        """Some of the records."""
        return EmptyCells(len(self._values[mask]))


def days(moments):
    """Days since 1970 of moments, or the days of durations; NaN for NaT and for units such as months.

    Parameters
    ----------
    moments : ndarray of datetime64 or timedelta64
        In any unit: no conversion to another one, which may overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.io.cells.columns import days
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


def codes_of(cells, categories):
    """The place of each cell's text in a list of categories; -1 for any other text, and in blank records."""
    codes, texts = cells.texts()
    places = {category.strip(): place for place, category in enumerate(categories)}
    return np.array([*(places.get(text, -1) for text in texts), -1], dtype=np.int64)[codes]


def text_of(number, kind):
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
