"""Passes over the bytes of a CSV file, compiled by numba.

They read what is common: plain numbers, words, text. Whatever they leave as `HARD` is read by `grammar`, cell by cell,
which also is what runs without numba. The results are the same.

Cells lie at `starts` and `ends` in `data`. An end of -1 marks the cells of a blank record; an end of -2 - e marks a
cell that ends at e and holds doubled quotes.
"""

import numpy as np

from dpsparse.engine.cpu.numba_kernels import _kernel
from dpsparse.io.cells.decimal_kernel import to_double
from dpsparse.io.cells.grammar import EMPTY_WORDS, FALSE_WORDS, TRUE_WORDS, CellClass
from dpsparse.io.cells.number_grammar import CURRENCIES
from dpsparse.io.cells.text_kernels import is_utf8, stripped

HARD = 100
BLANK = -1
# Readings of numbers.
PLAIN, THOUSANDS, DECIMAL_COMMA = 0, 1, 2

_LF, _CR, _QUOTE = ord("\n"), ord("\r"), ord('"')
_EMPTY, _NUMBER, _GROUPED, _COMMA, _EITHER, _BOOLEAN, _TEXT = (
    int(CellClass[name]) for name in ("EMPTY", "NUMBER", "GROUPED", "COMMA", "EITHER", "BOOLEAN", "TEXT")
)
_NOT_READ = 2**40
_MOST_DIGITS = 19


def _packed(words):
    """Words of at most 8 letters as integers."""
    return np.array(sorted(int.from_bytes(word.encode(), "little") for word in words if word), dtype=np.uint64)


_EMPTIES, _TRUES, _FALSES = _packed(EMPTY_WORDS), _packed(TRUE_WORDS), _packed(FALSE_WORDS)
# Words of two or three bytes; "$" is one after a letter or two.
_CURRENCIES = _packed(CURRENCIES)
_DOLLAR = ord("$")


@_kernel
def split(data, separator, n_cells, slots, utf8, longest, starts, ends):
    """Find the cells of each record.

    `data` (ndarray of uint8): whole lines.
    `separator` (int): the byte between cells.
    `n_cells` (int): the cells of a record.
    `slots` (ndarray of int64): for each cell of a record its place in `starts` and `ends`; -1 for one that is not
      wanted.
    `utf8` (bool): whether a record must be valid UTF-8.
    `longest` (int): the longest line that is read.
    `starts`, `ends` (ndarray of int32, shape (n_records, n_wanted)): filled in.
    """
    place, size = 0, len(data)
    for row in range(len(starts)):
        line, cell, good, ascii_only = place, 0, True, True
        while True:
            escaped = False
            if place < size and data[place] == _QUOTE:
                place += 1
                start, end = place, -1
                while place < size and data[place] != _LF:
                    byte = data[place]
                    if byte == _QUOTE:
                        if place + 1 < size and data[place + 1] == _QUOTE:
                            escaped = True
                            place += 1
                        else:
                            end = place
                            place += 1
                            break
                    elif byte >= 0x80:
                        ascii_only = False
                    place += 1
                if place < size and data[place] == _CR and (place + 1 == size or data[place + 1] == _LF):
                    place += 1
                if end < 0 or (place < size and data[place] != separator and data[place] != _LF):
                    good = False
                    while place < size and data[place] != _LF:
                        place += 1
            else:
                start = place
                while place < size:
                    byte = data[place]
                    if byte in (separator, _LF):
                        break
                    if byte >= 0x80:
                        ascii_only = False
                    place += 1
                end = place
                if end > start and data[end - 1] == _CR and (place == size or data[place] == _LF):
                    end -= 1
            if good and cell < n_cells and slots[cell] >= 0:
                starts[row, slots[cell]] = start
                ends[row, slots[cell]] = -2 - end if escaped else end
            cell += 1
            if place >= size or data[place] == _LF:
                break
            place += 1
        stop = place
        if stop > line and data[stop - 1] == _CR:
            stop -= 1
        place += 1
        good = good and cell == n_cells and line < stop <= line + longest
        if good and utf8 and not ascii_only:
            good = is_utf8(data, line, stop)
        if not good:
            for slot in range(starts.shape[1]):
                ends[row, slot] = -1


@_kernel
def _may_be_currency(data, start, end):
    """Whether a cell begins with a currency, and more that is no letter."""
    word, shift = np.uint64(0), np.uint64(0)
    for place in range(start, min(end, start + 4)):
        byte = data[place]
        if 65 <= byte <= 90:
            byte += 32
        if byte == _DOLLAR:
            return True
        if not 97 <= byte <= 122:
            for known in _CURRENCIES:
                if word == known:
                    return True
            if byte < 0x80:
                return False
        word |= np.uint64(byte) << shift
        shift += np.uint64(8)
    return False


@_kernel
def _word_class(data, start, end):
    """The class of a cell that begins with a letter or is one sign; it may be a word of the grammar."""
    if _may_be_currency(data, start, end):
        return HARD
    if end - start > 8:
        return _TEXT
    word, shift = np.uint64(0), np.uint64(0)
    for place in range(start, end):
        byte = data[place]
        if 65 <= byte <= 90:
            byte += 32
        word |= np.uint64(byte) << shift
        shift += np.uint64(8)
    for known in _EMPTIES:
        if word == known:
            return _EMPTY
    for known in _TRUES:
        if word == known:
            return _BOOLEAN
    for known in _FALSES:
        if word == known:
            return _BOOLEAN
    return _TEXT


