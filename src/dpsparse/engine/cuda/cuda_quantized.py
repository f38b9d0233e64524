"""Features quantized on the card: some kept there in a byte a cell, the others quantized again in each pass."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.engine.cuda import cuda_kernels
from dpsparse.engine.cuda.cuda_features import Block, Features
from dpsparse.engine.cuda.cuda_levels import Public, byte_quantizer
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.refusals import NOT_FINITE


def require_finite(features: Features) -> None:
    """Raise ValueError with a constant text unless all features are finite."""
    if not features.checked:
        QuantizedCard(features, (Quantizer(1.0),), 0).quantize()
    if features.nonfinite.item():
        raise ValueError(NOT_FINITE)


class QuantizedCard:
    """Feature levels on the card.

    The first pass makes them, and checks: it raises ValueError, with a constant text, if a feature is not finite,
    unless such features are accepted.

    `features`: the features.
    `quantizers`: make levels of them: a block is read once for all.
    `room`: bytes of levels that may be kept.
    """

    def __init__(self, features: Features, quantizers: tuple[Quantizer, ...], room: int) -> None:
        self._features, self._publics = features, [on_card(quantizer, features) for quantizer in quantizers]
        self._blocks = features.blocks(room // max(1, len(quantizers)))
        sizes = np.cumsum([0, *(len(quantizers) * features.n_cells(block) for block in self._blocks)])
        self._fit = int(np.searchsorted(sizes[1:], room, side="right"))
        self.bytes_kept = int(sizes[self._fit])
        self._kept: list[tuple[Block, list[torch.Tensor]]] | None = None

    def quantize(self) -> None:
        """Make the levels, and check."""
        self._first_pass()

    def weighted_sums(self, weights: Any) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64: a row for each quantizer."""
        on_card = torch.as_tensor(weights, device=self._features.device).to(torch.int32)
        sums: NDArray[np.int64] = to_host(self.sums(on_card))
        return sums

    def sums(self, weights: torch.Tensor) -> torch.Tensor:
        """The same on the card, where the weights are."""
        if self._kept is None:
            return self._first_pass(weights)
        sums = self._zero_sums()
        for block, families in self._kept:
            _add_levels(families, weights, sums, block)
        for (rows, columns), cells, less in self._features.read(self._blocks[self._fit :]):
            for public, its_sums in zip(self._publics, sums, strict=True):
                cuda_kernels.add_sums(cells, public.of(columns), weights[rows], its_sums[columns], less=less)
        return sums[:, : self._features.shape[1]]

    def _first_pass(self, weights: torch.Tensor | None = None) -> torch.Tensor:
        """Make the levels, check, and give the sums, where there are weights."""
        features, blocks, sums = self._features, self._blocks, self._zero_sums()
        kept: list[tuple[Block, list[torch.Tensor]]] = []
        if all(public.of_gaps for public in self._publics):
            # Indicators are finite, whatever the features are.
            require_finite(features)
        if weights is None and features.checked:
            blocks = blocks[: self._fit]
        # What has been checked is not checked again: differences of finite features may be infinite.
        nonfinite = torch.zeros_like(features.nonfinite) if features.checked else features.nonfinite
        zeros: Any = (
            torch.zeros(features.shape[0], dtype=torch.int32, device=features.device) if weights is None else None
        )
        for block, cells, less in features.read(blocks):
            rows, columns = block
            publics = [public.of(columns) for public in self._publics]
            if len(kept) < self._fit:
                families = [_room_for_levels(cells) for _ in publics]
                for public, levels in zip(publics, families, strict=True):
                    cuda_kernels.write_levels(cells, public, levels, nonfinite, less)
                if weights is not None:
                    _add_levels(families, weights, sums, block)
                kept.append((block, families))
            else:
                check = None if features.checked else nonfinite
                for public, its_sums in zip(publics, sums, strict=True):
                    its_weights = (zeros if weights is None else weights)[rows]
                    cuda_kernels.add_sums(cells, public, its_weights, its_sums[columns], check, less)
        features.checked = True
        require_finite(features)
        self._kept = kept
        return sums[:, : features.shape[1]]

    def _zero_sums(self) -> torch.Tensor:
        """A row for each quantizer, each starting at a multiple of 16."""
        shape = len(self._publics), _in_sixteens(self._features.shape[1])
        return torch.zeros(shape, dtype=torch.int64, device=self._features.device)


def _add_levels(families: list[torch.Tensor], weights: torch.Tensor, sums: torch.Tensor, block: Block) -> None:
    """Add to `sums` each family's levels of a block times the weights."""
    rows, columns = block
    for levels, its_sums in zip(families, sums, strict=True):
        cuda_kernels.add_sums(levels, None, weights[rows], its_sums[columns])


def _in_sixteens(count: int) -> int:
    return -(-count // 16) * 16


def _room_for_levels(cells: torch.Tensor) -> torch.Tensor:
    """Bytes in the order of the cells; long rows start at multiples of 16, so that they can be read 16 at a time."""
    n, d = cells.shape
    if cells.stride(1) == 1 and d >= config.current.cuda_long_row:
        return torch.empty((n, _in_sixteens(d)), dtype=torch.int8, device=cells.device)
    return torch.empty_like(cells, dtype=torch.int8)


def to_host(sums: torch.Tensor) -> Any:
    """Sums on the card as a NumPy array."""
    if not sums.is_cuda:
        return sums.numpy()
    # Pinned memory is several times as fast, and torch keeps it for the next time.
    pinned = torch.empty(sums.shape, dtype=sums.dtype, pin_memory=True)
    return pinned.copy_(sums).numpy()


def on_card(quantizer: Quantizer, features: Features) -> Public:
    """A quantizer's public numbers on the card of some features."""
    numbers = [np.atleast_1d(each) for each in quantizer.center_and_rate(features.dtype)]
    if len(numbers[0]) != len(numbers[1]):
        numbers = [np.array(np.broadcast_to(each, features.shape[1])) for each in numbers]
    ordinary = all(np.isfinite(each).all() for each in numbers) and (numbers[1] != 0).all()
    center, rate = (torch.from_numpy(each).to(features.device) for each in numbers)
    in_bytes = features.stored == torch.int8 and ordinary and not quantizer.of_gaps
    of_bytes = byte_quantizer(center, rate) if in_bytes else None
    center = center if numbers[0].any() else None
    return Public(center, rate, features.total or not ordinary, of_bytes, quantizer.of_gaps)
