"""The levels of cells on a card, and a quantizer's public numbers there.

A feature's level is that of `Quantizer.levels` bit for bit: subtract, multiply, clip, each rounded by itself (no
multiplication is fused with an addition), then round half to even. The last is done by adding 1.5 * 2^23 (float64:
1.5 * 2^52): the sum's unit is 1, so the adder rounds, and its low bits hold the level.

A byte has 256 values. For int8 all this becomes an integer multiplication and a shift for each feature, where these are
shown to give the same levels for all 256: `byte_quantizer`.
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from dpsparse.engine.cuda.cuda_launch import launch

# The most features that may need floats while the others go by whole numbers.
MOST_ODD = 256

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
def _byte_quantizer_kernel(center, rate, offsets, factors, odd, d, shift, step, BLOCK: tl.constexpr):
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


class ByteQuantizer(NamedTuple):
    """A quantizer of bytes in integers: (byte * factor + offset) >> shift is the level plus 127, before it is clipped.

    Odd features come out as 0.
    """

    offset: torch.Tensor
    factor: torch.Tensor
    shift: int
    odd: torch.Tensor

    def of(self, columns):
        """That of some features, a slice."""
        start, stop, _ = columns.indices(len(self.factor))
        odd = self.odd[(self.odd >= start) & (self.odd < stop)] - start
        return ByteQuantizer(self.offset[columns], self.factor[columns], self.shift, odd)


class Public(NamedTuple):
    """A quantizer's public numbers on the card, one for all features or one each.

    `center` is None where it is 0: the subtraction would change nothing. `total`: cells may be missing or give NaN.
    `of_bytes`: the same quantizer for bytes, where there is one. `of_gaps`: cells are the indicators of gaps.
    """

    center: torch.Tensor | None
    rate: torch.Tensor
    total: bool
    of_bytes: ByteQuantizer | None = None
    of_gaps: bool = False

    def of(self, columns):
        """Those of some features."""
        if len(self.rate) == 1:
            return self
        center = None if self.center is None else self.center[columns]
        of_bytes = self.of_bytes.of(columns) if self.of_bytes and isinstance(columns, slice) else None
        return Public(center, self.rate[columns], self.total, of_bytes, self.of_gaps)


def byte_quantizer(center, rate):
    """The quantizer in integers: all 256 bytes are tried for each feature; None where it fails for many features.

    In floats a product now and then rounds to a tie, and ties go to even, where a shift rounds up. Offsets and factors
    within 2^-16 of a level of the exact ones then serve, unless ties are many.
    """
    exact = rate.double()
    largest = ((128 + center.double().abs()) * exact.abs()).max().item()
    shift = 30 - math.ceil(math.log2(largest + 255))
    if shift < 1:
        return None
    offset = ((127.5 - center.double() * exact) * 2.0**shift).round().to(torch.int32)
    factor = (exact * 2.0**shift).round().to(torch.int32)
    is_odd = torch.empty_like(factor)
    arguments = (center, rate, offset, factor, is_odd, len(rate), shift, max(1, 2**shift >> 17))
    launch(_byte_quantizer_kernel, triton.cdiv(len(rate), 16), *arguments, BLOCK=16)
    odd = is_odd.nonzero()[:, 0]
    return ByteQuantizer(offset, factor, shift, odd) if len(odd) <= min(MOST_ODD, len(rate) // 2) else None