@_kernel
def _are_groups(data, start, end, mark):
    """Whether bytes are digits in groups of three with a mark between them; the first group may be shorter."""
    first = (end - start) % 4
    if first == 0 or end - start < 5 or not 49 <= data[start] <= 57:
        return False
    for place in range(start, end):
        byte = data[place]
        if (place - start - first) % 4 == 0 and place >= start + first:
            if byte != mark:
                return False
        elif not 48 <= byte <= 57:
            return False
    return True


@_kernel
def _separated(data, start, end, reading):
    """The class of a number that has commas, or dots that may be between thousands, its digits and the power of ten."""
    digits, significant, commas, dots, comma, dot, last_dot = np.uint64(0), 0, 0, 0, -1, -1, -1
    for place in range(start, end):
        byte = data[place]
        if 48 <= byte <= 57:
            if significant or byte != 48:
                significant += 1
            digits = digits * np.uint64(10) + np.uint64(byte - 48)
        elif byte == 44:
            commas, comma = commas + 1, place
        elif byte == 46:
            dots, last_dot, dot = dots + 1, place, place if dots == 0 else dot
        else:
            return HARD, digits, 0
    if significant > _MOST_DIGITS or commas + dots == end - start:
        return HARD, digits, 0
    plain = commas == 0 and dots == 1
    grouped = commas > 0 and dots <= 1 and (dots == 0 or comma < dot)
    grouped = grouped and _are_groups(data, start, dot if dots else end, 44)
    if commas == 0:
        decimal_comma = _are_groups(data, start, end, 46)
    else:
        decimal_comma = commas == 1 and last_dot < comma and (dots == 0 or _are_groups(data, start, comma, 46))
    if not (plain or grouped or decimal_comma):
        return HARD, digits, 0
    if plain:
        cell_class = _NUMBER
    elif not grouped:
        cell_class = _COMMA
    else:
        cell_class = _EITHER if decimal_comma else _GROUPED
    if reading == DECIMAL_COMMA and decimal_comma:
        return cell_class, digits, comma + 1 - end if commas else 0
    if plain or (reading == THOUSANDS and grouped):
        return cell_class, digits, dot + 1 - end if dots else 0
    return cell_class, digits, _NOT_READ


@_kernel
def _read(data, start, end, reading, bits):
    """The class of a cell, and the value of a number in one of three readings."""
    if end < -1:
        return HARD, np.nan
    if end == -1:
        return BLANK, np.nan
    start, end = stripped(data, start, end)
    if start == end:
        return _EMPTY, np.nan
    first, last = data[start], data[end - 1]
    if last >= 0x80:
        return HARD, np.nan
    lower = first | 0x20
    if 97 <= lower <= 122:
        return _word_class(data, start, end), np.nan
    if end - start == 1 and (first == 45 or first == 46 or first == 63):
        return _EMPTY, np.nan
    begin = start + 1 if first == 43 or first == 45 else start
    place, digits, significant, after, dot = begin, np.uint64(0), 0, 0, False
    while place < end:
        byte = data[place]
        if 48 <= byte <= 57:
            if significant or byte != 48:
                significant += 1
            digits = digits * np.uint64(10) + np.uint64(byte - 48)
            after += dot
        elif byte == 46 and not dot:
            dot = True
        else:
            break
        place += 1
    cell_class, power = _NUMBER, -after
    if (place < end and (data[place] == 44 or data[place] == 46)) or (
        dot and reading == DECIMAL_COMMA and place == end
    ):
        cell_class, digits, power = _separated(data, begin, end, reading)
        if cell_class == HARD or power == _NOT_READ:
            return cell_class, np.nan
    elif place - begin == dot or significant > _MOST_DIGITS:
        return HARD, np.nan
    elif place < end:
        exponent, place = _exponent(data, place, end)
        if place < 0 or (dot and reading == DECIMAL_COMMA):
            return HARD, np.nan
        power += exponent
    number = to_double(digits, power, bits)
    if number != number:
        return HARD, np.nan
    return cell_class, -number if first == 45 else number


@_kernel
def _exponent(data, place, end):
    """The exponent of a number from its e on; a place of -1 where it is none, or has more than four signs."""
    if data[place] | 0x20 != 101:
        return 0, -1
    place += 1
    negative = place < end and data[place] == 45
    if place < end and (data[place] == 45 or data[place] == 43):
        place += 1
    if place == end or end - place > 4:
        return 0, -1
    exponent = 0
    while place < end and 48 <= data[place] <= 57:
        exponent = exponent * 10 + np.int64(data[place] - 48)
        place += 1
    return -exponent if negative else exponent, place if place == end else -1


@_kernel
def classes(data, starts, ends, out):
    """The class of each cell, or `HARD`."""
    bits = np.zeros(1, dtype=np.uint64)
    for row in range(len(starts)):
        out[row], _ = _read(data, starts[row], ends[row], PLAIN, bits)


@_kernel
def numbers(data, starts, ends, reading, out, hard):
    """The value of each cell that is a number in a reading, NaN for all others, and which are `HARD`: how many."""
    bits, count = np.zeros(1, dtype=np.uint64), 0
    for row in range(len(starts)):
        cell_class, out[row] = _read(data, starts[row], ends[row], reading, bits)
        hard[row] = cell_class == HARD
        count += hard[row]
    return count
