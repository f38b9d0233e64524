"""A ledger at its edges: defaults, names, what is said, and processes and databases that are not the usual ones."""

import os
import sqlite3
import time
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
import sqlalchemy as sql
from children import end_within

from dpsparse import LedgerError, PrivacyLedger
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.ledger import ledger_store
from dpsparse.privacy.ledger.ledger_store import LedgerStore
from dpsparse.privacy.ledger.location import check_name, check_new_name, granted_name

HALF = Cost(0.5, 0.0)
GRANT = {"epsilon": 1, "delta": 1e-6}


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("d", **GRANT)
    return ledger


def test_a_grant_gives_the_balance(ledger):
    granted = ledger.grant("e", **GRANT)
    assert granted == ledger.balance("e")
    assert (granted.grant.epsilon, granted.grant.delta, granted.costs) == (1, 1e-6, ())


def test_a_person_has_one_record_unless_more_is_said(ledger):
    """On both sides: a cost to a person with one record says nothing of those with two."""
    ledger.reserve("d", HALF, adjacency="replace-one")
    assert [event.details["records_per_person"] for event in ledger.history("d")] == [1, 1]
    ledger.grant("two", **GRANT, records_per_person=2)
    with pytest.raises(ValueError, match="records_per_person=1 guarantees them less"):
        ledger.reserve("two", HALF, adjacency="replace-one")
    ledger.reserve("two", HALF, adjacency="replace-one", records_per_person=2)


def test_every_event_says_when_it_was_written(ledger):
    before = datetime.now(UTC).replace(microsecond=0)
    ledger.grant("e", **GRANT)
    ledger.reserve("e", HALF, adjacency="replace-one").charge()
    for event in ledger.history("e"):
        assert before <= datetime.fromisoformat(event.details["at"]) <= datetime.now(UTC)


def test_the_chain_begins_with_64_zeros(ledger):
    """Ledgers on disk do."""
    assert ledger.history()[0].previous == "0" * 64


def test_a_name_that_is_not_known_is_told_which_are(ledger):
    ledger.grant("c", **GRANT)
    for use in (lambda: ledger.history("x"), lambda: ledger.balance("x")):
        with pytest.raises(ValueError, match=r"dataset='x' has no budget in .* \(known: 'c', 'd'\)$"):
            use()
    with sqlite3.connect(ledger._url.database) as connection:
        connection.execute("DELETE FROM dpsparse_events")
    connection.close()
    with pytest.raises(ValueError, match=r"\(known: none\)$"):
        ledger.balance("d")


def test_a_reservation_makes_no_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    with pytest.raises(LedgerError, match="there is no ledger at"):
        ledger.reserve("d", HALF, adjacency="replace-one")
    with pytest.raises(ValueError, match="dataset must be a name"):
        ledger.reserve("", HALF, adjacency="replace-one")
    assert not list(tmp_path.iterdir())


def test_a_charge_is_made_once_and_not_asked_for_again(ledger, monkeypatch):
    reservation = ledger.reserve("d", HALF, adjacency="replace-one")
    reservation.charge()
    monkeypatch.setattr(LedgerStore, "append", None)
    reservation.charge()


def test_ledgers_are_equal_by_their_place(ledger, tmp_path):
    assert ledger == PrivacyLedger(tmp_path / "b.db")
    assert ledger != PrivacyLedger(tmp_path / "c.db")
    assert ledger != str(tmp_path / "b.db")


def test_a_name_has_at_most_200_characters_as_written_and_as_read():
    check_name("x" * 200)
    check_new_name("x" * 200)
    # One character that reads as eighteen, and blanks that read as nothing.
    for spelling in ("\ufdfa" * 12, " "):
        check_name(spelling)
        with pytest.raises(ValueError, match="a name of 1 to 200 printable characters"):
            check_new_name(granted_name(spelling, set()))


@pytest.mark.parametrize(
    "statement", ["INSERT INTO dpsparse_ledger VALUES (1)", "UPDATE dpsparse_events SET number = 1"]
)
def test_no_two_events_have_a_number_and_no_ledger_two_formats(ledger, statement):
    """Whoever writes it: the database itself refuses."""
    ledger.reserve("d", HALF, adjacency="replace-one")
    with sqlite3.connect(ledger._url.database) as connection, pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        connection.execute(statement)
    connection.close()


def test_a_database_that_fails_is_tried_again_after_a_pause(ledger, monkeypatch):
    tries, pauses = [], []

    def busy(*_):
        tries.append(True)
        raise sql.exc.OperationalError("BEGIN", None, Exception("the database is locked"))

    monkeypatch.setattr(LedgerStore, "_append", busy)
    monkeypatch.setattr(time, "sleep", pauses.append)
    with pytest.raises(LedgerError, match="could not be written: the database is locked"):
        ledger.reserve("d", HALF, adjacency="replace-one")
    assert len(tries) == 3
    assert len(pauses) == 2
    assert 0 < pauses[0] < pauses[1] < 1


