"""Triton kernels of the levels of cells: the operations of `Quantizer.levels`, each rounded by itself.

Round half to even is done by adding 1.5 * 2^23 (float64: 1.5 * 2^52): the sum's unit is 1, so the adder rounds, and its
low bits hold the level.
"""

import triton
import triton.language as tl

# Clip to 0..254: one instruction of sm_90.
_CUT = tl.constexpr("min.relu.s32 $0, $1, 254;")


@triton.jit
def _scaled(x, center, rate, CENTERED: tl.constexpr, TOTAL: tl.constexpr):
    cell = x
    if CENTERED:
        x = x - center
    scaled = x * rate
    if TOTAL:
        # NaN is below nothing.
        scaled = tl.where((scaled == scaled) & (tl.abs(cell) < float("inf")), scaled, 0.0)
    return tl.minimum(tl.maximum(scaled, -127.0), 127.0)


@triton.jit
def level_bits(x, center, rate, CENTERED: tl.constexpr, TOTAL: tl.constexpr):
    """The level plus a constant, 0x4B400000 in float32 and 0 in float64, modulo 2^32."""
    scaled = _scaled(x, center, rate, CENTERED, TOTAL)
    if x.dtype == tl.float64:
        bits = (scaled + 6755399441055744.0).to(tl.int64, bitcast=True).to(tl.int32)
    else:
        bits = (scaled + 12582912.0).to(tl.int32, bitcast=True)
    return bits


@triton.jit
def byte_levels(x, offset, factor, shift, RELU: tl.constexpr):
    """The level of a byte plus 127, in whole numbers; see `ByteQuantizer`."""
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
def byte_quantizer_kernel(center, rate, offsets, factors, odd, d, shift, step, BLOCK: tl.constexpr):
    """Try neighbours of each feature's offset and factor until all 256 bytes have their levels.

    A feature that has none is odd, and has level 0.
    """
    features = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside, byte = features < d, tl.arange(0, 256)[None, :] - 128
    its_center = tl.load(center + features, mask=inside, other=0.0)[:, None]
    its_rate = tl.load(rate + features, mask=inside, other=1.0)[:, None]
    offset, factor = tl.load(offsets + features, mask=inside), tl.load(factors + features, mask=inside)
    level = level_bits(byte - its_center, 0.0, its_rate, False, False) - (0x4B400000 - 127)
    tried_offset, tried_factor, left, tries = offset, factor, inside.to(tl.int32), 0
    while (tl.max(left, axis=0) == 1) & (tries < 25):
        tried_offset = tl.where(left == 1, offset + _away(tries // 5) * step, tried_offset)
        tried_factor = tl.where(left == 1, factor + _away(tries % 5), tried_factor)
        tried = byte_levels(byte, tried_offset[:, None], tried_factor[:, None], shift, False)
        left = tl.where(inside, tl.max((tried != level).to(tl.int32), axis=1), 0)
        tries += 1
    tl.store(offsets + features, tl.where(left == 1, 127 << shift, tried_offset), mask=inside)
    tl.store(factors + features, tl.where(left == 1, 0, tried_factor), mask=inside)
    tl.store(odd + features, left, mask=inside)
