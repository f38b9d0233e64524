"""Threads for passes over rows. Sums are of integers: how many threads make them cannot change a bit."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

THREADS = "DPSPARSE_NUM_THREADS"
ALL = slice(None)

Item = TypeVar("Item")
Result = TypeVar("Result")

_limit: ContextVar[int | None] = ContextVar("threads", default=None)


def n_threads() -> int:
    """How many threads a pass may use: the environment's DPSPARSE_NUM_THREADS, or one for each core there is."""
    limit = _limit.get()
    if limit is not None:
        return limit
    asked = os.environ.get(THREADS, "")
    if asked and not (asked.isdigit() and int(asked)):
        raise ValueError(f"the environment's {THREADS}={asked!r} must be a whole number of at least 1")
    return int(asked) if asked else _cores()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use this many threads in the block."""
    token = _limit.set(count)
    try:
        yield
    finally:
        _limit.reset(token)


def items_per_task(count: int, least: int, most: int) -> int:
    """How many of `count` items a task takes: from `least` to `most`, with the same number of tasks for each thread."""
    tasks = n_threads()
    rounds = -(-count // (tasks * most)) or 1
    return max(least, -(-count // (tasks * rounds)))


def slices(size: int, step: int, start: int = 0) -> list[slice]:
    """Slices of at most `step`, or of 1, that divide a range."""
    step = max(1, step)
    return [slice(first, min(first + step, start + size)) for first in range(start, start + size, step)]


def parallel_map(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the results of a function for each item, in order; floating-point errors raise no warnings."""
    count = min(n_threads(), len(items))
    if count < 2:
        yield from (without_warnings(function, item) for item in items)
        return
    futures = [_pool(count).submit(without_warnings, function, item) for item in items]
    try:
        for future in futures:
            yield future.result()
    except BaseException:
        # Whoever sees it may rely on it that nothing reads the data any more.
        wait([future for future in futures if not future.cancel()])
        raise
    finally:
        # A future that failed has this frame in its traceback: each would hold the other, and what they read.
        futures.clear()
        future = None  # type: ignore[assignment]  # let go of


def without_warnings(function: Callable[[Item], Result], item: Item) -> Result:
    """Call a function in one thread; a warning would reveal something of a record."""
    # Error states are set for each thread. Nested threads would only compete.
    with np.errstate(all="ignore"), threads(1):
        return function(item)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: on a few columns more are slower, and their number changes bits."""
    # The limit is the process's: the first of several fits sets it, and the last one takes it back.
    with _blas.lock:
        if not _blas.users:
            _blas.limit = _controller().limit(limits=1, user_api="blas")
        _blas.users += 1
    try:
        yield
    finally:
        with _blas.lock:
            _blas.users -= 1
            if not _blas.users:
                _blas.limit.restore_original_limits()


class _blas:
    """How many fits are under way, and the limit that they share."""

    lock, users = Lock(), 0
    limit: Any = None


@cache
def _cores() -> int:
    result: int = cpu_count()
    return result


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="dpsparse")


@cache
def _controller() -> Any:
    return ThreadpoolController()


# A forked child has no threads: it makes its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
