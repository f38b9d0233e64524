"""A pursuit's session on the workers of a cluster.

Records stay on the worker that read them. On a cluster each worker has one actor, which evaluates queries on all its
partitions. Actors read features that workers hold. Features that workers do not hold must not all be in memory at the
same time, so tasks read them partition by partition.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import dask
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsparse.engine import config
from dpsparse.engine.dask.actors import (
    Form,
    Pairs,
    PartitionActor,
    column_of,
    count_nonfinite,
    difference_of,
    evaluate_once,
    evaluate_records,
    open_partition,
)
from dpsparse.engine.dask.tasks import NoWorkers, compute, futures_by_key, persist, result_of, tasks, wait_for
from dpsparse.engine.links import Link
from dpsparse.engine.protocols import OnProgress, Query
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.queries import pick_sums, total
from dpsparse.engine.refusals import NOT_FINITE


class Features(Protocol):
    """What a session asks of features in partitions."""

    form: Form
    shape: tuple[int, int]
    persisted: bool
    futures: dict[str, Any]


class DaskSession:
    """A `protocols.Session`; its columns are with the workers.

    `partitions` are tasks of the features and of the responses of each partition, and which of its rows to read. Where
    `check_finite` is set a feature that is not finite raises ValueError, with a constant text.
    """

    def __init__(
        self,
        n_records: int,
        partitions: list[Any],
        features: Features,
        y: Any,
        quantizers: tuple[Quantizer, ...],
        constant: bool,
        check_finite: bool,
        link: Link,
    ) -> None:
        self._form, self._persisted = features.form, features.persisted
        self.n_records, self.n_features = n_records, features.shape[1]
        self._opening = (features.form, quantizers, constant, link)
        self._features = [(X, rows) for X, _, rows in partitions]
        # What was done to the columns, which new actors do again.
        self._steps: list[tuple[str, tuple[Any, ...]]] = []
        self._actors: list[Any] | None = None
        self._partitions: Sequence[Any]
        if self._persisted:
            self._partitions, self._futures = partitions, features.futures | futures_by_key(y)
            self._workers = _by_worker([X for X, _, _ in partitions], self._futures)
        else:
            self._partitions = persist(*self._opened(partitions))
            self._futures = futures_by_key(self._partitions)
            self._workers = _by_worker(self._partitions, self._futures)
        if check_finite and sum(self._per_worker(count_nonfinite)):
            raise ValueError(NOT_FINITE)

    def add(self, feature: int, on_progress: OnProgress = None) -> None:
        """Read one more feature."""
        shared = (self._form, feature)
        if self._persisted:
            self._steps.append(("add", (shared, None)))
            self._call_actors("add", shared)
        else:
            columns = persist(*self._columns(shared))
            self._steps.append(("add", (shared, columns)))
            self._futures |= futures_by_key(columns)
            self._actors = None

    def _opened(self, partitions: list[Any]) -> list[Any]:
        """Tasks that open the partitions."""
        return tasks(open_partition, partitions, self._opening)

    def _columns(self, shared: tuple[Form, int]) -> list[Any]:
        """Tasks that read a feature."""
        return _columns(self._features, shared)

    def rescale(self, center: float, scale: float) -> None:
        """Make (z - center) / scale of the last column z."""
        self._steps.append(("rescale", (center, scale)))
        self._call_actors("rescale", center, scale)

    def evaluate(self, query: Query, *public: Any) -> Any:
        """Sum what a query gives over the records."""
        return total(self._per_worker(evaluate_records, query, *public))

    def scores(
        self, center: float, effects: ArrayLike, bound: float, level: float = 0.0, on_progress: OnProgress = None
    ) -> NDArray[np.int64]:
        """The sums of `queries.pick_sums`, a row for each quantizer."""
        sums: NDArray[np.int64] = self.evaluate(pick_sums, center, effects, bound, level)
        return sums

    def close(self) -> None:
        """Have the workers release their partitions, and wait for it: the next session may need the memory."""
        self._call_actors("release")
        self._actors = None

    def _per_worker(self, function: Callable[..., Any], *public: Any) -> Sequence[Any]:
        """Evaluate on every partition: by actors on a cluster, by tasks otherwise or after actors failed repeatedly."""
        for _ in range(config.current.dask_spawn_attempts if self._futures else 0):
            self._actors = self._actors or self._spawn_all()
            results = self._call_actors("evaluate", function, *public)
            if results:
                return results
        task = dask.delayed(evaluate_once, pure=False)
        calls = [task(function, public, *self._args(worker, lambda value: value)) for worker in self._workers]
        return compute(*calls, optimize_graph=False)

    def _spawn_all(self) -> Any:
        """An actor for each worker, or None where that fails: the same error is raised again by a task."""
        client = next(iter(self._futures.values())).client
        try:
            spawned = [self._spawn(client, worker) for worker in self._workers]
            wait_for(spawned)
            return client.gather(spawned)
        except NoWorkers:
            raise
        except Exception:
            return None

    def _spawn(self, client: Any, worker: "_Worker") -> Any:
        args = self._args(worker, lambda value: self._futures[value.key])
        # Not bound to a worker: it may have died by then.
        where = {"workers": worker.address, "allow_other_workers": True} if worker.address else {}
        return client.submit(PartitionActor, *args, worker.threads, actor=True, pure=False, **where)

    def _call_actors(self, method: str, *arguments: Any) -> list[Any] | None:
        """Results of all actors, which work at the same time; None where one is lost.

        With a worker its partitions are lost too, and dask makes them anew. New actors are given what was added.
        """
        try:
            calls = [(getattr(actor, method)(*arguments), actor) for actor in self._actors or ()]
            return [result_of(*call) for call in calls]
        except Exception:
            self._actors = None
            return None

    def _args(self, worker: "_Worker", value_of: Callable[[Any], Any]) -> tuple[Any, ...]:
        """The arguments of an actor: how to open partitions, the partitions, and what was done to the columns."""
        if self._persisted:
            mine = (self._partitions[k] for k in worker.partitions)
            partitions = [(value_of(X), value_of(y), rows) for X, y, rows in mine]
        else:
            partitions = [value_of(self._partitions[k]) for k in worker.partitions]
        return self._opening, partitions, [self._step_on(worker, value_of, *step) for step in self._steps]

    def _step_on(
        self, worker: "_Worker", value_of: Callable[[Any], Any], method: str, arguments: tuple[Any, ...]
    ) -> tuple[str, tuple[Any, ...]]:
        """A step as a worker does it: with the columns of its partitions, where there are some."""
        if method == "add" and arguments[1] is not None:
            shared, columns = arguments
            return method, (shared, [value_of(columns[k]) for k in worker.partitions])
        return method, arguments


def _columns(partitions: list[Any], shared: tuple[Form, int]) -> list[Any]:
    """Tasks that read a feature; of pairs both records' values are read where they are, and then subtracted."""
    if not isinstance(partitions[0][0], Pairs):
        return tasks(column_of, partitions, shared)
    first = tasks(column_of, [(pairs.first, pairs.first_rows) for pairs, _ in partitions], shared)
    second = tasks(column_of, [(pairs.second, pairs.second_rows) for pairs, _ in partitions], shared)
    rows = [rows for _, rows in partitions]
    return tasks(difference_of, zip(first, second, rows, strict=True), shared)


@dataclass(frozen=True)
class _Worker:
    """The partitions of a worker, its address (None if it is lost or there is none), and its number of threads."""

    partitions: list[int]
    address: str | None = None
    threads: int = 1


def _by_worker(partitions: Sequence[Any], futures: dict[str, Any]) -> list[_Worker]:
    """Which partitions each worker has; without a cluster each partition is by itself."""
    if not futures:
        return [_Worker([k]) for k in range(len(partitions))]
    held = [futures[partition.key] for partition in partitions]
    wait_for(held)
    holders, threads_of = held[0].client.who_has(held), held[0].client.nthreads()
    numbers = defaultdict(list)
    for k, partition in enumerate(partitions):
        numbers[next(iter(holders.get(partition.key, ())), None)].append(k)
    return [_Worker(mine, address, threads_of.get(address, 1)) for address, mine in numbers.items()]
