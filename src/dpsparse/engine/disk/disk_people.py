"""Rows of people whose features are read from a disk: brought together by person a few columns at a time.

A session holds levels of a byte a cell, person after person, of as many columns as memory allows. Where that is not all
of them, the others are read again in each pass, as many at a time: the rows of a person may lie anywhere in the files,
and a person's sum for a feature needs all of them, but no other feature. So do the differences of two people's rows,
for which the cells of a few columns are held as they are.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.cpu.dense_rows import DenseRows, has_nonfinite, round_features
from dpsparse.engine.cpu.people_rows import PairedRows, PeopleLevels, PeopleRows, paired
from dpsparse.engine.disk.disk_rows import BlockCells, DiskRows, each_block, levels_of
from dpsparse.engine.disk.feature_sources import Block, FeatureSource, Places
from dpsparse.engine.disk.memory import room
from dpsparse.engine.people import Pairs, People
from dpsparse.engine.protocols import OnProgress
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.refusals import NOT_FINITE
from dpsparse.engine.threads import ALL, slices


class DiskPeopleRows(PeopleRows):
    """`protocols.Rows` of people, whose features are in files.

    `rows`: all rows of a source, in its order.
    `people`: whose they are.
    """

    _rows: Any

    def __init__(self, rows: DiskRows, people: People) -> None:
        super().__init__(rows, people)

    @cached_property
    def _standing(self) -> Any:
        """The rows that stand for the people, one each: in memory where there is room for them."""
        source, places = self._rows.source, self.people.order[self.people.chosen]
        if self.n_records * self.n_features * source.dtype.itemsize > room():
            return DiskRows(PlacedSource(source, places), self._rows.y[places])
        cells = np.empty((self.n_records, self.n_features), dtype=source.dtype)
        person_of = np.full(source.shape[0], -1)
        person_of[places] = np.arange(len(places))
        blocks = [(rows, ALL) for rows in source.row_blocks()]

        def gather(k: int) -> None:
            person = person_of[blocks[k][0]]
            cells[person[person >= 0]] = source.cells(blocks[k])[person >= 0]

        list(each_block(source, blocks, gather))
        return DenseRows(cells, self._rows.y[places])

    def part(self, index: int, of: int) -> "DiskPeopleRows":
        """The rows of every `of`-th person from person `index` on."""
        number = self.people.number
        mine = np.flatnonzero(number % of == index)
        rows = DiskRows(PlacedSource(self._rows.source, mine), self._rows.y[mine])
        return DiskPeopleRows(rows, People.of(number[mine]))

    def _paired(self, pairs: Pairs) -> "DiskPairedRows":
        return DiskPairedRows(self._rows, pairs)

    def _levels_for(self, quantizers: tuple[Quantizer, ...], check_finite: bool, on_progress: OnProgress) -> Any:
        levels = DiskPeopleLevels(self._rows.source, self.people, quantizers, on_progress)
        if check_finite and levels.has_nonfinite():
            raise ValueError(NOT_FINITE)
        return levels


class DiskPairedRows(PeopleRows):
    """The differences of pairs of rows."""

    _rows: Any

    def __init__(self, rows: DiskRows, pairs: Pairs) -> None:
        super().__init__(PairedRows(rows, pairs), pairs.people)
        self._source, self._pairs = rows.source, pairs

    def _levels_for(self, quantizers: tuple[Quantizer, ...], check_finite: bool, on_progress: OnProgress) -> Any:
        # Whether cells are finite is not checked: it is where they are read.
        return DiskPairLevels(self._source, self._pairs, quantizers, on_progress)


class DiskPeopleLevels:
    """Levels of the features, person after person: of all columns, or of as many at a time as there is room for."""

    def __init__(
        self, source: FeatureSource, people: People, quantizers: tuple[Quantizer, ...], on_progress: OnProgress
    ) -> None:
        self._source, self._people, self._quantizers = source, people, quantizers
        n, d = len(people.order), source.shape[1]
        self._place_of = np.empty(n, dtype=np.intp)
        self._place_of[people.order] = np.arange(n)
        at_once = d if not quantizers else max(1, min(d, int(room() // (n * len(quantizers)))))
        self._groups = slices(d, at_once)
        # What is kept for the length of a fit: all, or nothing.
        self._kept = self._read(self._groups[0], on_progress) if quantizers and len(self._groups) == 1 else None

    def has_nonfinite(self) -> bool:
        """Whether a feature of a row is not finite."""
        if self._kept is not None:
            return bool(self._kept[1])
        blocks = self._source.blocks()
        return any(each_block(self._source, blocks, lambda k: has_nonfinite(self._source.cells(blocks[k]))))

    def weighted_sums(self, weights: NDArray[np.float64], on_progress: OnProgress = None) -> NDArray[np.int64]:
        """See `PeopleLevels`."""
        return np.concatenate([levels.weighted_sums(weights) for levels in self._each(on_progress)], axis=1)

    def _each(self, on_progress: OnProgress) -> Iterator[PeopleLevels]:
        """The levels of each group of columns."""
        if self._kept is not None:
            yield self._kept[0]
            return
        for place, group in enumerate(self._groups):
            yield self._read(group)[0]
            if on_progress:
                on_progress((place + 1) / len(self._groups))

    def _read(self, columns: slice, on_progress: OnProgress = None) -> tuple[PeopleLevels, int]:
        """The levels of some columns, and whether a cell of theirs is not finite."""
        shape = self._source.shape[0], columns.stop - columns.start
        families = [np.empty(shape, dtype=np.int8) for _ in self._quantizers]
        blocks = [(rows, columns) for rows in self._source.row_blocks()]
        quantizers = [quantizer.of(columns) for quantizer in self._quantizers]

        def quantize(k: int) -> int:
            read, nonfinite = levels_of(BlockCells(self._source, blocks[k]), quantizers)
            for levels, each in zip(families, read.families, strict=True):
                levels[self._place_of[blocks[k][0]]] = each.levels
            return nonfinite

        nonfinite = list(each_block(self._source, blocks, quantize, on_progress))
        return PeopleLevels(self._people.held(), families), max(nonfinite)


class DiskPairLevels(DiskPeopleLevels):
    """The same of differences of pairs; cells of a few columns are held at a time, in no more memory than levels."""

    def __init__(
        self, source: FeatureSource, pairs: Pairs, quantizers: tuple[Quantizer, ...], on_progress: OnProgress
    ) -> None:
        self._pairs = pairs
        super().__init__(source, pairs.people, quantizers, on_progress)

    def _read(self, columns: slice, on_progress: OnProgress = None) -> tuple[PeopleLevels, int]:
        """The levels of some columns."""
        shape = len(self._pairs.first), columns.stop - columns.start
        levels = PeopleLevels(self._people.held(), [np.empty(shape, dtype=np.int8) for _ in self._quantizers])
        groups = slices(shape[1], shape[1] // self._source.dtype.itemsize, columns.start)
        for place, group in enumerate(groups):
            cells = self._source.columns(range(self._source.shape[1])[group])
            quantizers = [quantizer.of(group) for quantizer in self._quantizers]
            out = slice(group.start - columns.start, group.stop - columns.start)
            for block in levels.blocks:
                few = Pairs(self._pairs.first[block], self._pairs.second[block], self._people)
                differences = paired(cells, few)
                for quantizer, family in zip(quantizers, levels.families, strict=True):
                    family[block, out] = _levels(differences, quantizer)
            if on_progress:
                on_progress((place + 1) / len(groups))
        return levels, 0


def _levels(cells: NDArray[Any], quantizer: Quantizer) -> NDArray[np.int8]:
    """The levels of some cells."""
    levels = np.empty(cells.shape, dtype=np.int8)
    round_features(np.ascontiguousarray(cells), quantizer, levels)
    return levels


class PlacedSource(FeatureSource):
    """Some rows of a source, in any order."""

    def __init__(self, source: FeatureSource, places: NDArray[np.intp]) -> None:
        self._source, self._places = source, places
        self.shape, self.dtype = (len(places), source.shape[1]), source.dtype

    def read(self, block: Block) -> NDArray[Any]:
        """The cells of a block: every block of the source that has some of its rows is read."""
        rows, columns = block
        places, of_source = self._places[rows], self._source.row_blocks()
        width = len(range(*columns.indices(self.shape[1]))) if isinstance(columns, slice) else len(columns)
        out = np.empty((len(places), width), dtype=self.dtype)
        which = np.searchsorted([each.start for each in of_source], places, side="right") - 1
        for k in np.unique(which).tolist():
            mine = which == k
            out[mine] = self._source.cells((of_source[k], columns))[places[mine] - of_source[k].start]
        return out

    def column(self, feature: int, on_progress: OnProgress = None) -> NDArray[Any]:
        """The values of a feature."""
        return self._source.column(feature, on_progress)[self._places]

    def columns(self, features: Places, on_progress: OnProgress = None) -> NDArray[Any]:
        """Values of some features: the source is read once."""
        return self._source.columns(features, on_progress)[self._places]
