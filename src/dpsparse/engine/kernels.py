"""Passes over feature levels. Integer arithmetic: neither the order of the loops nor who runs them changes a bit."""

import numpy as np

try:
    from numba import njit
except ImportError:
    njit = None

# 128 terms of at most 127 * 2^16 stay below 2^31, so a block may be added in 32 bits before it is spilled to 64.
_ROWS_IN_32_BITS = 128


def _loops(levels, weights):
    """Sums over rows of weight times level, for levels in int8 of shape (n, d) and weights in int32."""
    n, d = levels.shape
    sums = np.zeros(d, dtype=np.int64)
    block = np.zeros(d, dtype=np.int32)
    for start in range(0, n, _ROWS_IN_32_BITS):
        stop = min(n, start + _ROWS_IN_32_BITS)
        i = start
        while i + 4 <= stop:
            w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            for j in range(d):
                block[j] += w0 * levels[i, j] + w1 * levels[i + 1, j] + w2 * levels[i + 2, j] + w3 * levels[i + 3, j]
            i += 4
        while i < stop:
            w0 = weights[i]
            for j in range(d):
                block[j] += w0 * levels[i, j]
            i += 1
        for j in range(d):
            sums[j] += block[j]
            block[j] = 0
    return sums


def numpy_sums(levels, weights):
    """The same sums where there is no numba: in float64, which adds these integers exactly."""
    sums = np.zeros(levels.shape[1])
    for start in range(0, len(levels), _ROWS_IN_32_BITS):
        rows = slice(start, start + _ROWS_IN_32_BITS)
        sums += weights[rows].astype(np.float64) @ levels[rows].astype(np.float64)
    return sums.astype(np.int64)


weighted_level_sums = numpy_sums if njit is None else njit(cache=True, nogil=True)(_loops)
