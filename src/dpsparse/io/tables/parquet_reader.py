"""Parquet: one file, or several with the same columns, one below the other. pyarrow is imported on first use."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.engine.disk.feature_sources import Block, FeatureSource, arithmetic
from dpsparse.engine.threads import slices
from dpsparse.io.tables.table_reader import Categories, Columns, TableReader, block_rows
from dpsparse.schema import FileError, quoted


class ParquetReader(TableReader):
    """Parquet files with the same flat columns."""

    kind, needs, extra = "Parquet", "pyarrow", "data"

    @cached_property
    def _metadata(self) -> list[Any]:
        from pyarrow import parquet

        return [parquet.read_metadata(file) for file in self.files]

    def _schema(self, number: int = 0) -> Any:
        return self._metadata[number].schema.to_arrow_schema()

    def schemas(self) -> list[Any]:
        """The Arrow schema of each file."""
        with self._readable():
            return [self._schema(number) for number in range(len(self.files))]

    def row_groups(self) -> Iterator[tuple[Path, Any, int, int]]:
        """Each row group as its file, the file's metadata, its number there, and its number of rows."""
        for path, metadata in zip(self.files, self._metadata, strict=True):
            for group in range(metadata.num_row_groups):
                yield path, metadata, group, metadata.row_group(group).num_rows

    def read_row_group(self, path: Path, metadata: Any, group: int, columns: list[str]) -> Any:
        """Some columns of a row group as an Arrow table, read by this thread alone."""
        from pyarrow import parquet

        with self._readable(), parquet.ParquetFile(path, metadata=metadata) as file:
            return file.read_row_group(group, columns=columns, use_threads=False)

    def batches(self, columns: list[str], start: int) -> Iterator[Any]:
        """Some columns as Arrow tables of a block of rows each, from row `start` on."""
        from pyarrow import Table

        batches = self._batches(columns, {}, start)
        while True:
            with self._readable():
                batch = next(batches, None)
            if batch is None:
                return
            yield Table.from_batches([batch])

    def _read_names(self) -> list[str]:
        names: list[str] = self._schema().names
        for number, file in enumerate(self.files):
            if self._schema(number).names != names:
                raise FileError(
                    f"{self.path}: {file.name} has other columns than {self.files[0].name}; the .parquet files of a "
                    "folder must all have the same columns in the same order"
                )
        return names

    def _source(self) -> "ParquetSource":
        for number, file in enumerate(self.files):
            if self._schema(number) != self._schema():
                raise FileError(f"{self.path}: {file.name} has columns of other types than {self.files[0].name}")
        return ParquetSource(list(zip(self.files, self._metadata, strict=True)), self.names)

    def _n_records(self) -> int:
        return sum(metadata.num_rows for metadata in self._metadata)

    def _arrow(self, numbers: list[str], categories: Categories) -> Any:
        import pyarrow
        from pyarrow import parquet

        tables = []
        for path in self.files:
            with parquet.ParquetFile(path) as file:
                tables.append(file.read(columns=[*numbers, *categories]))
        return pyarrow.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]

    def _batches(self, numbers: list[str], categories: Categories, start: int) -> Iterator[Any]:
        from pyarrow import parquet

        names = [*numbers, *categories]
        for path in self.files:
            # Mapped, so that a row group may be larger than memory.
            with parquet.ParquetFile(path, memory_map=True) as file:
                sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
                first = 0
                while first < len(sizes) and start >= sizes[first]:
                    start, first = start - sizes[first], first + 1
                if first < len(sizes):
                    groups = list(range(first, len(sizes)))
                    yield from skip_rows(file.iter_batches(block_rows(len(names)), groups, names), start)
                    start = 0

    def _text_columns(self) -> list[str]:
        return [field.name for field in self._schema() if not is_number(field.type)]

    def _read(self, numbers: list[str], categories: Categories) -> Columns:
        return self._values(self._arrow(numbers, categories), numbers, categories)

    def _blocks(self, numbers: list[str], categories: Categories, start: int) -> Iterator[Columns]:
        from pyarrow import Table

        for batch in self._batches(numbers, categories, start):
            yield self._values(Table.from_batches([batch]), numbers, categories)

    def _values(self, columns: Any, numbers: list[str], categories: Categories) -> Columns:
        import pyarrow
        from pyarrow import compute, float64, string

        matrix = np.empty((columns.num_rows, len(numbers)), order="F")
        for place, name in enumerate(numbers):
            if not is_number(columns[name].type):
                raise FileError(
                    f"{self.path}: column {quoted(name)} holds text; in the bounds file list its public categories, or "
                    "drop it"
                )
            matrix[:, place] = columns[name].cast(float64(), safe=False).to_numpy()
        codes = {}
        for name, public in categories.items():
            positions = compute.index_in(
                columns[name].cast(string(), safe=False), value_set=pyarrow.array(public, string())
            )
            codes[name] = positions.fill_null(-1).to_numpy()
        return matrix, codes


