"""Tasks of a dask graph. Their keys are random: none is made from data. Their errors quote nothing of the data."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from distributed import futures_of

from dpsparse.engine.refusals import NOT_COMPUTED, SENTENCES


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
    except Exception as error:
        if str(error) in SENTENCES.values() or type(error).__module__.partition(".")[0] == "distributed":
            raise
        raise ValueError(NOT_COMPUTED) from None


def compute(*collections: Any, **options: Any) -> tuple[Any, ...]:
    """dask.compute, quoting nothing."""
    with quoting_nothing():
        result: tuple[Any, ...] = dask.compute(*collections, **options)
        return result


def persist(*collections: Any) -> tuple[Any, ...]:
    """dask.persist, quoting nothing."""
    with quoting_nothing():
        result: tuple[Any, ...] = dask.persist(*collections)
        return result
