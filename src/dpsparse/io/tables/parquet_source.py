"""Features in Parquet files: one file, or several with the same columns, one below the other."""

from functools import cached_property

import numpy as np
import pyarrow
from pyarrow import parquet, types

from dpsparse.engine import config
from dpsparse.engine.disk.sources import Source, arithmetic
from dpsparse.engine.threads import slices

_ARROW = {"float32": pyarrow.float32(), "float64": pyarrow.float64()}
_NUMBERS = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)


class ParquetSource(Source):
    """Row groups of Parquet files.

    Parameters
    ----------
    paths : list of Path
        The files.
    names : list of str or None
        The columns to read; None for all.
    """

    def __init__(self, paths, names=None):
        self._paths = paths
        files = [_metadata(path) for path in paths]
        self._schema = files[0].schema.to_arrow_schema()
        for path, metadata in zip(paths, files, strict=True):
            if metadata.schema.to_arrow_schema() != self._schema:
                raise ValueError(f"{path.name} has other columns than {paths[0].name}, or of other types")
        self.names = list(self._schema.names if names is None else names)
        self._groups = [
            (path, metadata, group)
            for path, metadata in zip(paths, files, strict=True)
            for group in range(metadata.num_row_groups)
        ]
        sizes = [metadata.row_group(group).num_rows for _, metadata, group in self._groups]
        self._starts = np.cumsum([0, *sizes]).tolist()
        self.shape = self._starts[-1], len(self.names)

    @cached_property
    def dtype(self):
        """The dtype of a fit; raises ValueError if a column holds no numbers."""
        kinds = [self._schema.field(name).type for name in self.names]
        for name, kind in zip(self.names, kinds, strict=True):
            if not any(test(kind) for test in _NUMBERS):
                raise ValueError(f"column {name!r} holds {kind}, no numbers: drop it, or make numbers of it first")
        return arithmetic([np.float32 if types.is_float32(kind) else np.float64 for kind in kinds])

    def only(self, places):
        """The same files with some of the columns."""
        return ParquetSource(self._paths, [self.names[place] for place in places])

    def row_blocks(self):
        """Row groups."""
        ends = zip(self._starts, self._starts[1:], strict=False)
        return [slice(first, last) for first, last in ends if last > first]

    def blocks(self):
        """Row groups, and columns of those that are large."""
        blocks = []
        for rows in self.row_blocks():
            columns = config.current.disk_block_bytes // ((rows.stop - rows.start) * self.dtype.itemsize)
            blocks += [(rows, some) for some in slices(self.shape[1], columns)]
        return blocks

    def read(self, block):
        """The cells of a block, in Fortran order; missing values are NaN."""
        rows, columns = block
        path, metadata, group = self._groups[int(np.searchsorted(self._starts, rows.start, side="right")) - 1]
        names = self.names[columns] if isinstance(columns, slice) else [self.names[j] for j in columns]
        cells = np.empty((rows.stop - rows.start, len(names)), dtype=self.dtype, order="F")
        with parquet.ParquetFile(path, metadata=metadata) as file:
            table = file.read_row_group(group, columns=names)
        for place, name in enumerate(names):
            cells[:, place] = table[name].cast(_ARROW[self.dtype.name], safe=False).to_numpy()
        return cells


def _metadata(path):
    try:
        return parquet.read_metadata(path)
    except pyarrow.ArrowException:
        raise ValueError(f"{path} is no whole Parquet file") from None
