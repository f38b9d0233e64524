"""Rows of people in the partitions of a dask graph, where the rows of one may lie in several partitions.

Workers quantize the features where they lie, and exchange levels, responses and selected columns, so that in the end
each partition holds whole people, person after person, as `engine.cpu.people_rows` has them in memory: the bits are the
same. A byte a cell and quantizer moves, not the features. These move as they are where pairs of rows need their
differences, of which levels are kept: once for pairs of people, and once for pairs of a person's own rows. So do those
of the rows that stand for people where splits need them, which are kept only where workers hold the features anyway.

Whose rows are whose is known to the client: what it sends is which rows of a partition go where.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.cpu.dense_rows import DenseDifferences
from dpsparse.engine.cpu.local_rows import LocalRecords
from dpsparse.engine.cpu.people_rows import PeopleLevels
from dpsparse.engine.dask.actors import Form, Opening, Partition, evaluate_rows, rows_of, single_threaded
from dpsparse.engine.dask.dask_rows import DaskRows, Partitions
from dpsparse.engine.dask.session import DaskSession
from dpsparse.engine.dask.tasks import compute, futures_by_key, persist, tasks
from dpsparse.engine.links import IDENTITY, Link
from dpsparse.engine.people import Held, Pairs, People
from dpsparse.engine.protocols import OnProgress, Query
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.queries import Column, nonfinite_blocks, total
from dpsparse.engine.refusals import NOT_FINITE, ROWS_CHANGED
from dpsparse.engine.threads import slices

Places = NDArray[np.intp]


class DaskPeopleRows:
    """`protocols.Rows` of people: `n_records` is their number.

    `features`: the features of the whole table.
    `y`: its responses, divided as the features are.
    `people`: whose these rows are.
    `rows`: which rows of the table, rising; None for all.
    """

    def __init__(self, features: Partitions, y: Any, people: People, rows: Places | None = None) -> None:
        self._rows = np.arange(features.shape[0]) if rows is None else rows
        if len(people.order) != len(self._rows):
            raise ValueError(ROWS_CHANGED)
        self._features, self._y, self.people = features, y, people
        self.n_records, self.n_features = people.n_people, features.shape[1]
        starts = np.cumsum([0, *features.lengths])
        ends = np.searchsorted(self._rows, starts).tolist()
        every = zip(features.features, y.to_delayed(), starts.tolist(), ends[:-1], ends[1:], strict=False)
        mine = [(X, y, self._rows[first:last] - start) for X, y, start, first, last in every if first < last]
        self._partitions = [(X, y, dask.delayed(rows, traverse=False, pure=False)) for X, y, rows in mine]
        self._lengths = [len(rows) for _, _, rows in mine]

    @classmethod
    def of(cls, rows: DaskRows, people: People) -> "DaskPeopleRows":
        """The rows of people, of all rows of a table."""
        return cls(rows.features, rows.responses, people)

    def part(self, index: int, of: int) -> "DaskPeopleRows":
        """The rows of every `of`-th person from person `index` on."""
        mine = np.flatnonzero(self.people.number % of == index)
        return DaskPeopleRows(self._features, self._y, People.of(self.people.number[mine]), self._rows[mine])

    @cached_property
    def _standing(self) -> DaskRows:
        """The rows that stand for the people, one each."""
        chosen = self.people.order[self.people.chosen]
        standing = _Standing(self._partitions, self._features, self._exchange([chosen[each] for each in self._even()]))
        return DaskRows(standing, standing.responses)

    def _even(self) -> list[slice]:
        """Slices that divide people into partitions no longer than those of the table."""
        return slices(self.n_records, max(self._lengths))

    def _exchange(self, places: list[Places]) -> "_Exchange":
        return _Exchange(self._lengths, places)

    def differences(self) -> "DaskPairedRows":
        """The differences of pairs of people, row by row; see `protocols.Rows`."""
        return self._paired(self.people.pairs())

    def own_differences(self) -> "DaskPairedRows":
        """The differences of rows of each person; see `People.own_pairs`."""
        return self._paired(self.people.own_pairs())

    def _paired(self, pairs: Pairs) -> "DaskPairedRows":
        first, second, people = pairs
        held = people.held()
        blocks = held.blocks(max(self._lengths))
        exchange = self._exchange([np.concatenate([first[block], second[block]]) for block in blocks])
        seen = _Read(self._features.form, self._features.shape)
        data = people.n_people, self._partitions, seen, self._y
        return DaskPairedRows(exchange, [held.take(block) for block in blocks], data)

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over the rows that stand for the people."""
        return self._standing.evaluate(query, *public)

    def require_finite(self) -> None:
        """Raise ValueError with a constant text unless all features of all rows are finite."""
        if total(compute(*tasks(evaluate_rows, self._partitions, (self._features.form, nonfinite_blocks, ())))):
            raise ValueError(NOT_FINITE)

    def session(
        self,
        quantizers: tuple[Quantizer, ...],
        *,
        constant: bool = False,
        check_finite: bool = True,
        link: Link = IDENTITY,
        on_progress: OnProgress = None,
    ) -> "DaskPeopleSession":
        """Open a session; see `protocols.Rows`."""
        held = self.people.held()
        blocks = held.blocks(max(self._lengths))
        exchange = self._exchange([self.people.order[block] for block in blocks])
        seen = _Read(self._features.form, self._features.shape)
        data = self.n_records, self._partitions, seen, self._y
        return DaskPeopleSession(
            exchange, [held.take(block) for block in blocks], *data, quantizers, constant, check_finite, link
        )


