"""Passes over features compiled by numba. `plain` has the same functions in NumPy, and they give the same bits.

Several rows are read at a time, so that the sums stay in the cache while the features stream by. Nothing is compiled
with fast mathematics, which would let NaN through and fuse operations. Rounding adds and subtracts 1.5 * 2^23 (2^52),
which rounds to the nearest even integer like `rint` and, unlike it, runs on whole vectors.

Arrays are lines of memory with the step from one row to the next. Threads may run these on rows of their own: sums are
of integers, so neither their order nor who makes them changes a bit.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload

# 256 terms of at most 127 * 2^16 stay below 2^31, so that many rows may be added in 32 bits before they are spilled.
ROWS_IN_32_BITS = 256

_inline = njit(inline="always")


def _kernel(loop, **options):
    try:
        return njit(cache=True, nogil=True, **options)(loop)
    except RuntimeError:
        # There is no place for a cache: neither beside the package nor in the user's home.
        return njit(nogil=True, **options)(loop)


def _exact(loop):
    """A loop in which a product may be fused with a sum: they are of integers, and exact either way."""
    return _kernel(loop, fastmath={"contract"})


@_inline
def _rounder(line):
    return line.dtype.type(12582912.0 if line.itemsize == 4 else 6755399441055744.0)


@_inline
def _level(centred, zero, top, rounder):
    value = centred if centred == centred else zero
    return (min(max(value, -top), top) + rounder) - rounder


@_inline
def _rint(centred, zero, top):
    value = centred if centred == centred else zero
    return np.rint(min(max(value, -top), top))


def _four(first, second, third, fourth):
    """The sum of four pairs of products, each at most 2 * 127 * 2^16: float32 holds no more of them exactly."""


@overload(_four, inline="always")
def _four_of(first, second, third, fourth):
    if first == types.float32:
        return lambda first, second, third, fourth: (
            np.int32(first) + np.int32(second) + np.int32(third) + np.int32(fourth)
        )
    return lambda first, second, third, fourth: (first + second) + (third + fourth)


@_inline
def _byte(centred, zero, top, rounder):
    return np.int8(np.int32(_level(centred, zero, top, rounder)))


@_kernel
def round_rows(line, step, n, center, rate, out, out_step):
    """Levels of n rows; a centre and a rate for each column. Returns how many groups of cells hold one not finite."""
    d = len(center)
    zero, top, most, rounder = line.dtype.type(0), line.dtype.type(127), np.finfo(line.dtype).max, _rounder(line)
    bad = 0
    i = 0
    while i + 4 <= n:
        a, b = i * step, i * out_step
        x0, x1 = line[a : a + d], line[a + step : a + step + d]
        x2, x3 = line[a + 2 * step : a + 2 * step + d], line[a + 3 * step : a + 3 * step + d]
        o0, o1 = out[b : b + d], out[b + out_step : b + out_step + d]
        o2, o3 = out[b + 2 * out_step : b + 2 * out_step + d], out[b + 3 * out_step : b + 3 * out_step + d]
        for j in range(d):
            c, r = center[j], rate[j]
            o0[j] = _byte((x0[j] - c) * r, zero, top, rounder)
            o1[j] = _byte((x1[j] - c) * r, zero, top, rounder)
            o2[j] = _byte((x2[j] - c) * r, zero, top, rounder)
            o3[j] = _byte((x3[j] - c) * r, zero, top, rounder)
            bad |= np.int32(
                (not (abs(x0[j]) <= most))
                | (not (abs(x1[j]) <= most))
                | (not (abs(x2[j]) <= most))
                | (not (abs(x3[j]) <= most))
            )
        i += 4
    while i < n:
        x, o = line[i * step : i * step + d], out[i * out_step : i * out_step + d]
        for j in range(d):
            o[j] = _byte((x[j] - center[j]) * rate[j], zero, top, rounder)
            bad |= np.int32(not (abs(x[j]) <= most))
        i += 1
    return bad


@_kernel
def round_columns(line, step, n, center, rate, out, out_step):
    """Levels of columns of n cells each, the columns `step` apart. Returns whether a cell is not finite."""
    zero, top, most, rounder = line.dtype.type(0), line.dtype.type(127), np.finfo(line.dtype).max, _rounder(line)
    bad = 0
    for j in range(len(center)):
        x, o, c, r = line[j * step : j * step + n], out[j * out_step : j * out_step + n], center[j], rate[j]
        for i in range(n):
            o[i] = _byte((x[i] - c) * r, zero, top, rounder)
            bad |= np.int32(not (abs(x[i]) <= most))
    return bad


@_kernel
def add_level_rows(levels, step, weights, sums):
    """Add to `sums` each row of levels times its weight in int32."""
    n, d = len(weights), len(sums)
    block = np.zeros(d, dtype=np.int32)
    for start in range(0, n, ROWS_IN_32_BITS):
        stop = min(n, start + ROWS_IN_32_BITS)
        i = start
        while i + 4 <= stop:
            a = i * step
            x0, x1 = levels[a : a + d], levels[a + step : a + step + d]
            x2, x3 = levels[a + 2 * step : a + 2 * step + d], levels[a + 3 * step : a + 3 * step + d]
            w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            for j in range(d):
                block[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j]
            i += 4
        while i < stop:
            x0, w0 = levels[i * step : i * step + d], weights[i]
            for j in range(d):
                block[j] += w0 * x0[j]
            i += 1
        for j in range(d):
            sums[j] += block[j]
            block[j] = 0


@_kernel
def add_level_columns(levels, step, weights, sums):
    """Add to `sums` each column of levels times the weights in int32."""
    n, d = len(weights), len(sums)
    for j in range(d):
        total = np.int64(0)
        for start in range(0, n, ROWS_IN_32_BITS):
            weight = weights[start : start + ROWS_IN_32_BITS]
            x = levels[j * step + start : j * step + start + len(weight)]
            block = np.int32(0)
            for i in range(len(weight)):
                block = np.int32(block + np.int32(weight[i] * x[i]))
            total += block
        sums[j] += total


@_exact
def add_rows(line, step, weights, center, rate, sums):
    """Add to `sums` (float64) each row's levels times its weight, in one read."""
    n, d = len(weights), len(sums)
    zero, top = line.dtype.type(0), line.dtype.type(127)
    i = 0
    while i + 8 <= n:
        a = i * step
        x0, x1 = line[a : a + d], line[a + step : a + step + d]
        x2, x3 = line[a + 2 * step : a + 2 * step + d], line[a + 3 * step : a + 3 * step + d]
        x4, x5 = line[a + 4 * step : a + 4 * step + d], line[a + 5 * step : a + 5 * step + d]
        x6, x7 = line[a + 6 * step : a + 6 * step + d], line[a + 7 * step : a + 7 * step + d]
        w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        w4, w5, w6, w7 = weights[i + 4], weights[i + 5], weights[i + 6], weights[i + 7]
        for j in range(d):
            c, r = center[j], rate[j]
            s0 = _rint((x0[j] - c) * r, zero, top) * w0 + _rint((x1[j] - c) * r, zero, top) * w1
            s1 = _rint((x2[j] - c) * r, zero, top) * w2 + _rint((x3[j] - c) * r, zero, top) * w3
            s2 = _rint((x4[j] - c) * r, zero, top) * w4 + _rint((x5[j] - c) * r, zero, top) * w5
            s3 = _rint((x6[j] - c) * r, zero, top) * w6 + _rint((x7[j] - c) * r, zero, top) * w7
            sums[j] += _four(s0, s1, s2, s3)
        i += 8
    while i < n:
        x, w = line[i * step : i * step + d], weights[i]
        for j in range(d):
            sums[j] += _rint((x[j] - center[j]) * rate[j], zero, top) * w
        i += 1


