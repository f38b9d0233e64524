r"""One grammar for cells of text: what a cell looks like by itself, and its value once the kind of its column is known.

A cell is stripped of white space first. Its class depends on its own text and on nothing else:

=============  =========================================================================================
EMPTY          nothing, NA, N/A, NaN, null, none, nil, inf, infinity (in any case), ``-``, ``?``, ``.``,
               and a number too large for a double
NUMBER         ``12``, ``-1.5``, ``.5``, ``1e-3``, ``1 234.5``, ``1'234``
GROUPED        ``1,234.5``, ``1,234,567``: commas between thousands
COMMA          ``1,5``, ``1 234,5``, ``1.234,5``, ``1.234.567``: a decimal comma, dots between thousands
EITHER         ``1,234``: thousands or a decimal comma
BOOLEAN        true, false, yes, no, t, f, y, n in any case
DATE_YMD       ``2024-01-31``
DATE_DMY       ``31/01/2024``
DATE_MDY       ``01/31/2024``
DATE_EITHER    ``01/02/2024``
TEXT           anything else
=============  =========================================================================================

Numbers may have a sign, a currency and % as `number_grammar` says; 12 % is 12. Digits are those of ASCII. Dates are
separated by ``-``, ``/`` or ``.``; a year of two digits lies between 1969 and 2068. A date may carry a time, as in
ISO 8601. Its value is the number of days since the beginning of 1970, in UTC where the time has a zone.
"""

import hashlib
import math
import re
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import TypeAlias

from dpsparse.io.cells.number_grammar import Readings, read_number

N_BUCKETS = 1024
# Texts of at most this length are parsed once: dates and the like repeat themselves.
_SHORT = 32
MICROSECONDS_A_DAY = 86_400_000_000


class CellClass(IntEnum):
    """What a cell looks like by itself. Every cell has exactly one class."""

    EMPTY = 0
    NUMBER = 1
    GROUPED = 2
    COMMA = 3
    EITHER = 4
    BOOLEAN = 5
    DATE_YMD = 6
    DATE_DMY = 7
    DATE_MDY = 8
    DATE_EITHER = 9
    TEXT = 10


class Kind(StrEnum):
    """How the cells of a column are read.

    Examples
    --------
    >>> CellClass.EITHER in Kind.number_comma.reads
    True
    """

    number = "number"
    number_grouped = "number_grouped"
    number_comma = "number_comma"
    boolean = "boolean"
    date_ymd = "date_ymd"
    date_dmy = "date_dmy"
    date_mdy = "date_mdy"
    text = "text"

    @property
    def reads(self) -> frozenset[CellClass]:
        """The classes of cells that a column of this kind accepts; all others are missing there."""
        return _READS[self]


_READS = {
    Kind.number: frozenset({CellClass.NUMBER}),
    Kind.number_grouped: frozenset({CellClass.NUMBER, CellClass.GROUPED, CellClass.EITHER}),
    Kind.number_comma: frozenset({CellClass.NUMBER, CellClass.COMMA, CellClass.EITHER}),
    Kind.boolean: frozenset({CellClass.BOOLEAN}),
    Kind.date_ymd: frozenset({CellClass.DATE_YMD}),
    Kind.date_dmy: frozenset({CellClass.DATE_DMY, CellClass.DATE_EITHER}),
    Kind.date_mdy: frozenset({CellClass.DATE_MDY, CellClass.DATE_EITHER}),
    Kind.text: frozenset(CellClass) - {CellClass.EMPTY},
}

EMPTY_WORDS = frozenset(("", "na", "n/a", "nan", "null", "none", "nil", "-", "?", ".", "inf", "infinity"))
TRUE_WORDS, FALSE_WORDS = frozenset(("true", "yes", "t", "y")), frozenset(("false", "no", "f", "n"))

Parsed: TypeAlias = tuple[CellClass, dict[Kind, float]]
"""The class of a cell and its values by kind."""

