"""Base classes of rows and sessions whose responses are in this process, wherever their features are."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsparse.engine import config
from dpsparse.engine.arrays import Array, backward, host, module_of
from dpsparse.engine.cpu import dispatch
from dpsparse.engine.links import BESIDE, IDENTITY, Link
from dpsparse.engine.protocols import OnProgress, Query
from dpsparse.engine.quantize import Quantizer, as_column, check_exact, in_units
from dpsparse.engine.queries import Column, Records, Thresholds, nonfinite_blocks, pick_weights, total
from dpsparse.engine.refusals import COLUMN_CHANGED, NOT_FINITE
from dpsparse.engine.threads import items_per_task, parallel_map, slices
from dpsparse.engine.vector_sums import subtract_columns

# Rows that kernels add up before they spill their sums, and rows that they read at a time.
UNITS = (256, 16)


def block_size(count: int, size: int) -> int:
    """How many of `count` rows or columns of `size` bytes make a block: a multiple of a unit if it is large."""
    block_bytes = config.current.block_bytes
    block = items_per_task(count, max(1, block_bytes // 8 // size), max(1, block_bytes // size))
    unit = next((unit for unit in UNITS if 2 * unit <= block), 1)
    return -(-block // unit) * unit


@cache
def keep_freed_memory() -> None:
    """Have arrays of a query take the memory of those before, for the rest of the process.

    The GNU C library gives blocks above a threshold back to the system when they are freed, and each new one then costs
    a page fault for every 4 kB: more than the arithmetic. It raises that threshold to the size of any block that is
    freed, up to 32 MB.
    """
    np.empty(2**25 - 2**16, dtype=np.uint8)


def rescaled(records: Records, center: float, scale: float) -> Records:
    """The records with (z - center) / scale as their last column, where it was z."""
    *before, last = records.columns
    return replace(records, columns=(*before, Column.of(in_units(last.units, center, scale))))


def pair_slices(n_records: int) -> tuple[slice, slice]:
    """The first and the second records of the pairs that `differences` subtracts: from both ends toward the middle.

    Records half a table apart would often be alike: in another year at the same hour, the same person in another wave,
    the other level of the last factor of a designed experiment.
    """
    half = n_records // 2
    return slice(half), slice(n_records - 1, n_records - 1 - half, -1)


def pair_blocks(starts: Iterable[int], n_records: int) -> list[slice]:
    """Slices that divide pairs of records where either record reaches one of some positions."""
    n_pairs = n_records // 2
    reached = {pair for start in starts for pair in (start, n_records - start) if 0 < pair < n_pairs}
    return [slice(*ends) for ends in itertools.pairwise(sorted(reached | {0, n_pairs}))]


@np.errstate(all="ignore")
def pair_differences(values: Array) -> Array:
    """The first of each pair of some values, less the second."""
    half = len(values) // 2
    return values[:half] - backward(values[len(values) - half :])


class LocalRecords(Records):
    """Records in this process's memory: a compiled pass counts their values."""

    def _counts_at_most(self, values: Array, thresholds: Thresholds) -> NDArray[np.int64]:
        """See `queries.Records`."""
        thresholds = np.ascontiguousarray(thresholds, dtype=np.float64)
        counts = np.zeros(len(thresholds) + 1, dtype=np.int64)
        dispatch.run("count_values", np.ascontiguousarray(values), thresholds, counts)
        return np.cumsum(counts[:-1])


class QuantizedFamilies:
    """Features quantized by several quantizers, each of which gives a family of sums."""

    def __init__(self, families: Iterable[Any]) -> None:
        self.families = tuple(families)

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return sum(array.nbytes for family in self.families for array in vars(family).values())

    def take(self, rows: Any) -> "QuantizedFamilies":
        """The levels of some rows."""
        return QuantizedFamilies(family.take(rows) for family in self.families)

    def weighted_sums(self, weights: Array, on_progress: OnProgress = None) -> NDArray[np.int64]:
        """Sums over rows of weight level times feature level, as int64: a row for each family."""
        return np.stack([family.weighted_sums(weights) for family in self.families])


class OpensSessions:
    """Rows whose sessions have responses and columns here. Subclasses make integers of the features."""

    if TYPE_CHECKING:

        def _levels_for(self, quantizers: tuple[Quantizer, ...], check_finite: bool, on_progress: OnProgress) -> Any:
            """The features as integers, for the length of a session; raises ValueError(NOT_FINITE) if asked to."""

        def _session(self, constant: bool, levels: Any, link: Link) -> "LocalSession":
            """A session on these integers."""

    def session(
        self,
        quantizers: tuple[Quantizer, ...],
        *,
        constant: bool = False,
        check_finite: bool = True,
        link: Link = IDENTITY,
        on_progress: OnProgress = None,
    ) -> "LocalSession":
        """Open a session; see `protocols.Rows`."""
        keep_freed_memory()
        return self._session(constant, self._levels_for(quantizers, check_finite, on_progress), link)


