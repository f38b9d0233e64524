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
from dpsparse.io.cells.text_kernels import is_utf8, stripped

HARD = 100
BLANK = -1

_LF, _CR, _QUOTE = ord("\n"), ord("\r"), ord('"')
_EMPTY, _NUMBER, _BOOLEAN, _TEXT = (int(CellClass[name]) for name in ("EMPTY", "NUMBER", "BOOLEAN", "TEXT"))
_MOST_DIGITS = 19


def _packed(words):
    """Words of at most 8 letters as integers."""
    return np.array(sorted(int.from_bytes(word.encode(), "little") for word in words if word), dtype=np.uint64)


_EMPTIES, _TRUES, _FALSES = _packed(EMPTY_WORDS), _packed(TRUE_WORDS), _packed(FALSE_WORDS)


@_kernel
def split(data, separator, n_cells, slots, utf8, longest, starts, ends):
    """Find the cells of each record.

    Parameters
    ----------
    data : ndarray of uint8
        Whole lines.
    separator : int
        The byte between cells.
    n_cells : int
        The cells of a record.
    slots : ndarray of int64
        For each cell of a record its place in `starts` and `ends`; -1 for one that is not wanted.
    utf8 : bool
        Whether a record must be valid UTF-8.
    longest : int
        The longest line that is read.
    starts, ends : ndarray of int32, shape (n_records, n_wanted)
        Filled in.
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
def _word_class(data, start, end):
    """The class of a cell that begins with a letter or is one sign; it may be a word of the grammar."""
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
def _read(data, start, end, comma, bits):
    """The class of a cell, and the value of a number.

    Where `comma` is set, a number with a dot is `HARD`: the dot may be one between thousands.
    """
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
    place = start
    if first == 43 or first == 45:
        place += 1
    digits, significant, after, dot = np.uint64(0), 0, 0, False
    begin = place
    while place < end:
        byte = data[place]
        if 48 <= byte <= 57:
            if significant or byte != 48:
                significant += 1
                if significant > _MOST_DIGITS:
                    return HARD, np.nan
            digits = digits * np.uint64(10) + np.uint64(byte - 48)
            after += dot
        elif byte == 46 and not dot:
            dot = True
        else:
            break
        place += 1
    if place - begin == dot:
        # No digit.
        if end - start == 1 and place - start <= 1:
            return (_EMPTY if first == 46 or first == 45 or first == 63 else HARD), np.nan
        return HARD, np.nan
    power = -after
    if place < end and data[place] | 0x20 == 101:
        place += 1
        negative = place < end and data[place] == 45
        if place < end and (data[place] == 45 or data[place] == 43):
            place += 1
        if place == end or end - place > 4:
            return HARD, np.nan
        exponent = 0
        while place < end and 48 <= data[place] <= 57:
            exponent = exponent * 10 + (data[place] - 48)
            place += 1
        power += -exponent if negative else exponent
    if place < end or (comma and dot):
        return HARD, np.nan
    number = to_double(digits, power, bits)
    if number != number:
        return HARD, np.nan
    return _NUMBER, -number if first == 45 else number


@_kernel
def classes(data, starts, ends, out):
    """The class of each cell, or `HARD`."""
    bits = np.zeros(1, dtype=np.uint64)
    for row in range(len(starts)):
        out[row], _ = _read(data, starts[row], ends[row], False, bits)


@_kernel
def numbers(data, starts, ends, comma, out, hard):
    """The value of each cell that is a plain number, NaN for all others, and which are `HARD`; returns how many."""
    bits, count = np.zeros(1, dtype=np.uint64), 0
    for row in range(len(starts)):
        cell_class, out[row] = _read(data, starts[row], ends[row], comma, bits)
        hard[row] = cell_class == HARD
        count += hard[row]
    return count
