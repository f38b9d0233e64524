"""Write a table once as a store, in chunks: its features in public units, or its cells as they are.

A call that was interrupted is resumed. How records are divided, and what is said, follows from public numbers alone.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.provenance import CellProvenance, Provenance
from dpsparse.io.store.manifest import Manifest, read_manifest
from dpsparse.io.store.store_table import CELL_BYTES, divided
from dpsparse.io.store.store_writer import StoreWriter
from dpsparse.io.store.texts import joined, packed
from dpsparse.io.table_features import feature_blocks
from dpsparse.io.tables.table_reader import TableReader
from dpsparse.schema import FileError


def convert(
    table: TableReader,
    provenance: Provenance,
    folder: str | os.PathLike[str],
    dtype: str = "float32",
    progress: Callable[[str], object] | None = None,
) -> Manifest:
    """Write the features of a table as a store, or go on where an earlier call was stopped.

    The folder is made, for its owner alone, if it is not there. An empty folder that others may enter is refused; a
    store begun earlier is closed to them. `progress` is called with a few words before each chunk is checked or
    written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from dpsparse import OnDisk
    >>> from dpsparse.io.bounds import Bounds, ColumnBounds
    >>> from dpsparse.io.convert import convert
    >>> from dpsparse.io.formats import open_table
    >>> from dpsparse.io.provenance import provenance_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "ages.npy", [[30.0, 7.0], [62.0, 9.0]])
    ...     table = open_table(Path(folder) / "ages.npy")
    ...     provenance = provenance_of(table, Bounds(columns={"0": ColumnBounds(50.0, 8.0)}), target="1")
    ...     _ = convert(table, provenance, Path(folder) / "store")
    ...     store = OnDisk(Path(folder) / "store")
    ...     print(store["0"], store.response)
    [-2.5  1.5] [7. 9.]
    """
    features, writer = provenance.features, StoreWriter(folder, provenance, dtype, progress)
    if not writer.manifest.complete:
        # What is not known is left for a fit to learn: such a column stays as it is.
        center = np.array([feature.center or 0.0 for feature in features], dtype=np.float64)
        scale = np.array([feature.scale or 1.0 for feature in features], dtype=np.float64)
        n_written, _ = writer.manifest.shape
        blocks = feature_blocks(table, features, provenance.target, n_written)
        for X, y in _chunks(blocks, _chunk_rows(provenance, dtype), dtype, center, scale):
            writer.append(len(y), X, y)
        _finish(writer, table)
    return read_manifest(folder)


def convert_cells(
    table: Any,
    provenance: CellProvenance,
    folder: str | os.PathLike[str],
    progress: Callable[[str], object] | None = None,
) -> Manifest:
    r"""Write the cells of a table as a store, or go on where an earlier call was stopped.

    The folder and `progress` are as in `convert`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dpsparse.io.bounds import Bounds
    >>> from dpsparse.io.cells.raw_table import as_raw_table
    >>> from dpsparse.io.provenance import cells_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "people.csv").write_text("region,cost\nnorth,7\n,9\n")
    ...     table = as_raw_table(Path(folder) / "people.csv")
    ...     _ = convert_cells(table, cells_of(table, Bounds(), "cost"), Path(folder) / "store")
    ...     print(as_raw_table(Path(folder) / "store").texts("region"))
    ['north', '']
    """
    writer = StoreWriter(folder, provenance, "float64", progress)
    if not writer.manifest.complete:
        kinds = {name: Kind(kind) for name, kind in provenance.declared.items()}
        numbers, texts = divided(provenance.columns, kinds)
        blocks = table.cell_blocks([*numbers, *texts], writer.manifest.shape[0])
        for pieces in _runs(blocks, _cell_chunk_rows(provenance)):
            columns = list(zip(*pieces, strict=True))
            values = [
                np.concatenate([cells.numbers(kinds[name]) for cells in column])
                for name, column in zip(numbers, columns, strict=False)
            ]
            rows = sum(len(cells) for cells in columns[0])
            of_texts = [[packed(cells) for cells in column] for column in columns[len(numbers) :]]
            matrix = np.asfortranarray(np.reshape(values, (len(values), rows)).T)
            writer.append(rows, *joined(of_texts, rows), matrix)
        _finish(writer, table)
    return read_manifest(folder)


def _runs(blocks: Iterable[Any], rows: int) -> Iterator[list[list[Any]]]:
    """Blocks of cells, cut and put together to runs of so many records; the last has what is left."""
    run: list[list[Any]] = []
    filled = 0
    for cells in blocks:
        start, size = 0, len(cells[0])
        while start < size:
            stop = min(size, start + rows - filled)
            run.append([each.take(slice(start, stop)) for each in cells])
            filled, start = filled + stop - start, stop
            if filled == rows:
                yield run
                run, filled = [], 0
    if run:
        yield run


def _finish(writer: StoreWriter, table: Any) -> None:
    """Say in a store that it is complete, if the table is what it was."""
    if not writer.manifest.chunks:
        raise FileError(f"{table.path} holds no records")
    if table.fingerprint() != writer.manifest.provenance.source:
        raise FileError(f"{table.path} changed while it was read; remove {writer.folder} and convert again")
    writer.finish()


def count_chunks(n_records: int, provenance: Provenance, dtype: str) -> int:
    """The number of chunks of a store of features."""
    return -(-n_records // _chunk_rows(provenance, dtype))


def count_cell_chunks(n_records: int, provenance: CellProvenance) -> int:
    """The number of chunks of a store of cells."""
    return -(-n_records // _cell_chunk_rows(provenance))


def _chunk_rows(provenance: Provenance, dtype: str) -> int:
    return max(1, config.current.store_chunk_bytes // (len(provenance.features) * np.dtype(dtype).itemsize))


def _cell_chunk_rows(provenance: CellProvenance) -> int:
    return max(1, config.current.store_chunk_bytes // (len(provenance.columns) * CELL_BYTES))


def _chunks(
    blocks: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]],
    rows: int,
    dtype: str,
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> Iterator[tuple[NDArray[Any], NDArray[np.float64]]]:
    """Chunks of features in public units and of responses, from blocks of any size; the next one takes its memory."""
    X, y, filled = np.empty((rows, len(center)), dtype=dtype, order="F"), np.empty(rows), 0
    for features, responses in blocks:
        while len(features):
            taken = slice(filled, min(filled + len(features), rows))
            count = taken.stop - taken.start
            X[taken] = in_public_units(features[:count], center, scale, dtype)
            y[taken] = responses[:count]
            features, responses, filled = features[count:], responses[count:], taken.stop % rows
            if not filled:
                yield X, y
    if filled:
        yield np.asfortranarray(X[:filled]), y[:filled]


@np.errstate(all="ignore")
def in_public_units(
    X: NDArray[np.float64], center: NDArray[np.float64], scale: NDArray[np.float64], dtype: str
) -> NDArray[Any]:
    """(X - center) / scale in float64. What is finite stays finite in `dtype`: a fit clips it, and refuses the rest."""
    largest = np.finfo(dtype).max
    units = np.subtract(X, center, dtype=np.float64)
    units /= scale
    np.clip(units, -float(largest), float(largest), out=units)
    infinite = np.isinf(X)
    units[infinite] = X[infinite]
    return units
