"""Passes over features: numba's kernels where they compile, NumPy's elsewhere. The bits are the same."""

import functools
from types import ModuleType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.engine.cpu import numpy_kernels


@functools.cache
def compiled() -> ModuleType | None:
    """The module of compiled kernels, or None where there is no numba."""
    try:
        from dpsparse.engine.cpu import numba_kernels
    except Exception:
        # Beside a missing numba: one that does not fit this NumPy or this machine.
        return None
    return numba_kernels


def run(name: str, *arguments: Any) -> Any:
    """Run a pass by its name in `numba_kernels`."""
    kernels = compiled() if config.current.compiled else None
    if kernels is not None:
        from numba.core.errors import NumbaError

        try:
            return getattr(kernels, name)(*arguments)
        except NumbaError:
            # Nothing has been computed: a kernel that fails to compile does not run.
            pass
    with np.errstate(all="ignore"):
        return getattr(numpy_kernels, name)(*arguments)


def by_columns(table: NDArray[Any]) -> bool:
    """Whether a table is column-major."""
    return table.strides[0] < table.strides[1] and table.shape[1] > 1


def flat_view(table: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """A row-major table as flat memory and the step from row to row; a copy where rows are not contiguous.

    Pass the transpose of a column-major table.
    """
    size = table.itemsize
    along, across = table.strides[1], table.strides[0]
    plain_rows = table.shape[1] == 1 or along == size
    if not plain_rows or across % size or across < 0 or not table.flags.aligned:
        table = np.ascontiguousarray(table)
        across = table.strides[0]
    step = across // size if len(table) > 1 else table.shape[1]
    length = (len(table) - 1) * step + table.shape[1]
    return as_strided(table, (length,), (size,), writeable=table.flags.writeable), step


def strided_view(table: NDArray[Any]) -> tuple[NDArray[Any], int, int]:
    """A table as flat memory, the step from row to row and that from column to column.

    A copy where steps are negative or not whole cells.
    """
    if not table.flags.aligned or any(stride < 0 or stride % table.itemsize for stride in table.strides):
        table = np.ascontiguousarray(table)
    steps = row_step, column_step = [stride // table.itemsize for stride in table.strides]
    length = 1 + sum((count - 1) * step for count, step in zip(table.shape, steps, strict=True)) if table.size else 0
    return as_strided(table, (length,), (table.itemsize,), writeable=False), row_step, column_step
