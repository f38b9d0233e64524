"""Whether compiled kernels can read cells of text here."""

from functools import cache
from types import ModuleType

from dpsparse.engine import config


def compiled_cells() -> ModuleType | None:
    """The module `byte_cells`; None where there is no numba that fits this machine, or where it is not wanted."""
    return _byte_cells() if config.current.compiled else None


@cache
def _byte_cells() -> ModuleType | None:
    try:
        from dpsparse.io.cells import byte_cells

        byte_cells.try_kernels()
    except Exception:
        # Beside a missing numba: one that does not fit this NumPy or this machine.
        return None
    return byte_cells
