"""How `speed.py` measures: the floor, medians of interleaved runs, memory, fresh processes, exponents."""

import gc
import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from numba import njit

from dpsparse.engine.threads import n_threads

REPEATS = 9
# Cells in a row of the floor: the sums fit into the first-level cache. It is no power of 2, because multiples of one
# would compete for the same cache lines.
WIDTH = 5_000


@njit(cache=True, nogil=True)
def _add_rows(line, width, start, stop, sums):
    i = start
    while i + 8 <= stop:
        a = i * width
        x0, x1 = line[a : a + width], line[a + width : a + 2 * width]
        x2, x3 = line[a + 2 * width : a + 3 * width], line[a + 3 * width : a + 4 * width]
        x4, x5 = line[a + 4 * width : a + 5 * width], line[a + 5 * width : a + 6 * width]
        x6, x7 = line[a + 6 * width : a + 7 * width], line[a + 7 * width : a + 8 * width]
        for j in range(width):
            sums[j] += x0[j] + x1[j] + x2[j] + x3[j] + x4[j] + x5[j] + x6[j] + x7[j]
        i += 8
    while i < stop:
        x = line[i * width : (i + 1) * width]
        for j in range(width):
            sums[j] += x[j]
        i += 1


def read(*arrays):
    """The floor: every cell of arrays in one piece, of either memory order, read by a thread for each core.

    Returns their sum, in their own dtype, so that no read can be left out.
    """
    return sum(_read_line(array.ravel(order="K")) for array in arrays)


def _read_line(line):
    rows, threads = len(line) // WIDTH, n_threads()
    edges = np.linspace(0, rows, threads + 1).astype(int)
    sums = [np.zeros(WIDTH, line.dtype) for _ in range(threads)]
    work = zip(edges[:-1], edges[1:], sums, strict=True)
    list(_pool(threads).map(lambda part: _add_rows(line, WIDTH, *part), work))
    return sum(each.sum() for each in sums) + line[rows * WIDTH :].sum()


@cache
def _pool(count):
    return ThreadPoolExecutor(count)


def seconds(work):
    """How long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(*works, repeats=REPEATS):
    """Times of pieces of work, one row for each, taken in turns so that a busy machine slows all of them."""
    for work in works:
        work()
    return np.array([[seconds(work) for work in works] for _ in range(repeats)]).T


def in_turn_after_one(*works, repeats=REPEATS):
    """`in_turn`, each piece of work made twice and its second time taken.

    What a fit frees the system may take back, and give out again at several times the price, where other work comes in
    between: only those that need much memory would pay for that.
    """
    return in_turn(*[work for work in works for _ in range(2)], repeats=repeats)[1::2]


def record(name, value, unit, *, at_most=None, at_least=None, **more):
    """A measured number, None where it could not be measured, and its target.

    `met` is None where nothing is asked.
    """
    asked = at_most is not None or at_least is not None
    met = value is not None and (at_most is None or value <= at_most) and (at_least is None or value >= at_least)
    return {
        "name": name,
        "value": None if value is None else float(value),
        "unit": unit,
        "at_least": at_least,
        "at_most": at_most,
        "met": bool(met) if asked else None,
        **more,
    }


def in_floors(name, floors, times, *, allowance=0.0, **more):
    """A record of times, less an allowance, over the floors measured beside them: the median of the ratios."""
    return record(
        name,
        np.median((times - allowance) / floors),
        "floor reads",
        seconds=float(np.median(times)),
        floor_seconds=float(np.median(floors)),
        seconds_over_floor=float(np.median(times / floors)),
        repeats=len(times),
        **more,
    )


def exponent(sizes, times, fixed=0.0):
    """The power p of time = fixed + b size^p, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(np.asarray(times) - fixed), 1)[0])


class AnonymousMemory:
    """The peak of this process's anonymous memory (RssAnon) within a block, sampled every millisecond.

    Attributes
    ----------
    before, peak : int
        Bytes.
    """

    def __enter__(self):
        gc.collect()
        self.before = self.peak = anonymous_bytes()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._over.wait(0.001):
            self.peak = max(self.peak, anonymous_bytes())

    def __exit__(self, *error):
        self.peak = max(self.peak, anonymous_bytes())
        self._over.set()
        self._thread.join()

    @property
    def extra(self):
        """Bytes beyond those before the block."""
        return self.peak - self.before


def anonymous_bytes():
    """RssAnon of this process."""
    return _proc("status", "RssAnon") * 1024


def bytes_read():
    """Bytes that this process has read from files by calls, and from disks (mapped pages included)."""
    return np.array([_proc("io", "rchar"), _proc("io", "read_bytes")])


def _proc(file, key):
    text = Path(f"/proc/self/{file}").read_text()
    return int(text.split(f"{key}:")[1].split()[0])


class Failed(Exception):
    """A fresh process died or raised an error; the text says which."""


class TimedOut(Failed):
    """A fresh process was given up."""


def fresh(function, *arguments, timeout=None):
    """The return value of a module's function in a new process; raises `Failed` if there is none."""
    context = multiprocessing.get_context("spawn")
    answers, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(there, function, arguments))
    process.start()
    there.close()
    try:
        if not answers.poll(timeout):
            raise TimedOut(f"not finished in {timeout} s")
        answer, error = answers.recv()
        process.join()
    except EOFError:
        process.join()
        raise Failed(f"its process died, status {process.exitcode}") from None
    finally:
        process.terminate()
        process.join()
    if error is not None:
        raise Failed(error)
    return answer


def _answer(there, function, arguments):
    try:
        there.send((function(*arguments), None))
    except Exception as error:
        # Its text may name folders of this machine, which must not get into the results.
        there.send((None, type(error).__name__))
        raise
    finally:
        there.close()
