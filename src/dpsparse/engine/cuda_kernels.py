"""Triton kernels of the fixed-point pass: features to levels, levels times weights, exact sums.

A feature's level is that of `FeatureGrid.levels` bit for bit: subtract, multiply, clip, each rounded by itself (no
multiplication is followed by an addition that could be fused with it), then round half to even. The last is done by
adding 1.5 * 2^23 (float64: 1.5 * 2^52): the sum's unit is 1, so the adder rounds, and its low bits hold the level.

A tile has ROWS x COLUMNS accumulators in int32; each takes at most 128 terms of at most 127 * 2^16 before it is
spilled to int64. Integers add in any order, so tiles, programs and cards cannot change a bit of a sum.
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

_TERMS_IN_32_BITS = 128


class Shape(NamedTuple):
    """How a kernel divides its work: accumulators of a tile, tiles of a program, warps."""

    rows: int
    columns: int
    tiles: int
    warps: int


# Found by measurement on an H200, by bytes of a cell: 16 bytes to a thread along the memory, several loads in flight.
BY_ROWS = {1: Shape(8, 1024, 128, 4), 2: Shape(8, 1024, 128, 4), 4: Shape(8, 512, 256, 4), 8: Shape(8, 256, 256, 4)}
BY_COLUMNS = {1: Shape(4096, 4, 128, 8), 2: Shape(2048, 4, 128, 8), 4: Shape(1024, 4, 512, 4), 8: Shape(512, 4, 512, 4)}


@triton.jit
def _level(x, center, rate, TOTAL: tl.constexpr):
    scaled = (x - center) * rate
    if TOTAL:
        scaled = tl.where(scaled == scaled, scaled, 0.0)
    clipped = tl.minimum(tl.maximum(scaled, -127.0), 127.0)
    if x.dtype == tl.float64:
        level = (clipped + 6755399441055744.0).to(tl.int64, bitcast=True).to(tl.int32)
    else:
        level = (clipped + 12582912.0).to(tl.int32, bitcast=True) - 0x4B400000
    return level


@triton.jit
def _tile(X, rows, columns, n, d, row_stride, column_stride, IN: tl.constexpr):
    inside = (rows < n)[:, None] & (columns < d)[None, :]
    where = rows.to(tl.int64)[:, None] * row_stride + columns.to(tl.int64)[None, :] * column_stride
    return tl.load(X + where, mask=inside, other=0).to(IN)


@triton.jit
def _sums_kernel(
    X, center, rate, weights, sums, n_units, d_units, row_units, column_units,
    N_UNIT: tl.constexpr, D_UNIT: tl.constexpr, ROW_UNIT: tl.constexpr, COLUMN_UNIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TILES: tl.constexpr, SPILL: tl.constexpr,
    IN: tl.constexpr, TOTAL: tl.constexpr,
):  # fmt: skip
    n, d = n_units * N_UNIT, d_units * D_UNIT
    row_stride, column_stride = row_units * ROW_UNIT, column_units * COLUMN_UNIT
    columns = tl.program_id(0) % tl.cdiv(d, COLUMNS) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.program_id(0) // tl.cdiv(d, COLUMNS) * (ROWS * TILES)
    if IN != tl.int8:
        its_center = tl.load(center + columns, mask=columns < d, other=0.0)[None, :]
        its_rate = tl.load(rate + columns, mask=columns < d, other=1.0)[None, :]
    total = tl.zeros([COLUMNS], tl.int64)
    for start in range(first, tl.minimum(n, first + ROWS * TILES), ROWS * SPILL):
        block = tl.zeros([ROWS, COLUMNS], tl.int32)
        for row in range(start, tl.minimum(n, start + ROWS * SPILL), ROWS):
            rows = row + tl.arange(0, ROWS)
            weight = tl.load(weights + rows, mask=rows < n, other=0)[:, None]
            x = _tile(X, rows, columns, n, d, row_stride, column_stride, IN)
            if IN == tl.int8:
                block += weight * x.to(tl.int32)
            else:
                block += weight * _level(x, its_center, its_rate, TOTAL)
        total += tl.sum(block.to(tl.int64), axis=0)
    tl.atomic_add(sums + columns, total, mask=columns < d)


@triton.jit
def _examine_kernel(
    X, center, rate, levels, not_finite, n_units, d_units, row_units, column_units, level_row, level_column,
    N_UNIT: tl.constexpr, D_UNIT: tl.constexpr, ROW_UNIT: tl.constexpr, COLUMN_UNIT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TILES: tl.constexpr,
    IN: tl.constexpr, TOTAL: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    n, d = n_units * N_UNIT, d_units * D_UNIT
    row_stride, column_stride = row_units * ROW_UNIT, column_units * COLUMN_UNIT
    columns = tl.program_id(0) % tl.cdiv(d, COLUMNS) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.program_id(0) // tl.cdiv(d, COLUMNS) * (ROWS * TILES)
    if KEEP:
        its_center = tl.load(center + columns, mask=columns < d, other=0.0)[None, :]
        its_rate = tl.load(rate + columns, mask=columns < d, other=1.0)[None, :]
    found = tl.zeros([ROWS, COLUMNS], tl.int32)
    for row in range(first, tl.minimum(n, first + ROWS * TILES), ROWS):
        rows = row + tl.arange(0, ROWS)
        x = _tile(X, rows, columns, n, d, row_stride, column_stride, IN)
        found |= (tl.abs(x) < float("inf")).to(tl.int32) ^ 1
        if KEEP:
            where = rows.to(tl.int64)[:, None] * level_row + columns.to(tl.int64)[None, :] * level_column
            level = _level(x, its_center, its_rate, TOTAL).to(tl.int8)
            tl.store(levels + where, level, mask=(rows < n)[:, None] & (columns < d)[None, :])
    tl.atomic_or(not_finite, tl.max(tl.max(found, axis=0), axis=0))


class Public(NamedTuple):
    """The public numbers of a grid on the card. `total` says that NaN may come out of finite features."""

    center: torch.Tensor
    rate: torch.Tensor
    total: bool

    def of(self, columns):
        """Those of some features."""
        return Public(self.center[columns], self.rate[columns], self.total)


def add_sums(X, public, weights, sums):
    """Add the sums over rows of weight times level to `sums`; without `public`, X holds levels."""
    geometry, grid, shape = _geometry(X)
    center, rate = (sums, sums) if public is None else public[:2]
    with torch.cuda.device_of(X):
        _sums_kernel[grid](
            X, center, rate, weights, sums, **geometry,
            SPILL=min(shape.tiles, _TERMS_IN_32_BITS),
            IN=tl.int8 if public is None else _arithmetic(X),
            TOTAL=public is not None and public.total,
        )  # fmt: skip


def examine(X, public, levels, not_finite):
    """Set `not_finite` to 1 if a feature is, and write the levels where `levels` is given."""
    geometry, grid, _ = _geometry(X)
    kept = X if levels is None else levels
    center, rate = (X, X) if public is None else public[:2]
    with torch.cuda.device_of(X):
        _examine_kernel[grid](
            X, center, rate, kept, not_finite, **geometry,
            level_row=kept.stride(0), level_column=kept.stride(1),
            IN=_arithmetic(X), TOTAL=public is not None and public.total, KEEP=levels is not None,
        )  # fmt: skip


def _arithmetic(X):
    return tl.float64 if X.dtype == torch.float64 else tl.float32


def _geometry(X):
    """Sizes and strides as multiples of a power of two, which is how Triton learns that 16-byte loads are aligned."""
    n, d = X.shape
    row, column = X.stride()
    by_rows = column <= row
    shape = (BY_ROWS if by_rows else BY_COLUMNS)[X.element_size()]
    n_unit, d_unit = (1, math.gcd(d, 16)) if by_rows else (math.gcd(n, 16), 1)
    row_unit, column_unit = (math.gcd(row, 16), 1) if by_rows else (1, math.gcd(column, 16))
    geometry = {
        "n_units": n // n_unit, "d_units": d // d_unit, "row_units": row // row_unit,
        "column_units": column // column_unit, "N_UNIT": n_unit, "D_UNIT": d_unit, "ROW_UNIT": row_unit,
        "COLUMN_UNIT": column_unit, "ROWS": shape.rows, "COLUMNS": shape.columns, "TILES": shape.tiles,
        "num_warps": shape.warps,
    }  # fmt: skip
    programs = triton.cdiv(d, shape.columns) * triton.cdiv(n, shape.rows * shape.tiles)
    return geometry, (programs,), shape
