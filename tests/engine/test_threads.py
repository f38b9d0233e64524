import gc
import os
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
from children import end_within
from threadpoolctl import threadpool_info

from dpsparse.engine.threads import THREADS, items_per_task, n_threads, one_blas_thread, parallel_map, slices, threads


def test_the_environment_sets_the_number(monkeypatch):
    monkeypatch.setenv(THREADS, "3")
    assert n_threads() == 3
    with threads(5):
        assert n_threads() == 5
    monkeypatch.setenv(THREADS, "many")
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        n_threads()


def test_results_come_in_order_from_several_threads():
    barrier = threading.Barrier(2, timeout=20)

    def work(k):
        # Nobody gets past unless two threads work at once.
        barrier.wait()
        return k, threading.get_ident()

    with threads(2):
        results = list(parallel_map(work, range(6)))
    assert [k for k, _ in results] == list(range(6))
    assert len({thread for _, thread in results}) == 2


def test_a_thread_uses_no_threads_and_warns_of_nothing():
    def overflow(_):
        return n_threads(), np.float64(1e308) * 10

    with threads(2), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(parallel_map(overflow, range(3))) == [(1, np.inf)] * 3


def test_an_error_comes_through():
    def fail(k):
        raise ValueError(f"piece {k}")

    with threads(2), pytest.raises(ValueError, match="piece 0"):
        list(parallel_map(fail, range(4)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    with threads(2):
        assert list(parallel_map(abs, [-1, -2])) == [1, 2]
        child = os.fork()
        if child == 0:
            end_within(60)
            os._exit(0 if list(parallel_map(abs, [-3, -4])) == [3, 4] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def blas():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_is_kept_to_one_thread():
    before = blas()
    with one_blas_thread():
        assert blas() == {1}
    assert blas() == before


def test_of_two_fits_at_once_the_last_gives_blas_its_threads_back():
    before = blas()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas() == {1}
    second.__exit__(None, None, None)
    assert blas() == before


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 7, 80_000, 80_001])
@pytest.mark.parametrize("most", [1, 3, 26_843])
def test_threads_take_equally_many_equal_tasks(count, most):
    for n in (1, 2, 5):
        with threads(n):
            size = items_per_task(count, 1, most)
            taken = [task.stop - task.start for task in slices(count, size)]
            assert 1 <= size <= most
            assert items_per_task(count, 50, most) == max(50, size)
        assert sum(taken) == count
        assert max(sum(taken[k::n]) for k in range(n)) <= count / n + len(taken)


def test_a_task_that_fails_lets_go_of_what_it_read():
    class Cells:
        def fail(self, item):
            raise ValueError(f"item {item}")

    def work(cells):
        with threads(2), pytest.raises(ValueError, match="item"):
            list(parallel_map(cells.fail, [1, 2, 3]))

    gc.collect()
    gc.disable()
    try:
        cells = Cells()
        held = weakref.ref(cells)
        work(cells)
        del cells
        # A thread lets go of its task a moment after the task is done.
        deadline = time.monotonic() + 30
        while held() is not None and time.monotonic() < deadline:
            time.sleep(0.001)
        assert held() is None
    finally:
        gc.enable()


def test_nothing_runs_on_once_a_task_has_failed():
    running = []

    def fail_or_run(item):
        if item == 0:
            raise ValueError("item 0")
        running.append(item)
        time.sleep(0.05)
        running.remove(item)

    for _ in range(5):
        with threads(2), pytest.raises(ValueError, match="item 0"):
            list(parallel_map(fail_or_run, range(4)))
        assert running == []
