"""For each feature, how many of its values are at or below some thresholds."""

import numpy as np
import torch
import triton
import triton.language as tl

from dpsparse.engine.cuda.cuda_launch import launch
from dpsparse.engine.threads import slices

# Rows and columns of a tile. On an H200 others are no faster, in either memory order.
_SHAPE = (64, 32)
# Features whose counts are made at once.
_AT_ONCE = 2**14


@triton.jit(do_not_specialize=["n_thresholds"])
def _bins_kernel(
    X, y, thresholds, bins, n, d, row_stride, column_stride, n_thresholds, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Count for each feature the values whose first threshold that is not below them is this one; gaps are above all.

    A record whose response y is NaN counts nowhere.

    float64 holds every value as it is.
    """
    rows = tl.program_id(0) // tl.cdiv(d, COLUMNS) * ROWS + tl.arange(0, ROWS)
    columns = (tl.program_id(0) % tl.cdiv(d, COLUMNS) * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)
    inside = (rows < n)[:, None] & (columns < d)[None, :]
    where = rows.to(tl.int64)[:, None] * row_stride + columns[None, :] * column_stride
    value = tl.load(X + where, mask=inside, other=0).to(tl.float64)
    low, left = tl.zeros([ROWS, COLUMNS], tl.int32), n_thresholds
    while left > 0:
        half = left // 2
        below = tl.load(thresholds + tl.minimum(low + half, n_thresholds - 1)) < value
        below = (below | (tl.abs(value) == float("inf")) | (value != value)) & (low + half < n_thresholds)
        low = tl.where(below, low + half + 1, low)
        left = half
    response = tl.load(y + rows, mask=rows < n, other=0.0)
    counted = inside & (low < n_thresholds) & (response == response)[:, None]
    tl.atomic_add(bins + columns[None, :] * n_thresholds + low, 1, mask=counted, sem="relaxed")


def feature_counts(features, y, thresholds):
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


def _add_bins(X, y, thresholds, bins):
    (n, d), (rows, columns) = X.shape, _SHAPE
    launch(
        _bins_kernel, triton.cdiv(d, columns) * triton.cdiv(n, rows),
        X, y, thresholds, bins, n, d, *X.stride(), len(thresholds), ROWS=rows, COLUMNS=columns,
    )  # fmt: skip
