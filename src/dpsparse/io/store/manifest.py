"""`store.json`, the manifest of a store: read and written here alone."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse import __version__
from dpsparse.io.atomic import write_file
from dpsparse.io.provenance import CellProvenance, Provenance, cells_content, read_cells, read_provenance
from dpsparse.schema import LARGEST, Fields, FileError, checked_path, existing_path, read_json

FORMAT, VERSION = "dpsparse-store", 2
FEATURES, CELLS = "features", "cells"
_FILES = {FEATURES: ("features", "response"), CELLS: ("texts", "ends", "numbers")}
MANIFEST = "store.json"
DTYPES = ("float32", "float64")
REPAIR_HINT = "run the same dpsparse convert again, which repairs it"
_CONVERT_ANEW = "remove the folder and convert again"


class StoreCorrupted(FileError):
    """A store that is not what a conversion wrote to its end.

    `files` names those that were changed, cut or lost.
    """

    def __init__(self, message: str, files: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.files = list(files)


@dataclass(frozen=True)
class Chunk:
    """A range of rows, as the manifest lists it."""

    rows: int
    files: dict[str, tuple[int, str]]  # By name, in the order of `chunk_files`: the number of bytes and the SHA-256.


@dataclass(frozen=True)
class Manifest:
    """The content of `store.json`."""

    dtype: np.dtype[Any]  # Of the features, or of the numbers among the cells.
    chunks: list[Chunk]  # In the order of the rows.
    complete: bool  # False while the conversion goes on.
    provenance: Provenance | CellProvenance  # What the features or the cells are in the table that was converted.

    @property
    def layout(self) -> str:
        """What the chunks hold: "features" or "cells"."""
        return CELLS if isinstance(self.provenance, CellProvenance) else FEATURES

    @property
    def names(self) -> list[str]:
        """Of the features, or of the columns of cells, the target included."""
        if isinstance(self.provenance, CellProvenance):
            return list(self.provenance.columns)
        return [feature.name for feature in self.provenance.features]

    @property
    def shape(self) -> tuple[int, int]:
        """Records, and features or columns."""
        return sum(chunk.rows for chunk in self.chunks), len(self.names)


def chunk_files(number: int, layout: str = FEATURES) -> tuple[str, ...]:
    """The names of a chunk's files."""
    return tuple(f"{name}-{number:05d}.npy" for name in _FILES[layout])


# A folder with one of these is a store, one that was begun, or one that has lost its manifest.
STORE_MARKS: tuple[str, ...] = MANIFEST, *(chunk_files(0, layout)[0] for layout in _FILES)


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a store is there, or was begun, or is left without its manifest."""
    return any(os.path.isfile(Path(path) / name) for name in STORE_MARKS)


def manifest_checksum(content: dict[str, Any]) -> str:
    """The checksum of what `store.json` holds beside it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a store's `store.json`, for its owner alone."""
    (n, d), table = manifest.shape, manifest.provenance
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": f"dpsparse {__version__}",
        "complete": manifest.complete,
        "layout": manifest.layout,
        "dtype": manifest.dtype.name,
        "n_records": n,
        "n_features": d,
        "names": manifest.names,
        "table": cells_content(table) if isinstance(table, CellProvenance) else asdict(table),
        "chunks": [
            {"rows": chunk.rows}
            | {name: {"bytes": size, "sha256": digest} for name, (size, digest) in chunk.files.items()}
            for chunk in manifest.chunks
        ],
    }
    text = json.dumps(content | {"seal": manifest_checksum(content)}, indent=1, allow_nan=False) + "\n"
    if len(text) > LARGEST:
        raise FileError(f"{folder}: {d:,} columns are more than a store can list; drop some")
    write_file(folder / MANIFEST, text, private=True)


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """The content of a store's `store.json`, every entry checked."""
    path = existing_path(folder) / MANIFEST
    if not is_store(folder):
        raise FileError(f"{folder} is not a store of dpsparse; make one with: dpsparse convert")
    if not path.exists():
        raise StoreCorrupted(f"{folder} has lost its {MANIFEST}; {_CONVERT_ANEW}", [MANIFEST])
    checked_path(path)
    with _errors_as_corruption():
        fields = read_json(path)
    if fields.peek("format") != FORMAT:
        raise FileError(f"{path} does not belong to a store of dpsparse")
    if fields.peek("version") != VERSION:
        raise FileError(f"{path} has another version than {VERSION}; read it with a newer dpsparse")
    with _errors_as_corruption():
        return _manifest(fields, path)


@contextmanager
def _errors_as_corruption() -> Iterator[None]:
    """Add the remedy to an error: dpsparse writes no such file."""
    try:
        yield
    except FileError as error:
        raise StoreCorrupted(f"{error}; {_CONVERT_ANEW}", [MANIFEST]) from None


def _manifest(fields: Fields, path: Path) -> Manifest:
    checksum = fields.text("seal")
    content = {key: fields.peek(key) for key in fields}
    for known in ("format", "version", "made_by"):
        fields.take(known)
    layout = fields.text("layout")
    if layout not in _FILES:
        raise FileError(f"{path}: 'layout' must be one of {', '.join(_FILES)}")
    dtype, shape = fields.text("dtype"), (fields.count("n_records", least=0), fields.count("n_features"))
    if dtype not in DTYPES:
        raise FileError(f"{path}: 'dtype' must be one of {', '.join(DTYPES)}")
    names = fields.names("names")
    manifest = Manifest(
        dtype=np.dtype(dtype),
        chunks=[_chunk(row, chunk_files(k, layout)) for k, row in enumerate(fields.tables("chunks"))],
        complete=fields.flag("complete"),
        provenance=(read_cells if layout == CELLS else read_provenance)(fields.table("table")),
    )
    fields.finish()
    if manifest.names != names:
        raise FileError(f"{path}: 'names' and 'table' differ; the file was changed")
    if manifest.shape != shape:
        raise FileError(f"{path}: the number of records or features is not the one it states; the file was changed")
    if manifest_checksum(content) != checksum:
        raise FileError(f"{path} was changed")
    return manifest


def _chunk(fields: Fields, names: tuple[str, ...]) -> Chunk:
    rows, files = fields.count("rows"), {}
    for name in names:
        file = fields.table(name)
        files[name] = file.count("bytes"), file.text("sha256")
        file.finish()
    fields.finish()
    return Chunk(rows, files)


def read_complete(folder: str | os.PathLike[str]) -> Manifest:
    """The manifest of a store, if its conversion is complete."""
    manifest = read_manifest(folder)
    if not manifest.complete:
        raise StoreCorrupted(
            f"{folder}: the conversion was interrupted; run the same dpsparse convert again to finish it"
        )
    if not manifest.chunks:
        raise FileError(f"{folder} holds no records")
    return manifest