@dataclass(frozen=True)
class _Read:
    """Features that tasks read, never actors: what actors hold is in another order."""

    form: Form
    shape: tuple[int, int]
    persisted: bool = False

    @property
    def futures(self) -> dict[str, Any]:
        """None: nothing is kept."""
        return {}


class DaskPeopleSession(DaskSession):
    """A session on the rows of people: partitions are exchanged so that each holds whole people."""

    def __init__(self, exchange: "_Exchange", people: list[Held], *data: Any) -> None:
        self._exchange = exchange
        self._people = persist(*[dask.delayed(held, traverse=False, pure=False) for held in people])
        super().__init__(*data)

    def _opened(self, partitions: list[Any]) -> list[Any]:
        return self._exchange.moved(super()._opened(partitions), _joined_partitions, self._people)

    def _columns(self, shared: tuple[Form, int]) -> list[Any]:
        return self._exchange.moved(super()._columns(shared), _joined)


class DaskPairedRows:
    """The differences of pairs of rows; see `protocols.Rows`."""

    def __init__(self, exchange: "_Exchange", people: list[Held], data: tuple[Any, ...]) -> None:
        self._exchange, self._people, self._data = exchange, people, data

    def session(self, quantizers: tuple[Quantizer, ...], *, check_finite: bool = True) -> "DaskPairedSession":
        """Open a session. Whether cells are finite is not checked: it is where they are read."""
        return DaskPairedSession(self._exchange, self._people, *self._data, quantizers, False, False, IDENTITY)


class DaskPairedSession(DaskPeopleSession):
    """A session on them: both rows of each pair go to one partition, the first ones before the second."""

    def _opened(self, partitions: list[Any]) -> list[Any]:
        form, *_ = self._opening
        read = tasks(_features_of, [(X, rows) for X, _, rows in partitions], form)
        taken = [dask.delayed(_taken, pure=False)(y, rows) for _, y, rows in partitions]
        moved = (self._exchange.moved(each, _joined) for each in (read, taken))
        return tasks(_open_pairs, zip(*moved, self._people, strict=True), self._opening)

    def _columns(self, shared: tuple[Form, int]) -> list[Any]:
        return self._exchange.moved(DaskSession._columns(self, shared), _joined_differences)


class _Standing:
    """The rows that stand for people as partitions of their own, in the order of the people; see `Partitions`."""

    def __init__(self, partitions: list[Any], features: Partitions, exchange: "_Exchange") -> None:
        self.dtype, self.form, self.lengths = features.dtype, features.form, exchange.lengths
        self.shape = sum(self.lengths), features.shape[1]
        read = tasks(_features_of, [(X, rows) for X, _, rows in partitions], features.form)
        moved = exchange.moved(read, _joined)
        # Only where workers hold all features anyway.
        self.features: Sequence[Any] = persist(*moved) if features.persisted else moved
        self.futures = futures_by_key(self.features) if features.persisted else {}
        self.persisted = bool(self.futures)
        responses = exchange.moved([dask.delayed(_taken, pure=False)(y, rows) for _, y, rows in partitions], _joined)
        chunks = zip(responses, self.lengths, strict=True)
        self.responses = persist(da.concatenate([da.from_delayed(y, (length,), np.float64) for y, length in chunks]))[0]