class ParquetSource(FeatureSource):
    """Row groups of Parquet files, as the disk engine reads them."""

    def __init__(self, files: list[tuple[Path, Any]], names: list[str]) -> None:
        self._files = files
        self.names: list[str] = names
        self._groups = [(path, metadata, group) for path, metadata in files for group in range(metadata.num_row_groups)]
        sizes = [metadata.row_group(group).num_rows for _, metadata, group in self._groups]
        self._starts = np.cumsum([0, *sizes]).tolist()
        self.shape = self._starts[-1], len(self.names)

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # it raises where a column holds no numbers
        """The dtype of a fit; raises ValueError if a column holds no numbers."""
        from pyarrow import types

        schema = self._files[0][1].schema.to_arrow_schema()
        kinds = [schema.field(name).type for name in self.names]
        for name, kind in zip(self.names, kinds, strict=True):
            if types.is_null(kind) or not is_number(kind):
                raise ValueError(f"column {name!r} holds {kind}, no numbers: drop it, or make numbers of it first")
        return arithmetic([np.float32 if types.is_float32(kind) else np.float64 for kind in kinds])

    def only(self, places: Sequence[int]) -> "ParquetSource":
        """The same files with some of the columns."""
        return ParquetSource(self._files, [self.names[place] for place in places])

    def row_blocks(self) -> list[slice]:
        """Row groups."""
        ends = zip(self._starts, self._starts[1:], strict=False)
        return [slice(first, last) for first, last in ends if last > first]

    def blocks(self) -> list[Block]:
        """Row groups, and columns of those that are large."""
        blocks = []
        for rows in self.row_blocks():
            columns = config.current.disk_block_bytes // ((rows.stop - rows.start) * self.dtype.itemsize)
            blocks += [(rows, some) for some in slices(self.shape[1], columns)]
        return blocks

    def read(self, block: Block) -> NDArray[Any]:
        """The cells of a block, in Fortran order; missing values are NaN."""
        import pyarrow
        from pyarrow import parquet

        rows, columns = block
        place = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        path, metadata, group = self._groups[place]
        names = self.names[columns] if isinstance(columns, slice) else [self.names[j] for j in columns]
        cells = np.empty((rows.stop - rows.start, len(names)), dtype=self.dtype, order="F")
        with parquet.ParquetFile(path, metadata=metadata) as file:
            table = file.read_row_group(group, columns=names)
        table = table.slice(rows.start - self._starts[place], rows.stop - rows.start)
        arrow_type = pyarrow.from_numpy_dtype(self.dtype)
        for place, name in enumerate(names):
            cells[:, place] = table[name].cast(arrow_type, safe=False).to_numpy()
        return cells


def is_number(arrow_type: Any) -> bool:
    """Whether cells of this type can be read as numbers; a column of nulls can, as NaN."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(arrow_type) for test in tests)


def skip_rows(batches: Iterable[Any], count: int) -> Iterator[Any]:
    """Record batches without their first rows."""
    for batch in batches:
        if count < batch.num_rows:
            yield batch.slice(count)
        count = max(0, count - batch.num_rows)
