"""For each feature, how many of its values are at or below some thresholds."""

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from dpsparse.engine.cuda.cuda_count_kernel import bins_kernel
from dpsparse.engine.cuda.cuda_features import Features
from dpsparse.engine.cuda.cuda_launch import launch
from dpsparse.engine.queries import Thresholds
from dpsparse.engine.threads import slices

# Rows and columns of a tile. On an H200 others are no faster, in either memory order.
_SHAPE = (64, 32)
# Features whose counts are made at once.
_AT_ONCE = 2**14


def feature_counts(features: Features, y: torch.Tensor, thresholds: Thresholds) -> NDArray[np.int64]:
    """For each of some `Features` and each of some rising thresholds how many values are at or below it, as int64.

    The responses `y` are NaN in blank records.
    """
    points = torch.tensor(np.asarray(thresholds, dtype=np.float64), device=features.device)
    d = features.shape[1]
    bins = torch.zeros((d, len(points)), dtype=torch.int32, device=features.device)
    for (rows, columns), cells, less in features.read(features.blocks()):
        _add_bins(cells if less is None else features.subtract(cells, less), y[rows], points, bins[columns])
    counts = np.empty(bins.shape, dtype=np.int64)
    for some in slices(d, _AT_ONCE):
        counts[some] = torch.cumsum(bins[some], dim=1, dtype=torch.int64).cpu().numpy()
    return counts


def _add_bins(X: torch.Tensor, y: torch.Tensor, thresholds: torch.Tensor, bins: torch.Tensor) -> None:
    (n, d), (rows, columns) = X.shape, _SHAPE
    launch(
        bins_kernel, triton.cdiv(d, columns) * triton.cdiv(n, rows),
        X, y, thresholds, bins, n, d, *X.stride(), len(thresholds), ROWS=rows, COLUMNS=columns,
    )  # fmt: skip
