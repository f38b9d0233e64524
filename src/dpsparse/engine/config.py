"""Sizes by which the engines and the readers of files divide their work. No choice of them changes a bit of a result.

They read `config.current` when they divide work. Tests make blocks small with ``configured``; all threads of the
process see the change, other processes do not.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Config:
    """The sizes, with measured defaults."""

    compiled: bool = True  # Whether to run numba's kernels where they compile; False for NumPy's.
    # Bytes of features per task: small enough that a stalled thread does not delay the pass. Below an eighth of this
    # another thread does not pay.
    block_bytes: int = 2**26
    # Records per task of a pass over their features: enough to hide Python's overhead.
    least_records: int = 2**13
    most_records: int = 2**15
    # Records per task of a query on a few columns: few enough for the cache. Each of NumPy's short operations takes
    # Python's lock again, so that two threads on fewer records take longer than one.
    least_query_records: int = 2**15
    most_query_records: int = 2**16
    # Bytes read from a disk at a time: large enough for a disk, small enough for several to lie in memory.
    disk_block_bytes: int = 2**26
    disk_long_row_bytes: int = 2**18  # Rows longer than this are read a page at a time where a single column is wanted.
    # The share of the available memory that features of a file may take: quantized ones, or those encoded from cells.
    disk_memory_share: float = 0.5
    # Bytes of features or cells in a chunk of a store: large enough for a disk, small enough for several in memory.
    store_chunk_bytes: int = 2**26
    table_block_cells: int = 2**22  # Cells of a block of rows of a table: 32 MB in float64.
    # Bytes of a CSV file, or of the cells of a store, that a thread parses at a time, up to the end of a record.
    csv_block_bytes: int = 2**22
    # Records per task of a worker. Workers return freed memory at once, so large arrays are slow to allocate: these
    # fit in 64 kB for a few columns.
    dask_records: int = 2**11
    dask_spawn_attempts: int = 2  # How often actors are spawned for a query before tasks evaluate it.
    # Beside features that are on the card a fit takes at most 2 GB. Quantized features get `cuda_memory_bytes` less
    # `cuda_record_bytes` for each record; columns get the rest.
    cuda_memory_bytes: int = 1_950_000_000
    cuda_record_bytes: int = 500
    # The number of features from which on a few bytes of padding for a row of levels do not matter.
    cuda_long_row: int = 1_000
    cuda_buffer_bytes: int = 2**28  # The size of each of the two buffers through which features are streamed.
    # Memory of the card that a fit on streamed features may take; None to ask the card.
    cuda_free_bytes: int | None = None


current = Config()


@contextmanager
def configured(**changes: Any) -> Iterator[Config]:
    """Use other sizes in the block.

    Examples
    --------
    >>> from dpsparse.engine import config
    >>> with config.configured(block_bytes=1_000):
    ...     config.current.block_bytes
    1000
    """
    global current
    before = current
    current = replace(before, **changes)
    try:
        yield current
    finally:
        current = before
