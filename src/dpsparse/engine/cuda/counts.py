"""For each feature, how many of its values are at or below some thresholds."""

import numpy as np
import torch
import triton
import triton.language as tl

from dpsparse.engine.cuda.launch import launch
from dpsparse.engine.threads import slices

# Bins of a feature. A value falls into that of the first threshold that is not below it, the last one if all are.
_BINS = 256
# Rows and columns of a tile, and tiles of a program, for X by rows (False) or by columns (True).
_SHAPES = {False: (256, 32, 16), True: (2048, 4, 16)}
# Features whose sums of bins are made at once.
_AT_ONCE = 2**14


@triton.jit(do_not_specialize=["n_thresholds"])
def _bins_kernel(
    X, thresholds, bins, n, d, row_stride, column_stride, n_thresholds,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TILES: tl.constexpr, BINS: tl.constexpr,
):  # fmt: skip
    """Add to the bins how many values fall into each; float64 holds every value as it is."""
    block = tl.program_id(0) % tl.cdiv(d, COLUMNS)
    columns = block * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.program_id(0) // tl.cdiv(d, COLUMNS) * (ROWS * TILES)
    found = tl.zeros([COLUMNS * BINS], tl.int32)
    for row in range(first, tl.minimum(n, first + ROWS * TILES), ROWS):
        rows = row + tl.arange(0, ROWS)
        where = rows.to(tl.int64)[:, None] * row_stride + columns.to(tl.int64)[None, :] * column_stride
        inside = (rows < n)[:, None] & (columns < d)[None, :]
        value = tl.load(X + where, mask=inside, other=0).to(tl.float64)
        low, left = tl.zeros([ROWS, COLUMNS], tl.int32), n_thresholds
        while left > 0:
            half = left // 2
            below = tl.load(thresholds + tl.minimum(low + half, n_thresholds - 1)) < value
            below = (below | (value != value)) & (low + half < n_thresholds)
            low = tl.where(below, low + half + 1, low)
            left = half
        # Nobody reads the last bin.
        its_bin = tl.where(inside, low, BINS - 1) + tl.arange(0, COLUMNS)[None, :] * BINS
        found += tl.histogram(tl.ravel(its_bin, can_reorder=True), COLUMNS * BINS)
    where = block.to(tl.int64) * (COLUMNS * BINS) + tl.arange(0, COLUMNS * BINS)
    tl.atomic_add(bins + where, found, mask=(found > 0) & (where // BINS < d))


def feature_counts(features, thresholds):
    """For each of some `Features` and each of some rising thresholds how many values are at or below it, as int64."""
    thresholds = np.ascontiguousarray(thresholds, dtype=np.float64)
    counts = np.empty((features.shape[1], len(thresholds)), dtype=np.int64)
    # The last bin is for what is above all thresholds.
    for some in slices(len(thresholds), _BINS - 1):
        bins = torch.zeros((features.shape[1], _BINS), dtype=torch.int32, device=features.device)
        points = torch.from_numpy(thresholds[some]).to(features.device)
        for (_, columns), cells in features.read(features.blocks()):
            _add_bins(cells, points, bins[columns])
        for part in slices(len(bins), _AT_ONCE):
            at_most = torch.cumsum(bins[part, : len(points)], dim=1, dtype=torch.int64)
            counts[part, some] = at_most.cpu().numpy()
    return counts


def _add_bins(X, thresholds, bins):
    n, d = X.shape
    rows, columns, tiles = _SHAPES[X.stride(0) < X.stride(1)]
    launch(
        _bins_kernel, triton.cdiv(d, columns) * triton.cdiv(n, rows * tiles),
        X, thresholds, bins, n, d, *X.stride(), len(thresholds),
        ROWS=rows, COLUMNS=columns, TILES=tiles, BINS=_BINS, num_warps=8,
    )  # fmt: skip
