"""PostgreSQL killed during a charge: what was reported is there when it runs again, and nothing is there by half."""

import itertools
import os
import threading
import time
from collections import Counter

import pytest
import sqlalchemy as sql

from dpsparse import LedgerError, PrivacyLedger
from dpsparse.privacy.accounting.filter import Cost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="finds the server's processes in Linux's /proc"),
]

COST = Cost(1e-4, 0.0)
VICTIMS = ("backend", "postmaster", "all")


class Moments:
    """Counts the moments of a charge at which its client is about to ask the server, or has its answer."""

    def __init__(self, engine):
        self.count, self.commits, self._at, self._strike = 0, [], None, None
        sql.event.listen(engine, "before_cursor_execute", self._seen)
        sql.event.listen(engine, "after_cursor_execute", self._seen)
        sql.event.listen(engine, "commit", self._commits)

    def arm(self, at, strike):
        """Call `strike(backend)` at a moment."""
        self.count, self.commits, self._at, self._strike = 0, [], at, strike

    def _commits(self, connection):
        self.commits.append(self.count + 1)
        self._seen(connection)

    def _seen(self, connection, *_):
        self.count += 1
        if self.count == self._at:
            self._strike(connection.connection.dbapi_connection.info.backend_pid)


@pytest.fixture(scope="module")
def ledger(postgres_to_kill):
    ledger = PrivacyLedger(postgres_to_kill.url)
    ledger.grant("killed", epsilon=1, delta=1e-6)
    return ledger


@pytest.fixture(scope="module")
def moments(ledger):
    return Moments(ledger._store._engine)


def charge(ledger):
    reservation = ledger.reserve("killed", COST, adjacency="replace-one")
    reservation.charge()
    return reservation.fit


def killed_once(server, ledger, moments, victim, at, delay):
    """Kill the server at a moment of a charge, or so many seconds later; give the fit that was reported, if any."""

    def strike(backend):
        marked = {"backend": [backend], "postmaster": [server.postmaster], "all": server.processes()}[victim]
        if delay:
            threading.Timer(delay, server.kill, marked).start()
        else:
            server.kill(*marked)
            time.sleep(0.01)  # until the signal has taken effect

    moments.arm(at, strike)
    try:
        fit = charge(ledger)
    except LedgerError:
        fit = None
    moments.arm(None, None)
    time.sleep(0.05 + delay)
    if victim != "backend":
        server.start()
    return fit


def read_again(ledger):
    """All events; the server may still recover."""
    for _ in range(100):
        try:
            return ledger.state()
        except LedgerError:
            time.sleep(0.1)
    return ledger.state()


def killed_at(server, ledger, moments, chosen, record_property):
    reported, outcomes = [], Counter()
    for victim, (at, delay) in chosen:
        known = set(ledger.state().fits)
        fit = killed_once(server, ledger, moments, victim, at, delay)
        reported += [fit] if fit else []
        state = read_again(ledger)  # the chain holds, and every decision is repeated
        assert [reported_fit for reported_fit in reported if state.fits[reported_fit].state != "charged"] == []
        new = [state.fits[each].state for each in set(state.fits) - known]
        assert len(new) <= 1  # one that was tried again is not booked twice
        outcomes["reported" if fit else f"not reported, {new[0] if new else 'nothing'}"] += 1
    charge(ledger)
    counts = ", ".join(f"{count} {word}" for word, count in sorted(outcomes.items()))
    record_property("counted", f"PostgreSQL killed {len(chosen)} times during a charge ({counts}): no charge lost")
    return outcomes


def all_moments(ledger, moments):
    """Every moment between two statements, and many while the server commits: (number, seconds after it)."""
    moments.arm(None, None)
    charge(ledger)
    delays = [0.0002 * step for step in range(1, 16)]
    return [(at, 0.0) for at in range(1, moments.count + 1)], [*itertools.product(moments.commits, delays)]


def test_a_server_killed_during_a_charge_loses_none(postgres_to_kill, ledger, moments, record_property):
    between, committing = all_moments(ledger, moments)
    assert len(between) > 20
    chosen = [("backend", between[-1]), ("postmaster", committing[-8]), ("all", committing[-12]), ("all", between[-3])]
    killed_at(postgres_to_kill, ledger, moments, chosen, record_property)


@pytest.mark.long
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_server_killed_at_any_moment_loses_no_charge(postgres_to_kill, ledger, moments, victim, record_property):
    between, committing = all_moments(ledger, moments)
    chosen = [(victim, moment) for moment in (*between, *committing)]
    outcomes = killed_at(postgres_to_kill, ledger, moments, chosen, record_property)
    assert outcomes["reported"] > 0
    # A backend that is killed is replaced in time for another try. A server that is gone is not.
    assert victim == "backend" or outcomes["reported"] < len(chosen)
