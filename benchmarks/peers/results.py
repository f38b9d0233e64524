"""Rows of results: one Parquet part a cell while a run goes on, one file of all rows at its end.

A row is one fit of a peer: (design, epsilon, delta, repeat, peer). Fits that are not private have no epsilon.
"""

import hashlib
import importlib.metadata
import inspect
import json
import platform
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import dpsparse
from peers import problem
from peers.settings.design import METRICS

KEY = ["design", "epsilon", "delta", "repeat", "peer"]
COLUMNS = [*KEY, *METRICS, "seconds", "failed", "version"]
NOT_PRIVATE = (np.nan, np.nan)  # the epsilon and delta of fits that have none


def versions():
    """Versions of Python, the package and the libraries that compute, as far as they are installed."""
    found = {"python": platform.python_version(), "dpsparse": dpsparse.__version__}
    for name in ("numpy", "scipy", "scikit-learn", "numba", "opendp"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "none"
    return found


# The folders of the package that decide the numbers of our own fits, and the one that rivals count their noise by.
_OF_OURS = ("algorithms", "data", "engine", "families", "inference", "privacy/accounting", "privacy/mechanisms")
_OF_RIVALS = ("privacy/accounting",)
_USES = re.compile(r"from dpsparse(?!\.privacy\.accounting)")


@cache
def _digest_of(folders):
    """A digest of the package's code in some folders."""
    root, digest = Path(dpsparse.__file__).parent, hashlib.sha256()
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _modules(module):
    """An adapter's module and those of other adapters that it imports."""
    yield module
    for value in vars(module).values():
        if inspect.ismodule(value) and value.__name__.startswith("peers.adapters."):
            yield from _modules(value)


@cache
def version_of(peer):
    """A digest of a peer's adapter, of what turns its units and of what the adapter calls of this package.

    Fits of an older version are made again; those of other peers are kept.
    """
    fit = inspect.unwrap(peer.fit)
    while hasattr(fit, "func"):  # a partial function
        fit = inspect.unwrap(fit.func)
    sources = [inspect.getsource(module) for module in _modules(inspect.getmodule(fit))]
    if any("from dpsparse" in source for source in sources):
        sources.append(_digest_of(_OF_OURS if any(map(_USES.search, sources)) else _OF_RIVALS))
    sources += [inspect.getsource(function) for _, function in inspect.getmembers(problem, inspect.isfunction)]
    return hashlib.sha256("".join(sources).encode()).hexdigest()[:12]


def part_path(folder, design, repeat):
    """The part of a cell, all peers on one repeat of a design."""
    return folder / f"{re.sub('[^A-Za-z0-9.]+', '-', design)}-r{repeat}.parquet"


def frame_of(rows):
    """Rows as a frame with all columns, of the same types in every part."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    numbers = ["epsilon", "delta", "seconds", *METRICS]
    frame[numbers] = frame[numbers].astype(float)
    frame["repeat"] = frame["repeat"].astype("int64")
    for name in ("design", "peer", "failed", "version"):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "").astype("str")
    return frame


def write(path, frame, about=None):
    """Write a file whole or not at all; `about` goes into its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if about:
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), b"about": json.dumps(about).encode()})
    unfinished = path.with_suffix(".tmp")
    pq.write_table(table, unfinished, compression="zstd")
    unfinished.replace(path)


def read(path):
    """The rows of a file; none where there is no file, or one that a crash of the machine left broken."""
    import pyarrow

    if not path.exists():
        return frame_of([])
    try:
        return frame_of(pd.read_parquet(path))
    except (OSError, pyarrow.ArrowInvalid):
        return frame_of([])


def about(path):
    """The versions under which a file was merged."""
    import pyarrow.parquet as pq

    return json.loads((pq.read_schema(path).metadata or {}).get(b"about", b"{}"))


def replace_rows(old, new):
    """All rows of both; where both have a fit, the newer one."""
    both = pd.concat([frame for frame in (old, new) if len(frame)] or [old], ignore_index=True)
    return both.drop_duplicates(KEY, keep="last").sort_values(KEY, ignore_index=True)


def read_parts(folder):
    """The rows of all parts in a folder."""
    parts = [read(path) for path in sorted(folder.glob("*.parquet"))]
    return pd.concat(parts, ignore_index=True) if parts else frame_of([])


def save(rows, path):
    """Put rows into the file of results, beside those it has; return all rows.

    Six digits are kept: they are more than any interval can tell apart, and half of the bytes.
    """
    rows = replace_rows(read(path), rows)
    kept = rows.copy()
    kept[[*METRICS, "seconds"]] = kept[[*METRICS, "seconds"]].astype("float32")
    write(path, kept, about=versions())
    return rows
