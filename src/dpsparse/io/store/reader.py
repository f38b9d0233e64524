"""Reading a store: memory maps of its chunks, and whether its files are still what was written."""

import hashlib
import os
from functools import cached_property
from pathlib import Path

import numpy as np

from dpsparse.engine.disk.sources import ArraySource
from dpsparse.io.store.manifest import CELLS, REPAIR_HINT, StoreCorrupted, read_complete
from dpsparse.io.tables.npy import memory_map
from dpsparse.io.tables.reader import TableReader
from dpsparse.schema import FileError, listed


class StoreReader(TableReader):
    """A complete store of features; sizes, shapes and dtypes are checked, checksums are not: see `dpsparse check`.

    Attributes
    ----------
    manifest : Manifest
        What `store.json` says.
    chunks : list of ndarray
        Memory maps of the features, one below the other, each in Fortran order.
    """

    kind = "store"

    def _read_names(self):
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

    def _source(self):
        return ArraySource(self.chunks, self.names)

    @cached_property
    def response(self):
        """The responses in their own units, in float64; read when first asked for."""
        chunks = self.manifest.chunks
        return np.concatenate([mapped(self.path, chunk, 1, (chunk.rows,), np.float64) for chunk in chunks])


def mapped(folder, chunk, which, shape, *dtypes):
    """A file of a chunk as a memory map, if it is what the manifest says.

    Parameters
    ----------
    folder : Path
        The store.
    chunk : Chunk
        What the manifest lists.
    which : int
        Its place among the chunk's files.
    shape : tuple of int or None
        Of the array; None for any number of entries in one dimension.
    *dtypes : dtype
        Those that it may have.
    """
    name = list(chunk.files)[which]
    path, (size, _) = folder / name, chunk.files[name]
    try:
        is_whole = path.stat().st_size == size
        array = memory_map(path) if is_whole else None
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


def check_store(folder, progress=None):
    """Compare every file of a store with its checksum.

    Parameters
    ----------
    folder : str or path
        The store.
    progress : callable or None
        Called with a few words before each chunk.

    Returns
    -------
    Manifest
        What the store holds.
    """
    folder, on_progress = Path(folder), progress or (lambda words: None)
    manifest, damaged = read_complete(folder), []
    for chunk in manifest.chunks:
        damaged += damaged_files(folder, chunk, on_progress)
    if damaged:
        raise StoreCorrupted(f"{folder} is not as it was written: {listed(damaged)}; {REPAIR_HINT}", damaged)
    return manifest


def damaged_files(folder, chunk, on_progress):
    """The names of a chunk's files that are not as they were written.

    Parameters
    ----------
    folder : Path
        The store.
    chunk : Chunk
        What the manifest lists.
    on_progress : callable
        Called with a few words.
    """
    on_progress(f"checking {next(iter(chunk.files))}")
    return [name for name, listed_as in chunk.files.items() if not _is_intact(folder / name, *listed_as)]


def _is_intact(path, size, digest):
    try:
        return os.path.getsize(path) == size and file_digest(path) == digest
    except OSError:
        return False


def file_digest(path):
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
