"""Tasks of a dask graph. Their keys are random: none is made from data."""

import dask
from distributed import futures_of


def tasks(function, partitions, shared):
    """A task for each partition. What they share is a task too, so that it is sent once rather than with each."""
    shared = dask.delayed(shared, traverse=False, pure=False)
    task = dask.delayed(function, pure=False)
    return [task(*partition, shared) for partition in partitions]


def futures_by_key(collections):
    """The futures of what a cluster holds; none where there is no cluster."""
    return {future.key: future for future in futures_of(collections)}
