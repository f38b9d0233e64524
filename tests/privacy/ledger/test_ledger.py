import copy
import hashlib
import json
import os
import pickle
import sqlite3
import stat

import pytest
import sqlalchemy as sql

from dpsparse import BudgetExceeded, LedgerError, PrivacyLedger
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.ledger import ledger_store
from dpsparse.privacy.ledger.ledger_store import LedgerStore

COST = Cost(0.5, 1e-7, rho=0.002, mu=0.07, tv_slack=1e-15)


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("trial-7", epsilon=3, delta=1e-6)
    return ledger


def edit(ledger, statement, *values):
    with sqlite3.connect(ledger._url.database) as connection:
        connection.execute(statement, values)
    connection.close()


def spend(ledger, times=1, dataset="trial-7"):
    for _ in range(times):
        ledger.reserve(dataset, COST, adjacency="replace-one").charge()


def test_a_budget_is_granted_once(ledger):
    before = ledger.verify()
    ledger.grant("trial-7", epsilon=3.0, delta=1e-6)
    assert ledger.verify() == before
    for other in ({"epsilon": 4}, {"delta": 1e-5}, {"adjacency": "zero-out-one"}):
        with pytest.raises(ValueError, match="a budget changed later is no guarantee"):
            ledger.grant("trial-7", **{"epsilon": 3, "delta": 1e-6, **other})
    ledger.grant("trial-8", epsilon=1, delta=1e-9)
    assert len(ledger.history()) == 2
    assert len(ledger.history("trial-8")) == 1


def test_reservations_count_until_they_are_refunded(ledger):
    first = ledger.reserve("trial-7", COST, adjacency="replace-one")
    assert ledger.balance("trial-7").costs == (COST,)
    first.refund()
    first.refund()
    assert ledger.balance("trial-7").costs == ()
    with pytest.raises(LedgerError, match="refunded"):
        first.charge()
    second = ledger.reserve("trial-7", COST, adjacency="replace-one")
    second.charge()
    second.charge()
    with pytest.raises(LedgerError, match="charged"):
        second.refund()
    assert [event.kind for event in ledger.history()] == ["grant", "reserve", "refund", "reserve", "charge"]
    ledger.verify()


def test_what_is_refused_names_what_is_left(ledger):
    with pytest.raises(BudgetExceeded, match=r"'trial-7' has epsilon 3 of 3 left at delta=1e-06 \(basic account\)"):
        ledger.reserve("trial-7", Cost(3.1, 1e-7), adjacency="replace-one")
    with pytest.raises(ValueError, match="was granted for adjacency='replace-one', not 'zero-out-one'"):
        ledger.reserve("trial-7", COST, adjacency="zero-out-one")
    with pytest.raises(ValueError, match=r"dataset='trial-9' has no budget in .*b.db; grant it one"):
        ledger.reserve("trial-9", COST, adjacency="replace-one")
    for name in ("", "a\nb", 7, "x" * 201):
        with pytest.raises(ValueError, match="dataset must be a name"):
            ledger.grant(name, epsilon=1, delta=1e-6)
    assert len(ledger.history()) == 1


def test_a_commit_whose_answer_is_lost_is_not_made_twice(ledger, monkeypatch):
    write, lost = LedgerStore._append, []

    def lose_the_first_answer(*arguments):
        write(*arguments)
        if not lost:
            lost.append(True)
            raise sql.exc.OperationalError("COMMIT", None, Exception("connection lost"))

    monkeypatch.setattr(LedgerStore, "_append", lose_the_first_answer)
    reservation = ledger.reserve("trial-7", COST, adjacency="replace-one")
    lost.clear()
    reservation.charge()
    lost.clear()
    ledger.grant("trial-8", epsilon=1, delta=1e-6)
    assert [event.kind for event in ledger.history()] == ["grant", "reserve", "charge", "grant"]
    ledger.reserve("trial-7", COST, adjacency="replace-one")
    assert len(ledger.balance("trial-7").costs) == 2


TAMPERED = {
    "edit": "UPDATE dpsparse_events SET payload = replace(payload, '0.07', '0.01') WHERE number = 2",
    "delete": "DELETE FROM dpsparse_events WHERE number = 4",
    "delete the first": "DELETE FROM dpsparse_events WHERE number = 1",
    "renumber after a deletion": "DELETE FROM dpsparse_events WHERE number = 3; "
    "UPDATE dpsparse_events SET number = number - 1 WHERE number > 3",
    "swap": "UPDATE dpsparse_events SET number = 99 WHERE number = 2; "
    "UPDATE dpsparse_events SET number = 2 WHERE number = 4; UPDATE dpsparse_events SET number = 4 WHERE number = 99",
    "another dataset": "UPDATE dpsparse_events SET dataset = 'trial-8' WHERE number = 3",
    "another kind": "UPDATE dpsparse_events SET kind = 'refund' WHERE number = 3",
    "another fit": "UPDATE dpsparse_events SET fit = 'x' WHERE number = 3",
    "another type": "UPDATE dpsparse_events SET payload = x'00ff' WHERE number = 3",
    "a digest": "UPDATE dpsparse_events SET digest = substr(digest, 2) || 'g' WHERE number = 5",
}


