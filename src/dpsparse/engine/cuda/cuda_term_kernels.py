"""Triton kernels of the frequent queries: the operations of each query's own code, in float64.

Each operation is rounded by itself: multiplications are not fused with additions, and quotients and square roots are
correctly rounded. The results are integers, with the bits of the CPU.
"""

import triton
import triton.language as tl


@triton.jit
def _sanitized(x):
    return tl.where(x == x, tl.minimum(tl.maximum(x, -1e150), 1e150), 0.0)


@triton.jit
def _residual(y, units, numbers, records, inside, n, k):
    """Responses minus predictions of all columns, with gaps at 0; the numbers are the centre and the effects."""
    residual = tl.load(y + records, mask=inside, other=0.0) - tl.load(numbers)
    at = units + records
    for j in range(k):
        residual = residual - _sanitized(tl.load(at, mask=inside, other=0.0)) * tl.load(numbers + 1 + j)
        at += n
    return residual


@triton.jit(do_not_specialize=["k", "stride"])
def column_kernel(column, y, units, n, k, stride, BLOCK: tl.constexpr):
    """`quantize.as_column` of raw values, as column k."""
    records = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = records < n
    x = tl.load(column + records.to(tl.int64) * stride, mask=inside, other=0).to(tl.float64)
    response = tl.load(y + records, mask=inside, other=0.0)
    known = (tl.abs(x) < float("inf")) & (response == response)
    tl.store(units + k.to(tl.int64) * n + records, tl.where(known, x, float("nan")), mask=inside)


@triton.jit(do_not_specialize=["k"])
def rescale_kernel(units, numbers, n, k, BLOCK: tl.constexpr):
    """Column k in other units, in place; the numbers are a centre and a scale."""
    records = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = records < n
    at = units + k.to(tl.int64) * n + records
    x = tl.load(at, mask=inside, other=0.0)
    tl.store(at, (x - tl.load(numbers)) / tl.load(numbers + 1), mask=inside)


@triton.jit(do_not_specialize=["k", "n_thresholds"])
def counts_kernel(
    y, units, numbers, column, counts, n, k, n_thresholds,
    BLOCK: tl.constexpr, VALUES: tl.constexpr, SIZES: tl.constexpr,
):  # fmt: skip
    """For each value, or its size, the first threshold that is not below it; NaN is above all.

    Values are "residuals", those of a "column", or "slopes": residuals over a column, where its size is 1 or more. The
    numbers are those of the residuals, and the thresholds.
    """
    records = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = records < n
    if VALUES == "residuals":
        value = _residual(y, units, numbers, records, inside, n, k)
    else:
        value = tl.load(column + records, mask=inside, other=0.0)
    if VALUES == "slopes":
        slope = _residual(y, units, numbers, records, inside, n, k) / value
        value = tl.where(tl.abs(value) >= 1.0, slope, float("nan"))
    if SIZES:
        value = tl.abs(value)
    low, left, thresholds = tl.zeros([BLOCK], tl.int32), n_thresholds, numbers + 1 + k
    while left > 0:
        half = left // 2
        below = tl.load(thresholds + tl.minimum(low + half, n_thresholds - 1)) < value
        below = (below | (value != value)) & (low + half < n_thresholds)
        low = tl.where(below, low + half + 1, low)
        left = half
    tl.atomic_add(counts + low, 1, mask=inside & (low < n_thresholds))


@triton.jit(do_not_specialize=["k"])
def weights_kernel(y, units, numbers, levels, n, k, BLOCK: tl.constexpr):
    """Levels of residuals less a shift, rounded half to even by adding 1.5 * 2^52; 0 for NaN.

    The numbers start with the level of 1, the largest level and the shift.
    """
    records = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = records < n
    residual = _residual(y, units, numbers + 3, records, inside, n, k)
    scaled, most = residual * tl.load(numbers), tl.load(numbers + 1)
    clipped = tl.minimum(tl.maximum(scaled, -most), most)
    level = tl.where(scaled == scaled, clipped, 0.0) + 6755399441055744.0
    level = level.to(tl.int64, bitcast=True).to(tl.int32) - tl.load(numbers + 2).to(tl.int32)
    tl.store(levels + records, tl.where(residual == residual, level, 0), mask=inside)


@triton.jit
def _entry(at, last, inside, PRODUCTS: tl.constexpr):
    """A column's entries, or their products with the last column's."""
    x = _sanitized(tl.load(at, mask=inside, other=0.0))
    if PRODUCTS:
        x = _sanitized(x * last)
    return x


@triton.jit
def _level(x, factor, MOST: tl.constexpr):
    return tl.minimum(tl.maximum(x * factor, -MOST), MOST).to(tl.int32).to(tl.int64)


