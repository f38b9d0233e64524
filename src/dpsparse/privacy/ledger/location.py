"""The place of a ledger, and the names of datasets in it.

Symbolic links in a file's path are resolved here, once: SQLite keeps a journal beside the name by which it opens a
file, and all links to a ledger must lead to one journal (`sqlite_file`).
"""

import os

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError


def url_of(location: object) -> URL:
    """The URL of a path or a URL; ValueError, without a password in it, where no ledger can be kept there."""
    if not isinstance(location, str | os.PathLike) or not str(location):
        raise ValueError("ledger must be a path, a database URL or a PrivacyLedger")
    text = str(location)
    if "://" not in text:
        return URL.create("sqlite", database=os.path.realpath(text))
    try:
        url = make_url(text)
        backend = url.get_backend_name()
        url.get_dialect()
    except NoSuchModuleError:
        raise ValueError("ledger: the URL's database is not known; use sqlite:// or postgresql://") from None
    except (ArgumentError, ValueError):
        # SQLAlchemy would quote the URL, and with it a password.
        raise ValueError("ledger: the URL could not be read; write postgresql://user@host/database") from None
    if url.password is not None and text.partition("://")[2].partition(":")[2].count("@") > 1:
        # SQLAlchemy ends a password at its first @: the rest of it would be shown as the host.
        raise ValueError("ledger: the URL has an @ too many; write %40 for one in a password, or use ~/.pgpass")
    if any("pass" in key.lower() for key in url.query):
        raise ValueError("ledger: no password in the URL's query; write user:password@host, or use ~/.pgpass")
    if backend == "sqlite":
        if url.query:
            raise ValueError("ledger: an SQLite URL takes no query; name the file, as in sqlite:///budget.db")
        if url.database in (None, "", ":memory:"):
            raise ValueError("ledger: a budget must outlive the process; name a file, as in sqlite:///budget.db")
        return url.set(database=os.path.realpath(str(url.database)))
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def check_name(dataset: object) -> None:
    """Raise ValueError unless this may be the name of a dataset."""
    if not isinstance(dataset, str) or not 0 < len(dataset) <= 200 or not dataset.isprintable():
        raise ValueError("dataset must be a name of 1 to 200 printable characters")
    if "://" in dataset and "@" in dataset:
        # Names are shown and kept for good, and a URL may hold a password.
        raise ValueError("dataset must be a name, not a database URL; were ledger and dataset swapped?")
