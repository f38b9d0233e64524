"""Charges killed at every system call, for `test_ledger_crashes`: ``crash_worker.py SHIM FOLDER HOW CUT EVERY``.

Every child is forked with the shim armed for its k-th call on the folder, and tells through a pipe which fits were
charged. After each, the parent opens the ledger in one way or spends under another name of it, and reads it again.
``crash_worker.py SHIM FOLDER count`` only counts the calls of one charge, between two calls that `strace` shows.
"""

import contextlib
import ctypes
import json
import os
import signal
import sqlite3
import sys

from dpsparse import LedgerError, PrivacyLedger
from dpsparse.privacy.accounting.filter import Cost

COST = Cost(1e-4, 0.0)
MANY = 10**6


def charge(path):
    """Charge one fit, and give its id once that is reported."""
    reservation = PrivacyLedger(path).reserve("d", COST, adjacency="replace-one")
    reservation.charge()
    return reservation.fit


def opened_again(path, how):
    """The fits charged by whoever opens the ledger first after the crash; none where that is refused."""
    if how in SAME_FILE:
        SAME_FILE[how](path)
        return []
    other = f"{path}.other"
    {"symlink": os.symlink, "hard link": os.link, "move": os.rename, "charge": os.symlink}[how](path, other)
    try:
        return [charge(path if how == "charge" else other)]
    except LedgerError:
        return []
    finally:
        os.rename(other, path) if how == "move" else os.unlink(other)


def read_by_sqlite(path):
    """Another program's SQLite rolls a journal back too."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM dpsparse_events").fetchall()


SAME_FILE = {
    "verify": lambda path: PrivacyLedger(path).verify(),
    "grant again": lambda path: PrivacyLedger(path).grant("d", epsilon=1, delta=1e-6),
    "another program": read_by_sqlite,
}


def reopened(ledger, path):
    """The ledger's state, and whether a journal was refused and removed, as the message says."""
    try:
        return ledger.state(), False
    except LedgerError as error:
        if not str(error).endswith(
            f"is not of its last transaction, and would lose charges by it; remove {path}-journal"
        ):
            raise
        os.unlink(f"{path}-journal")
        return ledger.state(), True


def crashing(shim, path, k, cut):
    """The fits that a child reported before it died at call k, and whether it got to its end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            shim.crash_arm(os.path.dirname(path).encode(), k, cut)
            os.write(write, charge(path).encode())
            PrivacyLedger(path).verify()
            status = 0 if shim.crash_left() > 0 else 2
        finally:
            os._exit(status)
    os.close(write)
    with open(read) as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return [told] if told else [], status == 0


def sweep(library, folder, how, cut, every):
    """Kill a charge at each of its calls, or every so many, on copies of one ledger; open it again, seek charges."""
    shim = ctypes.CDLL(library)
    path = os.path.join(os.path.realpath(folder), "b.db")
    ledger = PrivacyLedger(path)
    ledger.grant("d", epsilon=1, delta=1e-6)
    first = charge(path)
    with open(path, "rb") as file:
        before = file.read()
    lost, points, reported, elsewhere, refused, k, done = [], 0, 0, 0, 0, 1 - int(every), False
    while not done:
        k += int(every)
        fits, done = crashing(shim, path, k, int(cut))
        points += not done
        reported += len(fits)
        second = opened_again(path, how)
        elsewhere += len(second)
        state, journal_refused = reopened(ledger, path)
        refused += journal_refused
        charged = {fit for fit in state.fits if state.fits[fit].state == "charged"}
        lost += [k] * (not {first, *fits, *second} <= charged)
        charge(path)
        assert not os.path.exists(f"{path}-journal")
        with open(path, "wb") as file:
            file.write(before)
    counted = {"points": points, "lost after": lost, "reported": reported, "elsewhere": elsewhere}
    return {**counted, "journals refused": refused}


def count(library, folder):
    """The number of calls that the shim sees in a charge."""
    shim = ctypes.CDLL(library)
    path = os.path.join(os.path.realpath(folder), "b.db")
    PrivacyLedger(path).grant("d", epsilon=1, delta=1e-6)
    charge(path)
    os.path.exists("/counted from here")
    shim.crash_arm(os.path.dirname(path).encode(), MANY, 0)
    charge(path)
    left = shim.crash_left()
    os.path.exists("/counted to here")
    return MANY - left


if __name__ == "__main__":
    library, folder, how, *rest = sys.argv[1:]
    print(json.dumps(count(library, folder) if how == "count" else sweep(library, folder, how, *rest)))
