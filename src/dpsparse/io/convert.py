"""Write a table once as a store: features in public units, in chunks. A call that was interrupted is resumed."""

import numpy as np

from dpsparse.engine import config
from dpsparse.io.features import feature_blocks
from dpsparse.io.store.manifest import read_manifest
from dpsparse.io.store.writer import StoreWriter
from dpsparse.schema import FileError


def convert(table, provenance, folder, dtype="float32", progress=None):
    """Write a table as a store, or go on where an earlier call was stopped.

    Parameters
    ----------
    table : TableReader
        The file.
    provenance : Provenance
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
        center = np.array([0.0 if feature.center is None else feature.center for feature in features])
        scale = np.array([1.0 if feature.scale is None else feature.scale for feature in features])
        n_written, _ = writer.manifest.shape
        blocks = feature_blocks(table, features, provenance.target, n_written)
        for X, y in _chunks(blocks, _chunk_rows(provenance, dtype), dtype, center, scale):
            writer.append(X, y)
        if not writer.manifest.chunks:
            raise FileError(f"{table.path} holds no records")
        if table.fingerprint() != provenance.source:
            raise FileError(f"{table.path} changed while it was read; remove {folder} and convert again")
        writer.finish()
    return read_manifest(folder)


def count_chunks(table, provenance, dtype):
    """The number of chunks of a store."""
    return -(-table.n_records() // _chunk_rows(provenance, dtype))


def _chunk_rows(provenance, dtype):
    return max(1, config.current.store_chunk_bytes // (len(provenance.features) * np.dtype(dtype).itemsize))


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
