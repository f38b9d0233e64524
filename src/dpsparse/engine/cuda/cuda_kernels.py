"""Triton kernels of the fixed-point pass: features to levels, levels times weights, exact sums.

Rows of a tile that a thread holds (IN_THREAD of them) are added up there in int32, which holds 128 terms of at most
127 * 2^16, and then in int64. Integers add in any order, so tiles, programs and cards cannot change a bit of a sum.
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from dpsparse.engine.cuda.cuda_launch import launch
from dpsparse.engine.cuda.cuda_level_kernels import byte_levels, level_bits
from dpsparse.engine.cuda.cuda_levels import Public


class Shape(NamedTuple):
    """How a kernel divides its work: accumulators of a tile, tiles of a program, warps, tiles in flight."""

    rows: int
    columns: int
    tiles: int
    warps: int
    stages: int


# Measured on an H200, for X by rows (False) or by columns (True) and the bytes of a cell.
SUMS = {
    (False, 1): Shape(16, 1024, 256, 2, 3),
    (False, 2): Shape(16, 512, 64, 2, 2),
    (False, 4): Shape(8, 512, 256, 4, 3),
    (False, 8): Shape(16, 128, 128, 2, 3),
    (True, 1): Shape(1024, 16, 256, 2, 3),
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

# Units that convert are few, so a byte b becomes the float 2^23 + b by being put below the right exponent.
_BYTES_TO_FLOATS = tl.constexpr("""
{ .reg .b32 u;
  xor.b32 u, $4, 0x80808080;
  prmt.b32 $0, u, 0x4B000000, 0x7440;
  prmt.b32 $1, u, 0x4B000000, 0x7441;
  prmt.b32 $2, u, 0x4B000000, 0x7442;
  prmt.b32 $3, u, 0x4B000000, 0x7443; }
""")


# Bytes as integers, two by each of two units: the one that permutes bytes is busy already.
_BYTES_TO_INTEGERS = tl.constexpr("""
  prmt.b32 $0, $4, 0, 0x8880;
  prmt.b32 $1, $4, 0, 0x9991;
  dp4a.s32.s32 $2, $4, 0x00010000, 0;
  dp4a.s32.s32 $3, $4, 0x01000000, 0;