@pytest.mark.parametrize("how", TAMPERED)
def test_whatever_is_changed_by_hand_is_seen_and_nothing_is_admitted(ledger, how):
    spend(ledger, 3)
    for statement in TAMPERED[how].split(";"):
        edit(ledger, statement)
    with pytest.raises(LedgerError, match=r"^event \d .*: the ledger was changed by hand$"):
        ledger.verify()
    with pytest.raises(LedgerError):
        spend(ledger)


def rewrite(ledger, number, change):
    """Change an event and every digest from it on, as somebody who knows the format would."""
    previous = None
    for event in ledger.history():
        payload = event.payload
        if event.number == number:
            payload = json.dumps(change(event.details), sort_keys=True, separators=(",", ":"))
        fields = [event.number, event.dataset, event.fit, event.kind, payload, previous or event.previous]
        digest = hashlib.sha256(json.dumps(fields).encode()).hexdigest()
        edit(
            ledger,
            "UPDATE dpsparse_events SET payload = ?, previous = ?, digest = ? WHERE number = ?",
            *(payload, previous or event.previous, digest, event.number),
        )
        previous = digest


@pytest.mark.parametrize(
    ("number", "changed"),
    [
        (2, {"mu": 9.0, "rho": 9.0}),
        (2, {"account": "basic"}),
        (2, {"epsilon": -1.0}),
        (1, {"epsilon": 0.05}),
        (2, {"rho": "much"}),
    ],
)
def test_a_chain_rewritten_against_the_rules_is_seen(ledger, number, changed):
    spend(ledger, 2)
    rewrite(ledger, number, lambda details: {**details, **changed})
    with pytest.raises(LedgerError, match=r"^event \d .*: the ledger was not written by dpsparse alone$"):
        ledger.verify()


def test_a_lost_tail_or_a_rewritten_chain_shows_by_a_head_kept_elsewhere(ledger):
    spend(ledger, 2)
    head = ledger.verify()
    spend(ledger)
    assert ledger.verify(head) != head
    edit(ledger, "DELETE FROM dpsparse_events WHERE number > 3")
    ledger.verify()
    with pytest.raises(LedgerError, match="does not contain this head"):
        ledger.verify(head)


@pytest.mark.skipif(os.name != "posix", reason="there are no POSIX permissions here")
@pytest.mark.parametrize("use", ["balance", "reserve", "grant", "verify"])
@pytest.mark.parametrize(("mode", "closed"), [(0o666, 0o600), (0o640, 0o600), (0o604, 0o600), (0o700, 0o700)])
def test_a_file_open_to_others_is_closed_by_its_owner(ledger, use, mode, closed):
    path = ledger._url.database
    os.chmod(path, mode)
    uses = {
        "balance": lambda: ledger.balance("trial-7"),
        "reserve": lambda: ledger.reserve("trial-7", Cost(0.5, 0.0), adjacency="replace-one"),
        "grant": lambda: ledger.grant("other", epsilon=1, delta=1e-6),
        "verify": ledger.verify,
    }
    uses[use]()
    assert stat.S_IMODE(os.stat(path).st_mode) == closed


