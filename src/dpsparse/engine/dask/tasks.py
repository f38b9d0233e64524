"""Tasks of a dask graph. Their keys are random: none is made from data. Their errors quote nothing of the data."""

from contextlib import contextmanager

import dask
from distributed import futures_of

from dpsparse.engine.refusals import NOT_COMPUTED, SENTENCES


def tasks(function, partitions, shared):
    """A task for each partition. What they share is a task too, so that it is sent once rather than with each."""
    shared = dask.delayed(shared, traverse=False, pure=False)
    task = dask.delayed(function, pure=False)
    return [task(*partition, shared) for partition in partitions]


def futures_by_key(collections):
    """The futures of what a cluster holds; none where there is no cluster."""
    return {future.key: future for future in futures_of(collections)}


@contextmanager
def quoting_nothing():
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


def compute(*collections, **options):
    """dask.compute, quoting nothing."""
    with quoting_nothing():
        return dask.compute(*collections, **options)


def persist(*collections):
    """dask.persist, quoting nothing."""
    with quoting_nothing():
        return dask.persist(*collections)
