"""A store: features in public units, written once by `dpsparse convert` and read at the speed of the disk.

A folder with `store.json` and, for each range of rows, two .npy files: `features-00000.npy` in Fortran order, so that a
pass reads a file in one go and a single feature is one stretch of it, and `response-00000.npy` in float64.
`store.json` is written last and has a checksum of itself; a file it does not list does not count.
"""

import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dpsparse.schema import Fields, FileError, checked_path, existing_path, read_json

FORMAT, VERSION = "dpsparse-store", 1
MANIFEST = "store.json"
DTYPES = ("float32", "float64")
REPAIR_HINT = "run the same dpsparse convert again, which mends it"
_ANEW = "remove the folder and convert again"


class StoreCorrupted(FileError):
    """A store that is not what a conversion wrote to its end.

    Parameters
    ----------
    message : str
        One line with the remedy.
    files : sequence of str
        The names of the files that were changed, cut or lost.
    """

    def __init__(self, message, files=()):
        super().__init__(message)
        self.files = list(files)


@dataclass(frozen=True)
class Chunk:
    """A range of rows, as `store.json` tells of it.

    Parameters
    ----------
    rows : int
        Their number.
    files : dict of str to (int, str)
        The names of its files, the features first, and for each the number of bytes and the SHA-256.
    refused : list of str
        The columns with a cell that is not a finite number, which a fit refuses; without those of earlier chunks.
    """

    rows: int
    files: dict[str, tuple[int, str]]
    refused: list[str]


@dataclass(frozen=True)
class Manifest:
    """The content of `store.json`.

    Parameters
    ----------
    dtype : dtype
        Of the features.
    names : list of str
        Of the features.
    chunks : list of Chunk
        In the order of the rows.
    complete : bool
        False while the conversion goes on.
    table : Fields
        Where the features come from, for those who know of tables.
    """

    dtype: np.dtype
    names: list[str]
    chunks: list[Chunk]
    complete: bool
    table: Fields

    @property
    def shape(self):
        """Records and features."""
        return sum(chunk.rows for chunk in self.chunks), len(self.names)

    @property
    def refused(self):
        """The columns that a fit refuses."""
        return [name for chunk in self.chunks for name in chunk.refused]


def chunk_files(number):
    """The names of a chunk's files: features, response."""
    return f"features-{number:05d}.npy", f"response-{number:05d}.npy"


def is_store(path):
    """Whether a store is there, or was begun, or is left without its `store.json`."""
    return any(os.path.isfile(Path(path) / name) for name in (MANIFEST, chunk_files(0)[0]))


def seal(content):
    """The checksum of what `store.json` holds beside it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def _unchanged():
    try:
        yield
    except FileError as error:
        raise StoreCorrupted(f"{error}; {_ANEW}", [MANIFEST]) from None


def read_manifest(folder):
    """The content of a store's `store.json`, every entry checked."""
    path = existing_path(folder) / MANIFEST
    if not is_store(folder):
        raise FileError(f"{folder} is not a store of dpsparse; make one with: dpsparse convert")
    if not path.exists():
        raise StoreCorrupted(f"{folder} has lost its {MANIFEST}; {_ANEW}", [MANIFEST])
    checked_path(path)
    with _unchanged():
        fields = read_json(path)
    if fields.peek("format") != FORMAT:
        raise FileError(f"{path} does not belong to a store of dpsparse")
    if fields.peek("version") != VERSION:
        raise FileError(f"{path} has another version than {VERSION}; read it with a newer dpsparse")
    with _unchanged():
        return _manifest(fields, path)


def _manifest(fields, path):
    sealed = fields.text("seal")
    content = {key: fields.peek(key) for key in fields}
    for known in ("format", "version", "made_by"):
        fields.take(known)
    dtype, shape = fields.text("dtype"), (fields.count("n_records", least=0), fields.count("n_features"))
    if dtype not in DTYPES:
        raise FileError(f"{path}: 'dtype' must be one of {', '.join(DTYPES)}")
    found = Manifest(
        dtype=np.dtype(dtype),
        names=fields.names("names"),
        chunks=[_chunk(row, number) for number, row in enumerate(fields.tables("chunks"))],
        complete=fields.flag("complete"),
        table=fields.table("table"),
    )
    fields.finish()
    if found.shape != shape:
        raise FileError(f"{path}: names and chunks are not as many as it says")
    if seal(content) != sealed:
        raise FileError(f"{path} was changed")
    return found


def read_complete(folder):
    """What `read_manifest` gives, if the conversion came to its end."""
    manifest = read_manifest(folder)
    if not manifest.complete:
        raise StoreCorrupted(
            f"{folder}: the conversion was interrupted; run the same dpsparse convert again to finish it"
        )
    if not manifest.chunks:
        raise FileError(f"{folder} holds no records")
    return manifest


def _chunk(fields, number):
    rows, refused, files = fields.count("rows"), fields.names("refused"), {}
    for name in chunk_files(number):
        file = fields.table(name)
        files[name] = file.count("bytes"), file.text("sha256")
        file.finish()
    fields.finish()
    return Chunk(rows, files, refused)


@dataclass(frozen=True, eq=False)
class Store:
    """A store that is complete and whole, as far as the sizes of its files tell.

    Parameters
    ----------
    folder : Path
        Where it is.
    manifest : Manifest
        What `store.json` says.
    chunks : list of ndarray
        Memory maps of the features, one below the other, each in Fortran order.
    """

    folder: Path
    manifest: Manifest
    chunks: list[np.ndarray]

    @property
    def names(self):
        """Names of the features."""
        return self.manifest.names

    @property
    def shape(self):
        """Records and features."""
        return self.manifest.shape

    @property
    def dtype(self):
        """The dtype of the features."""
        return self.manifest.dtype

    @cached_property
    def response(self):
        """The responses in their own units, in float64; read when first asked for."""
        chunks = self.manifest.chunks
        return np.concatenate([_mapped(self.folder, chunk, 1, (chunk.rows,), np.float64) for chunk in chunks])


def open_store(folder):
    """A store that is complete; sizes, shapes and dtypes are checked, checksums are not: see `dpsparse check`.

    Parameters
    ----------
    folder : str or path
        What `dpsparse convert` wrote.

    Returns
    -------
    Store
        Its names, shape and dtype, the chunks of features, the response.
    """
    folder, manifest = Path(folder), read_complete(folder)
    d = len(manifest.names)
    chunks = [_mapped(folder, chunk, 0, (chunk.rows, d), manifest.dtype) for chunk in manifest.chunks]
    return Store(folder, manifest, chunks)


def _mapped(folder, chunk, which, shape, dtype):
    """A file of a chunk as a memory map, if it is what the manifest says."""
    name = list(chunk.files)[which]
    path, (size, _) = folder / name, chunk.files[name]
    try:
        if path.stat().st_size != size:
            raise FileError(f"{path} was cut or changed; {REPAIR_HINT}")
        array = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise FileError(f"{path} is missing; {REPAIR_HINT}") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except FileError:
        raise
    except Exception:
        raise FileError(f"{path} is damaged; {REPAIR_HINT}") from None
    if array.shape != shape or array.dtype != dtype or not array.flags.f_contiguous:
        raise FileError(f"{path} holds another array than its store lists; {REPAIR_HINT}")
    return array
