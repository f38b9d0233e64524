"""Passes over features compiled by numba. `numpy_kernels` has the same functions in NumPy, and they give the same bits.

Several rows are read at a time, so that the sums stay in the cache while the features stream by; a loop over that many
is unrolled by the compiler. Nothing is compiled with fast mathematics, which would let NaN through and change the order
of operations. Rounding adds 1.5 * 2^23 (2^52), which rounds to the nearest even integer like `rint` and leaves that
integer in the last bits: it runs on whole vectors, on every machine.

Arrays are passed as flat memory, `line`, and the step from one row to the next. Threads may run these on different
rows: sums of integers do not depend on the order of addition.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload

# 256 terms of at most 127 * 2^16 stay below 2^31, so that many rows may be added in 32 bits before they are spilled.
ROWS_IN_32_BITS = 256
# Rows read at a time. With fewer the sums, which do not fit in the first cache, are read more often.
ROWS = 16
# Rows rounded at a time: with more there are too many places to write to.
ROWS_ROUNDED = 8
# Rows whose cells are gathered at a time, so that their waits for memory overlap.
ROWS_TAKEN = 64
# Columns of this many cells and more are read four at a time, so that the weights are read less often.
LONG_COLUMN = 2_500

_inline = njit(inline="always")


def _kernel(loop, **options):
    try:
        return njit(cache=True, nogil=True, **options)(loop)
    except RuntimeError:
        # A cache can be written neither beside the package nor in the user's home.
        return njit(nogil=True, **options)(loop)


def _exact(loop):
    """A loop in which a product may be fused with a sum: they are of integers, and exact either way."""
    return _kernel(loop, fastmath={"contract"})


def _at(public, j):
    """A public number of a feature, be it one for all or one for each."""


@overload(_at, inline="always")
def _at_of(public, j):
    if isinstance(public, types.Array):
        return lambda public, j: public[j]
    return lambda public, j: public


def _cut(centered, cell):
    """A value clipped to the range of the levels, NaN as 0; 0 too where its cell is missing."""


@overload(_cut)
def _cut_of(centered, cell):
    real = np.float32 if centered == types.float32 else np.float64
    zero, top = real(0), real(127)

    def cut(centered, cell):
        # A cell less itself is 0, or NaN where it is not finite: one selection for both, for two do not vectorise.
        known = centered + (cell - cell)
        value = known if known == known else zero
        return min(max(value, -top), top)

    return cut


def _level(cut):
    """The integer nearest to a value, of its size."""


@overload(_level, inline="always")
def _level_of(cut):
    if cut == types.float32:
        return lambda cut: np.int32(np.float32(cut + np.float32(12582912.0)).view(np.int32) - np.int32(0x4B400000))
    return lambda cut: np.float64(cut + 6755399441055744.0).view(np.int64) - np.int64(0x4338000000000000)


def _product(cut, weight):
    """The product of a value's level and a weight: in float32 an integer, since a sum of few would be inexact there."""


@overload(_product, inline="always")
def _product_of(cut, weight):
    if cut == types.float32:
        return lambda cut, weight: np.int32(_level(cut) * weight)
    return lambda cut, weight: np.rint(cut) * np.float64(weight)


def _sum(first, second):
    """The sum of two numbers of one type, in that type."""


@overload(_sum, inline="always")
def _sum_of(first, second):
    if first == types.int32:
        return lambda first, second: np.int32(first + second)
    return lambda first, second: first + second


def _whole(product):
    """A product, or a sum of them, as an integer."""


@overload(_whole, inline="always")
def _whole_of(product):
    if product == types.int32:
        return lambda product: product
    return lambda product: _level(product)


def _zero(line):
    """0 as an integer of the size of the line's cells."""


@overload(_zero, inline="always")
def _zero_of(line):
    zero = np.int32(0) if line.dtype == types.float32 else np.int64(0)
    return lambda line: zero


@_inline
def _round_some(line, step, count, center, rate, out, out_step, d):
    """Levels of the first rows. Returns whether a cell is not finite."""
    most, bad = np.finfo(line.dtype).max, np.int32(0)
    for j in range(d):
        c, r = _at(center, j), _at(rate, j)
        for q in range(count):
            value = line[np.uintp(q * step + j)]
            out[np.uintp(q * out_step + j)] = np.int8(_level(_cut((value - c) * r, value)))
            bad |= np.int32(not (abs(value) <= most))
    return bad


