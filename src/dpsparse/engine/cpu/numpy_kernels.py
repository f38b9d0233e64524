"""The passes of `numba_kernels` in NumPy, with the same bits: for where numba is absent or cannot compile."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dpsparse.engine.quantize import indicators, rounded

# Cells worked on at a time, so that they stay in the cache.
_CELLS = 2**16


def _table(line: NDArray[Any], step: int, rows: int, columns: int) -> NDArray[Any]:
    return as_strided(line, (rows, columns), (step * line.itemsize, line.itemsize), writeable=line.flags.writeable)


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    size = max(1, _CELLS // max(1, columns))
    return (slice(start, start + size) for start in range(0, rows, size))


def _has_nonfinite(values: NDArray[Any]) -> bool:
    return not np.isfinite(values).all()


def round_rows(
    line: NDArray[Any], step: int, n: int, d: int, center: Any, rate: Any, out: NDArray[Any], out_step: int
) -> int:
    """See `numba_kernels.round_rows`."""
    cells, levels = _table(line, step, n, d), _table(out, out_step, n, d)
    bad = 0
    for rows in _blocks(*cells.shape):
        levels[rows] = rounded(cells[rows], center, rate)
        bad |= _has_nonfinite(cells[rows])
    return bad


def round_columns(
    line: NDArray[Any], step: int, n: int, center: Any, rate: Any, out: NDArray[Any], out_step: int
) -> int:
    """See `numba_kernels.round_columns`."""
    cells, levels = _table(line, step, len(center), n), _table(out, out_step, len(center), n)
    bad = 0
    for columns in _blocks(*cells.shape):
        levels[columns] = rounded(cells[columns], center[columns, None], rate[columns, None])
        bad |= _has_nonfinite(cells[columns])
    return bad


def add_level_rows(levels: NDArray[Any], step: int, weights: NDArray[Any], sums: NDArray[np.int64]) -> None:
    """See `numba_kernels.add_level_rows`."""
    cells = _table(levels, step, len(weights), len(sums))
    for rows in _blocks(*cells.shape):
        sums += (weights[rows].astype(np.float64) @ cells[rows].astype(np.float64)).astype(np.int64)


def add_level_columns(levels: NDArray[Any], step: int, weights: NDArray[Any], sums: NDArray[np.int64]) -> None:
    """See `numba_kernels.add_level_columns`."""
    cells = _table(levels, step, len(sums), len(weights))
    for columns in _blocks(*cells.shape):
        sums[columns] += (cells[columns].astype(np.float64) @ weights.astype(np.float64)).astype(np.int64)


def add_people(
    levels: NDArray[Any],
    step: int,
    starts: NDArray[Any],
    weights: NDArray[Any],
    scales: NDArray[np.float64],
    most: float,
    sums: NDArray[np.float64],
) -> None:
    """See `numba_kernels.add_people`."""
    cells = _table(levels, step, len(weights), len(sums))
    for columns in _blocks(len(sums), len(weights)):
        totals = np.add.reduceat(cells[:, columns] * weights[:, None], starts[:-1], axis=0)
        sums[columns] += np.trunc(np.clip(totals * scales[:, None], -most, most)).sum(axis=0)


def add_rows(
    line: NDArray[Any], step: int, weights: NDArray[Any], center: Any, rate: Any, sums: NDArray[np.int64]
) -> None:
    """See `numba_kernels.add_rows`."""
    cells = _table(line, step, len(weights), len(sums))
    for rows in _blocks(*cells.shape):
        levels = rounded(cells[rows], center, rate).astype(np.float64)
        sums += (weights[rows].astype(np.float64) @ levels).astype(np.int64)


def add_columns(
    line: NDArray[Any], step: int, weights: NDArray[Any], center: Any, rate: Any, sums: NDArray[np.int64]
) -> None:
    """See `numba_kernels.add_columns`."""
    cells = _table(line, step, len(sums), len(weights))
    for columns in _blocks(*cells.shape):
        levels = rounded(cells[columns], center[columns, None], rate[columns, None]).astype(np.float64)
        sums[columns] += (levels @ weights.astype(np.float64)).astype(np.int64)


def subtract_columns(
    line: NDArray[Any],
    row_step: int,
    column_step: int,
    d: int,
    columns: NDArray[np.int64],
    center: Any,
    scale: NDArray[np.float64],
    effects: NDArray[np.float64],
    bound: float,
    residuals: NDArray[np.float64],
) -> None:
    """See `numba_kernels.subtract_columns`."""
    for k, column in enumerate(columns):
        cells = _table(line[column % d * column_step :], row_step, len(residuals), 1)[:, 0]
        cells = indicators(cells) if column >= d else cells
        values = ((cells.astype(np.float64) - center[k]) / scale[k]).clip(-bound, bound)
        residuals -= np.where(np.isfinite(cells), values, 0.0) * effects[k]


def round_stored(
    data: NDArray[Any], indices: NDArray[Any], center: Any, rate: Any, at_zero: NDArray[np.int16], out: NDArray[Any]
) -> int:
    """See `numba_kernels.round_stored`."""
    bad = 0
    for block in _blocks(len(data), 1):
        features = indices[block]
        out[block] = rounded(data[block], center[features], rate[features]) - at_zero[features]
        bad |= _has_nonfinite(data[block])
    return bad


def add_stored(
    levels: NDArray[Any],
    indices: NDArray[Any],
    starts: NDArray[Any],
    stops: NDArray[Any],
    weights: NDArray[Any],
    sums: NDArray[np.int64],
) -> None:
    """See `numba_kernels.add_stored`."""
    for places, weight in _stored(starts, stops, weights):
        sums += np.bincount(indices[places], weights=levels[places] * weight, minlength=len(sums)).astype(np.int64)


def add_stored_cells(
    data: NDArray[Any],
    center: Any,
    rate: Any,
    at_zero: NDArray[np.int16],
    indices: NDArray[Any],
    starts: NDArray[Any],
    stops: NDArray[Any],
    weights: NDArray[Any],
    sums: NDArray[np.int64],
) -> None:
    """See `numba_kernels.add_stored_cells`."""
    for places, weight in _stored(starts, stops, weights):
        features = indices[places]
        levels = rounded(data[places], center[features], rate[features]).astype(np.float64) - at_zero[features]
        sums += np.bincount(features, weights=levels * weight, minlength=len(sums)).astype(np.int64)


def _stored(
    starts: NDArray[Any], stops: NDArray[Any], weights: NDArray[Any]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The places of some rows' cells, and for each cell its row's weight."""
    lengths = stops - starts
    for rows in _blocks(len(weights), int(lengths.mean()) if len(lengths) else 1):
        size = lengths[rows]
        places = np.repeat(starts[rows] - np.cumsum(size) + size, size) + np.arange(size.sum())
        yield places, np.repeat(weights[rows].astype(np.float64), size)


