"""Features that stay on a disk, as a caller names them."""

import numbers
from pathlib import Path

import numpy as np

from dpsparse.data.validation import is_zarr
from dpsparse.engine.disk.sources import ArraySource, Source, ZarrSource
from dpsparse.io.store import Store, is_store, open_store


class OnDisk:
    """Features in files that need not fit in memory, for `fit` and `predict`.

    Parameters
    ----------
    path : str, path, memory map or Zarr array
        An .npy file with one array of two dimensions in either memory order; a .parquet file, or a folder of Parquet
        files with the same columns, in the order of their names; a Zarr array; a store, which `dpsparse convert` makes
        of Parquet, .npy and CSV files, with its features in public units.

    Attributes
    ----------
    shape : tuple of int
        Records and features.
    columns : list
        Names of the columns; their numbers where the file has no names.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from dpsparse import OnDisk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "table.npy", np.arange(12.0).reshape(4, 3))
    ...     table = OnDisk(Path(folder) / "table.npy")
    ...     X, y = table.drop(2), table[2]
    ...     print(X.shape, y)
    (4, 2) [ 2.  5.  8. 11.]
    """

    def __init__(self, path):
        self._store = open_store(path) if isinstance(path, str | Path) and is_store(path) else None
        self.source = _source(path if self._store is None else self._store)
        self.shape, self.ndim = self.source.shape, 2
        self.columns = list(range(self.shape[1]) if self.source.names is None else self.source.names)

    @property
    def names(self):
        """Names of the columns, or None."""
        return self.source.names

    @property
    def dtype(self):
        """float32 where all columns are, float64 otherwise."""
        return self.source.dtype

    @property
    def response(self):
        """The responses of a store, in their own units and in float64."""
        if self._store is None:
            raise ValueError("only a store knows its response: take a column, as in y = table['cost']")
        return self._store.response

    def __getitem__(self, column):
        """The values of one column, in float64."""
        return self.source.only([self._place(column)]).columns([0])[:, 0].astype(np.float64)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"OnDisk of {self.shape[0]:,} records and {self.shape[1]:,} columns"

    def drop(self, *columns):
        """The same table without some columns, each given by its name or number."""
        dropped = {self._place(column) for column in columns}
        kept = [place for place in range(self.shape[1]) if place not in dropped]
        if not kept:
            raise ValueError("drop leaves no column: keep at least one feature")
        found = OnDisk(self.source.only(kept))
        found._store = self._store
        return found

    def on_host(self, places):
        """Values of some features in float64."""
        return self.source.columns(places).astype(np.float64)

    def _place(self, column):
        if not isinstance(column, str | numbers.Integral):
            raise TypeError(
                "OnDisk takes columns by name or number, one at a time, and no rows: cross-validation needs X in memory"
            )
        if column not in self.columns:
            raise ValueError(f"there is no column {column!r}; `columns` lists them")
        return self.columns.index(column)


def _source(place):
    if isinstance(place, Source):
        return place
    if isinstance(place, Store):
        return ArraySource(place.chunks, place.names)
    if isinstance(place, np.ndarray):
        return ArraySource([_two_dimensional(place)])
    if is_zarr(place):
        return ZarrSource(_two_dimensional(place))
    path = Path(place)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.suffix == ".npy":
        return ArraySource([_two_dimensional(_loaded(path))])
    if (path / "zarr.json").exists() or (path / ".zarray").exists():
        try:
            import zarr
        except ImportError:
            raise ImportError(f"{path} needs zarr: pip install 'dpsparse[zarr]'") from None
        return ZarrSource(_two_dimensional(zarr.open_array(path, mode="r")))
    files = [path] if path.is_file() else sorted(path.glob("*.parquet"))
    if not files or files[0].suffix != ".parquet":
        kinds = "an .npy or .parquet file, a folder of .parquet files, a Zarr array or a store"
        raise ValueError(f"{path} must be {kinds}; a store is made with: dpsparse convert")
    try:
        from dpsparse.io.tables.parquet_source import ParquetSource
    except ImportError:
        raise ImportError(f"{path} needs pyarrow: pip install 'dpsparse[data]'") from None
    return ParquetSource(files)


def _loaded(path):
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:
        raise ValueError(f"{path} is no whole .npy file of numbers") from None


def _two_dimensional(array):
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        raise ValueError("X on a disk must be one array of real numbers with two dimensions, and not be empty")
    return array