@_kernel
def round_rows(line, step, n, d, center, rate, out, out_step):
    """Levels of n rows of d cells. Returns whether a cell is not finite."""
    bad, whole = 0, n - n % ROWS_ROUNDED
    for i in range(0, whole, ROWS_ROUNDED):
        bad |= _round_some(line[i * step :], step, ROWS_ROUNDED, center, rate, out[i * out_step :], out_step, d)
    for i in range(whole, n):
        bad |= _round_some(line[i * step :], step, 1, center, rate, out[i * out_step :], out_step, d)
    return bad


@_kernel
def round_columns(line, step, n, center, rate, out, out_step):
    """Levels of columns of n cells each, the columns `step` apart. Returns whether a cell is not finite."""
    bad = 0
    for j in range(len(center)):
        bad |= _round_some(line[j * step :], 0, 1, center[j], rate[j], out[j * out_step :], 0, n)
    return bad


@_inline
def _add_levels(levels, step, weights, count, block):
    """Add to `block` the first rows of levels times their weights."""
    for j in range(len(block)):
        total = np.int32(0)
        for q in range(count):
            total = np.int32(total + np.int32(weights[q] * levels[np.uintp(q * step + j)]))
        block[j] += total


@_kernel
def add_level_rows(levels, step, weights, sums):
    """Add to `sums` each row of levels times its weight in int32."""
    n, d = len(weights), len(sums)
    block = np.zeros(d, dtype=np.int32)
    for start in range(0, n, ROWS_IN_32_BITS):
        stop = min(n, start + ROWS_IN_32_BITS)
        whole = stop - (stop - start) % ROWS
        for i in range(start, whole, ROWS):
            _add_levels(levels[i * step :], step, weights[i:], ROWS, block)
        for i in range(whole, stop):
            _add_levels(levels[i * step :], step, weights[i:], 1, block)
        for j in range(d):
            sums[j] += block[j]
            block[j] = 0


@_kernel
def add_people(levels, step, starts, weights, scales, most, sums):
    """Add to `sums` each person's sum of rows of levels times weights, scaled, clipped at `most`, and truncated.

    All numbers are whole and below 2^53, so that float64 adds them exactly.
    """
    d = len(sums)
    total = np.zeros(d, dtype=np.float64)
    for person in range(len(scales)):
        for row in range(starts[person], starts[person + 1]):
            weight = weights[row]
            for j in range(d):
                total[j] += weight * levels[np.uintp(row * step + j)]
        scale = scales[person]
        for j in range(d):
            sums[j] += np.trunc(min(max(total[j] * scale, -most), most))
            total[j] = 0.0


@_kernel
def add_level_columns(levels, step, weights, sums):
    """Add to `sums` each column of levels times the weights in int32."""
    n, d = len(weights), len(sums)
    for j in range(d):
        total = np.int64(0)
        for start in range(0, n, ROWS_IN_32_BITS):
            weight = weights[start : start + ROWS_IN_32_BITS]
            x = levels[j * step + start :]
            block = np.int32(0)
            for i in range(len(weight)):
                block = np.int32(block + np.int32(weight[i] * x[i]))
            total += block
        sums[j] += total


@_inline
def _add_some(line, step, weights, count, center, rate, block):
    """Add to `block` the first rows' levels times their weights."""
    for j in range(len(block)):
        c, r = _at(center, j), _at(rate, j)
        total = _product(_cut((line[j] - c) * r, line[j]), weights[0])
        for q in range(1, count):
            cell = line[np.uintp(q * step + j)]
            total = _sum(total, _product(_cut((cell - c) * r, cell), weights[q]))
        block[j] += _whole(total)


@_exact
def add_rows(line, step, weights, center, rate, sums):
    """Add to `sums` each row's levels times its weight in int32, in one read."""
    n, d = len(weights), len(sums)
    block = np.full(d, _zero(line))
    for start in range(0, n, ROWS_IN_32_BITS):
        stop = min(n, start + ROWS_IN_32_BITS)
        whole = stop - (stop - start) % ROWS
        for i in range(start, whole, ROWS):
            _add_some(line[i * step :], step, weights[i:], ROWS, center, rate, block)
        for i in range(whole, stop):
            _add_some(line[i * step :], step, weights[i:], 1, center, rate, block)
        for j in range(d):
            sums[j] += block[j]
            block[j] = 0


@_inline
def _column_sum(x, weights, c, r):
    total = _zero(x)
    for i in range(len(weights)):
        total = _sum(total, _whole(_product(_cut((x[i] - c) * r, x[i]), weights[i])))
    return total


