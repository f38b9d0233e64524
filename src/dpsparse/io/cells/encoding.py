"""Features of raw records: numbers by the kinds of their columns, and 0/1 for hash buckets of text.

Fits and predictions share this one function: a list of features says all that it needs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.disk.feature_sources import Block, FeatureSource
from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.column_cells import Cells
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.row_selection import Rows, TableBlock
from dpsparse.io.table_features import Feature, filled


def encode(
    raw: Any, features: Sequence[Feature], buckets_of: Callable[[str], NDArray[np.int16]] | None = None
) -> NDArray[np.float64]:
    """The features of a raw table's records.

    The table needs the columns of the features alone. A feature is a column's numbers, or 0/1 for a public category,
    for buckets of its text or for its gaps. `buckets_of` gives the buckets of a column where they are at hand. The
    array, in Fortran order, has a row for each record: NaN where a number is missing or does not fit its kind. A text
    that is missing, or in no bucket of its column's features, is 0 in all of them but "missing" and "another". A number
    times a category is the number in records of this category, and NaN in all others.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse.io.cells.grammar import bucket
    >>> from dpsparse.io.cells.raw_table import FrameTable
    >>> table = FrameTable(pd.DataFrame({"age": [31.0, None], "region": ["north", None]}))
    >>> north = Feature("region", kind="text", buckets=(bucket("north"),))
    >>> encode(table, [Feature("age", kind="number"), north, Feature("region", kind="text", missing=True)])
    array([[31.,  1.,  0.],
           [nan,  0.,  1.]])
    """
    numeric = {
        each.column: Kind(each.kind or raw.declared.get(each.column, Kind.number))
        for each in features
        if each.kind != Kind.text and each.category is None
    }
    numbers: NDArray[np.float64] = raw.numbers(list(numeric), list(numeric.values()))
    plain = [(each.column, each.missing, each.fill, each.within) for each in features]
    if plain == [(column, False, None, None) for column in numeric]:
        return numbers
    place = {column: k for k, column in enumerate(numeric)}
    encoded = np.empty((raw.n_records, len(features)), order="F")
    last: tuple[str | None, NDArray[np.int16]] = None, np.empty(0, dtype=np.int16)

    def zero_one(feature: Feature) -> NDArray[np.bool_]:
        nonlocal last
        if feature.category is not None:
            return np.asarray(raw.category_codes(feature.column, [feature.category]) == 0)
        if feature.column != last[0]:
            last = feature.column, (buckets_of or raw.buckets)(feature.column)
        return _zero_one(feature, last[1])

    for k, feature in enumerate(features):
        if feature.column not in numeric:
            encoded[:, k] = zero_one(feature)
            continue
        values = numbers[:, place[feature.column]]
        values = np.isnan(values) if feature.missing else filled(values, feature)
        encoded[:, k] = values if feature.within is None else np.where(zero_one(feature.within), values, np.nan)
    return encoded


def yes_or_no(raw: Any, column: str, positive: str) -> NDArray[np.float64]:
    """1 for cells with a label, in lower or upper case, 0 for all others, and NaN for empty ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse.io.cells.raw_table import as_raw_table
    >>> yes_or_no(as_raw_table(pd.DataFrame({"denied": ["Yes", "no", "perhaps", None]})), "denied", "yes")
    array([ 1.,  0.,  0., nan])
    """
    yes = raw.category_codes(column, spellings(positive)) >= 0
    return np.where(yes, 1.0, np.where(raw.buckets(column) < 0, np.nan, 0.0))


def spellings(label: str) -> tuple[str, ...]:
    """A label of yes in lower and upper case, as it is written first."""
    return label, label.lower(), label.upper(), label.capitalize()


def _zero_one(feature: Feature, buckets: NDArray[np.int16]) -> NDArray[np.bool_]:
    if feature.missing:
        return buckets < 0
    has: NDArray[np.bool_] = (buckets >= 0) & (np.isin(buckets, feature.buckets or ()) != feature.other)
    return has


class EncodedSource(FeatureSource):
    """What `encode` gives of a raw table, a block of records at a time."""

    dtype = np.dtype(np.float64)

    def __init__(self, table: BlockTable, features: Sequence[Feature]) -> None:
        self._table, self._features = table, features
        self._blocks = {
            rows.start: (rows, block) for block in table.blocks if (rows := table.rows_of(block)).stop > rows.start
        }
        self._starts = np.array(list(self._blocks), dtype=np.int64)
        self.shape = table.n_records, len(features)

    def row_blocks(self) -> list[slice]:
        """The table's own blocks of records."""
        return [rows for rows, _ in self._blocks.values()]

    def read(self, block: Block) -> NDArray[Any]:
        """The cells of a block, or of some of its rows."""
        rows, columns = block
        features = self._features[columns] if isinstance(columns, slice) else [self._features[k] for k in columns]
        start = self._starts[np.searchsorted(self._starts, rows.start, side="right") - 1]
        whole, of_table = self._blocks[int(start)]
        inside = slice(rows.start - whole.start, rows.stop - whole.start)
        return encode(_Part(self._table, of_table, inside), list(features))


class _Part(BlockTable):
    """Some records of one block of a table."""

    blocks: list[Rows]

    def __init__(self, table: BlockTable, block: TableBlock, rows: slice) -> None:
        self.names, self.declared = table.names, table.declared
        self.blocks = [Rows(0, rows.stop - rows.start)]
        self._table, self._block, self._kept = table, block, rows

    def cells(self, block: TableBlock, columns: Sequence[str]) -> list[Cells]:
        """The cells of some columns."""
        return [cells.take(self._kept) for cells in self._table.kept(self._block, columns)[1]]
