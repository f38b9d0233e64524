"""The range in which numbers of either sign are clipped for their mean: where their two tails cost least together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference import inference_constants as c
from dpsparse.inference.tails import OCTAVES, Clip, Norms

# The noise that a mean has for each unit of its numbers' range, by how far this goes below 0 and above it.
Width = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Range:
    """What becomes of numbers below 0 and above it: each side is clipped by its size."""

    below: Clip
    above: Clip

    def of(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers after it."""
        return self.above.of(np.maximum(numbers, 0.0)) - self.below.of(np.maximum(-numbers, 0.0))


@dataclass(frozen=True)
class Sides:
    """The laws of numbers below 0, by their size, and of those above it."""

    below: Norms
    above: Norms

    @classmethod
    def of(
        cls,
        edges: NDArray[np.float64],
        counts: NDArray[np.float64],
        noise: float,
        n_records: float,
        typical: float = c.TYPICAL_TAIL_INDEX,
    ) -> "Sides":
        """From noisy counts in octaves: those below 0, from the largest size on, and then those above it."""
        sides = np.split(counts, 2)
        below, above = (
            Norms.of(edges, side, noise, n_records, typical, OCTAVES) for side in (sides[0][::-1], sides[1])
        )
        return cls(below, above)

    def best_range(self, width: Width, noise: float, bias: float) -> Range:
        """The range with the least (noise width)^2 + bias^2 (what it leaves out of the mean on each side, squared).

        Both sides rise, so that their means stay as they are. What a rise does not make up for is an error of its law,
        and those of both sides do not cancel.
        """
        below, above = ([law.clip_at(bound) for bound in law.bounds] for law in (self.below, self.above))
        lows, highs = (np.array([clip.most for clip in clips]) for clips in (below, above))
        left = np.array([self.below.beyond(clip.bound) for clip in below])
        right = np.array([self.above.beyond(clip.bound) for clip in above])
        costs = (noise * width(lows[:, None], highs)) ** 2 + bias**2 * (left[:, None] ** 2 + right**2)
        low, high = np.unravel_index(int(np.argmin(costs)), costs.shape)
        return Range(below[low], above[high])