def stored_column(
    data: NDArray[Any],
    indices: NDArray[Any],
    starts: NDArray[Any],
    stops: NDArray[Any],
    feature: int,
    out: NDArray[Any],
) -> None:
    """See `numba_kernels.stored_column`."""
    places = np.flatnonzero(indices == feature)
    rows = np.searchsorted(stops, places, side="right")
    inside = rows < len(out)
    places, rows = places[inside], rows[inside]
    inside = places >= starts[rows]
    out[rows[inside]] = data[places[inside]]


def count_cells(
    line: NDArray[Any],
    row_step: int,
    column_step: int,
    n: int,
    thresholds: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """See `numba_kernels.count_cells`."""
    for j, count in enumerate(counts):
        cells = _table(line[j * column_step :], row_step, n, 1)[:, 0]
        count += np.bincount(_places(thresholds, cells), minlength=len(count))


def count_stored(
    data: NDArray[Any],
    indices: NDArray[Any],
    starts: NDArray[Any],
    stops: NDArray[Any],
    thresholds: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """See `numba_kernels.count_stored`."""
    for places, _ in _stored(starts, stops, np.zeros(len(starts))):
        below = _places(thresholds, data[places])
        np.add.at(counts, (indices[places], below), 1)


def count_values(values: NDArray[Any], thresholds: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
    """See `numba_kernels.count_values`."""
    counts += np.bincount(np.searchsorted(thresholds, values), minlength=len(counts))


def _places(thresholds: NDArray[np.float64], cells: NDArray[Any]) -> NDArray[np.int64]:
    """How many thresholds are below each cell; all of them for a gap."""
    return np.where(np.isfinite(cells), np.searchsorted(thresholds, cells), len(thresholds))
