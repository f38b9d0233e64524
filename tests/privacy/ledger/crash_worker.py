"""Charges killed at every system call, for `test_ledger_crashes`: ``crash_worker.py SHIM FOLDER HOW CUT``.

Every child is forked with the shim armed for its k-th call on the folder, and tells through a pipe which fits were
charged. After each, the parent spends under another name of the ledger and opens it under the first one again.
"""

import ctypes
import json
import os
import signal
import sys

from dpsparse import LedgerError, PrivacyLedger
from dpsparse.privacy.accounting.filter import Cost

COST = Cost(1e-4, 0.0)


def charge(path):
    """Charge one fit, and give its id once that is reported."""
    reservation = PrivacyLedger(path).reserve("d", COST, adjacency="replace-one")
    reservation.charge()
    return reservation.fit


def under_second_name(path, how):
    """The fit charged under another name of the file, which is then taken away; nothing where that is refused."""
    other = f"{path}.other"
    {"symlink": os.symlink, "hard link": os.link, "move": os.rename, "same name": os.symlink}[how](path, other)
    try:
        return [charge(path if how == "same name" else other)]
    except LedgerError:
        return []
    finally:
        os.rename(other, path) if how == "move" else os.unlink(other)


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


def sweep(library, folder, how, cut):
    shim = ctypes.CDLL(library)
    path = os.path.join(os.path.realpath(folder), "b.db")
    ledger = PrivacyLedger(path)
    ledger.grant("d", epsilon=1, delta=1e-6)
    charge(path)
    reported, lost, elsewhere, refused, k, done = [], [], 0, 0, 0, False
    while not done:
        k += 1
        fits, done = crashing(shim, path, k, int(cut))
        second = under_second_name(path, how)
        reported += [*fits, *second]
        elsewhere += len(second)
        state, journal_refused = reopened(ledger, path)
        refused += journal_refused
        lost += [k for fit in reported if fit not in state.fits or state.fits[fit].state != "charged"]
    charge(path)
    return {"calls": k - 1, "lost after": sorted(set(lost)), "elsewhere": elsewhere, "journals refused": refused}


if __name__ == "__main__":
    print(json.dumps(sweep(*sys.argv[1:])))