def test_a_server_answers_once_a_commit_is_on_disk(ledger):
    """Whatever its settings; SQLite is asked in its place, and does not know the statement."""
    server, sent = LedgerStore(ledger._url), []
    server.__dict__["_engine"] = ledger._store._engine

    def answer(connection, cursor, statement, parameters, context, many):
        sent.append(statement)
        return ("SELECT 1", ()) if statement.startswith("SET") else (statement, parameters)

    sql.event.listen(ledger._store._engine, "before_cursor_execute", answer, retval=True)
    server.append(lambda events: None)
    assert not any("synchronous_commit" in statement for statement in sent)
    server.url = SimpleNamespace(get_backend_name=lambda: "postgresql", database=ledger._url.database)
    server.append(lambda events: None)
    assert sent.count("SET LOCAL synchronous_commit = on") == 1
    sql.event.remove(ledger._store._engine, "before_cursor_execute", answer)


def test_a_servers_errors_show_no_parameters():
    engine = PrivacyLedger("postgresql://me@127.0.0.1:1/db")._store._engine
    assert engine.hide_parameters
    assert engine.dialect._on_connect_isolation_level == "READ COMMITTED"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_lock_held_at_a_fork_is_free_in_the_child():
    """The thread that holds it does not exist there."""
    with ledger_store._one_thread:
        child = os.fork()
        if child == 0:
            end_within(60)
            os._exit(ledger_store._one_thread.acquire(blocking=False))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_an_at_in_a_password_is_written_otherwise():
    """SQLAlchemy would end the password there, and show the rest of it as the host."""
    with pytest.raises(ValueError, match="has an @ too many") as refused:
        PrivacyLedger("postgresql://me:sec@ret@host/db")
    assert "ret" not in str(refused.value).replace("written", "")
    assert PrivacyLedger("postgresql://me:sec%40ret@host/db")._url.password == "sec@ret"


def test_a_server_is_reached_by_the_driver_that_comes_with_us():
    assert PrivacyLedger("postgresql://me@host/db")._url.drivername == "postgresql+psycopg"
    assert PrivacyLedger("postgresql+psycopg2://me@host/db")._url.drivername == "postgresql+psycopg2"


def test_a_name_may_look_a_little_like_a_url_but_not_hold_a_password():
    for name in ("a@b", "trial://7", "d"):
        check_name(name)
    with pytest.raises(ValueError, match="were ledger and dataset swapped"):
        check_name("postgresql://me:secret@host/db")


@pytest.mark.parametrize("people", [0, -1])
def test_a_person_has_at_least_one_record(tmp_path, people):
    with pytest.raises(ValueError, match=f"records_per_person={people} must be a whole number of at least 1"):
        PrivacyLedger(tmp_path / "b.db").grant("d", **GRANT, records_per_person=people)
    assert not list(tmp_path.iterdir())


def test_a_name_has_no_character_that_cannot_be_seen():
    """Also the first name in a ledger, which is like no other yet: a later one would be."""
    with pytest.raises(ValueError, match="has a character that cannot be seen"):
        check_new_name("trial\ufe0f")


@pytest.mark.parametrize("dash", ["\u2010", "\u2013", "\u2014"])
def test_all_dashes_are_one(ledger, dash):
    ledger.grant("trial-7", **GRANT)
    with pytest.raises(ValueError, match="is written like 'trial-7'"):
        ledger.grant(f"trial{dash}7", **GRANT)


def test_each_ledger_has_a_number_of_its_own(ledger, tmp_path):
    """SQLite's default is 0; two draws of 31 bits are equal once in two thousand million."""
    PrivacyLedger(tmp_path / "c.db").grant("d", **GRANT)
    numbers = [(tmp_path / name).read_bytes()[68:72] for name in ("b.db", "c.db")]
    assert len({*numbers, bytes(4)}) == 3


def test_pages_that_no_query_reads_are_checked_too(ledger):
    """A file without its journal may be half-written anywhere; here in the index of the events."""
    with sqlite3.connect(ledger._url.database) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'dpsparse_events'"
        (page,) = connection.execute(query).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with open(ledger._url.database, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    with pytest.raises(LedgerError, match="is damaged; if it was moved after a crash, move its journal"):
        ledger.verify()


def test_a_file_that_stays_in_another_journal_mode_is_refused(ledger, monkeypatch):
    """A copy of it alone would lack what is in the log."""

    class Stubborn(sqlite3.Connection):
        def execute(self, statement, *more):
            return super().execute("SELECT 'wal'" if statement.startswith("PRAGMA journal_mode") else statement, *more)

    connect = sqlite3.dbapi2.connect
    monkeypatch.setattr(sqlite3.dbapi2, "connect", lambda *path, **how: connect(*path, **how, factory=Stubborn))
    with pytest.raises(LedgerError, match="is in use in another journal mode"):
        PrivacyLedger(ledger).verify()


def test_one_thread_at_a_time_has_a_file_and_any_number_a_server(ledger):
    assert ledger._store._alone() is ledger_store._one_thread
    assert PrivacyLedger("postgresql://me@127.0.0.1:1/db")._store._alone() is not ledger_store._one_thread
