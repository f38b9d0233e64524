"""Features that stay on a disk, as a caller names them."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.validation import is_zarr, refuse_masked
from dpsparse.engine.disk.feature_sources import ArraySource, FeatureSource
from dpsparse.io.formats import open_on_disk
from dpsparse.io.tables.table_reader import ONLY_STORES_HAVE_A_RESPONSE, check_array


class OnDisk:
    """Features in files that need not fit in memory, for `fit` and `predict`.

    Parameters
    ----------
    path : str, path, memory map or Zarr array
        An .npy file with one array of two dimensions in either memory order; a .parquet file, or a folder of Parquet
        files with the same columns, in the order of their names; a Zarr array; a store of features in public units,
        which `dpsparse convert` makes of tables whose columns are all declared.

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

    def __init__(self, path: Any) -> None:
        self._reader = None
        self.source: FeatureSource
        if isinstance(path, FeatureSource):
            self.source = path
        elif isinstance(path, np.ndarray):
            refuse_masked(path)
            self.source = ArraySource([check_array(path, "X on a disk")])
        elif is_zarr(path):
            from dpsparse.io.tables.zarr_reader import ZarrSource

            self.source = ZarrSource(check_array(path, "X on a disk"))
        else:
            self._reader = open_on_disk(path)
            self.source = self._reader.source()
        self.shape, self.ndim = self.source.shape, 2
        self.columns = list(range(self.shape[1]) if self.source.names is None else self.source.names)

    @property
    def names(self) -> Sequence[str] | None:
        """Names of the columns, or None."""
        return self.source.names

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 where all columns are, float64 otherwise."""
        return self.source.dtype

    @property
    def response(self) -> NDArray[np.float64]:
        """The responses of a store, in their own units and in float64."""
        if self._reader is None:
            raise ValueError(ONLY_STORES_HAVE_A_RESPONSE)
        return self._reader.response

    def __getitem__(self, column: str | int) -> NDArray[np.float64]:
        """The values of one column, in float64."""
        return self.source.only([self._place(column)]).columns([0])[:, 0].astype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"OnDisk of {self.shape[0]:,} records and {self.shape[1]:,} columns"

    def drop(self, *columns: str | int) -> "OnDisk":
        """The same table without some columns, each given by its name or number."""
        dropped = {self._place(column) for column in columns}
        kept = [place for place in range(self.shape[1]) if place not in dropped]
        if not kept:
            raise ValueError("drop leaves no column: keep at least one feature")
        remaining = OnDisk(self.source.only(kept))
        remaining._reader = self._reader
        return remaining

    def on_host(self, places: Any) -> NDArray[Any]:
        """Values of some features in float64."""
        return self.source.columns(places).astype(np.float64)

    def _place(self, column: Any) -> int:
        if not isinstance(column, str | numbers.Integral):
            raise TypeError(
                "OnDisk takes columns by name or number, one at a time, and no rows: cross-validation needs X in memory"
            )
        if column not in self.columns:
            raise ValueError(f"there is no column {column!r}; `columns` lists them")
        return self.columns.index(column)
