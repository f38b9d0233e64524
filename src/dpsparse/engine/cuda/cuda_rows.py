"""Rows on a GPU: the passes over the features run there, and integer sums come back.

The terms of single records (residuals, weights, norms) are computed there too, in float64 and one operation at a time
(`arrays`), on the few selected columns; the bits are those of the CPU. Noise and selections are drawn on the CPU alone.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dpsparse.engine.cpu.local_rows import LocalRows, LocalSession, keep_freed_memory, pair_differences
from dpsparse.engine.cuda.cuda_counts import feature_counts
from dpsparse.engine.cuda.cuda_features import DifferenceFeatures, Features
from dpsparse.engine.cuda.cuda_quantized import QuantizedCard, require_finite, to_host
from dpsparse.engine.cuda.cuda_terms import Terms
from dpsparse.engine.links import IDENTITY, Link
from dpsparse.engine.protocols import OnProgress, Query
from dpsparse.engine.quantize import Quantizer, as_column
from dpsparse.engine.queries import Thresholds
from dpsparse.engine.threads import ALL


class CudaRows(LocalRows):
    """Rows whose features a GPU reads. They check that all features are finite before they give the first sum.

    A session without that check has them accept gaps from then on.

    `features`: the features.
    `y`: their responses.
    `check_before_release`: whether a session checks the features when it is opened, or in the pass for its first
      scores.
    """

    def __init__(self, features: Features, y: Any, check_before_release: bool = True) -> None:
        super().__init__(torch.as_tensor(y, dtype=torch.float64, device=features.device), features.shape[1])
        self._features, self._check_before_release = features, check_before_release

    def take(self, rows: Any) -> "CudaRows":
        """Some of the rows; all are checked first, since a check of these would miss the rest."""
        self.require_finite()
        return CudaRows(self._features.take(rows), self.y[rows], self._check_before_release)

    def differences(self) -> "CudaRows":
        """The differences of pairs of records; see `protocols.Rows`."""
        features = DifferenceFeatures.of_pairs(self._features)
        return CudaRows(features, pair_differences(self.y), self._check_before_release)

    def blocks(self) -> list[slice]:
        """All rows at once: the card has threads of its own."""
        return [ALL]

    def session(
        self,
        quantizers: tuple[Quantizer, ...],
        *,
        constant: bool = False,
        check_finite: bool = True,
        link: Link = IDENTITY,
        on_progress: OnProgress = None,
    ) -> "CudaSession":
        """Open a session; see `protocols.Rows`."""
        keep_freed_memory()
        if not check_finite:
            self._features.accept_gaps()
        elif not quantizers:
            self.require_finite()
        return CudaSession(self, constant, self.quantized(quantizers), link)

    def require_finite(self) -> None:
        """Raise ValueError with a constant text unless all features are finite."""
        require_finite(self._features)

    def column(self, j: int) -> torch.Tensor:
        """Raw values of a feature, on the card, or the indicators of its gaps; see `protocols.Rows`."""
        return self._features.column(int(j))

    def quantized(self, quantizers: tuple[Quantizer, ...]) -> QuantizedCard:
        """The features quantized, with levels kept as far as there is room. They are checked, unless gaps are."""
        quantized = QuantizedCard(self._features, quantizers, self._features.room)
        self._features.keep(quantized)
        if quantizers and self._check_before_release:
            quantized.quantize()
        return quantized

    def weighted_sums(self, quantizer: Quantizer, weights: Any) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        self.require_finite()
        (sums,) = QuantizedCard(self._features, (quantizer,), 0).weighted_sums(weights)
        return np.asarray(sums)

    def feature_counts(self, thresholds: Thresholds) -> NDArray[np.int64]:
        """For each feature how many values are at or below each of some rising thresholds.

        Gaps and blank records count nowhere.
        """
        return feature_counts(self._features, self.y, thresholds)


class CudaSession(LocalSession):
    """A pursuit's session on a GPU: each query is a kernel of its own."""

    def _open(self, y: torch.Tensor, link: Link) -> None:
        self._terms = Terms(y, link)

    def _expose(self, values: torch.Tensor) -> None:
        self._terms.exposure = as_column(values, self._terms.y)

    def _append(self, values: torch.Tensor) -> None:
        self._terms.add(values)

    def rescale(self, center: float, scale: float) -> None:
        """Make (z - center) / scale of the last column z."""
        self._terms.rescale(center, scale)

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over the records."""
        return self._terms.evaluate(query, *public)

    def scores(
        self, center: float, effects: Any, bound: float, level: float = 0.0, on_progress: OnProgress = None
    ) -> NDArray[np.int64]:
        """The sums of `queries.pick_sums`, a row for each quantizer."""
        sums: NDArray[np.int64] = to_host(self._quantized.sums(self._terms.pick_weights(center, effects, bound, level)))
        return sums
