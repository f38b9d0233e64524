"""Features quantized on the card: some kept there in a byte a cell, the others quantized again in each pass."""

import numpy as np
import torch

from dpsparse.engine import config
from dpsparse.engine.cuda import kernels
from dpsparse.engine.cuda.levels import Public, byte_quantizer
from dpsparse.engine.protocols import NOT_FINITE
from dpsparse.engine.quantize import Quantizer


def require_finite(features):
    """Raise ValueError with a constant text unless all features are finite."""
    if not features.checked:
        QuantizedCard(features, Quantizer(1.0), 0).quantize()
    if features.nonfinite.item():
        raise ValueError(NOT_FINITE)


class QuantizedCard:
    """Feature levels on the card.

    The first pass makes them, and checks: it raises ValueError, with a constant text, if a feature is not finite.

    Parameters
    ----------
    features : Features
        The features.
    quantizer : Quantizer
        Makes levels of them.
    room : int
        Bytes of levels that may be kept.
    """

    def __init__(self, features, quantizer, room):
        self._features, self._public = features, on_card(quantizer, features)
        self._blocks = features.blocks()
        self._fit = np.searchsorted(np.cumsum([features.n_cells(block) for block in self._blocks]), room, side="right")
        self._kept = None

    def quantize(self):
        """Make the levels, and check."""
        self._first_pass()

    def weighted_sums(self, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        return to_host(self.sums(torch.as_tensor(weights, device=self._features.device).to(torch.int32)))

    def sums(self, weights):
        """The same on the card, where the weights are."""
        if self._kept is None:
            return self._first_pass(weights)
        sums = self._zeros(torch.int64, 1)
        for (rows, columns), levels in self._kept:
            kernels.add_sums(levels, None, weights[rows], sums[columns])
        for (rows, columns), cells in self._features.read(self._blocks[self._fit :]):
            kernels.add_sums(cells, self._public.of(columns), weights[rows], sums[columns])
        return sums[: self._features.shape[1]]

    def _first_pass(self, weights=None):
        """Make the levels, check, and give the sums, where there are weights."""
        kept, blocks, sums = [], self._blocks, self._zeros(torch.int64, 1)
        if weights is None and self._features.checked:
            blocks = blocks[: self._fit]
        weights_or_zeros = self._zeros(torch.int32, 0) if weights is None else weights
        for (rows, columns), cells in self._features.read(blocks):
            public = self._public.of(columns)
            if len(kept) < self._fit:
                levels = _room_for_levels(cells)
                kernels.write_levels(cells, public, levels, self._features.nonfinite)
                if weights is not None:
                    kernels.add_sums(levels, None, weights[rows], sums[columns])
                kept.append(((rows, columns), levels))
            else:
                nonfinite = None if self._features.checked else self._features.nonfinite
                kernels.add_sums(cells, public, weights_or_zeros[rows], sums[columns], nonfinite)
        self._features.checked = True
        require_finite(self._features)
        self._kept = kept
        return sums[: self._features.shape[1]]

    def _zeros(self, dtype, axis):
        return torch.zeros(_in_sixteens(self._features.shape[axis]), dtype=dtype, device=self._features.device)


def _in_sixteens(count):
    return -(-count // 16) * 16


def _room_for_levels(cells):
    """Bytes in the order of the cells; long rows start at multiples of 16, so that they can be read 16 at a time."""
    n, d = cells.shape
    if cells.stride(1) == 1 and d >= config.current.cuda_long_row:
        return torch.empty((n, _in_sixteens(d)), dtype=torch.int8, device=cells.device)
    return torch.empty_like(cells, dtype=torch.int8)


def to_host(sums):
    """Sums on the card as a NumPy array."""
    if not sums.is_cuda:
        return sums.numpy()
    # Pinned memory is several times as fast, and torch keeps it for the next time.
    pinned = torch.empty(sums.shape, dtype=sums.dtype, pin_memory=True)
    return pinned.copy_(sums).numpy()


def on_card(quantizer, features):
    """A quantizer's public numbers on the card of some features."""
    numbers = [np.atleast_1d(each) for each in quantizer.center_and_rate(features.dtype)]
    if len(numbers[0]) != len(numbers[1]):
        numbers = [np.array(np.broadcast_to(each, features.shape[1])) for each in numbers]
    ordinary = all(np.isfinite(each).all() for each in numbers) and (numbers[1] != 0).all()
    center, rate = (torch.from_numpy(each).to(features.device) for each in numbers)
    of_bytes = byte_quantizer(center, rate) if features.stored == torch.int8 and ordinary else None
    return Public(center if numbers[0].any() else None, rate, not ordinary, of_bytes)