@_exact
def add_columns(line, step, weights, center, rate, sums):
    """Add to `sums` each column's levels times the weights in int32, in one read.

    Distant columns are read side by side, so that each is a long sequential stream of its own.
    """
    n, d = len(weights), len(sums)
    fourth = d // 4 if n >= LONG_COLUMN else 0
    gap = fourth * step
    for j in range(fourth):
        j1, j2, j3 = j + fourth, j + 2 * fourth, j + 3 * fourth
        c0, c1, c2, c3 = center[j], center[j1], center[j2], center[j3]
        r0, r1, r2, r3 = rate[j], rate[j1], rate[j2], rate[j3]
        for start in range(0, n, ROWS_IN_32_BITS):
            weight = weights[start : start + ROWS_IN_32_BITS]
            a, size = j * step + start, len(weight)
            x0, x1, x2, x3 = line[a:], line[a + gap :], line[a + 2 * gap :], line[a + 3 * gap :]
            t0 = t1 = t2 = t3 = _zero(line)
            for i in range(size):
                w = weight[i]
                t0 = _sum(t0, _whole(_product(_cut((x0[i] - c0) * r0, x0[i]), w)))
                t1 = _sum(t1, _whole(_product(_cut((x1[i] - c1) * r1, x1[i]), w)))
                t2 = _sum(t2, _whole(_product(_cut((x2[i] - c2) * r2, x2[i]), w)))
                t3 = _sum(t3, _whole(_product(_cut((x3[i] - c3) * r3, x3[i]), w)))
            sums[j] += t0
            sums[j1] += t1
            sums[j2] += t2
            sums[j3] += t3
    half = (d - 4 * fourth + 1) // 2
    for first in range(4 * fourth, 4 * fourth + half):
        for start in range(0, n, ROWS_IN_32_BITS):
            weight = weights[start : start + ROWS_IN_32_BITS]
            for j in range(first, d, half):
                sums[j] += _column_sum(line[j * step + start :], weight, center[j], rate[j])


@_kernel
def subtract_columns(line, row_step, column_step, d, columns, center, scale, effects, bound, residuals):
    """Subtract from each residual some cells of its row, in public units and clipped, times their effects, in order.

    A gap is at 0. Column d + j is 1 where the cell of column j is missing, and 0 elsewhere.
    """
    most = np.finfo(line.dtype).max
    for start in range(0, len(residuals), ROWS_TAKEN):
        stop = min(len(residuals), start + ROWS_TAKEN)
        for k in range(len(columns)):
            of_gaps, at = columns[k] >= d, columns[k] % d * column_step
            c, s, effect = center[k], scale[k], effects[k]
            for i in range(start, stop):
                cell = line[np.uintp(i * row_step + at)]
                missing = not abs(cell) <= most
                value = ((np.float64(missing) if of_gaps else np.float64(cell)) - c) / s
                value = -bound if value < -bound else value
                value = bound if value > bound else value
                residuals[i] -= (0.0 if missing and not of_gaps else value) * effect


@_kernel
def round_stored(data, indices, center, rate, at_zero, out):
    """Levels of stored cells less the level of an empty one. Returns whether a cell is not finite."""
    most, bad = np.finfo(data.dtype).max, 0
    for k in range(len(data)):
        j = indices[k]
        out[k] = _level(_cut((data[k] - center[j]) * rate[j], data[k])) - at_zero[j]
        bad |= np.int32(not (abs(data[k]) <= most))
    return bad


@_kernel
def add_stored(levels, indices, starts, stops, weights, sums):
    """Add to `sums` each row's stored levels times its weight."""
    for i in range(len(weights)):
        weight = np.int64(weights[i])
        for k in range(starts[i], stops[i]):
            sums[indices[k]] += weight * levels[k]


@_kernel
def add_stored_cells(data, center, rate, at_zero, indices, starts, stops, weights, sums):
    """`round_stored` and `add_stored` in one read."""
    for i in range(len(weights)):
        weight = np.int64(weights[i])
        for k in range(starts[i], stops[i]):
            j = indices[k]
            sums[j] += weight * (_level(_cut((data[k] - center[j]) * rate[j], data[k])) - at_zero[j])


@_kernel
def stored_column(data, indices, starts, stops, feature, out):
    """The cells of one column, by bisection of each row's sorted indices; `out` keeps its value where none is."""
    for i in range(len(out)):
        low, high = starts[i], stops[i]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < feature:
                low = middle + 1
            else:
                high = middle
        if low < stops[i] and indices[low] == feature:
            out[i] = data[low]


