"""Write a table once as a store: features in public units, in pieces, checksummed, resumable.

Nothing is released: a store holds the records and is to be guarded like them. Folder and files are their owner's alone.
"""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import numpy as np

from dpsparse import __version__
from dpsparse.data.units import public_units
from dpsparse.io.atomic import atomic_file, write_file
from dpsparse.io.features import feature_blocks
from dpsparse.io.provenance import other_options, read_origin
from dpsparse.io.store import (
    FORMAT,
    MANIFEST,
    REPAIR_HINT,
    VERSION,
    Chunk,
    StoreCorrupted,
    chunk_files,
    is_store,
    read_complete,
    read_manifest,
    seal,
)
from dpsparse.permissions import close_to_others, is_open_to_others
from dpsparse.schema import LARGEST, FileError, listed

# The features of a chunk: large enough for a disk, small enough for a few to lie in memory.
CHUNK_BYTES = 2**26


def _chunk_rows(origin, dtype):
    return max(1, CHUNK_BYTES // (len(origin.features) * np.dtype(dtype).itemsize))


def count_chunks(table, origin, dtype):
    """The number of chunks of a store, or None where only reading the table would tell."""
    n = table.n_records()
    return None if n is None else -(-n // _chunk_rows(origin, dtype))


def convert(table, origin, folder, dtype="float32", progress=None):
    """Write a table as a store, or go on where an earlier call was stopped.

    Parameters
    ----------
    table : Table
        The file.
    origin : Origin
        What to write.
    folder : str or path
        The store: made, for its owner alone, if it is not there. An empty folder that others may enter is refused; a
        store begun earlier is closed to them.
    dtype : {"float32", "float64"}
        Of the features.
    progress : callable or None
        Called with a few words before each chunk is checked or written.

    Returns
    -------
    Manifest
        What was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from dpsparse import OnDisk
    >>> from dpsparse.io.bounds import Bounds
    >>> from dpsparse.io.convert import convert
    >>> from dpsparse.io.provenance import origin_of
    >>> from dpsparse.io.tables.open_table import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "ages.npy", [[30.0, 7.0], [62.0, 9.0]])
    ...     table = open_table(Path(folder) / "ages.npy")
    ...     origin = origin_of(table, Bounds(columns={"0": (50.0, 8.0)}), target="1")
    ...     _ = convert(table, origin, Path(folder) / "store")
    ...     store = OnDisk(Path(folder) / "store")
    ...     print(store["0"], store.response)
    [-2.5  1.5] [7. 9.]
    """
    folder, tell = Path(folder), progress or (lambda words: None)
    units = public_units(
        [feature.center for feature in origin.features], [feature.scale for feature in origin.features], origin.features
    )
    rows, (chunks, complete) = _chunk_rows(origin, dtype), _begun(folder, origin, dtype, tell)
    if complete:
        return read_manifest(folder)
    columns = [*(feature.column for feature in origin.features), origin.target]
    refused = {name for chunk in chunks for name in chunk.refused}
    start = sum(chunk.rows for chunk in chunks)
    for X, y in _chunks(feature_blocks(table, origin.features, origin.target, start), rows, dtype, *units):
        names = chunk_files(len(chunks))
        tell(f"writing {names[0]}")
        if not chunks:
            # First of all, so that the folder is known for a store whatever happens next.
            _make(folder)
            _write_manifest(folder, origin, dtype, chunks, complete=False)
        files = {name: _saved(folder / name, part) for name, part in zip(names, (X, y), strict=True)}
        finite = [*np.isfinite(X).all(axis=0), np.isfinite(y).all()]
        found = [name for name, good in zip(columns, finite, strict=True) if not good and name not in refused]
        refused.update(found)
        chunks.append(Chunk(len(y), files, found))
        _write_manifest(folder, origin, dtype, chunks, complete=False)
    if not chunks:
        raise FileError(f"{table.path} holds no records")
    if table.fingerprint() != origin.source:
        raise FileError(f"{table.path} changed while it was read; remove {folder} and convert again")
    _write_manifest(folder, origin, dtype, chunks, complete=True)
    return read_manifest(folder)


def _begun(folder, origin, dtype, tell):
    """The chunks that are there, whole and in order, of the same source with the same options; whether they are all."""
    if not is_store(folder):
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise FileError(f"{folder} is there and is neither empty nor a store of dpsparse; choose another folder")
        if folder.exists():
            _require_closed(folder)
        return [], False
    manifest = read_manifest(folder)
    begun = read_origin(manifest, folder)
    if begun != origin or manifest.dtype != dtype:
        what = "from another file, or the file was changed"
        if begun.source == origin.source:
            what = f"with other options ({other_options(begun, origin, manifest.dtype, dtype)})"
        raise FileError(f"{folder} was made {what}; choose another folder, or remove it first")
    _close(folder, manifest)
    for left in folder.glob(".*.tmp"):
        left.unlink()
    whole = []
    for chunk in manifest.chunks:
        tell(f"checking {next(iter(chunk.files))}")
        if _damaged(folder, chunk):
            return whole, False
        whole.append(chunk)
    return whole, manifest.complete


def _make(folder):
    try:
        # A store holds the records: it is for whoever made it.
        folder.mkdir(mode=0o700)
        # Whatever the umask took away from its owner.
        folder.chmod(0o700)
    except FileExistsError:
        # Looked at again: another may have made it since.
        _require_closed(folder)
    except OSError as error:
        raise FileError(f"cannot write {folder}: {error.strerror}") from None


def _require_closed(folder):
    """Refuse a folder that others may enter. It is not ours, so that its permissions are left to its owner."""
    if is_open_to_others(folder):
        raise FileError(
            f"others may enter {folder}, and a store holds the records; run chmod 700 on it first, or name a new folder"
        )


def _close(folder, manifest):
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


def _damaged(folder, chunk):
    """The names of a chunk's files that are not as they were written."""
    return [name for name, noted in chunk.files.items() if not _is_whole(folder / name, *noted)]


def _is_whole(path, size, digest):
    try:
        return os.path.getsize(path) == size and _digest(path) == digest
    except OSError:
        return False


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
    folder, tell = Path(folder), progress or (lambda words: None)
    manifest, damaged = read_complete(folder), []
    for chunk in manifest.chunks:
        tell(f"checking {next(iter(chunk.files))}")
        damaged += _damaged(folder, chunk)
    if damaged:
        raise StoreCorrupted(f"{folder} is not as it was written: {listed(damaged)}; {REPAIR_HINT}", damaged)
    return manifest


def fit_refuses(manifest):
    """A list with a note on the columns that a fit would refuse; it is empty where there are none."""
    return manifest.refused and [
        f"a fit refuses columns with missing cells, text or infinite numbers, as in {listed(manifest.refused)}; list a "
        "text's categories in the bounds file, put public constants into gaps, or drop the column; then convert anew"
    ]


def _chunks(blocks, rows, dtype, center, scale):
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
def in_public_units(X, center, scale, dtype):
    """(X - center) / scale in float64. What is finite stays finite in `dtype`: a fit clips it, and refuses the rest."""
    largest = np.finfo(dtype).max
    units = np.subtract(X, center, dtype=np.float64)
    units /= scale
    np.clip(units, -float(largest), float(largest), out=units)
    infinite = np.isinf(X)
    units[infinite] = X[infinite]
    return units


def _saved(path, array):
    """Write an .npy file; its size and checksum."""
    with atomic_file(path, private=True) as stream:
        np.save(stream, array)
    return os.path.getsize(path), _digest(path)


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_manifest(folder, origin, dtype, chunks, complete):
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": f"dpsparse {__version__}",
        "complete": complete,
        "dtype": dtype,
        "n_records": sum(chunk.rows for chunk in chunks),
        "n_features": len(origin.features),
        "names": [feature.name for feature in origin.features],
        "table": asdict(origin),
        "chunks": [
            {"rows": chunk.rows, "refused": chunk.refused}
            | {name: {"bytes": size, "sha256": digest} for name, (size, digest) in chunk.files.items()}
            for chunk in chunks
        ],
    }
    text = json.dumps(content | {"seal": seal(content)}, indent=1, allow_nan=False) + "\n"
    if len(text) > LARGEST:
        raise FileError(f"{folder}: a store cannot list so many features, {len(origin.features):,}; drop some")
    write_file(folder / MANIFEST, text, private=True)
