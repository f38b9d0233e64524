"""Runs tasks in processes and keeps the rows of each in a file, so that a killed run can continue where it stopped.

A file is written whole or not at all. Its folder is named by the digest of everything that decides the numbers: the
code and the versions of the libraries. Each worker computes in one thread, so no number depends on their number.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import platform
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

import dpsparse
from dpsparse.io.atomic import write_file
from dpsparse.paper import experiments
from dpsparse.paper.experiments import Row, Task

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "opendp")
# Folders and files of the package whose code decides the numbers.
_DECIDE_NUMBERS = ("algorithms", "data", "datasets", "engine", "estimators", "model", "privacy", "paper/designs.py",
                   "paper/experiments.py")  # fmt: skip


def versions() -> dict[str, str]:
    """Python and the libraries that compute."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in LIBRARIES}


def source_digest() -> str:
    """A digest of the code that decides the numbers, and of the libraries' versions."""
    root = Path(dpsparse.__file__).parent
    digest = hashlib.sha256(json.dumps(versions()).encode())
    for name in _DECIDE_NUMBERS:
        place = root / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


class TaskCache:
    """The rows of finished tasks, one JSON file each."""

    def __init__(self, out: str | Path) -> None:
        self.folder = Path(out) / "cells" / source_digest()

    def path(self, task: Task) -> Path:
        """The file of a task."""
        return self.folder / f"{task.key}.json"

    def rows(self, task: Task) -> list[Row]:
        """The rows of a finished task."""
        rows: list[Row] = json.loads(self.path(task).read_text())
        return rows

    def run(self, tasks: Sequence[Task], jobs: int, advance: Callable[[int], object]) -> None:
        """Run the unfinished tasks; `advance(weight)` is called for each task, whether finished before or now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = []
        for task in tasks:
            if self.path(task).exists():
                advance(task.weight)
            else:
                missing.append(task)
        if not missing:
            return
        # Spawned, not forked: a fork would copy the locks of running threads. The largest tasks come first.
        pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker)
        try:
            weights: dict[Future[None], int] = {}
            queue = sorted(missing, key=lambda task: -task.weight)
            while queue or weights:
                while queue and len(weights) < 2 * jobs:
                    task = queue.pop(0)
                    with _children_ignore_interrupts():
                        weights[pool.submit(_run_and_write, task, self.path(task))] = task.weight
                for future in wait(weights, return_when=FIRST_COMPLETED).done:
                    future.result()
                    advance(weights.pop(future))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _children_ignore_interrupts() -> Iterator[None]:
    """Processes started here ignore Ctrl-C: the parent ends them in an orderly way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker() -> None:
    import threadpoolctl

    threadpoolctl.threadpool_limits(1)
    # Otherwise a worker whose parent was killed would wait for work for ever.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # a worker has one
    parent.join()
    os._exit(1)


def _run_and_write(task: Task, path: Path) -> None:
    write_file(path, json.dumps(experiments.run(task), indent=0) + "\n")
