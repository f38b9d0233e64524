"""Runs cells in processes, resumes where an earlier run stopped, and shows progress.

Each worker computes in one thread. A worker that dies takes nothing with it but the fit it was making: the cell is
tried once more, and then left out with a line that says so.
"""

import contextlib
import multiprocessing
import os
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from peers.adapters import PEERS
from peers.plan import LARGE, Timing, cells_of, done_fits, matches
from peers.results import frame_of, read, read_parts, replace_rows, save, version_of
from peers.settings import DESIGNS
from peers.worker import one_line, run_cell

SAVE_EVERY = 60  # seconds
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def clock(seconds):
    """Seconds in words.

    Examples
    --------
    >>> from peers.runner import clock
    >>> clock(42), clock(150), clock(8000)
    ('42 s', '2.5 min', '2.2 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def plan_run(size, only, peer_names, earlier, made, say):
    """The cells to run, after saying what is left out.

    `made` has the rows of fits that need not be made again. Of `earlier`, the committed results, only slow references
    are taken, unless they are asked for by name.
    """
    designs = [design for design in DESIGNS.values() if matches(design, only) and design.count(size)]
    peers = {name: peer for name, peer in PEERS.items() if not peer_names or name in peer_names}
    versions = {name: version_of(peer) for name, peer in peers.items()}
    done = done_fits(made, versions)
    if not peer_names:
        for key, fits in slow_references(earlier, peers).items():
            done.setdefault(key, set()).update(fits)
    refused = {}
    cells = cells_of(designs, size, peers, done, Timing(replace_rows(earlier, made), DESIGNS), refused)
    for (peer, reason), names in refused.items():
        say(f"{peer}: {reason} ({len(names)} of {len(designs)} designs left out)")
    return cells


def slow_references(rows, peers):
    """The keys of slow fits without privacy that are among the rows, by design and repeat, whatever their version."""
    large = {design.name for design in DESIGNS.values() if design.n * design.d > LARGE}
    rows = rows[rows["peer"].isin([name for name, peer in peers.items() if not peer.private])]
    heavy = rows["peer"].isin([name for name, peer in peers.items() if peer.heavy])
    return done_fits(rows[heavy | rows["design"].isin(large)], None)


class Progress:
    """What has been done, and about how long the rest takes."""

    def __init__(self, cells, say):
        self.cells, self.say, self.started = len(cells), say, time.time()
        self.fits = sum(len(cell.fits) for cell in cells)
        self.expected = sum(cell.seconds for cell in cells)
        self.past, self.done, self.made, self.failures = 0.0, 0, 0, {}

    def finished(self, cell, made, failures, reason):
        """Say that a cell is over."""
        self.past += cell.seconds
        self.done, self.made = self.done + 1, self.made + made
        for peer, why in failures:
            self.failures.setdefault((peer, why), set()).add(cell.design.name)
        left = (time.time() - self.started) * (self.expected / max(self.past, 1e-9) - 1)
        text = f"[{self.done}/{self.cells} cells, {self.made:,}/{self.fits:,} fits, about {clock(left)} left] "
        text += f"{cell.design.name}, repeat {cell.repeat}"
        if failures:
            text += f"; {len(failures)} fits failed"
        self.say(text + (f"; {reason}" if reason else ""))

    def summary(self):
        """Lines about fits that failed."""
        for (peer, why), names in sorted(self.failures.items()):
            self.say(f"failed: {peer} on {', '.join(sorted(names)[:3])}{' ...' if len(names) > 3 else ''}: {why}")
        self.say(f"{self.made:,} fits in {clock(time.time() - self.started)}")


def run(size, *, only=(), peers=(), again=False, jobs=1, minutes=None, resume=None, folder, results, say=print):
    """Run what is missing and put it into the file of results; return all rows.

    Parameters
    ----------
    size : {"quick", "default", "full"}
        How many designs and repeats.
    only : sequence of str
        Patterns of the names of designs or settings; all if empty.
    peers : sequence of str
        Names of peers; all if empty.
    again : bool
        Whether to make fits again that are there.
    jobs : int
        Processes.
    minutes : float or None
        No fit begins after so many minutes; a later run goes on from there.
    resume : path or None
        Results of an earlier run, from another machine say: their fits are not made again.
    folder, results : path
        Where the parts are, and the file into which they are put.
    say : callable
        Takes each line of progress.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = read(resume) if resume else frame_of([])
    made = frame_of([]) if again else replace_rows(before, read_parts(folder))
    cells = plan_run(size, only, peers, read(results), made, say)
    progress = Progress(cells, say)
    say(f"{len(cells):,} cells, {progress.fits:,} fits: about {clock(progress.expected / jobs)} on {jobs} processes")

    def keep():
        return save(replace_rows(before, read_parts(folder)), results)

    deadline = time.time() + 60 * minutes if minutes else float("inf")
    with contextlib.suppress(KeyboardInterrupt):
        _run_cells(cells, jobs, folder, deadline, progress, keep)
    progress.summary()
    return keep()


def _run_cells(cells, jobs, folder, deadline, progress, keep):
    """Run all cells; after a worker died, those it left in a new pool, each at most twice."""
    waiting, tries, kept = list(cells), {}, time.time()
    while waiting and time.time() <= deadline:
        running = {}
        with _one_thread(), _pool(jobs) as pool:
            try:
                while running or (waiting and time.time() <= deadline):
                    # Few are handed over at a time, so that none begins after the deadline.
                    while waiting and len(running) < jobs and time.time() <= deadline:
                        cell = waiting.pop(0)
                        tries[cell] = tries.get(cell, 0) + 1
                        work = (cell.design.name, cell.repeat, cell.fits, folder, deadline)
                        running[pool.submit(run_cell, *work)] = cell
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        outcome = _outcome(future)
                        progress.finished(running.pop(future), *outcome)
                    if time.time() > kept + SAVE_EVERY:
                        keep()
                        kept = time.time()
            except BrokenProcessPool:
                for cell in running.values():
                    if tries[cell] < 2:
                        waiting.append(cell)
                    else:
                        progress.finished(cell, 0, [], "left out: its worker died twice")
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in multiprocessing.active_children():
                    process.terminate()
                raise


def _outcome(future):
    """What a cell came to; a cell that raised is left out, a worker that died raises."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:
        return 0, [], f"left out: {one_line(error)}"


def _pool(jobs):
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


@contextlib.contextmanager
def _one_thread():
    """Workers inherit the environment: one thread each."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