@_exact
def add_columns(line, step, weights, center, rate, sums):
    """Add to `sums` (float64) each column's levels times the weights, in one read."""
    n, d = len(weights), len(sums)
    zero, top = line.dtype.type(0), line.dtype.type(127)
    j = 0
    while j + 4 <= d:
        c0, c1, c2, c3 = center[j], center[j + 1], center[j + 2], center[j + 3]
        r0, r1, r2, r3 = rate[j], rate[j + 1], rate[j + 2], rate[j + 3]
        t0 = t1 = t2 = t3 = np.int64(0)
        for start in range(0, n, ROWS_IN_32_BITS):
            weight = weights[start : start + ROWS_IN_32_BITS]
            m, a = len(weight), j * step + start
            x0, x1 = line[a : a + m], line[a + step : a + step + m]
            x2, x3 = line[a + 2 * step : a + 2 * step + m], line[a + 3 * step : a + 3 * step + m]
            s0 = s1 = s2 = s3 = np.int32(0)
            for i in range(m):
                w = weight[i]
                s0 = np.int32(s0 + np.int32(_rint((x0[i] - c0) * r0, zero, top) * w))
                s1 = np.int32(s1 + np.int32(_rint((x1[i] - c1) * r1, zero, top) * w))
                s2 = np.int32(s2 + np.int32(_rint((x2[i] - c2) * r2, zero, top) * w))
                s3 = np.int32(s3 + np.int32(_rint((x3[i] - c3) * r3, zero, top) * w))
            t0, t1, t2, t3 = t0 + s0, t1 + s1, t2 + s2, t3 + s3
        sums[j] += t0
        sums[j + 1] += t1
        sums[j + 2] += t2
        sums[j + 3] += t3
        j += 4
    while j < d:
        x, c, r = line[j * step : j * step + n], center[j], rate[j]
        total = np.int64(0)
        for i in range(n):
            total += np.int32(_rint((x[i] - c) * r, zero, top) * weights[i])
        sums[j] += total
        j += 1


@_kernel
def take_columns(line, step, features, out):
    """The cells of some columns, a row after another, so that each page is visited once."""
    for i in range(out.shape[1]):
        for k in range(len(features)):
            out[k, i] = line[i * step + features[k]]


@_kernel
def round_stored(data, indices, center, rate, at_zero, out):
    """Levels of stored cells less the level of an empty one. Returns whether a cell is not finite."""
    zero, top, most, rounder = data.dtype.type(0), data.dtype.type(127), np.finfo(data.dtype).max, _rounder(data)
    bad = 0
    for k in range(len(data)):
        j = indices[k]
        out[k] = np.int32(_level((data[k] - center[j]) * rate[j], zero, top, rounder)) - at_zero[j]
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
    zero, top, rounder = data.dtype.type(0), data.dtype.type(127), _rounder(data)
    for i in range(len(weights)):
        weight = np.int64(weights[i])
        for k in range(starts[i], stops[i]):
            j = indices[k]
            level = np.int32(_level((data[k] - center[j]) * rate[j], zero, top, rounder))
            sums[j] += weight * (level - at_zero[j])


@_kernel
def stored_column(data, indices, starts, stops, feature, out):
    """The cells of one column, by halving each row's sorted indices; what is not stored stays as it is in `out`."""
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
