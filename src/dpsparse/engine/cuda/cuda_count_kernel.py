"""The Triton kernel that counts the values of features between thresholds."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n_thresholds"])
def bins_kernel(
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