@pytest.mark.skipif(os.name != "posix", reason="there are no POSIX permissions here")
def test_a_file_of_another_that_is_open_to_others_is_refused(ledger, monkeypatch):
    os.chmod(ledger._url.database, 0o666)

    def not_yours(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", not_yours)
    with pytest.raises(LedgerError, match="is open to others, who could forge it; its owner must run chmod 600 on it"):
        ledger.balance("trial-7")
    with pytest.raises(LedgerError, match="chmod 600"):
        ledger.reserve("trial-7", Cost(0.5, 0.0), adjacency="replace-one")


@pytest.mark.skipif(os.name != "posix", reason="there are no POSIX permissions here")
@pytest.mark.parametrize("kind", ["text", "database"])
def test_a_file_that_is_no_ledger_keeps_its_permissions(tmp_path, kind):
    path = tmp_path / "other"
    path.write_text("a,b\n1,2\n" if kind == "text" else "")
    if kind == "database":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t (a)")
        connection.close()
    path.chmod(0o644)
    for use in (lambda: PrivacyLedger(path).verify(), lambda: PrivacyLedger(path).grant("d", epsilon=1, delta=1e-6)):
        with pytest.raises(LedgerError):
            use()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.skipif(os.name != "posix", reason="there are no POSIX permissions here")
def test_an_empty_file_that_becomes_a_ledger_is_closed(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    path.chmod(0o666)
    PrivacyLedger(path).grant("d", epsilon=1, delta=1e-6)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_is_its_owners_and_durable(ledger):
    path = ledger._url.database
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()
    with ledger._store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3  # EXTRA


def test_files_that_are_no_ledger_are_told_apart(ledger, tmp_path):
    path = tmp_path / "other.db"
    with pytest.raises(LedgerError, match="there is no ledger at"):
        PrivacyLedger(path).verify()
    assert not path.exists()
    path.write_bytes(b"")
    with pytest.raises(LedgerError, match="is no ledger; grant a budget there first"):
        PrivacyLedger(path).verify()
    PrivacyLedger(path).grant("now", epsilon=1, delta=1e-6)
    text = tmp_path / "text.db"
    text.write_text("name,age\n" * 200)
    for attempt in (PrivacyLedger(text).verify, lambda: PrivacyLedger(text).grant("a", epsilon=1, delta=1e-6)):
        with pytest.raises(LedgerError, match=r"file is not a database$"):
            attempt()
    with sqlite3.connect(tmp_path / "mine.db") as connection:
        connection.execute("CREATE TABLE patients (age)")
    connection.close()
    with pytest.raises(LedgerError, match="is a database but not a ledger"):
        PrivacyLedger(tmp_path / "mine.db").grant("a", epsilon=1, delta=1e-6)
    with pytest.raises(LedgerError, match=r"could not be written: its folder does not exist; make it first"):
        PrivacyLedger(tmp_path / "no" / "b.db").grant("a", epsilon=1, delta=1e-6)
    edit(ledger, "UPDATE dpsparse_ledger SET version = 2")
    with pytest.raises(LedgerError, match="has format 2, this version knows 1; upgrade dpsparse"):
        spend(ledger)


def test_a_damaged_file_is_refused(ledger):
    spend(ledger, 30)
    path = ledger._url.database
    with open(path, "r+b") as file:
        size = file.seek(0, 2)
        for page in range(2, size // 4096):
            file.seek(4096 * page)
            file.write(b"\xa5" * 512)
    with pytest.raises(LedgerError) as refused:
        spend(ledger)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "bad", ["", 7, "sqlite://", "sqlite:///:memory:", "nosuch://u:secret@h/d", "://u:secret@h:port"]
)
def test_places_that_cannot_be_are_refused_without_quoting_them(bad):
    with pytest.raises(ValueError, match="ledger") as refused:
        PrivacyLedger(bad)
    assert "secret" not in str(refused.value)


def test_a_password_stays_where_it_was_given():
    ledger = PrivacyLedger("postgresql://me:secret@127.0.0.1:1/db")
    assert copy.deepcopy(ledger) is ledger
    assert "secret" not in repr(ledger) + ledger.url
    assert b"secret" not in pickle.dumps(ledger)
    again = pickle.loads(pickle.dumps(ledger))
    assert ledger.url == "postgresql+psycopg://me@127.0.0.1:1/db"
    assert PrivacyLedger(ledger.url) == again
    assert again._url.username == "me"
    assert again._url.password is None
    assert ledger == PrivacyLedger(ledger)
    assert hash(ledger) == hash(PrivacyLedger(ledger))
    with pytest.raises(LedgerError, match="Connection refused") as refused:
        ledger.verify()
    assert "secret" not in str(refused.value)


@pytest.mark.slow
def test_postgres_keeps_a_ledger_too(postgres_url):
    ledger = PrivacyLedger(postgres_url)
    ledger.grant("on a server", epsilon=3, delta=1e-6)
    spend(ledger, 2, "on a server")
    ledger.reserve("on a server", COST, adjacency="replace-one").refund()
    assert len(ledger.balance("on a server").costs) == 2
    ledger.verify(ledger.verify())
    by_hand = sql.create_engine(ledger._url, poolclass=sql.NullPool)
    with by_hand.begin() as connection:
        connection.exec_driver_sql("UPDATE dpsparse_events SET fit = 'x' WHERE kind = 'refund'")
    with pytest.raises(LedgerError, match="changed by hand"):
        spend(ledger, dataset="on a server")
    with by_hand.begin() as connection:
        connection.exec_driver_sql("DROP TABLE dpsparse_events, dpsparse_ledger")


@pytest.mark.slow
def test_a_server_whose_ledger_is_held_is_not_waited_for_for_ever(postgres_url, monkeypatch):
    monkeypatch.setattr(ledger_store, "_WAIT_SECONDS", 1)
    ledger = PrivacyLedger(postgres_url)
    ledger.grant("held", epsilon=3, delta=1e-6)
    by_hand = sql.create_engine(ledger._url, poolclass=sql.NullPool)
    with by_hand.begin() as connection:
        connection.exec_driver_sql("SELECT version FROM dpsparse_ledger FOR UPDATE")
        with pytest.raises(LedgerError, match=r"could not be written: .*lock timeout$"):
            spend(ledger, dataset="held")
    spend(ledger, dataset="held")
    assert len(ledger.balance("held").costs) == 1
    with by_hand.begin() as connection:
        connection.exec_driver_sql("DROP TABLE dpsparse_events, dpsparse_ledger")


def test_a_server_that_does_not_answer_is_given_up():
    """The driver's own default is to wait for ever. A limit in the URL stands."""
    for query, seconds in (("", 60), ("?connect_timeout=5", "5")):
        engine, given = PrivacyLedger(f"postgresql://me@127.0.0.1:1/db{query}")._store._engine, []
        sql.event.listen(engine, "do_connect", lambda *arguments, given=given: given.append(arguments[3]))
        with pytest.raises(sql.exc.OperationalError):
            engine.connect()
        assert given[0]["connect_timeout"] == seconds
