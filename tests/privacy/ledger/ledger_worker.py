"""Fits in forked processes, for the tests of the ledger. It is run as a program: ``ledger_worker.py TASK ARGUMENTS``.

A child is forked after the imports and a warm-up, does one fit, and ends with a status: 0 fitted, 3 BudgetExceeded,
4 LedgerError, 5 anything else. `marker` is a file that the first draw of noise leaves, before it draws.
"""

import json
import os
import random
import resource
import signal
import sys
import time
import uuid
from collections import Counter

from dpsparse import DPIHTH, BudgetExceeded, LedgerError
from dpsparse.datasets import make_heavy_tailed
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.noise import SecureSource

X, Y, _ = make_heavy_tailed(100, 6, 2, random_state=0)
MODEL = DPIHTH(sparsity=2, epsilon=0.2, delta=1e-6, n_iter=4)


def fit(ledger, marker=None):
    if marker is not None:
        for name in ("gaussian", "laplace", "bits"):
            setattr(SecureSource, name, _marked(getattr(SecureSource, name), marker))
    MODEL.set_params(ledger=ledger, dataset="raced").fit(X, Y)


def _marked(draw, marker):
    def marked(*arguments):
        if not os.path.exists(marker):
            os.close(os.open(marker, os.O_CREAT))
        return draw(*arguments)

    return marked


def forked(work, *arguments):
    """Start a child that works and exits with its status."""
    child = os.fork()
    if child:
        return child
    status = 5
    try:
        work(*arguments)
        status = 0
    except BudgetExceeded:
        status = 3
    except LedgerError as error:
        print(error, file=sys.stderr, flush=True)
        status = 4
    finally:
        os._exit(status)


def status_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def race(ledger, processes):
    """All children start their fit at once, when the pipe closes."""
    read, write = os.pipe()

    def wait_and_fit():
        os.close(write)
        os.read(read, 1)
        fit(ledger)

    children = [forked(wait_and_fit) for _ in range(int(processes))]
    os.close(write)
    return Counter(status_of(child) for child in children)


def kill(ledger, folder, first, count):
    """Fits number first, first + 1, ..., each killed at a random time; every 25th shows how long one takes."""
    first, count = int(first), int(count)
    chance = random.Random(first)

    def one(number):
        uuid.uuid4 = lambda: uuid.UUID(int=number)
        fit(ledger, os.path.join(folder, str(number)))

    ended, duration = Counter(), 0.0
    for number in range(first, first + count):
        start = time.perf_counter()
        child = forked(one, number)
        if (number - first) % 25:
            time.sleep(chance.uniform(0, 1.1) * duration)
            os.kill(child, signal.SIGKILL)
            ended["killed" if status_of(child) == -signal.SIGKILL else "finished"] += 1
        else:
            ended["finished" if status_of(child) == 0 else "failed"] += 1
            duration = time.perf_counter() - start
    return ended


def no_space(ledger, marker, when):
    """The disk takes no more: before the fit reserves, or after."""

    def full():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    def work():
        if when == "reserve":
            full()
        else:
            hold = Meter.hold
            Meter.hold = lambda meter, reservation: (hold(meter, reservation), full())
        fit(ledger, marker)

    return {"status": status_of(forked(work))}


def as_nobody(ledger, marker):
    """The file's permissions bind: root gives itself up first."""

    def work():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        fit(ledger, marker)

    return {"status": status_of(forked(work))}


if __name__ == "__main__":
    MODEL.fit(X, Y)
    import sqlalchemy.dialects.sqlite.pysqlite  # noqa: F401

    import dpsparse.privacy.ledger.ledger  # noqa: F401

    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
