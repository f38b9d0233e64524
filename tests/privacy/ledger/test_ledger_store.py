"""The statements that a store sends, without a server."""

import math
import sqlite3

import pytest
import sqlalchemy as sql
from sqlalchemy.dialects import postgresql

from dpsparse import LedgerError, PrivacyLedger
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.ledger.events import canonical


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("d", epsilon=1, delta=1e-6)
    return ledger


def sent(ledger, use):
    """The statements of a use, in the words of PostgreSQL: SQLite locks the whole file, and drops FOR UPDATE."""
    statements = []
    listen = (ledger._store._engine, "before_execute", lambda _, clause, *more: statements.append(clause))
    sql.event.listen(*listen)
    use()
    sql.event.remove(*listen)
    return [str(clause.compile(dialect=postgresql.dialect())) for clause in statements]


def test_a_writer_locks_the_ledger_before_it_reads_and_a_reader_locks_nothing(ledger):
    """Two writers that read the same events would both be admitted, but for the key of the events."""
    written = sent(ledger, lambda: ledger.reserve("d", Cost(0.5, 0.0), adjacency="replace-one"))
    inserted = next(k for k, statement in enumerate(written) if statement.startswith("INSERT"))
    read = next(k for k, statement in enumerate(written) if "payload" in statement and k < inserted)
    locks = [k for k, statement in enumerate(written[:inserted]) if statement.endswith("FOR UPDATE")]
    assert any("dpsparse_ledger" in written[k] and k < read for k in locks)
    assert not any("FOR UPDATE" in statement for statement in sent(ledger, ledger.verify))


def test_on_sqlite_a_writer_takes_the_write_lock_at_its_begin(ledger):
    """With a lock for readers, taken at the first read, two writers could read the same events."""
    first = []
    listen = (ledger._store._engine, "before_cursor_execute", lambda *sent: first.append(sent[2]))
    sql.event.listen(*listen)
    ledger.verify()
    assert first[0] == "BEGIN"
    first.clear()
    ledger.reserve("d", Cost(0.5, 0.0), adjacency="replace-one")
    assert first[0] == "BEGIN IMMEDIATE"
    sql.event.remove(*listen)


COLUMNS = ("dataset", "kind", "payload", "previous", "digest")


@pytest.mark.parametrize("column", COLUMNS)
def test_no_event_lacks_a_field(ledger, column):
    """Whoever writes it: the database itself refuses."""
    event = {"number": 9, **dict.fromkeys(COLUMNS, "x"), column: None}
    with sqlite3.connect(ledger._url.database) as connection, pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
        connection.execute(
            "INSERT INTO dpsparse_events VALUES (:number, :dataset, NULL, :kind, :payload, :previous, :digest)", event
        )
    connection.close()


@pytest.mark.parametrize("number", [math.nan, -math.inf])
def test_no_payload_holds_what_json_cannot(number):
    with pytest.raises(ValueError, match="JSON"):
        canonical({"epsilon": number})
    assert canonical({"b": math.inf, "a": 0.5}) == '{"a":0.5,"b":null}'


def test_an_error_of_the_database_is_one_line_in_its_own_words(ledger):
    """SQLAlchemy's has the driver's class in front, and the statement with its parameters behind."""
    with open(ledger._url.database, "r+b") as file:
        file.write(b"no database at all")
    with pytest.raises(LedgerError) as refused:
        ledger.verify()
    assert str(refused.value) == f"the ledger {ledger._url.database} could not be read: file is not a database"
