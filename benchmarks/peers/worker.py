"""The work of one process: all fits of a cell, one after the other, each recorded as soon as it is made."""

import contextlib
import signal
import threading
import time
import warnings

import numpy as np

from peers.adapters import PEERS
from peers.problem import Budget
from peers.results import frame_of, part_path, read, replace_rows, version_of, write
from peers.settings import DESIGNS
from peers.settings.design import METRICS, TABLE_METRICS, scores, seed_of

FIT_LIMIT = 900  # seconds


class _TookTooLongError(Exception):
    """A fit that was stopped."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise in the block after so many seconds, where the system has an alarm and this is its main thread."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_):
        raise _TookTooLongError(f"stopped after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def one_line(error):
    """The kind of an error and its first line."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}"[:200]


def run_fit(design, data, repeat, fit):
    """The row of one fit. Whatever a peer raises is in the row, and so is a line that is not finite."""
    peer = PEERS[fit.peer]
    row = {"design": design.name, "epsilon": fit.epsilon, "delta": fit.delta, "repeat": repeat, "peer": fit.peer,
           "version": version_of(peer), "failed": "", **dict.fromkeys(METRICS, np.nan)}  # fmt: skip
    private = not np.isnan(fit.epsilon)
    epsilon, delta = (fit.epsilon, fit.delta) if private else (np.inf, 0.0)
    budget = Budget(epsilon, delta, design.sparsity, sparsity_known=design.metrics != TABLE_METRICS)
    # Noise of its own for every fit; the data are the same for all peers.
    rng = np.random.default_rng(seed_of(design.name, repeat, *fit.key))
    # A worker has one thread, and others may share its core: its own time is what a fit costs.
    started = time.process_time()
    try:
        with time_limit(FIT_LIMIT), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            line = peer.fit(data.X, data.y, budget, rng)
        row["seconds"] = time.process_time() - started
        row.update(scores(line, data))
        if not all(np.isfinite(row[metric]) for metric in design.metrics):
            row["failed"] = "the line is not finite"
    except Exception as error:
        # Whatever code of others raises must not end the run.
        row["seconds"] = time.process_time() - started
        row["failed"] = one_line(error)
    return row


def run_cell(name, repeat, fits, folder, deadline=np.inf):
    """Make the fits of a cell and keep its part up to date; return fits made, failures and a reason if it stopped.

    Parameters
    ----------
    name : str
        The design.
    repeat : int
        The repeat.
    fits : sequence of Fit
        The fits to make.
    folder : path
        Where the parts are.
    deadline : float, default=inf
        No fit begins after this time of `time.time`.
    """
    design, path = DESIGNS[name], part_path(folder, name, repeat)
    try:
        data = design.data(repeat)
    except Exception as error:
        return 0, [], f"left out: {one_line(error)}"
    rows, failures = read(path), []
    for k, fit in enumerate(fits):
        if time.time() > deadline:
            return k, failures, "stopped at the time given"
        row = run_fit(design, data, repeat, fit)
        if row["failed"]:
            failures.append((fit.peer, row["failed"]))
        rows = replace_rows(rows, frame_of([row]))
        write(path, rows)
    return len(fits), failures, ""