@triton.jit(do_not_specialize=["k_units", "k"])
def vectors_kernel(
    y, units, numbers, columns, out, n, k_units, k,
    BLOCK: tl.constexpr, MOST: tl.constexpr, PRODUCTS: tl.constexpr, ROOT: tl.constexpr, FACTOR: tl.constexpr,
    SUM: tl.constexpr,
):  # fmt: skip
    """`vector_sums.integer_vectors` of some columns, or of their PRODUCTS with the last.

    A row's scale is its weight, or the weight's ROOT, times the FACTOR of its residual: "psi", "within" or "none". The
    numbers are the level of 1, the inner and the outer norm, tau, and those of the residuals. With SUM the sums of the
    vectors are added to what is there and, with psi, to one more number how many residuals are within tau; otherwise
    the vectors come out.
    """
    records = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = records < n
    last = 1.0
    if PRODUCTS:
        last = _sanitized(tl.load(columns + (k - 1).to(tl.int64) * n + records, mask=inside, other=0.0))
    square, at = tl.zeros([BLOCK], tl.float64), columns + records
    for _ in range(k):
        x = _entry(at, last, inside, PRODUCTS)
        square = square + x * x
        at += n
    norm = tl.sqrt(square)
    scale = tl.minimum(tl.load(numbers + 1) / norm, 1.0) * tl.minimum(tl.load(numbers + 2) / norm, 1.0)
    if ROOT:
        scale = tl.sqrt(scale)
    if FACTOR != "none":
        residual, tau = _residual(y, units, numbers + 4, records, inside, n, k_units), tl.load(numbers + 3)
        within = tl.abs(residual) <= tau
        if FACTOR == "within":
            scale = tl.where(within, scale, 0.0)
        else:
            psi = residual / tau
            scale = tl.where(psi == psi, tl.minimum(tl.maximum(psi, -1.0), 1.0), 0.0) * scale
            if SUM:
                tl.atomic_add(out + k, tl.sum((inside & within).to(tl.int64)))
    factor = scale * tl.load(numbers)
    factor = tl.where(tl.abs(factor) < float("inf"), factor, 0.0)
    norm_of_levels, at = tl.zeros([BLOCK], tl.int64), columns + records
    for _ in range(k):
        level = _level(_entry(at, last, inside, PRODUCTS), factor, MOST)
        norm_of_levels += level * level
        at += n
    factor = tl.where(norm_of_levels <= MOST * MOST, factor, 0.0)
    at = columns + records
    for _ in range(k):
        level = _level(_entry(at, last, inside, PRODUCTS), factor, MOST)
        if SUM:
            tl.atomic_add(out, tl.sum(level))
            out += 1
        else:
            tl.store(out + records, level.to(tl.float64), mask=inside)
            out += n
        at += n


@triton.jit
def _clipped(x, low, high):
    return tl.where(x == x, tl.minimum(tl.maximum(x, low), high), x)


@triton.jit(do_not_specialize=["k"])
def bounded_kernel(
    y, units, numbers, column, out, n, k,
    BLOCK: tl.constexpr, MOST: tl.constexpr, QUERY: tl.constexpr,
):  # fmt: skip
    """Sums of vectors whose entries a query of this name gives, and which it holds to a norm; see `queries`.

    The numbers are the level of 1, three of the query, and those of the residuals.
    """
    records = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = records < n
    response = tl.load(y + records, mask=inside, other=0.0)
    a, b, c = tl.load(numbers + 1), tl.load(numbers + 2), tl.load(numbers + 3)
    third, fourth = tl.zeros([BLOCK], tl.float64), tl.zeros([BLOCK], tl.float64)
    if QUERY == "spread_sums":
        size = _clipped(tl.abs(tl.load(column + records, mask=inside, other=0.0)) / a, 0.0, b) / b
        size = tl.where(size == size, size, 0.0)
        first, second = tl.where(size > 0.0, 0.5, -0.5), size - 0.5
    elif QUERY == "mean_sums":
        x = _clipped((tl.load(column + records, mask=inside, other=0.0) - a) / b, -c, c) / c
        first = tl.where(x == x, x, 0.0)
        second = first * first - 0.5
    else:
        residual = _residual(y, units, numbers + 4, records, inside, n, k)
        away = response - tl.load(numbers + 4)
        if QUERY == "gain_sums":
            predicted = _clipped(away - residual, -a, a) / a
            third = tl.where(tl.abs(away) <= b, 0.5, -0.5)
            first, second = predicted * (_clipped(away, -a, a) / a), predicted * predicted - 0.5
        else:
            predicted = _clipped(away - residual - a, -b, b) / b
            first = _clipped(residual, -c, c) / c
            second, third, fourth = predicted * first, predicted * 0.5, predicted * predicted * 0.5 - 0.25
    known = (first == first) & (second == second) & (third == third) & (fourth == fourth) & (response == response)
    factor = tl.where(known & inside, tl.load(numbers), 0.0)
    first = _level(tl.where(known, first, 0.0), factor, MOST)
    second = _level(tl.where(known, second, 0.0), factor, MOST)
    third = _level(tl.where(known, third, 0.0), factor, MOST)
    fourth = _level(tl.where(known, fourth, 0.0), factor, MOST)
    fits = first * first + second * second + third * third + fourth * fourth <= MOST * MOST
    tl.atomic_add(out, tl.sum(tl.where(fits, first, 0)))
    tl.atomic_add(out + 1, tl.sum(tl.where(fits, second, 0)))
    if (QUERY == "gain_sums") | (QUERY == "calibration_sums"):
        tl.atomic_add(out + 2, tl.sum(tl.where(fits, third, 0)))
    if QUERY == "calibration_sums":
        tl.atomic_add(out + 3, tl.sum(tl.where(fits, fourth, 0)))
