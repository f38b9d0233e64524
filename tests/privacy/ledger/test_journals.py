"""Journals that SQLite itself wrote: what it restores from them is what `_may_roll_back` looks at."""

import shutil
import sqlite3
import struct

import pytest

from dpsparse.privacy.ledger.sqlite_file import _may_roll_back

ROWS = 30
MAGIC = bytes.fromhex("d9d505f920a163d7")


def connected(path):
    return sqlite3.connect(path, isolation_level=None)


def newest(path):
    """The newest commit that SQLite finds, after it has rolled back what it rolls back."""
    connection = connected(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    value = connection.execute("SELECT value FROM commits").fetchone()[0]
    connection.close()
    return value


def commit(path, value):
    connection = connected(path)
    connection.execute("UPDATE commits SET value = ?", (value,))
    connection.close()


@pytest.fixture(params=[512, 4096, 65536])
def crashed(tmp_path, request):
    """A database of some pages, and a copy of it and of its journal in the middle of a transaction that spilled.

    The cache is small, so SQLite syncs the journal and begins a new segment whenever it must write a page. The rows
    change first: the first page, which a transaction changes when the file grows, is not in the first segment.
    """
    path, copy = tmp_path / "b.db", tmp_path / "crashed.db"
    connection = connected(path)
    connection.execute(f"PRAGMA page_size = {request.param}")
    connection.execute("CREATE TABLE commits (value)")
    connection.execute("INSERT INTO commits VALUES (0)")
    connection.execute("CREATE TABLE filler (id INTEGER PRIMARY KEY, content)")
    content = bytes(request.param * 3 // 4)
    insert = "INSERT INTO filler (content) VALUES (?)"
    connection.execute("BEGIN")
    connection.executemany(insert, [(content,)] * ROWS)
    connection.execute("COMMIT")
    connection.execute("PRAGMA cache_size = 5")
    connection.execute("PRAGMA cache_spill = 5")
    connection.execute("BEGIN")
    connection.execute("UPDATE commits SET value = -1")
    for row in range(1, ROWS + 1):
        connection.execute("UPDATE filler SET content = ? WHERE id = ?", (content.replace(b"\0", b"1"), row))
    connection.executemany(insert, [(content,)] * ROWS)
    for end in ("", "-journal"):
        shutil.copy(f"{path}{end}", f"{copy}{end}")
    connection.execute("ROLLBACK")
    connection.close()
    return path, copy


def segments(journal):
    """Where the segments of a journal begin, told by the magic number; and whether the first one has the first page."""
    content = journal.read_bytes()
    _, count, _, _, sector, size = struct.unpack_from(">8s5I", content)
    numbers = [struct.unpack_from(">I", content, sector + k * (size + 8))[0] for k in range(count)]
    return [at for at in range(0, len(content), sector) if content[at : at + 8] == MAGIC], 1 in numbers


def beside(path, journal, **fields):
    """Put a journal beside a database, with another page size or number of pages in its header."""
    content = bytearray(journal.read_bytes())
    if "page_size" in fields:
        content[24:28] = struct.pack(">I", fields["page_size"])
    path.with_name(f"{path.name}-journal").write_bytes(content)
    return str(path), f"{path}-journal"


def test_a_journal_of_several_segments_is_restored_where_it_is_of_the_last_transaction(crashed):
    _, copy = crashed
    journal = copy.with_name(f"{copy.name}-journal")
    starts, is_first = segments(journal)
    assert len(starts) > 1
    assert not is_first
    assert _may_roll_back(str(copy), str(journal))
    assert newest(copy) == 0


@pytest.mark.parametrize("page_size", [None, 0])
def test_commits_made_elsewhere_are_not_taken_back_by_a_journal(crashed, page_size):
    """SQLite takes them back: the journal is whole, and the file has the size that it tells."""
    path, copy = crashed
    fields = {} if page_size is None else {"page_size": page_size}
    for value in (1, 2):
        commit(path, value)
    assert newest(path) == 2
    places = beside(path, copy.with_name(f"{copy.name}-journal"), **fields)
    assert not _may_roll_back(*places)
    assert newest(path) == 0


@pytest.mark.parametrize("made", [0, 1, 2])
def test_page_size_0_is_that_of_the_database(crashed, made):
    """SQLite wrote journals with page size 0 until 2008, and restores them. One commit may be the journal's own."""
    path, copy = crashed
    for value in range(1, made + 1):
        commit(path, value)
    places = beside(path, copy.with_name(f"{copy.name}-journal"), page_size=0)
    assert _may_roll_back(*places) is (made < 2)
    assert newest(path) == 0


@pytest.mark.parametrize("page_size", [256, 600, 131072])
def test_sizes_that_sqlite_does_not_take_restore_nothing(crashed, page_size):
    path, copy = crashed
    for value in (1, 2):
        commit(path, value)
    places = beside(path, copy.with_name(f"{copy.name}-journal"), page_size=page_size)
    assert _may_roll_back(*places)
    assert newest(path) == 2