""")


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
def _indicators(x):
    """1 where a cell is missing, 0 elsewhere."""
    return tl.where(tl.abs(x) < float("inf"), 0.0, 1.0).to(x.dtype)


@triton.jit
def _cells(
    X, less, rows, columns, inside, row_stride, column_stride,
    IN: tl.constexpr, PTX: tl.constexpr, LESS: tl.constexpr, GAPS: tl.constexpr,
):  # fmt: skip
    """A tile of X, or of X less another table from its last row back; of the indicators of their gaps, with GAPS."""
    x = _tile(X, rows, columns, inside, row_stride, column_stride, IN, PTX)
    if GAPS:
        x = _indicators(x)
    if LESS:
        other = _tile(less, -rows, columns, inside, row_stride, column_stride, IN, PTX)
        if GAPS:
            other = _indicators(other)
        x = x - other
    return x


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
    """A tile's sums: of levels as they are in int8, otherwise of level bits, which the sum of weights corrects."""
    groups: tl.constexpr = [x.shape[0] // IN_THREAD, IN_THREAD, x.shape[1]]
    if x.dtype == tl.int8:
        bits = x.to(tl.int32)
    elif x.dtype == tl.int32:
        bits = byte_levels(x, center, rate, shift, RELU)
    else:
        bits = level_bits(x, center, rate, CENTERED, TOTAL)
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
    X, less, center, rate, weights, sums, nonfinite, shift, n_units, d_units, row_units, column_units,
    N_UNIT: tl.constexpr, D_UNIT: tl.constexpr, ROW_UNIT: tl.constexpr, COLUMN_UNIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr,
    IN: tl.constexpr, PTX: tl.constexpr, CENTERED: tl.constexpr, VECTOR: tl.constexpr, TOTAL: tl.constexpr,
    LESS: tl.constexpr, GAPS: tl.constexpr, IN_THREAD: tl.constexpr, CHECK: tl.constexpr, RELU: tl.constexpr,
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
        x = _cells(X, less, row + rows, columns, inside, row_stride, column_stride, IN, PTX, LESS, GAPS)
        total += _tile_sums(x, weight, its_center, its_rate, shift, IN_THREAD, CENTERED, TOTAL, RELU)
        if CHECK:
            largest = _larger(largest, x, IN_THREAD)
    if whole < end:
        weight = tl.load(weights + whole + rows, mask=whole + rows < n, other=0)
        here = inside & (whole + rows < n)[:, None]
        x = _cells(X, less, whole + rows, columns, here, row_stride, column_stride, IN, PTX, LESS, GAPS)
        total += _tile_sums(x, weight, its_center, its_rate, shift, IN_THREAD, CENTERED, TOTAL, RELU)
        if CHECK:
            largest = _larger(largest, x, IN_THREAD)
    tl.atomic_add(sums + columns, tl.sum(total, axis=0), mask=columns < d)
    if CHECK:
        infinite: tl.constexpr = 0x7FF0000000000000 if tl.float64 == IN else 0x7F800000
        is_nonfinite = (largest >= infinite).to(tl.int32)
        tl.atomic_or(nonfinite, tl.max(tl.max(is_nonfinite, axis=0), axis=0))


@triton.jit
def _levels_kernel(
    X, less, center, rate, levels, nonfinite, stride, n_units, d_units, row_units, column_units,
    N_UNIT: tl.constexpr, D_UNIT: tl.constexpr, ROW_UNIT: tl.constexpr, COLUMN_UNIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr,
    IN: tl.constexpr, PTX: tl.constexpr, CENTERED: tl.constexpr, VECTOR: tl.constexpr, TOTAL: tl.constexpr,
    LESS: tl.constexpr, GAPS: tl.constexpr, BY_ROWS: tl.constexpr,
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
        x = _cells(X, less, row + rows, columns, inside, row_stride, column_stride, IN, PTX, LESS, GAPS)
        largest = tl.maximum(largest, tl.abs(x), propagate_nan=tl.PropagateNan.ALL)
        down, across = (row + rows).to(tl.int64)[:, None], columns.to(tl.int64)[None, :]
        where = down * stride + across if BY_ROWS else down + across * stride
        tl.store(levels + where, level_bits(x, its_center, its_rate, CENTERED, TOTAL).to(tl.int8), mask=inside)
    is_nonfinite = (largest < float("inf")).to(tl.int32) ^ 1
    tl.atomic_or(nonfinite, tl.max(tl.max(is_nonfinite, axis=0), axis=0))


def add_sums(X, public, weights, sums, nonfinite=None, less=None):
    """Add the sums over rows of weight times level to `sums`; without `public`, X holds levels.

    Where another table of X's shape and strides is given, its cells are subtracted from X's, its last row from the
    first. Sets `nonfinite`, where given, to 1 if a feature is not finite.
    """
    # Two tiles of bytes, widened, would take too many registers; on an H200 smaller ones are twice as fast.
    cell_bytes = X.element_size() if less is None or X.dtype != torch.int8 else 4
    shape = _shape(LEVEL_SUMS if public is None else SUMS, X, cell_bytes)
    arithmetic, shift = tl.int8 if public is None else _arithmetic(X), 0
    if X.dtype == torch.int8 and public is not None and public.of_bytes is not None:
        offset, factor, shift, odd = public.of_bytes
        if len(odd):
            its_sums = sums[odd]
            add_sums(X[:, odd], public.of(odd), weights, its_sums)
            sums[odd] = its_sums
        arithmetic, public = tl.int32, Public(offset, factor, False)
    # By rows a thread holds all of its columns' rows in a tile, by columns those of a 16-byte load.
    in_thread = shape.rows if X.stride(1) <= X.stride(0) else min(shape.rows, 16 // X.element_size())
    _launch(
        _sums_kernel, X, less, public, (weights, sums, sums if nonfinite is None else nonfinite, shift), shape,
        IN=arithmetic, IN_THREAD=in_thread, CHECK=nonfinite is not None, RELU=arithmetic == tl.int32 and _has_relu(X),
    )  # fmt: skip


def write_levels(X, public, levels, nonfinite, less=None):
    """Write the levels of X, less another table as in `add_sums`; set `nonfinite` to 1 if a feature is not finite."""
    by_rows = levels.stride(1) == 1
    arguments = (levels, nonfinite, levels.stride(0 if by_rows else 1))
    _launch(
        _levels_kernel,
        X,
        less,
        public,
        arguments,
        _shape(LEVELS, X, X.element_size()),
        IN=_arithmetic(X),
        BY_ROWS=by_rows,
    )


def _has_relu(X):
    return X.is_cuda and torch.version.hip is None and torch.cuda.get_device_capability(X.device) >= (9, 0)


def _arithmetic(X):
    return tl.float64 if X.dtype == torch.float64 else tl.float32


def _shape(shapes, X, cell_bytes):
    by_columns = X.stride(0) < X.stride(1)
    return shapes[by_columns, cell_bytes]


def _launch(kernel, X, less, public, arguments, shape, **options):
    """Run a kernel over X.

    Sizes and strides go in as multiples of a power of two, from which Triton learns that 16-byte loads are aligned.
    """
    n, d = X.shape
    row, column = X.stride()
    by_rows = column <= row
    n_unit, d_unit = (1, math.gcd(d, 16)) if by_rows else (math.gcd(n, 16), 1)
    row_unit, column_unit = (math.gcd(row, 16), 1) if by_rows else (1, math.gcd(column, 16))
    center, rate, total, _, of_gaps = (None, X, False, None, False) if public is None else public
    programs = triton.cdiv(d, shape.columns) * triton.cdiv(n, shape.rows * shape.tiles)
    launch(
        kernel, programs, X, X if less is None else less[-1:], rate if center is None else center, rate, *arguments,
        n // n_unit, d // d_unit, row // row_unit, column // column_unit,
        N_UNIT=n_unit, D_UNIT=d_unit, ROW_UNIT=row_unit, COLUMN_UNIT=column_unit,
        ROWS=shape.rows, COLUMNS=shape.columns, TILES=shape.tiles, STAGES=shape.stages, num_warps=shape.warps,
        PTX=X.is_cuda and torch.version.hip is None, CENTERED=center is not None,
        VECTOR=public is not None and len(rate) > 1, TOTAL=total, LESS=less is not None, GAPS=of_gaps, **options,
    )  # fmt: skip
