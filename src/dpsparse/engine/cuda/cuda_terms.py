"""`queries` on a GPU, with the bits of the CPU: the frequent ones in one kernel each, the others by their own code."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from dpsparse.engine import queries, vector_sums
from dpsparse.engine.arrays import host
from dpsparse.engine.cuda.cuda_launch import launch
from dpsparse.engine.cuda.cuda_term_kernels import (
    bounded_kernel,
    column_kernel,
    counts_kernel,
    rescale_kernel,
    vectors_kernel,
    weights_kernel,
)
from dpsparse.engine.links import IDENTITY, Effects, Link
from dpsparse.engine.protocols import Query
from dpsparse.engine.quantize import level_shift
from dpsparse.engine.queries import Thresholds
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS, levels_per_unit

# Public numbers for a kernel.
Numbers = Sequence[float] | NDArray[np.float64]

_BLOCK = 512
# Zeros for this many results are made at once.
_RESULTS_AHEAD = 64
# Memory for this many columns is taken at once.
_COLUMNS_AHEAD = 8


@dataclass(frozen=True)
class _Column:
    """A `queries.Column` that is sanitized when it is asked for."""

    units: torch.Tensor

    @property
    def sanitized(self) -> torch.Tensor:
        return vector_sums.sanitized(self.units)


class Terms:
    """Records on a card: responses, and columns of the selected features."""

    def __init__(self, y: torch.Tensor, link: Link = IDENTITY) -> None:
        self.y, self.link = y, link
        self.exposure: torch.Tensor | None = None
        self._have_room(_COLUMNS_AHEAD)
        self.units = self._room[:0]

    def _have_room(self, columns: int) -> None:
        self._room, self._zeros = self.y.new_empty((columns, len(self.y))), _rows_of_zeros(columns + 2, self.y.device)

    def add(self, column: torch.Tensor) -> None:
        """One more column, of raw values; NaN for gaps and blank records."""
        k, before = len(self.units), self.units
        if k == len(self._room):
            self._have_room(k + _COLUMNS_AHEAD)
            self._room[:k] = before
        self.units = self._room[: k + 1]
        self._run(column_kernel, column, self.y, self._room, len(self.y), k, column.stride(0))

    def rescale(self, center: float, scale: float) -> None:
        """Make (z - center) / scale of the last column z."""
        numbers = self._on_card([float(center), float(scale)])
        self._run(rescale_kernel, self._room, numbers, len(self.y), len(self.units) - 1)

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over the records: by its kernel, or else by its own code on tensors."""
        method = None if self._needs_own_code(query) else _METHODS.get(query)
        return query(self._records(), *public) if method is None else method(self, *public)

    def _needs_own_code(self, query: Query) -> bool:
        """Whether a query reads residuals, and these are not those that the kernels know."""
        return self.link != IDENTITY and query in _OF_RESIDUALS

    def _records(self) -> queries.Records:
        return queries.Records(self.y, None, tuple(map(_Column, self.units)), self.link, self.exposure)

    def _on_card(self, *numbers: Numbers) -> torch.Tensor:
        """Lists of public numbers, sent as one."""
        return torch.from_numpy(np.concatenate(numbers)).to(self.y.device, non_blocking=True)

    def _run(self, kernel: Any, *arguments: Any, **options: Any) -> None:
        launch(kernel, triton.cdiv(len(self.y), _BLOCK), *arguments, BLOCK=_BLOCK, **options)

    def _columns(self, positions: Sequence[int]) -> torch.Tensor:
        first, last = int(positions[0]), int(positions[-1])
        # Columns in a row need no copy.
        adjoin = last - first == len(positions) - 1
        return self.units[first : last + 1] if adjoin else self.units[torch.as_tensor(positions, device=self.y.device)]

    def _counts(
        self, model: Numbers, thresholds: Thresholds, sizes: bool = False, position: int = 0, values: str = "residuals"
    ) -> NDArray[np.int64]:
        numbers = self._on_card(model, thresholds)
        counts = torch.zeros(len(thresholds), dtype=torch.int64, device=self.y.device)
        arguments = (self._room[position], counts, len(self.y), len(model) - 1, len(thresholds))
        self._run(counts_kernel, self.y, self.units, numbers, *arguments, VALUES=values, SIZES=bool(sizes))
        of_bins: NDArray[np.int64] = host(counts)
        return np.cumsum(of_bins)

    def _vectors(
        self,
        out: torch.Tensor,
        positions: Sequence[int],
        norm_bound: float,
        norms: Numbers,
        model: Numbers,
        levels: int,
        products: bool = False,
        root: bool = False,
        factor: str = "none",
    ) -> None:
        """The model is tau, the centre and the effects."""
        columns = self._columns(positions)
        numbers = self._on_card([levels_per_unit(levels, norm_bound), *norms], model)
        self._run(
            vectors_kernel, self.y, self.units, numbers, columns, out, len(self.y), len(self.units), len(positions),
            MOST=levels, PRODUCTS=products, ROOT=root, FACTOR=factor, SUM=levels == VECTOR_LEVELS,
        )  # fmt: skip

    def _vector_sums(
        self, positions: Sequence[int], norm_bound: float, norms: Numbers, model: Numbers = (), **options: Any
    ) -> tuple[NDArray[np.int64], int]:
        sums = next(self._zeros)
        self._vectors(sums, positions, norm_bound, norms, model, VECTOR_LEVELS, **options)
        on_host: NDArray[np.int64] = host(sums)
        return on_host[: len(positions)], int(on_host[len(positions)])

    def _gram_sums(
        self, positions: Sequence[int], norm_bound: float, norms: Numbers, model: Numbers = (), **options: Any
    ) -> NDArray[np.int64]:
        vectors = self.y.new_empty((len(positions), len(self.y)))
        self._vectors(vectors, positions, norm_bound, norms, model, GRAM_LEVELS, **options)
        products: NDArray[np.float64] = host(vectors @ vectors.T)
        return np.rint(products).astype(np.int64)

    def _bounded_sums(
        self,
        query: str,
        size: int,
        norm_bound: float,
        numbers: Sequence[float],
        model: Numbers = (0.0,),
        position: int = 0,
    ) -> NDArray[np.int64]:
        sums = next(self._zeros)
        public = self._on_card([levels_per_unit(VECTOR_LEVELS, norm_bound), *numbers], model)
        arguments = (public, self._room[position], sums, len(self.y), len(model) - 1)
        self._run(bounded_kernel, self.y, self.units, *arguments, MOST=VECTOR_LEVELS, QUERY=query)
        on_host: NDArray[np.int64] = host(sums)
        return on_host[:size]

    def residual_counts(
        self, center: float, effects: Effects, thresholds: Thresholds, sizes: bool = False
    ) -> NDArray[np.int64]:
        """See `queries.residual_counts`."""
        return self._counts([center, *effects], thresholds, sizes)

    def column_counts(self, position: int, thresholds: Thresholds, sizes: bool = False) -> NDArray[np.int64]:
        """See `queries.column_counts`."""
        return self._counts([0.0], thresholds, sizes, position, "column")

    def slope_counts(self, effects: Effects, position: int, thresholds: Thresholds) -> NDArray[np.int64]:
        """See `queries.slope_counts`."""
        return self._counts([0.0, *effects], thresholds, False, position, "slopes")

    def pick_weights(self, center: float, effects: Effects, bound: float, level: float = 0.0) -> torch.Tensor:
        """See `queries.pick_weights`."""
        if self.link != IDENTITY:
            return queries.pick_weights(self._records(), center, effects, bound, level).to(torch.int32)
        levels = torch.empty_like(self.y, dtype=torch.int32)
        most, shift = level_shift(level)
        numbers = self._on_card([most / bound, most, shift, center], effects)
        self._run(weights_kernel, self.y, self.units, numbers, levels, len(self.y), len(effects))
        return levels

    def product_sums(self, positions: Sequence[int], bound: float) -> NDArray[np.int64]:
        """See `queries.product_sums`."""
        return self._vector_sums(positions, bound, [bound, np.inf], products=True)[0]

    def gradient_sums(
        self, center: float, effects: Effects, tau: float, positions: Sequence[int], inner: float, outer: float
    ) -> tuple[NDArray[np.int64], int]:
        """See `queries.gradient_sums`."""
        return self._vector_sums(positions, inner, [inner, outer], (tau, center, *effects), factor="psi")

    def gram_sums(self, positions: Sequence[int], inner: float, outer: float) -> NDArray[np.int64]:
        """See `queries.gram_sums`."""
        return self._gram_sums(positions, np.sqrt(inner * outer), [inner, outer], root=True)

    def jacobian_sums(
        self, center: float, effects: Effects, tau: float, positions: Sequence[int], inner: float, outer: float
    ) -> NDArray[np.int64]:
        """See `queries.jacobian_sums`."""
        norm_bound, model = np.sqrt(inner * outer), (tau, center, *effects)
        return self._gram_sums(positions, norm_bound, [inner, outer], model, root=True, factor="within")

    def variance_sums(
        self, center: float, effects: Effects, tau: float, positions: Sequence[int], inner: float, outer: float
    ) -> NDArray[np.int64]:
        """See `queries.variance_sums`."""
        return self._gram_sums(positions, inner, [inner, outer], (tau, center, *effects), factor="psi")

    def spread_sums(self, position: int, size: float, most: float) -> NDArray[np.int64]:
        """See `queries.spread_sums`."""
        return self._bounded_sums("spread_sums", 2, math.sqrt(0.5), [size, most, 0.0], position=position)

    def mean_sums(self, position: int, center: float, scale: float, most: float) -> NDArray[np.int64]:
        """See `queries.mean_sums`."""
        return self._bounded_sums("mean_sums", 2, math.sqrt(1.25), [center, scale, most], position=position)

    def gain_sums(self, center: float, effects: Effects, most: float, near: float) -> NDArray[np.int64]:
        """See `queries.gain_sums`."""
        return self._bounded_sums("gain_sums", 3, math.sqrt(1.5), [most, near, 0.0], (center, *effects))

    def calibration_sums(
        self, center: float, effects: Effects, level: float, reach: float, width: float
    ) -> NDArray[np.int64]:
        """See `queries.calibration_sums`."""
        numbers = [level, reach, width]
        return self._bounded_sums("calibration_sums", 4, queries.CALIBRATION_NORM, numbers, (center, *effects))


def _rows_of_zeros(size: int, device: torch.device) -> Iterator[torch.Tensor]:
    while True:
        yield from torch.zeros((_RESULTS_AHEAD, size), dtype=torch.int64, device=device).unbind()


_OF_RESIDUALS = {
    getattr(queries, name): getattr(Terms, name)
    for name in (
        *("residual_counts", "slope_counts"),
        *("gradient_sums", "jacobian_sums", "variance_sums"),
        *("gain_sums", "calibration_sums"),
    )
}
_METHODS = _OF_RESIDUALS | {
    getattr(queries, name): getattr(Terms, name)
    for name in ("column_counts", "product_sums", "gram_sums", "spread_sums", "mean_sums")
}
