"""Reading a store: memory maps of its chunks, and whether its files are still what was written."""

import hashlib
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.io.store.manifest import CELLS, REPAIR_HINT, Chunk, Manifest, StoreCorrupted, read_complete
from dpsparse.io.tables.npy_reader import memory_map
from dpsparse.io.tables.table_reader import TableReader
from dpsparse.schema import FileError, listed


class StoreReader(TableReader):
    """A complete store of features; sizes, shapes and dtypes are checked, checksums are not: see `dpsparse check`.

    The `chunks` are memory maps of the features, one below the other, each in Fortran order.
    """

    kind = "store"

    def _read_names(self) -> list[str]:
        self.manifest = read_complete(self.path)
        if self.manifest.layout == CELLS:
            raise FileError(
                f"{self.path} holds cells, and a fit learns what they are: give the store to read_table, not to OnDisk"
            )
        self.chunks = [
            mapped(self.path, chunk, 0, (chunk.rows, self.manifest.shape[1]), self.manifest.dtype)
            for chunk in self.manifest.chunks
        ]
        return self.manifest.names

    def _source(self) -> ArraySource:
        return ArraySource(self.chunks, self.names)

    @cached_property
    def response(self) -> NDArray[np.float64]:
        """The responses in their own units, in float64; read when first asked for."""
        chunks = self.manifest.chunks
        return np.concatenate([mapped(self.path, chunk, 1, (chunk.rows,), np.float64) for chunk in chunks])


def mapped(
    folder: Path, chunk: Chunk, which: int, shape: tuple[int, ...] | None, *dtypes: type[np.generic] | np.dtype[Any]
) -> NDArray[Any]:
    """A file of a chunk as a memory map, if it is what the manifest says.

    It is file number `which` of the chunk. A `shape` of None allows any number of entries in one dimension.
    """
    name = list(chunk.files)[which]
    path, (size, _) = folder / name, chunk.files[name]
    try:
        is_whole = path.stat().st_size == size
        array: NDArray[Any] | None = memory_map(path) if is_whole else None
    except FileNotFoundError:
        raise FileError(f"{path} is missing; {REPAIR_HINT}") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except Exception:
        raise FileError(f"{path} is damaged; {REPAIR_HINT}") from None
    if array is None:
        raise FileError(f"{path} was cut or changed; {REPAIR_HINT}")
    is_as_listed = array.ndim == 1 if shape is None else array.shape == shape
    if not is_as_listed or array.dtype not in dtypes or not array.flags.f_contiguous:
        raise FileError(f"{path} holds another array than its store lists; {REPAIR_HINT}")
    return array


def check_store(folder: str | os.PathLike[str], progress: Callable[[str], object] | None = None) -> Manifest:
    """Compare every file of a store with its checksum.

    `progress` is called with a few words before each chunk.
    """
    folder, on_progress = Path(folder), progress or (lambda words: None)
    manifest, damaged = read_complete(folder), []
    for chunk in manifest.chunks:
        damaged += damaged_files(folder, chunk, on_progress)
    if damaged:
        raise StoreCorrupted(f"{folder} is not as it was written: {listed(damaged)}; {REPAIR_HINT}", damaged)
    return manifest


def damaged_files(folder: Path, chunk: Chunk, on_progress: Callable[[str], object]) -> list[str]:
    """The names of a chunk's files that are not as they were written."""
    on_progress(f"checking {next(iter(chunk.files))}")
    return [name for name, listed_as in chunk.files.items() if not _is_intact(folder / name, *listed_as)]


def _is_intact(path: Path, size: int, digest: str) -> bool:
    try:
        return os.path.getsize(path) == size and file_digest(path) == digest
    except OSError:
        return False


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
