"""Passes over the bytes of text cells, compiled by numba: white space, UTF-8, different texts.

Cells lie at `starts` and `ends` in `data`, as `csv_kernels` explains.
"""

import numpy as np

from dpsparse.engine.cpu.numba_kernels import _inline, _kernel


@_inline
def _is_space(byte):
    """The ASCII bytes that `str.strip` strips."""
    return byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31


@_inline
def stripped(data, start, end):
    """Where a cell begins and ends without ASCII white space around it."""
    while start < end and _is_space(data[start]):
        start += 1
    while end > start and _is_space(data[end - 1]):
        end -= 1
    return start, end


@_kernel
def is_utf8(data, start, stop):
    """Whether bytes are valid UTF-8, as Python's decoder sees it: no surrogate, no longer form than needed."""
    place = start
    while place < stop:
        byte = data[place]
        place += 1
        if byte < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= byte <= 0xDF:
            more = 1
        elif 0xE0 <= byte <= 0xEF:
            more = 2
            if byte == 0xE0:
                low = 0xA0
            elif byte == 0xED:
                high = 0x9F
        elif 0xF0 <= byte <= 0xF4:
            more = 3
            if byte == 0xF0:
                low = 0x90
            elif byte == 0xF4:
                high = 0x8F
        else:
            return False
        for _ in range(more):
            if place >= stop or data[place] < low or data[place] > high:
                return False
            low, high = 0x80, 0xBF
            place += 1
    return True


@_kernel
def distinct(data, starts, ends, table, codes, places):
    """Number the different texts among cells, by their bytes.

    `data`, `starts`, `ends` (ndarray): the cells.
    `table` (ndarray of int32): memory: -1 everywhere, a power of two, at least twice as long as there are cells.
    `codes` (ndarray of int64): the number of each cell's text; -1 in blank records.
    `places` (ndarray of int64): a cell with each text.
    Returns: how many texts there are.
    """
    count, mask = 0, np.uint64(len(table) - 1)
    for row in range(len(starts)):
        end = ends[row]
        codes[row] = -1
        if end == -1:
            continue
        escaped = end < -1
        start, end = stripped(data, starts[row], -2 - end if escaped else end)
        hashed = np.uint64(0xCBF29CE484222325)
        for place in range(start, end):
            hashed = (hashed ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        slot = hashed ^ (hashed >> np.uint64(29))
        while codes[row] < 0:
            code = table[slot & mask]
            if code < 0:
                table[slot & mask] = count
                places[count] = row
                codes[row] = count
                count += 1
                break
            other = ends[places[code]]
            if (other < -1) == escaped:
                first, last = stripped(data, starts[places[code]], -2 - other if escaped else other)
                if last - first == end - start:
                    same = True
                    for step in range(end - start):
                        if data[first + step] != data[start + step]:
                            same = False
                            break
                    if same:
                        codes[row] = code
            slot += np.uint64(1)
    return count
