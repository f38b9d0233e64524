"""Tasks of a dask graph. Their keys are random: none is made from data. Their errors quote nothing of the data."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from dask.utils import parse_timedelta
from distributed import futures_of, wait
from distributed.scheduler import NoWorkerError

from dpsparse.engine.refusals import NO_WORKERS, NOT_COMPUTED, SENTENCES

# How often a wait looks whether the cluster has workers, in seconds.
LOOK = 5.0
# How long a cluster may be without any, where dask has no limit of its own: machines are started in less.
PATIENCE = "10 minutes"


def tasks(function: Callable[..., Any], partitions: Iterable[Sequence[Any]], shared: Any) -> list[Any]:
    """A task for each partition. What they share is a task too, so that it is sent once rather than with each."""
    shared = dask.delayed(shared, traverse=False, pure=False)
    task = dask.delayed(function, pure=False)
    return [task(*partition, shared) for partition in partitions]


def futures_by_key(collections: Any) -> dict[str, Any]:
    """The futures of what a cluster holds; none where there is no cluster."""
    return {future.key: future for future in futures_of(collections)}


@contextmanager
def quoting_nothing() -> Iterator[None]:
    """Replace the error of a task by one sentence: X is made by tasks of others, which quote what they could not read.

    Our own sentences pass, and so does what a cluster says of itself and what the memory does not hold.
    """
    try:
        yield
    except MemoryError:
        raise
    except NoWorkerError:
        # The scheduler's own limit may come before ours.
        raise NoWorkers(NO_WORKERS) from None
    except Exception as error:
        if str(error) in SENTENCES.values() or type(error).__module__.partition(".")[0] == "distributed":
            raise
        raise ValueError(NOT_COMPUTED) from None


class NoWorkers(TimeoutError):
    """A cluster that has lost all its workers, and where none comes back."""


def wait_for(futures: Iterable[Any]) -> None:
    """Wait until all are computed or have failed, and raise NoWorkers where nobody is there to compute them.

    Without workers dask waits for ever, and they may be lost for good: a local cluster gives up a worker that is not
    back 15 seconds after it died.
    """
    waiting = list(futures)
    patience = parse_timedelta(dask.config.get("distributed.scheduler.no-workers-timeout", None) or PATIENCE)
    seen = time.monotonic()
    while waiting:
        try:
            wait(waiting, timeout=min(LOOK, patience))
            return
        except TimeoutError:
            if waiting[0].client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() - seen >= patience:
                raise NoWorkers(NO_WORKERS) from None


def result_of(call: Any, actor: Any) -> Any:
    """The result of an actor's call; it fails where the actor's worker left the cluster without a word."""
    while True:
        try:
            return call.result(timeout=LOOK)
        except TimeoutError:
            if call.done() or actor._address not in actor.client.nthreads():
                raise


def compute(*delayed: Any, **options: Any) -> Sequence[Any]:
    """dask.compute of delayed objects, quoting nothing, and not for ever where there are no workers."""
    with quoting_nothing():
        delayed = dask.persist(*delayed, **options)
        futures = futures_by_key(delayed)
        if not futures:
            computed: Sequence[Any] = dask.compute(*delayed)
            return computed
        wait_for(futures.values())
        gathered: Sequence[Any] = futures[delayed[0].key].client.gather([futures[each.key] for each in delayed])
        return gathered


def computed(collection: Any) -> Any:
    """A collection of dask's in memory, quoting nothing."""
    with quoting_nothing():
        (kept,) = dask.persist(collection)
        wait_for(futures_by_key(kept).values())
        return dask.compute(kept)[0]


def persist(*collections: Any) -> tuple[Any, ...]:
    """dask.persist, quoting nothing."""
    with quoting_nothing():
        result: tuple[Any, ...] = dask.persist(*collections)
        return result
