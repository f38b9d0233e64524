"""Rows of people who have several: sums in which a person is one term, whatever number of rows they have.

Responses, columns and levels of the features are kept person after person, so that every block holds whole people. The
row that stands for a person is all that counts and splits see of them. Differences are of all rows of two people.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.cpu import dispatch
from dpsparse.engine.cpu.dense_rows import DenseRows, round_features, round_indicators
from dpsparse.engine.cpu.local_rows import LocalRecords, LocalSession, OpensSessions, block_size
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.links import Link
from dpsparse.engine.people import Held, Pairs, People
from dpsparse.engine.protocols import OnProgress, Query
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer
from dpsparse.engine.queries import Records, total
from dpsparse.engine.refusals import NOT_FINITE, ROWS_CHANGED
from dpsparse.engine.threads import parallel_map


class PairedRows:
    """Rows less others of the same table; see `people.Pairs`. No array of all differences is made."""

    def __init__(self, rows: Any, pairs: Pairs) -> None:
        self._rows, self._pairs = rows, pairs
        self.n_records, self.n_features = len(pairs.first), rows.n_features
        self.y: NDArray[np.float64] = paired(rows.y, pairs)

    def column(self, j: int, *on_progress: OnProgress) -> NDArray[Any]:
        """Raw values of a feature, or differences of the indicators of its gaps."""
        return paired(self._rows.column(j, *on_progress), self._pairs)

    @np.errstate(all="ignore")
    def cells(self, places: NDArray[np.intp]) -> NDArray[Any]:
        """The features of some pairs, row-major."""
        first, second = (_cells(self._rows, each[places]) for each in (self._pairs.first, self._pairs.second))
        differences: NDArray[Any] = first - second
        return differences


@np.errstate(all="ignore")
def paired(values: NDArray[Any], pairs: Pairs) -> NDArray[Any]:
    """The first of each pair of some values, one for each row, less the second."""
    differences: NDArray[Any] = values[pairs.first] - values[pairs.second]
    return differences


Stored = DenseRows | SparseRows | PairedRows


class PeopleRows(OpensSessions):
    """`protocols.Rows` of people: `n_records` is their number.

    `rows`: all rows, in the order of the table.
    `people`: whose they are.
    """

    def __init__(self, rows: Any, people: People) -> None:
        if len(people.order) != rows.n_records:
            raise ValueError(ROWS_CHANGED)
        self._rows, self.people = rows, people
        self.n_records, self.n_features = people.n_people, rows.n_features

    @cached_property
    def _standing(self) -> Any:
        """The rows that stand for the people, one each."""
        return self._rows.take(self.people.order[self.people.chosen])

    def part(self, index: int, of: int) -> "PeopleRows":
        """The rows of every `of`-th person from person `index` on."""
        number = self.people.number
        mine = np.flatnonzero(number % of == index)
        return PeopleRows(self._rows.take(mine), People.of(number[mine]))

    def differences(self) -> Any:
        """The differences of pairs of people, row by row; see `protocols.Rows`."""
        return self._paired(self.people.pairs())

    def own_differences(self) -> Any:
        """The differences of rows of each person; see `People.own_pairs`."""
        return self._paired(self.people.own_pairs())

    def _paired(self, pairs: Pairs) -> Any:
        return PeopleRows(PairedRows(self._rows, pairs), pairs.people)

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over the rows that stand for the people."""
        return self._standing.evaluate(query, *public)

    def require_finite(self) -> None:
        """Raise ValueError with a constant text unless all features of all rows are finite."""
        self._rows.require_finite()

    def _levels_for(self, quantizers: tuple[Quantizer, ...], check_finite: bool, on_progress: OnProgress) -> Any:
        if check_finite and not quantizers:
            self.require_finite()
        return PeopleLevels.of(self._rows, self.people, quantizers, check_finite)

    def _session(self, constant: bool, levels: Any, link: Link) -> "PeopleSession":
        return PeopleSession(self._rows, self.people, constant, levels, link)


class PeopleSession(LocalSession):
    """A session on the rows of people, person after person."""

    def __init__(self, rows: Any, people: People, constant: bool, levels: Any, link: Link) -> None:
        self._people = people
        super().__init__(rows, constant, levels, link)

    def _open(self, y: NDArray[np.float64], link: Link) -> None:
        self._records: Records = LocalRecords(y[self._people.order], None, (), link, people=self._people.held())

    def _expose(self, values: NDArray[Any]) -> None:
        super()._expose(np.asarray(values)[self._people.order])

    def _append(self, values: NDArray[Any]) -> None:
        if len(values) != len(self._people.order):
            raise ValueError(ROWS_CHANGED)
        super()._append(values[self._people.order])


class PeopleLevels:
    """Levels of the features, a byte a cell and quantizer, person after person.

    `held`: whose rows they are.
    `families` of shape (n, d): their levels by each quantizer.
    """

    def __init__(self, held: Held, families: Sequence[NDArray[np.int8]]) -> None:
        self._held, self.families = held, tuple(families)

    @classmethod
    def of(cls, rows: Stored, people: People, quantizers: Sequence[Quantizer], check_finite: bool) -> "PeopleLevels":
        """The levels of rows in memory.

        Raises ValueError, with a constant text, if a feature is not finite and `check_finite` is set.
        """
        families = [np.empty((len(people.order), rows.n_features), dtype=np.int8) for _ in quantizers]

        def quantize(block: slice) -> int:
            cells, nonfinite = _cells(rows, people.order[block]), 0
            for quantizer, levels in zip(quantizers, families, strict=True):
                write = round_indicators if quantizer.of_gaps else round_features
                nonfinite |= write(cells, quantizer, levels[block])
            return nonfinite

        levels = cls(people.held(), families)
        nonfinite = list(parallel_map(quantize, levels.blocks)) if quantizers else []
        if check_finite and any(nonfinite):
            raise ValueError(NOT_FINITE)
        return levels

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return sum(family.nbytes for family in self.families)

    @property
    def blocks(self) -> list[slice]:
        """Slices that divide the rows between people, for a pass over their levels."""
        n, d = self.families[0].shape
        return self._held.blocks(block_size(n, max(1, d * 8)))

    def take(self, rows: slice) -> "PeopleLevels":
        """The levels of a slice of the rows, which begins and ends between people."""
        return PeopleLevels(self._held.take(rows), [family[rows] for family in self.families])

    def weighted_sums(self, weights: NDArray[np.float64], on_progress: OnProgress = None) -> NDArray[np.int64]:
        """For each quantizer and feature the sum over people of a clipped sum over their rows.

        A person's sum is that of levels of features times weights of rows, over the root of the number of their rows,
        clipped at what one row can add.
        """
        most = float(FEATURE_LEVELS * WEIGHT_LEVELS)

        def add(block: slice) -> NDArray[np.float64]:
            held = self._held.take(block)
            sums = np.zeros((len(self.families), self.families[0].shape[1]))
            for levels, its_sums in zip(self.families, sums, strict=True):
                rows = (*dispatch.flat_view(levels[block]), held.starts, weights[block])
                dispatch.run("add_people", *rows, 1 / np.sqrt(held.sizes), most, its_sums)
            return sums

        sums: NDArray[np.float64] = total(parallel_map(add, self.blocks))
        return sums.astype(np.int64)


def _cells(rows: Stored, places: NDArray[np.intp]) -> NDArray[Any]:
    """The features of some rows, row-major."""
    if isinstance(rows, PairedRows):
        return rows.cells(places)
    if isinstance(rows, DenseRows):
        return np.ascontiguousarray(rows.X[places])
    return rows.take(places).to_array()