class LocalRows(OpensSessions):
    """A set of rows of X with their responses: the base of `protocols.Rows` here. Subclasses read the features."""

    if TYPE_CHECKING:

        def take(self, rows: Any) -> Any:
            """Some of the rows."""

        def differences(self) -> Any:
            """The differences of pairs of records, where these are none already; see `protocols.Rows`."""

        def column(self, j: int) -> Array:
            """Raw values of a feature; see `protocols.Rows`."""

        def quantized(self, *args: Any, **kwargs: Any) -> Any:
            """The features as integers, by some quantizers."""

    def __init__(self, y: Array, n_features: int) -> None:
        self.y = y
        # Of a link whose exposure is `BESIDE` the features.
        self.exposure: Array | None = None
        self.n_records, self.n_features = len(y), n_features
        check_exact(self.n_records)

    def part(self, index: int, of: int) -> Any:
        """Every `of`-th row from row `index` on: part `index` of `of` disjoint parts."""
        return self.take(slice(index, None, of))

    def blocks(self) -> list[slice]:
        """Slices that divide the records among threads, for a pass over their features."""
        sizes = config.current
        return slices(self.n_records, items_per_task(self.n_records, sizes.least_records, sizes.most_records))

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over blocks of rows."""
        blocks = self.blocks()
        if len(blocks) < 2:
            return query(self, *public)
        return total(parallel_map(lambda block: query(self.take(block), *public), blocks))

    def _levels_for(self, quantizers: tuple[Quantizer, ...], check_finite: bool, on_progress: OnProgress) -> Any:
        if check_finite and not quantizers:
            self.require_finite()
        return self.quantized(quantizers, check_finite)

    def _session(self, constant: bool, levels: Any, link: Link) -> "LocalSession":
        return LocalSession(self, constant, levels, link)

    def require_finite(self) -> None:
        """Raise ValueError with a constant text unless all features are finite."""
        if self.evaluate(nonfinite_blocks):
            raise ValueError(NOT_FINITE)

    def residuals(
        self, coef: NDArray[np.float64], support: Sequence[int] | NDArray[np.int64], quantizer: Quantizer
    ) -> NDArray[np.float64]:
        """Responses minus predictions in float64, one feature after another in the order of `support`.

        `coef` is zero outside the support; its second half, if any, is of the indicators of gaps. The quantizer gives
        the units of the features, in which a gap is at 0, and clips them; it does not round them.
        """
        columns = (quantizer.clipped(self.column(j), j) for j in support)
        with np.errstate(all="ignore"):
            residuals: NDArray[np.float64] = host(subtract_columns(self.y, columns, [coef[j] for j in support]))
            return residuals


class LocalSession:
    """A `protocols.Session` whose responses and columns are in this process.

    The rows have `y` and `column`. With `constant` the columns start with the constant 1. `quantized` holds
    all features as integers; its `weighted_sums` are those of each quantizer.
    """

    def __init__(self, rows: Any, constant: bool, quantized: Any, link: Link = IDENTITY) -> None:
        self._rows, self._quantized = rows, quantized
        self.n_records, self.n_features = rows.n_records, rows.n_features
        self._open(rows.y, link)
        if link.exposure is not None:
            self._expose(rows.exposure if link.exposure == BESIDE else rows.column(link.exposure))
        if constant:
            self._append(module_of(rows.y).ones_like(rows.y))

    def _open(self, y: Array, link: Link) -> None:
        self._records: Records = LocalRecords(y, None, (), link)

    def _expose(self, values: Array) -> None:
        self._records = replace(self._records, exposure=as_column(values, self._records.y))

    def add(self, feature: int, on_progress: OnProgress = None) -> None:
        """Read one more feature."""
        self._append(self._rows.column(feature))

    def _append(self, values: Array) -> None:
        before = self._records
        if len(values) != len(before.y):
            # NumPy would repeat a single value for every record.
            raise ValueError(COLUMN_CHANGED)
        self._records = replace(before, columns=(*before.columns, Column.of(as_column(values, before.y))))

    def rescale(self, center: float, scale: float) -> None:
        """Make (z - center) / scale of the last column z."""
        self._records = rescaled(self._records, center, scale)

    def close(self) -> None:
        """Nothing is kept elsewhere."""

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over the records."""
        return total(self._per_block(query, *public))

    def _per_block(self, query: Query, *public: Any) -> Iterable[Any]:
        sizes = config.current
        size = items_per_task(self.n_records, sizes.least_query_records, sizes.most_query_records)
        blocks = self._records.blocks(size)
        if len(blocks) < 2:
            return [query(self._records, *public)]
        return parallel_map(lambda block: query(self._records.take(block), *public), blocks)

    def scores(
        self, center: float, effects: ArrayLike, bound: float, level: float = 0.0, on_progress: OnProgress = None
    ) -> NDArray[np.int64]:
        """The sums of `queries.pick_sums`, a row for each quantizer.

        The weights of the records come first, then one pass over the quantized features in their memory order.
        """
        weights = np.concatenate(list(self._per_block(pick_weights, center, effects, bound, level)))
        sums: NDArray[np.int64] = self._quantized.weighted_sums(weights, on_progress)
        return sums