# Bits of a float64 below its sign, its exponent and the first two bits of its fraction: floats that share the leading
# ones lie in a bin, within a quarter of each other.
_FINE_BITS = 50
_N_BINS = 2 ** (64 - _FINE_BITS)
# Columns whose counts stay in the cache while rows stream by.
_COLUMNS_COUNTED = 64


@_kernel
def _starts(thresholds):
    """For each bin of floats how many rising thresholds are below all of it, and the most thresholds in a bin."""
    keys = np.arange(_N_BINS)
    bits = keys << np.int64(_FINE_BITS)
    fine = (np.int64(1) << np.int64(_FINE_BITS)) - np.int64(1)
    # Of negative values the lowest has all fine bits set.
    lowest = np.where(keys < _N_BINS // 2, bits, bits + fine).view(np.float64)
    highest = np.where(keys < _N_BINS // 2, bits + fine, bits).view(np.float64)
    starts, most = np.zeros(_N_BINS, dtype=np.int32), 0
    for key in keys:
        low, high = lowest[key], highest[key]
        # NaN shares a bin with an infinity, or fills one.
        if low == low or high == high:
            starts[key] = np.searchsorted(thresholds, low if low == low else high)
            most = max(most, np.searchsorted(thresholds, high if high == high else low) - starts[key])
    return starts, most


@_inline
def _place(value, padded, starts, most):
    """How many thresholds are below a value; all of them for a gap. `padded` ends with an infinity for each step."""
    place = starts[np.uintp((value.view(np.int64) >> np.int64(_FINE_BITS)) & np.int64(_N_BINS - 1))]
    # Without a branch that depends on the value.
    for _ in range(most):
        place += np.int32(padded[np.uintp(place)] < value)
    return np.uintp(place if abs(value) <= np.finfo(np.float64).max else len(padded) - most)


@_kernel
def count_cells(line, row_step, column_step, n, thresholds, counts):
    """Add 1 to `counts` for each cell: at its column and at the number of thresholds below it."""
    starts, most = _starts(thresholds)
    padded = np.append(thresholds, np.full(most, np.inf))
    width = _COLUMNS_COUNTED if column_step < row_step else 1
    for first in range(0, len(counts), width):
        last = min(first + width, len(counts))
        for i in range(n):
            for j in range(first, last):
                value = np.float64(line[np.uintp(i * row_step + j * column_step)])
                counts[np.uintp(j), _place(value, padded, starts, most)] += 1


@_kernel
def count_stored(data, indices, starts, stops, thresholds, counts):
    """`count_cells` for the stored cells of some rows."""
    bins, most = _starts(thresholds)
    padded = np.append(thresholds, np.full(most, np.inf))
    for i in range(len(starts)):
        for k in range(starts[i], stops[i]):
            counts[indices[k], _place(np.float64(data[k]), padded, bins, most)] += 1


@_inline
def _rank(value):
    """The bin of a float among all, which rise; -0 is with 0, and NaN in the last."""
    bits = np.float64(value + 0.0).view(np.int64) if value == value else np.int64(0x7FFFFFFFFFFFFFFF)
    # The bits of negative floats fall as these rise.
    rising = bits ^ ((bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))
    return np.uintp((rising >> np.int64(_FINE_BITS)) + np.int64(_N_BINS // 2))


@_kernel
def count_values(values, thresholds, counts):
    """Add 1 to `counts` for each value: at the number of rising thresholds below it; NaN is above all numbers."""
    starts = np.zeros(_N_BINS + 1, dtype=np.int32)
    for k in range(len(thresholds)):
        starts[_rank(thresholds[k]) + np.uintp(1)] += 1
    most = starts.max()
    for k in range(_N_BINS):
        starts[k + 1] += starts[k]
    padded = np.append(thresholds, np.inf)
    for i in range(len(values)):
        value = np.float64(values[i])
        rank = _rank(value)
        low, high = starts[rank], starts[rank + np.uintp(1)]
        left = most
        # A bisection without a branch that depends on the value.
        while left > 0:
            middle = (low + high) >> 1
            below = np.int32(padded[np.uintp(middle)] < value) & np.int32(low < high)
            low += below * (middle + 1 - low)
            high += (1 - below) * (middle - high)
            left >>= 1
        counts[np.uintp(low)] += 1
