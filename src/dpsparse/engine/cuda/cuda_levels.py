"""The levels of cells on a card, and a quantizer's public numbers there.

A feature's level is that of `Quantizer.levels` bit for bit: subtract, multiply, clip, each rounded by itself (no
multiplication is fused with an addition), then round half to even (`cuda_level_kernels`).

A byte has 256 values. For int8 all this becomes an integer multiplication and a shift for each feature, where these are
shown to give the same levels for all 256: `byte_quantizer`.
"""

import math
from typing import Any, NamedTuple

import torch
import triton

from dpsparse.engine.cuda.cuda_launch import launch
from dpsparse.engine.cuda.cuda_level_kernels import byte_quantizer_kernel

# The most features that may need floats while the others go by whole numbers.
MOST_ODD = 256


class ByteQuantizer(NamedTuple):
    """A quantizer of bytes in integers: (byte * factor + offset) >> shift is the level plus 127, before it is clipped.

    Odd features come out as 0.
    """

    offset: torch.Tensor
    factor: torch.Tensor
    shift: int
    odd: torch.Tensor

    def of(self, columns: slice) -> "ByteQuantizer":
        """That of some features."""
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

    def of(self, columns: Any) -> "Public":
        """Those of some features."""
        if len(self.rate) == 1:
            return self
        center = None if self.center is None else self.center[columns]
        of_bytes = self.of_bytes.of(columns) if self.of_bytes and isinstance(columns, slice) else None
        return Public(center, self.rate[columns], self.total, of_bytes, self.of_gaps)


def byte_quantizer(center: torch.Tensor, rate: torch.Tensor) -> ByteQuantizer | None:
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
    launch(byte_quantizer_kernel, triton.cdiv(len(rate), 16), *arguments, BLOCK=16)
    odd = is_odd.nonzero()[:, 0]
    return ByteQuantizer(offset, factor, shift, odd) if len(odd) <= min(MOST_ODD, len(rate) // 2) else None