class _Exchange:
    """Which rows of each partition go to which new one, and in which order they lie there.

    `lengths`: the numbers of rows of the partitions.
    `places`: for each new partition its rows, by their places in the table.
    """

    def __init__(self, lengths: Sequence[int], places: list[Places]) -> None:
        self.lengths = tuple(map(len, places))
        starts = np.cumsum([0, *lengths])
        sent: list[list[Places]] = [[] for _ in lengths]
        self._pieces: list[list[tuple[int, int]]] = []
        orders = []
        for rows in places:
            source = np.searchsorted(starts, rows, side="right") - 1
            order = np.argsort(source, kind="stable")
            orders.append(np.argsort(order))
            pieces = []
            for k in np.unique(source).tolist():
                pieces.append((k, len(sent[k])))
                sent[k].append(rows[source == k] - starts[k])
            self._pieces.append(pieces)
        self._n_sent = list(map(len, sent))
        # Kept by the workers, so that they are sent once.
        kept = persist(*[dask.delayed(each, traverse=False, pure=False) for each in (*sent, *orders)])
        self._sent, self._orders = kept[: len(sent)], kept[len(sent) :]

    def moved(self, values: list[Any], join: Callable[..., Any], *others: Sequence[Any]) -> list[Any]:
        """Tasks that make the new partitions of what tasks give for the old ones; `others` are for `join` too."""
        pieces = [
            dask.delayed(_pieces, pure=False, nout=n)(value, places)
            for value, places, n in zip(values, self._sent, self._n_sent, strict=True)
        ]
        task = dask.delayed(join, pure=False)
        return [
            task([pieces[k][place] for k, place in mine], order, *rest)
            for mine, order, *rest in zip(self._pieces, self._orders, *others, strict=True)
        ]


def _features_of(X: Any, rows: Places, form: Form) -> NDArray[Any]:
    """The features of some rows of a partition."""
    with single_threaded():
        result: NDArray[Any] = rows_of(X, form).take(rows).X
        return result


def _taken(values: NDArray[Any], rows: Places) -> NDArray[Any]:
    return values[rows]


def _pieces(value: Any, places: list[Places]) -> list[Any]:
    """What a partition sends: some of its rows for each new partition that has some."""
    if isinstance(value, Partition):
        return [replace(value, records=value.records.take(rows)) for rows in places]
    return [value[rows] for rows in places]


def _joined(pieces: list[NDArray[Any]], order: Places) -> NDArray[Any]:
    """The rows of a new partition."""
    return np.concatenate(pieces)[order]


def _joined_differences(pieces: list[NDArray[Any]], order: Places) -> NDArray[Any]:
    """The first values of some pairs less the second."""
    return _differences(_joined(pieces, order))


def _differences(values: NDArray[Any]) -> NDArray[Any]:
    with single_threaded():
        differences: NDArray[Any] = values[: len(values) // 2] - values[len(values) // 2 :]
        return differences


def _open_pairs(X: NDArray[Any], y: NDArray[np.float64], held: Held, shared: Opening) -> Partition:
    """Whole pairs of people as a pursuit sees them."""
    _, quantizers, _, link = shared
    responses, n_pairs = _differences(y), len(y) // 2
    with single_threaded():
        read = DenseDifferences(X[:n_pairs], X[n_pairs:], responses).quantized(quantizers, check_finite=False)
    levels = [np.ascontiguousarray(family.levels) for family in read.families]
    return Partition(slice(0, n_pairs), LocalRecords(responses, PeopleLevels(held, levels), (), link, None, held), 0)


def _joined_partitions(pieces: list[Partition], order: Places, held: Held) -> Partition:
    """A new partition, of whole people, of what others sent."""
    records = [piece.records for piece in pieces]
    first = records[0]
    families = zip(*([family.levels for family in each.quantized.families] for each in records), strict=True)
    columns = zip(*([column.units for column in each.columns] for each in records), strict=True)
    exposure = None if first.exposure is None else _joined([np.asarray(each.exposure) for each in records], order)
    return Partition(
        slice(0, len(order)),
        LocalRecords(
            _joined([each.y for each in records], order),
            PeopleLevels(held, [np.ascontiguousarray(_joined(list(each), order)) for each in families]),
            tuple(Column.of(_joined(list(each), order)) for each in columns),
            first.link,
            exposure,
            held,
        ),
        max(piece.nonfinite for piece in pieces),
    )
