"""Storage of a ledger's events: SQLite for one machine, PostgreSQL for a team.

What may never change: a decision and the event it leads to are one transaction, which no other transaction overlaps.
SQLite takes its write lock first (BEGIN IMMEDIATE). Elsewhere one row is locked for the transaction, at the isolation
level READ COMMITTED, so that a read after the lock sees the last commit. Event numbers are a primary key, so that two
writers who somehow read the same state cannot both append. A commit returns when it is on disk.

SQLite keeps a rollback journal, not a write-ahead log: a copy of the file alone would lack the events that are still
in the log. A journal lies beside the file's name, so a ledger must have one name only, in a folder that nobody else may
write to: `sqlite_file` checks that at every opening and says why it suffices.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import URL, Connection, Engine

from dpsparse.permissions import close_to_others
from dpsparse.privacy.ledger.events import Event, LedgerError
from dpsparse.privacy.ledger.sqlite_file import check_file, check_place, random_application

SCHEMA_VERSION = 1
_WAIT_SECONDS = 60
_PAUSES = (0.05, 0.3, None)
# Errors worth another try: a lost connection, a lock held too long, two who create the tables or append at once.
TRANSIENT = (sql.exc.OperationalError, sql.exc.IntegrityError, sql.exc.ProgrammingError)

_tables = sql.MetaData()
_ledger = sql.Table(
    "dpsparse_ledger", _tables, sql.Column("version", sql.Integer, primary_key=True, autoincrement=False)
)
_events = sql.Table(
    "dpsparse_events",
    _tables,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("dataset", sql.String(200), nullable=False),
    sql.Column("fit", sql.String(36)),
    sql.Column("kind", sql.String(16), nullable=False),
    sql.Column("payload", sql.Text, nullable=False),
    sql.Column("previous", sql.String(64), nullable=False),
    sql.Column("digest", sql.String(64), nullable=False),
    sql.UniqueConstraint("fit", "kind"),
)

# Given all events, the one to append, or None.
Decision = Callable[[list[Event]], Event | None]


# One thread at a time uses a file: whoever closes it releases the locks that the whole process holds on it.
_one_thread = threading.Lock()


def _release_in_child() -> None:
    """The thread that holds the lock at a fork does not exist in the child."""
    global _one_thread
    _one_thread = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)


class LedgerStore:
    """The events behind a URL. It holds no connection between calls, so it may cross a fork.

    The URL is of SQLite with an absolute path, or of a server.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self.shown = url.database if self._is_sqlite else url.render_as_string(hide_password=True)

    @property
    def _is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    def read(self) -> list[Event]:
        """All events, in order."""
        with self._plain_errors("read"), self._alone():
            self._require_file()
            with self._engine.connect() as connection, connection.begin():
                self._check_version(connection)
                return self._load(connection)

    def append(self, decide: Decision, *, create: bool = False) -> None:
        """Decide on all events and append, in one transaction.

        It is tried again where the database fails. If the failed try had committed, the decision finds its own event.
        """
        with self._plain_errors("written"):
            for pause in _PAUSES:
                try:
                    with self._alone():
                        return self._append(decide, create)
                except (*TRANSIENT, sqlite3.OperationalError):
                    if pause is None:
                        raise
                    time.sleep(pause)

    def _append(self, decide: Decision, create: bool) -> None:
        if create and self._is_sqlite:
            self._create_file()
        self._require_file()
        with self._engine.connect().execution_options(dpsparse_writes=True) as connection, connection.begin():
            if self.url.get_backend_name() == "postgresql":
                connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_WAIT_SECONDS}s'")
            if create and not sql.inspect(connection).has_table(_ledger.name):
                self._create_tables(connection)
            self._check_version(connection)
            event = decide(self._load(connection))
            if event is not None:
                connection.execute(sql.insert(_events).values(**vars(event)))
                digests = sql.select(_events.c.digest).where(_events.c.number == event.number)
                if connection.execute(digests).scalars().all() != [event.digest]:
                    raise LedgerError(f"the ledger {self.shown} did not take an event: it has triggers or rules")

    def _create_tables(self, connection: Connection) -> None:
        if self._is_sqlite and sql.inspect(connection).get_table_names():
            raise LedgerError(f"{self.shown} is a database but not a ledger; name a new file")
        if self._is_sqlite:
            connection.exec_driver_sql(f"PRAGMA application_id = {random_application()}")
        _tables.create_all(connection)
        connection.execute(sql.insert(_ledger).values(version=SCHEMA_VERSION))

    def _check_version(self, connection: Connection) -> None:
        """Check that this is a ledger of ours; from here to its commit a writer has it to itself."""
        if not sql.inspect(connection).has_table(_ledger.name):
            raise LedgerError(f"{self.shown} is no ledger; grant a budget there first")
        version = sql.select(_ledger.c.version)
        stored = connection.execute(version if self._reads(connection) else version.with_for_update()).scalar()
        if stored != SCHEMA_VERSION:
            raise LedgerError(
                f"the ledger {self.shown} has format {stored}, this version knows {SCHEMA_VERSION}; upgrade dpsparse"
            )
        if self._is_sqlite:
            self._close_file()
            self._check_pages(connection)

    def _check_pages(self, connection: Connection) -> None:
        """Refuse a file that a crash left half-written, and that was then moved away from its journal."""
        if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() != "ok":
            raise LedgerError(
                f"the ledger {self.shown} is damaged; if it was moved after a crash, move its journal (the old name "
                "with -journal) along, else restore it from a copy"
            )

    @staticmethod
    def _reads(connection: Connection) -> bool:
        return not connection.get_execution_options().get("dpsparse_writes", False)

    @staticmethod
    def _load(connection: Connection) -> list[Event]:
        rows = connection.execute(sql.select(_events).order_by(_events.c.number))
        return [Event(*row) for row in rows]

    @cached_property
    def _engine(self) -> Engine:
        if not self._is_sqlite:
            return sql.create_engine(
                self.url,
                poolclass=sql.NullPool,
                isolation_level="READ COMMITTED",
                hide_parameters=True,
                connect_args={"connect_timeout": _WAIT_SECONDS} if "connect_timeout" not in self.url.query else {},
            )
        engine = sql.create_engine(self.url, poolclass=sql.NullPool, connect_args={"timeout": _WAIT_SECONDS})

        @sql.event.listens_for(engine, "connect")
        def prepare(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # BEGIN is ours, below
            for pragma in ("synchronous=EXTRA", "fullfsync=ON"):
                connection.execute(f"PRAGMA {pragma}")
            if connection.execute("PRAGMA journal_mode=DELETE").fetchone() != ("delete",):
                raise LedgerError(f"the ledger {self.shown} is in use in another journal mode; close what holds it")

        @sql.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN" if self._reads(connection) else "BEGIN IMMEDIATE")

        return engine

    def _require_file(self) -> None:
        if not self._is_sqlite:
            return
        if not os.path.exists(str(self.url.database)):
            raise LedgerError(f"there is no ledger at {self.shown}; grant a budget there first")
        check_file(str(self.url.database))

    def _alone(self) -> AbstractContextManager[Any]:
        return _one_thread if self._is_sqlite else nullcontext()

    def _create_file(self) -> None:
        path = str(self.url.database)
        if os.path.exists(path) and os.path.getsize(path):
            return
        check_place(path)
        # For its owner alone: whoever can write to a ledger can forge it.
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))

    def _close_file(self) -> None:
        """Restrict a file to its owner, once it is known to be a ledger and not another file named by mistake."""
        try:
            close_to_others(str(self.url.database))
        except OSError:
            raise LedgerError(
                f"the ledger {self.shown} is open to others, who could forge it; its owner must run chmod 600 on it"
            ) from None

    @contextmanager
    def _plain_errors(self, done: str) -> Iterator[None]:
        """Turn an error of the database into one line, without its parameters."""
        try:
            yield
        except (sql.exc.SQLAlchemyError, sqlite3.Error, OSError, ImportError) as error:
            reason = (str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__])[0]
            if "Could not decode" in reason:
                # SQLite would go on to quote the text.
                reason = "text in it is damaged; restore it from a copy"
            if isinstance(error, FileNotFoundError):
                reason = "its folder does not exist; make it first"
            if isinstance(error, ImportError):
                reason = "its driver is missing; pip install 'dpsparse[postgres]'"
            raise LedgerError(f"the ledger {self.shown} could not be {done}: {reason}") from None
