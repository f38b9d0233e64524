"""Decimal to binary, correctly rounded, compiled by numba (Lemire, "Number parsing at a gigabyte per second", 2021).

A decimal of at most 19 digits, w 10^q, is multiplied by 128 bits of 5^q. The product decides the rounding in all but a
few cases, which the caller leaves to Python's `float`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

SMALLEST_POWER, LARGEST_POWER = -342, 308

_U = np.uint64
_ALL, _ONE, _LOW = _U(2**64 - 1), _U(1), _U(2**32 - 1)
_32 = _U(32)
# 52 bits of a double, its leading 1, one more for rounding and one for a product below 2^127.
_SPARE, _SHIFT = _U(0x1FF), _U(9)
_TWO_53, _LEADING = _U(2**53), _U(2**52)
_EXACT = 10.0 ** np.arange(23)


def _powers() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The highest 128 bits of 5^q: rounded down for q >= 0, up for the others."""
    high, low = [], []
    for q in range(SMALLEST_POWER, LARGEST_POWER + 1):
        power = 5 ** abs(q)
        if q < 0:
            bits = (power - 1).bit_length()
            power = 2 ** (bits + 127 if q >= -27 else 2 * bits + 128) // power + 1
        power <<= max(0, 128 - power.bit_length())
        power >>= power.bit_length() - 128
        high.append(power >> 64)
        low.append(power & (2**64 - 1))
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


_HIGH, _LOWER = _powers()


@njit(inline="always")
def _product(a, b):
    """The two halves of the 128 bits of a product."""
    a1, a0, b1, b0 = a >> _32, a & _LOW, b >> _32, b & _LOW
    low = a0 * b0
    middle = a1 * b0 + (low >> _32)
    middle_low = (middle & _LOW) + a0 * b1
    return a1 * b1 + (middle >> _32) + (middle_low >> _32), (middle_low << _32) | (low & _LOW)


@njit(nogil=True)
def to_double(w, q, bits):
    """The double nearest to w 10^q; NaN where this cannot tell it.

    `w` (uint64): the digits.
    `q` (int64): the power of ten.
    `bits` (ndarray of one uint64): memory for the result's bits.
    """
    if w == _U(0):
        return 0.0
    if w <= _TWO_53 and -22 <= q <= 22:
        # Both are doubles, and one operation rounds once.
        return np.float64(w) / _EXACT[-q] if q < 0 else np.float64(w) * _EXACT[q]
    if q < SMALLEST_POWER or q > LARGEST_POWER:
        return np.nan
    zeros = 0
    while not w >> _U(63):
        w = w << _ONE
        zeros += 1
    high, low = _product(w, _HIGH[q - SMALLEST_POWER])
    if high & _SPARE == _SPARE:
        more, _ = _product(w, _LOWER[q - SMALLEST_POWER])
        low = low + more
        if more > low:
            high = high + _ONE
    if low == _ALL and not -27 <= q <= 55:
        return np.nan
    upper = high >> _U(63)
    mantissa = high >> (upper + _SHIFT)
    exponent = ((217_706 * q) >> 16) + 63 + np.int64(upper) - zeros + 1023
    if exponent <= 0:
        return np.nan
    # Half way between two doubles: to the even one.
    if low <= _ONE and -4 <= q <= 23 and mantissa & _U(3) == _ONE and mantissa << (upper + _SHIFT) == high:
        mantissa = mantissa & ~_ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa >= _TWO_53:
        mantissa = _LEADING
        exponent += 1
    if exponent >= 2047:
        return np.nan
    bits[0] = (mantissa & ~_LEADING) | (_U(exponent) << _U(52))
    return bits.view(np.float64)[0]
