"""Passes over arrays: levels of features, and sums of levels times weights, in threads.

An array is divided along its memory: rows of one that runs along rows, columns of one that runs along columns.
"""

import numpy as np

from dpsparse.engine import config
from dpsparse.engine.cpu import dispatch
from dpsparse.engine.threads import ALL, items_per_task, parallel_map, slices

# Rows that kernels add up before they spill their sums, and rows that they read at a time.
UNITS = (256, 16)


def has_nonfinite(X):
    """1 if a cell of an array is not finite, 0 otherwise."""
    # The sum is finite where all cells are, unless it overflows: then each is checked.
    with np.errstate(all="ignore"):
        return int(not np.isfinite(X.sum()) and not np.isfinite(X).all())


def blocks_of(table):
    """Pairs of slices that divide an array among threads, along its memory."""
    n, d = table.shape
    if dispatch.by_columns(table):
        return [(ALL, columns) for columns in slices(d, block_size(d, n * table.itemsize))]
    return [(rows, ALL) for rows in slices(n, block_size(n, d * table.itemsize))]


def block_size(count, size):
    """How many of `count` rows or columns of a size make a block: whole units, if it has some."""
    block_bytes = config.current.block_bytes
    block = items_per_task(count, max(1, block_bytes // 8 // size), max(1, block_bytes // size))
    unit = next((unit for unit in UNITS if 2 * unit <= block), 1)
    return -(-block // unit) * unit


def feature_sums(X, quantizer, weights):
    """Sums over the rows of an array of weight level times feature level, as int64."""
    weights = as_weights(weights, X)
    by_columns = dispatch.by_columns(X)
    public = (public_numbers if by_columns else scalar_params)(quantizer, X.dtype, X.shape[1])

    def add(block):
        rows, columns = block
        cells = X[block]
        sums = np.zeros(cells.shape[1], dtype=np.int64)
        if by_columns:
            numbers = [each[columns] for each in public]
            dispatch.run("add_columns", *dispatch.flat_view(cells.T), weights[rows], *numbers, sums)
        else:
            dispatch.run("add_rows", *dispatch.flat_view(cells), weights[rows], *public, sums)
        return sums

    return sums_of_blocks(add, X)


def subtract_features(residuals, X, columns, effects, quantizer):
    """Subtract some columns of an array times their effects; the quantizer, which clips, is that of these columns."""
    check_same_length(residuals, X)
    public = [np.broadcast_to(each, len(columns)) for each in (*quantizer.center_and_scale(), effects)]
    columns = np.asarray(columns, dtype=np.int64)
    dispatch.run(
        "subtract_columns", *dispatch.strided_view(X), columns, *public, float(quantizer.clip_bound), residuals
    )


def as_weights(weights, table):
    """Weights as int32, one for each row of the table."""
    check_same_length(weights, table)
    return np.ascontiguousarray(weights, dtype=np.int32)


def check_same_length(values, table):
    """Raise ValueError unless there is one value for each row."""
    # Compiled kernels read a row for each weight or residual.
    if len(values) != len(table):
        raise ValueError("records and rows differ in number: X changed while it was read")


def sums_of_blocks(add, table):
    """Sums of what `add` gives for each block of an array."""
    sums, blocks = np.zeros(table.shape[1], dtype=np.int64), blocks_of(table)
    for (_, columns), block_sums in zip(blocks, parallel_map(add, blocks), strict=True):
        sums[columns] += block_sums
    return sums


def round_features(X, quantizer, out):
    """Write the levels of an array; returns whether a cell is not finite."""
    n, d = X.shape
    if dispatch.by_columns(X):
        public = public_numbers(quantizer, X.dtype, d)
        return dispatch.run("round_columns", *dispatch.flat_view(X.T), n, *public, *dispatch.flat_view(out.T))
    public = scalar_params(quantizer, X.dtype, d)
    return dispatch.run("round_rows", *dispatch.flat_view(X), n, d, *public, *dispatch.flat_view(out))


def public_numbers(quantizer, dtype, n_features):
    """Centres and rates for each feature."""
    return [np.ascontiguousarray(np.broadcast_to(each, n_features)) for each in quantizer.center_and_rate(dtype)]


def scalar_params(quantizer, dtype, n_features):
    """One centre and one rate where they are the same for all features: they are not read again with every row."""
    center, rate = quantizer.center_and_rate(dtype)
    return public_numbers(quantizer, dtype, n_features) if center.ndim or rate.ndim else (center[()], rate[()])
