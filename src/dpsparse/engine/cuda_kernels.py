"""Triton kernels of the fixed-point pass: features to levels, levels times weights, exact sums.

A feature's level is that of `FeatureGrid.levels` bit for bit: subtract, multiply, clip, each rounded by itself (no
multiplication is fused with an addition), then round half to even. The last is done by adding 1.5 * 2^23 (float64:
1.5 * 2^52): the sum's unit is 1, so the adder rounds, and its low bits hold the level.

Rows of a tile that a thread holds (IN_THREAD of them) are added up there in int32, which holds 128 terms of at most
127 * 2^16, and then in int64. Integers add in any order, so tiles, programs and cards cannot change a bit of a sum.

A byte has 256 values, so for int8 all this may be a multiplication and a shift of whole numbers wherever these are
shown to give the same levels for all of them: `ByteGrid`.
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from dpsparse.engine.cuda_launch import launch


class Shape(NamedTuple):
    """How a kernel divides its work: accumulators of a tile, tiles of a program, warps, tiles in flight."""

    rows: int
    columns: int
    tiles: int
    warps: int
    stages: int


# Found by measurement on an H200, for X by rows (False) or by columns (True) and the bytes of a cell.
SUMS = {
    (False, 1): Shape(16, 1024, 256, 2, 3),
    (False, 2): Shape(16, 512, 64, 2, 2),
    (False, 4): Shape(8, 512, 256, 4, 3),
    (False, 8): Shape(16, 128, 128, 2, 3),
    (True, 1): Shape(1024, 16, 256, 2, 2),
    (True, 2): Shape(1024, 8, 256, 4, 3),
    (True, 4): Shape(1024, 8, 128, 4, 4),
    (True, 8): Shape(512, 4, 512, 8, 4),
}
LEVEL_SUMS = {(False, 1): Shape(16, 1024, 64, 2, 4), (True, 1): Shape(1024, 16, 64, 2, 3)}
LEVELS = {
    (False, 1): Shape(4, 2048, 64, 4, 1),
    (False, 2): Shape(8, 1024, 64, 4, 2),
    (False, 4): Shape(8, 512, 64, 4, 1),
    (False, 8): Shape(4, 256, 64, 4, 1),
    (True, 1): Shape(2048, 1, 512, 4, 3),
    (True, 2): Shape(1024, 1, 512, 4, 3),
    (True, 4): Shape(1024, 1, 512, 8, 3),
    (True, 8): Shape(512, 1, 512, 8, 3),
}

# Converters are few: a byte b becomes the float 2^23 + b when it is put below the right exponent.
_BYTES_TO_FLOATS = tl.constexpr("""
{ .reg .b32 u;
  xor.b32 u, $4, 0x80808080;
  prmt.b32 $0, u, 0x4B000000, 0x7440;
  prmt.b32 $1, u, 0x4B000000, 0x7441;
  prmt.b32 $2, u, 0x4B000000, 0x7442;
  prmt.b32 $3, u, 0x4B000000, 0x7443; }
""")


# Bytes as whole numbers, two by each of two units: the one that permutes bytes has enough to do.
_BYTES_TO_INTEGERS = tl.constexpr("""
  prmt.b32 $0, $4, 0, 0x8880;
  prmt.b32 $1, $4, 0, 0x9991;
  dp4a.s32.s32 $2, $4, 0x00010000, 0;
  dp4a.s32.s32 $3, $4, 0x01000000, 0;