_DATE = re.compile(
    r"(?P<a>[0-9]{1,4})(?P<mark>[-/.])(?P<b>[0-9]{1,2})(?P=mark)(?P<c>[0-9]{1,4})"
    r"(?:(?:T|\s+)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r"\s*(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?",
    re.IGNORECASE | re.ASCII,
)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def classify(text: str) -> CellClass:
    """The class of one cell.

    Examples
    --------
    >>> [classify(text).name for text in ("1.5", "1,234", "1,5", "31/01/2024", "no", "n/a", "north")]
    ['NUMBER', 'EITHER', 'COMMA', 'DATE_DMY', 'BOOLEAN', 'EMPTY', 'TEXT']
    """
    return _parse(text)[0]


def value(text: str, kind: Kind) -> float:
    """The value of one cell in a column of this kind; NaN where the cell does not fit. Text has no value.

    Examples
    --------
    >>> value("1,234", Kind.number_grouped), value("1,234", Kind.number_comma), value("1,234", Kind.number)
    (1234.0, 1.234, nan)
    """
    cell_class, values = _parse(text)
    return values.get(kind, math.nan) if cell_class in kind.reads else math.nan


@lru_cache(1 << 16)
def bucket(text: str) -> int:
    """The bucket of a text, a public hash of it.

    Examples
    --------
    >>> bucket(" north ") == bucket("north")
    True
    """
    digest = hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % N_BUCKETS


def _parse(text: str) -> Parsed:
    """The class of a cell and its values by kind."""
    text = text.strip()
    return _remembered(text) if len(text) <= _SHORT else _parse_stripped(text)


@lru_cache(1 << 16)
def _remembered(text: str) -> Parsed:
    return _parse_stripped(text)


def is_empty_word(text: str) -> bool:
    """Whether a stripped text is nothing, or a word for it.

    Examples
    --------
    >>> [is_empty_word(text) for text in ("", "N/A", "-inf", "1e999")]
    [True, True, True, False]
    """
    word = text.lower()
    return word in EMPTY_WORDS or word.lstrip("+-") in ("nan", "inf", "infinity")


def _parse_stripped(text: str) -> Parsed:
    if is_empty_word(text):
        return CellClass.EMPTY, {}
    word = text.lower()
    if word in TRUE_WORDS or word in FALSE_WORDS:
        return CellClass.BOOLEAN, {Kind.boolean: float(word in TRUE_WORDS)}
    number = read_number(text)
    parsed = None if number is None else _parse_number(number)
    if parsed is None:
        date = _DATE.fullmatch(text)
        parsed = None if date is None else _parse_date(date)
    return (CellClass.TEXT, {}) if parsed is None else parsed


def _parse_number(readings: Readings) -> Parsed:
    plain, grouped, comma = readings
    written = {Kind.number: plain, Kind.number_grouped: plain or grouped, Kind.number_comma: comma or plain}
    values = {kind: float(digits) for kind, digits in written.items() if digits is not None}
    if plain:
        cell_class = CellClass.NUMBER
    elif not grouped:
        cell_class = CellClass.COMMA
    else:
        cell_class = CellClass.EITHER if comma else CellClass.GROUPED
    finite = {kind: number for kind, number in values.items() if math.isfinite(number)}
    return (cell_class if finite else CellClass.EMPTY), finite


def _parse_date(match: re.Match[str]) -> Parsed | None:
    a, b, c = match["a"], match["b"], match["c"]
    time = _microseconds(match)
    if time is None:
        return None
    if len(a) == 4 and len(c) <= 2:
        days = {Kind.date_ymd: days_since_1970(int(a), int(b), int(c))}
    elif len(a) <= 2 and len(c) in (2, 4):
        year = int(c) if len(c) == 4 else int(c) + (1900 if int(c) >= 69 else 2000)
        days = {
            Kind.date_dmy: days_since_1970(year, int(b), int(a)),
            Kind.date_mdy: days_since_1970(year, int(a), int(b)),
        }
    else:
        return None
    values = {
        kind: (day * MICROSECONDS_A_DAY + time) / MICROSECONDS_A_DAY for kind, day in days.items() if day is not None
    }
    if not values:
        return None
    if len(values) == 2:
        return CellClass.DATE_EITHER, values
    return CellClass[next(iter(values)).upper()], values


def _microseconds(match: re.Match[str]) -> int | None:
    """Microseconds since midnight in UTC; None where the time is none."""
    if match["hour"] is None:
        return 0
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    time = ((hour * 60 + minute) * 60 + second) * 1_000_000 + int((match["fraction"] or "")[:6].ljust(6, "0"))
    zone = match["zone"] or "Z"
    if zone in "Zz":
        return time
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        return None
    offset = (hours * 60 + minutes) * 60_000_000
    return time + offset if zone[0] == "-" else time - offset


def days_since_1970(year: int, month: int, day: int) -> int | None:
    """Days from the beginning of 1970 to a date of the Gregorian calendar; None where there is no such date."""
    if not (year >= 1 and 1 <= month <= 12):
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _MONTH_DAYS[month - 1] + (leap and month == 2):
        return None
    # Years that begin in March have the leap day at their end.
    years = year - (month <= 2)
    era_days = 365 * years + years // 4 - years // 100 + years // 400
    return era_days + (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - 719_468
