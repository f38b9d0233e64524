"""Writing a store, chunk by chunk, so that a conversion can be stopped and resumed.

Nothing is released: a store holds the records and is to be guarded like them. Folder and files are their owner's alone.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.atomic import atomic_file
from dpsparse.io.provenance import CellProvenance, Provenance, differing_options
from dpsparse.io.store.manifest import (
    MANIFEST,
    Chunk,
    Manifest,
    chunk_files,
    is_store,
    read_manifest,
    write_manifest,
)
from dpsparse.io.store.store_reader import damaged_files, file_digest
from dpsparse.permissions import close_to_others, is_open_to_others
from dpsparse.schema import FileError


class StoreWriter:
    """A store that is being written, or that was begun earlier and is continued.

    A store that was begun from the same table with the same options is continued after the chunks that are intact, up
    to the first that is not. Anything else in the folder is refused.

    The folder is made, for its owner alone, with the first chunk. An empty folder that others may enter is refused; a
    store begun earlier is closed to them. `dtype` is that of the features, or of the numbers among the cells.
    `progress` is called with a few words before each chunk is checked or written.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        provenance: Provenance | CellProvenance,
        dtype: str,
        progress: Callable[[str], object] | None = None,
    ) -> None:
        self.folder, self._on_progress = Path(folder), progress or (lambda words: None)
        self.manifest = Manifest(np.dtype(dtype), [], False, provenance)
        if is_store(self.folder):
            self._resume()
        else:
            _require_free(self.folder)

    def _resume(self) -> None:
        begun = read_manifest(self.folder)
        old, new = begun.provenance, self.manifest.provenance
        if old != new or begun.dtype != self.manifest.dtype:
            how = "from another file, or the file was changed"
            if old.source == new.source:
                how = f"with other options ({differing_options(old, new, begun.dtype, self.manifest.dtype)})"
            raise FileError(f"{self.folder} was made {how}; choose another folder, or remove it first")
        _close_store(self.folder, begun)
        for leftover in self.folder.glob(".*.tmp"):
            leftover.unlink()
        for number, chunk in enumerate(begun.chunks):
            if damaged_files(self.folder, chunk, self._on_progress):
                self.manifest = replace(begun, chunks=begun.chunks[:number], complete=False)
                return
        self.manifest = begun

    def append(self, rows: int, *arrays: NDArray[Any]) -> None:
        """Write a chunk.

        Its files hold features in public units and in the store's dtype, in Fortran order, and responses; or of cells
        the texts, their ends and the numbers.
        """
        names = chunk_files(len(self.manifest.chunks), self.manifest.layout)
        self._on_progress(f"writing {names[0]}")
        if not self.manifest.chunks:
            # First of all, so that the folder is known for a store whatever happens next.
            _make_folder(self.folder)
            write_manifest(self.folder, self.manifest)
        files = {name: _save_array(self.folder / name, array) for name, array in zip(names, arrays, strict=True)}
        self.manifest = replace(self.manifest, chunks=[*self.manifest.chunks, Chunk(rows, files)])
        write_manifest(self.folder, self.manifest)

    def finish(self) -> None:
        """Say in the manifest that the store is complete."""
        self.manifest = replace(self.manifest, complete=True)
        write_manifest(self.folder, self.manifest)


def _save_array(path: Path, array: NDArray[Any]) -> tuple[int, str]:
    """Write an .npy file; its size and checksum."""
    with atomic_file(path, private=True) as stream:
        np.save(stream, array)
    return os.path.getsize(path), file_digest(path)


def _require_free(folder: Path) -> None:
    """Refuse a path where a new store cannot go."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise FileError(f"{folder} is there and is neither empty nor a store of dpsparse; choose another folder")
    if folder.exists():
        _require_closed(folder)


def _make_folder(folder: Path) -> None:
    try:
        # A store holds the records: it is for whoever made it.
        folder.mkdir(mode=0o700)
        # Restores what the umask took from the owner.
        folder.chmod(0o700)
    except FileExistsError:
        # Checked again: another may have made it since.
        _require_closed(folder)
    except OSError as error:
        raise FileError(f"cannot write {folder}: {error.strerror}") from None


def _require_closed(folder: Path) -> None:
    """Refuse a folder that others may enter. It is not ours, so that its permissions are left to its owner."""
    if is_open_to_others(folder):
        raise FileError(
            f"others may enter {folder}, and a store holds the records; run chmod 700 on it first, or name a new folder"
        )


def _close_store(folder: Path, manifest: Manifest) -> None:
    """Close a store to others: one written by an earlier version, or opened to them since."""
    names = [MANIFEST, *(name for chunk in manifest.chunks for name in chunk.files)]
    try:
        for path in (folder, *(folder / name for name in names)):
            if path.exists():
                close_to_others(path)
    except OSError:
        raise FileError(
            f"others may read {folder}, and it is not yours to close; its owner must run chmod -R go= on it"
        ) from None