""")

# Cut to 0..254: one instruction of sm_90.
_CUT = tl.constexpr("min.relu.s32 $0, $1, 254;")


@triton.jit
def _scaled(x, center, rate, CENTERED: tl.constexpr, TOTAL: tl.constexpr):
    if CENTERED:
        x = x - center
    scaled = x * rate
    if TOTAL:
        scaled = tl.where(scaled == scaled, scaled, 0.0)
    return tl.minimum(tl.maximum(scaled, -127.0), 127.0)


@triton.jit
def _level_bits(x, center, rate, CENTERED: tl.constexpr, TOTAL: tl.constexpr):
    """The level plus a constant, `_OFFSET` in float32 and 0 in float64, modulo 2^32."""
    scaled = _scaled(x, center, rate, CENTERED, TOTAL)
    if x.dtype == tl.float64:
        bits = (scaled + 6755399441055744.0).to(tl.int64, bitcast=True).to(tl.int32)
    else:
        bits = (scaled + 12582912.0).to(tl.int32, bitcast=True)
    return bits


@triton.jit
def _byte_levels(x, offset, factor, shift, RELU: tl.constexpr):
    """The level of a byte plus 127, in whole numbers; see `ByteGrid`."""
    level = (x * factor + offset) >> shift
    if RELU:
        return tl.inline_asm_elementwise(_CUT, "=r,r", [level], tl.int32, is_pure=True, pack=1)
    else:
        return tl.minimum(tl.maximum(level, 0), 254)


@triton.jit
def _away(k):
    """0, -1, 1, -2, 2, ..."""
    return (k + 1) // 2 * (1 - k % 2 * 2)


@triton.jit(do_not_specialize=["shift", "step"])
def _byte_grid_kernel(center, rate, offsets, factors, failed, d, shift, step, BLOCK: tl.constexpr):
    """Try neighbours of each feature's offset and factor until all 256 bytes have their levels."""
    features = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    its_center = tl.load(center + features, mask=features < d, other=0.0)
    its_rate = tl.load(rate + features, mask=features < d, other=1.0)
    offset = tl.load(offsets + features, mask=features < d, other=127)
    factor = tl.load(factors + features, mask=features < d, other=1)
    done, tries = tl.zeros([BLOCK], tl.int32), 0
    found_offset, found_factor = offset, factor
    while (tl.min(done, axis=0) == 0) & (tries < 25):
        found_offset = tl.where(done == 0, offset + _away(tries // 5) * step, found_offset)
        found_factor = tl.where(done == 0, factor + _away(tries % 5), found_factor)
        differ = tl.zeros([BLOCK], tl.int32)
        for byte in range(-128, 128):
            level = _level_bits(byte - its_center, 0.0, its_rate, False, False) - (0x4B400000 - 127)
            differ |= _byte_levels(byte, found_offset, found_factor, shift, False) ^ level
        done = tl.where((differ == 0) | (features >= d), 1, 0)
        tries += 1
    tl.store(offsets + features, found_offset, mask=features < d)
    tl.store(factors + features, found_factor, mask=features < d)
    tl.atomic_or(failed, 1 - tl.min(done, axis=0))


@triton.jit
def _public(numbers, columns, d, VECTOR: tl.constexpr):
    if VECTOR:
        return tl.load(numbers + columns, mask=columns < d, other=1)[None, :]
    else:
        return tl.load(numbers)


@triton.jit
def _tile(X, rows, columns, inside, row_stride, column_stride, IN: tl.constexpr, PTX: tl.constexpr):
    where = rows.to(tl.int64)[:, None] * row_stride + columns.to(tl.int64)[None, :] * column_stride
    x = tl.load(X + where, mask=inside, other=0)
    if PTX and x.dtype == tl.int8 and tl.int32 == IN:
        return tl.inline_asm_elementwise(_BYTES_TO_INTEGERS, "=r,=r,=r,=r,r", [x], tl.int32, is_pure=True, pack=4)
    elif PTX and x.dtype == tl.int8 and tl.float32 == IN:
        raised = tl.inline_asm_elementwise(_BYTES_TO_FLOATS, "=r,=r,=r,=r,r", [x], tl.float32, is_pure=True, pack=4)
        return raised - 8388736.0
    else:
        return x.to(IN)


@triton.jit
def _size_bits(x):
    """Bits of |x|, which rise with it; those of what is not finite are the largest."""
    if x.dtype == tl.float64:
        return x.to(tl.int64, bitcast=True) & 0x7FFFFFFFFFFFFFFF
    else:
        return x.to(tl.int32, bitcast=True) & 0x7FFFFFFF


@triton.jit
def _tile_sums(
    x, weight, center, rate, shift,
    IN_THREAD: tl.constexpr, CENTERED: tl.constexpr, TOTAL: tl.constexpr, RELU: tl.constexpr,
):  # fmt: skip
    """A tile's sums: of levels as they are in int8, otherwise of level bits, which the sum of weights mends."""
    groups: tl.constexpr = [x.shape[0] // IN_THREAD, IN_THREAD, x.shape[1]]
    if x.dtype == tl.int8:
        bits = x.to(tl.int32)
    elif x.dtype == tl.int32:
        bits = _byte_levels(x, center, rate, shift, RELU)
    else:
        bits = _level_bits(x, center, rate, CENTERED, TOTAL)
    sums = tl.sum(tl.reshape(weight[:, None] * bits, groups), axis=1)
    if x.dtype != tl.int8 and x.dtype != tl.float64:
        offset: tl.constexpr = 127 if x.dtype == tl.int32 else 0x4B400000
        sums -= (tl.sum(tl.reshape(weight, groups[:2]), axis=1) * offset)[:, None]
    return sums.to(tl.int64)


@triton.jit
def _larger(largest, x, IN_THREAD: tl.constexpr):
    groups: tl.constexpr = [x.shape[0] // IN_THREAD, IN_THREAD, x.shape[1]]
    return tl.maximum(largest, tl.max(tl.reshape(_size_bits(x), groups), axis=1))


@triton.jit(do_not_specialize=["shift"])
def _sums_kernel(
    X, center, rate, weights, sums, not_finite, shift, n_units, d_units, row_units, column_units,
    N_UNIT: tl.constexpr, D_UNIT: tl.constexpr, ROW_UNIT: tl.constexpr, COLUMN_UNIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr,
    IN: tl.constexpr, PTX: tl.constexpr, CENTERED: tl.constexpr, VECTOR: tl.constexpr, TOTAL: tl.constexpr,
    IN_THREAD: tl.constexpr, LOOK: tl.constexpr, RELU: tl.constexpr,
):  # fmt: skip
    n, d = n_units * N_UNIT, d_units * D_UNIT
    row_stride, column_stride = row_units * ROW_UNIT, column_units * COLUMN_UNIT
    columns = tl.program_id(0) % tl.cdiv(d, COLUMNS) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.program_id(0) // tl.cdiv(d, COLUMNS) * (ROWS * TILES)
    end = tl.minimum(n, first + ROWS * TILES)
    # The last tile of a program may be short and comes after the others: theirs need no mask of rows.
    whole = first + (end - first) // ROWS * ROWS
    rows = tl.arange(0, ROWS)
    inside = tl.broadcast_to((columns < d)[None, :], [ROWS, COLUMNS])
    its_center, its_rate = 0.0, 1.0
    if tl.int8 != IN:
        its_rate = _public(rate, columns, d, VECTOR)
        if CENTERED:
            its_center = _public(center, columns, d, VECTOR)
    groups: tl.constexpr = ROWS // IN_THREAD
    bits: tl.constexpr = tl.int64 if tl.float64 == IN else tl.int32
    total, largest = tl.zeros([groups, COLUMNS], tl.int64), tl.zeros([groups, COLUMNS], bits)
    for row in tl.range(first, whole, ROWS, num_stages=STAGES):
        weight = tl.load(weights + row + rows)
        x = _tile(X, row + rows, columns, inside, row_stride, column_stride, IN, PTX)
        total += _tile_sums(x, weight, its_center, its_rate, shift, IN_THREAD, CENTERED, TOTAL, RELU)
        if LOOK:
            largest = _larger(largest, x, IN_THREAD)
    if whole < end:
        weight = tl.load(weights + whole + rows, mask=whole + rows < n, other=0)
        here = inside & (whole + rows < n)[:, None]
        x = _tile(X, whole + rows, columns, here, row_stride, column_stride, IN, PTX)
        total += _tile_sums(x, weight, its_center, its_rate, shift, IN_THREAD, CENTERED, TOTAL, RELU)
        if LOOK:
            largest = _larger(largest, x, IN_THREAD)
    tl.atomic_add(sums + columns, tl.sum(total, axis=0), mask=columns < d)
    if LOOK:
        infinite: tl.constexpr = 0x7FF0000000000000 if tl.float64 == IN else 0x7F800000
        found = (largest >= infinite).to(tl.int32)
        tl.atomic_or(not_finite, tl.max(tl.max(found, axis=0), axis=0))


@triton.jit
def _levels_kernel(
    X, center, rate, levels, not_finite, n_units, d_units, row_units, column_units,
    N_UNIT: tl.constexpr, D_UNIT: tl.constexpr, ROW_UNIT: tl.constexpr, COLUMN_UNIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr,
    IN: tl.constexpr, PTX: tl.constexpr, CENTERED: tl.constexpr, VECTOR: tl.constexpr, TOTAL: tl.constexpr,
    BY_ROWS: tl.constexpr,
):  # fmt: skip
    n, d = n_units * N_UNIT, d_units * D_UNIT
    row_stride, column_stride = row_units * ROW_UNIT, column_units * COLUMN_UNIT
    columns = tl.program_id(0) % tl.cdiv(d, COLUMNS) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.program_id(0) // tl.cdiv(d, COLUMNS) * (ROWS * TILES)
    rows = tl.arange(0, ROWS)
    its_center, its_rate = 0.0, _public(rate, columns, d, VECTOR)
    if CENTERED:
        its_center = _public(center, columns, d, VECTOR)
    largest = tl.zeros([ROWS, COLUMNS], IN)
    for row in tl.range(first, tl.minimum(n, first + ROWS * TILES), ROWS, num_stages=STAGES):
        inside = (row + rows < n)[:, None] & (columns < d)[None, :]
        x = _tile(X, row + rows, columns, inside, row_stride, column_stride, IN, PTX)
        largest = tl.maximum(largest, tl.abs(x), propagate_nan=tl.PropagateNan.ALL)
        down, across = (row + rows).to(tl.int64)[:, None], columns.to(tl.int64)[None, :]
        where = down * d + across if BY_ROWS else down + across * n
        tl.store(levels + where, _level_bits(x, its_center, its_rate, CENTERED, TOTAL).to(tl.int8), mask=inside)
    found = (largest < float("inf")).to(tl.int32) ^ 1
    tl.atomic_or(not_finite, tl.max(tl.max(found, axis=0), axis=0))


class ByteGrid(NamedTuple):
    """A grid of bytes in whole numbers: (byte * factor + offset) >> shift is the level plus 127, before it is cut."""

    offset: torch.Tensor
    factor: torch.Tensor
    shift: int


class Public(NamedTuple):
    """A grid's public numbers on the card, one for all features or one each.

    No centre stands for 0, which a subtraction would not change. `total`: finite features may give NaN. `of_bytes`: the
    same grid for bytes, where there is one.
    """

    center: torch.Tensor | None
    rate: torch.Tensor
    total: bool
    of_bytes: ByteGrid | None = None

    def of(self, columns):
        """Those of some features."""
        if len(self.rate) == 1:
            return self
        center, of_bytes = None if self.center is None else self.center[columns], self.of_bytes
        if of_bytes is not None:
            of_bytes = ByteGrid(of_bytes.offset[columns], of_bytes.factor[columns], of_bytes.shift)
        return Public(center, self.rate[columns], self.total, of_bytes)


def byte_grid(center, rate, largest):
    """The grid in whole numbers, or None where a feature has none: all 256 bytes are tried, for each feature.

    Floats round a product to a tie now and then, and ties to even, where a shift rounds up. Neighbours of the exact
    numbers, by up to 2^-16 of a level, then serve, unless ties are many. `largest` bounds |byte - center| * rate.
    """
    shift = 30 - math.ceil(math.log2(largest + 255))
    if shift < 1:
        return None
    center = torch.zeros_like(rate) if center is None else center
    exact = rate.double()
    offset = ((127.5 - center.double() * exact) * 2.0**shift).round().to(torch.int32)
    factor = (exact * 2.0**shift).round().to(torch.int32)
    failed = torch.zeros(1, dtype=torch.int32, device=rate.device)
    arguments = (center, rate, offset, factor, failed, len(rate), shift, max(1, 2**shift >> 17))
    launch(_byte_grid_kernel, triton.cdiv(len(rate), 128), *arguments, BLOCK=128)
    return None if failed.item() else ByteGrid(offset, factor, shift)


def add_sums(X, public, weights, sums, not_finite=None):
    """Add the sums over rows of weight times level to `sums`; without `public`, X holds levels.

    Sets `not_finite`, where given, to 1 if a feature is.
    """
    shape = _shape(LEVEL_SUMS if public is None else SUMS, X)
    arithmetic, shift = tl.int8 if public is None else _arithmetic(X), 0
    if X.dtype == torch.int8 and public is not None and public.of_bytes is not None:
        arithmetic, (*numbers, shift) = tl.int32, public.of_bytes
        public = Public(*numbers, False)
    # By rows a thread holds all of its columns' rows in a tile, by columns those of a 16-byte load.
    in_thread = shape.rows if X.stride(1) <= X.stride(0) else min(shape.rows, 16 // X.element_size())
    _launch(
        _sums_kernel, X, public, (weights, sums, sums if not_finite is None else not_finite, shift), shape,
        IN=arithmetic, IN_THREAD=in_thread, LOOK=not_finite is not None, RELU=arithmetic == tl.int32 and _has_relu(X),
    )  # fmt: skip


def write_levels(X, public, levels, not_finite):
    """Write the levels of X in its memory order, and set `not_finite` to 1 if a feature is."""
    arguments, by_rows = (levels, not_finite), levels.stride(1) == 1
    _launch(_levels_kernel, X, public, arguments, _shape(LEVELS, X), IN=_arithmetic(X), BY_ROWS=by_rows)


def _has_relu(X):
    return X.is_cuda and torch.version.hip is None and torch.cuda.get_device_capability(X.device) >= (9, 0)


def _arithmetic(X):
    return tl.float64 if X.dtype == torch.float64 else tl.float32


def _shape(shapes, X):
    by_columns = X.stride(0) < X.stride(1)
    return shapes[by_columns, X.element_size()]


def _launch(kernel, X, public, arguments, shape, **options):
    """Run a kernel over X.

    Sizes and strides go in as multiples of a power of two, from which Triton learns that 16-byte loads are aligned.
    """
    n, d = X.shape
    row, column = X.stride()
    by_rows = column <= row
    n_unit, d_unit = (1, math.gcd(d, 16)) if by_rows else (math.gcd(n, 16), 1)
    row_unit, column_unit = (math.gcd(row, 16), 1) if by_rows else (1, math.gcd(column, 16))
    center, rate, total, _ = (None, X, False, None) if public is None else public
    programs = triton.cdiv(d, shape.columns) * triton.cdiv(n, shape.rows * shape.tiles)
    launch(
        kernel, programs, X, rate if center is None else center, rate, *arguments,
        n // n_unit, d // d_unit, row // row_unit, column // column_unit,
        N_UNIT=n_unit, D_UNIT=d_unit, ROW_UNIT=row_unit, COLUMN_UNIT=column_unit,
        ROWS=shape.rows, COLUMNS=shape.columns, TILES=shape.tiles, STAGES=shape.stages, num_warps=shape.warps,
        PTX=X.is_cuda and torch.version.hip is None, CENTERED=center is not None,
        VECTOR=public is not None and len(rate) > 1, TOTAL=total, **options,
    )  # fmt: skip
