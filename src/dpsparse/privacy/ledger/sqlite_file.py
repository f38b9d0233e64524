"""Checks of a SQLite ledger's file before SQLite opens it, so that a rollback takes nothing back that was charged.

SQLite's lock lies on the file, but its rollback journal lies beside the file's *name*. A process that dies in a commit
leaves a journal, and the next opening under that name restores the pages in it. That is right unless the file was
committed to after the journal was written. Under another name nobody sees the journal, so that could happen.

Guarantee. If no charge is made by another program, no opening takes back a charge that was reported.

Proof. Only a rollback removes an event. It applies the journal J beside the real path P to the file F there.
(1) F has no second name now: its link count is 1, it is not mounted by itself, and symbolic links are resolved once,
when the ledger is named (`location`). (2) An opening under P rolls J back before it commits. So a commit that is
younger than J was made while F lay elsewhere, by a move or by a name that is gone. (3) Every commit raises the change
counter of the file by 1, and J holds the counter c from before its own transaction, which leaves c or c + 1. (4) A
reservation and its charge are two commits through one path, so a fit that was charged while F lay elsewhere leaves at
least c + 2. There the opening is refused. A journal that does not hold the counter yet has changed nothing; it may only
keep the file's size. (5) The journal of another ledger that once lay at P is refused by the random number in each
ledger's first page; ledgers made before that number was written share the number 0. (6) Nobody else can put a journal
there, or replace F: others may not write to its folder, nor to one above unless its sticky bit keeps them from what is
not theirs. A journal from before that was so is refused by its owner and its links. QED.

A file that was moved without its journal may be half-written. `ledger_store` lets SQLite check all its pages, and
refuses it. The proof does not cover a charge under another path for a reservation under P: a folder moved away, and
another moved into its place, between the two. The owner and root can forge a ledger in simpler ways.
"""

import os
import secrets
import stat
import struct
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

from dpsparse.permissions import folder_others_may_change
from dpsparse.privacy.ledger.events import LedgerError

_MAGIC = bytes.fromhex("d9d505f920a163d7")
# The magic number, the number of records, a nonce, the database's pages before, the sizes of a sector and of a page.
_HEADER = struct.Struct(">8s5I")
# In the first page of a database.
_PAGE_SIZE = slice(16, 18)
_COUNTER, _APPLICATION = slice(24, 28), slice(68, 72)
_TRIES, _PAUSE = 10, 0.03


def random_application() -> int:
    """A number that tells one ledger's pages from another's, for SQLite's application_id; never 0, its default."""
    return 1 + secrets.randbelow(2**31 - 1)


def check_place(path: str) -> None:
    """Raise LedgerError unless a ledger may lie, or be made, at a path."""
    if os.name != "posix":
        return
    if os.path.realpath(path) != path:
        raise LedgerError(f"the ledger {path} became a symbolic link; name the file it leads to")
    folder = folder_others_may_change(path)
    if folder is not None:
        raise LedgerError(
            f"the ledger {path} could be forged by others, who may write to {folder}; "
            f"run chmod go-w {folder}, or use a folder of your own"
        )


def check_file(path: str) -> None:
    """Raise LedgerError unless a ledger's file has one name, and a journal beside it is its own.

    It may open and close the file, and so release the locks that this process holds on it: nobody else in the process
    may use the file meanwhile.
    """
    if os.name != "posix":
        return
    check_place(path)
    file = os.stat(path)
    if not stat.S_ISREG(file.st_mode):
        raise LedgerError(f"the ledger {path} is not a regular file; name a file")
    if file.st_nlink > 1:
        raise LedgerError(
            f"the ledger {path} has {file.st_nlink} names (hard links), and a crash under one would undo charges "
            f"under another; remove the others: find / -xdev -samefile {path}"
        )
    if _is_mounted_alone(path):
        raise LedgerError(
            f"the ledger {path} is mounted as a single file, and a crash here would undo charges under its other "
            "name; mount its folder"
        )
    _check_journal(path, file)


def _is_mounted_alone(path: str) -> bool:
    if not sys.platform.startswith("linux"):
        return os.path.ismount(path)
    try:
        with open("/proc/self/mountinfo", "rb") as mounts:
            points = {line.split()[4] for line in mounts}
    except OSError:
        return os.path.ismount(path)
    escaped = os.fsencode(path).replace(b"\\", b"\\134")
    for character in b" \t\n":
        escaped = escaped.replace(bytes([character]), b"\\%03o" % character)
    return escaped in points


def _check_journal(path: str, file: os.stat_result) -> None:
    journal = f"{path}-journal"
    try:
        found = os.lstat(journal)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_uid not in (file.st_uid, 0):
            raise LedgerError(
                f"the ledger {path} has a journal that was not made by its owner, and could lose charges by it; "
                f"remove {journal}"
            )
        for _ in range(_TRIES):
            if _may_roll_back(path, journal):
                return
            # A transaction that is under way may change the file's size between two reads; it does not last.
            time.sleep(_PAUSE)
    except FileNotFoundError:
        return
    raise LedgerError(
        f"the ledger {path} has a journal that is not of its last transaction, and would lose charges by it; "
        f"remove {journal}"
    )


def _may_roll_back(path: str, journal: str) -> bool:
    """Whether the journal is that of the last transaction. The database first: a journal read later is no older."""
    with open(path, "rb") as database:
        head = database.read(100)
        size = database.seek(0, os.SEEK_END)
    with open(journal, "rb") as stream:
        header = stream.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(_MAGIC) or len(head) < 100:
            return True  # SQLite restores nothing from it
        _, _, _nonce, pages, sector, page_size = _HEADER.unpack(header)
        page_size = page_size or _page_size(head)
        if not (_is_size(page_size, least=512) and _is_size(sector, least=32)):
            return True
        for number, before in _restored(stream, sector, page_size):
            if number == 1 <= pages:
                commits = int.from_bytes(head[_COUNTER], "big") - int.from_bytes(before[_COUNTER], "big")
                return head[_APPLICATION] == before[_APPLICATION] and commits % 2**32 <= 1
    return bool(size == pages * page_size)


def _restored(journal: BinaryIO, sector: int, page_size: int) -> Iterator[tuple[int, bytes]]:
    """The numbers and contents of the pages that SQLite restores from a journal.

    It has a segment for each time that it was synced: a header in a sector of its own, as many records as that says (a
    number, the page, a checksum), and nothing up to the next sector.
    """
    start = 0
    while True:
        journal.seek(start)
        header = journal.read(sector)
        if len(header) < sector or not header.startswith(_MAGIC):
            return
        for _ in range(_HEADER.unpack_from(header)[1]):
            record = journal.read(page_size + 8)
            if len(record) < page_size + 8:
                return
            yield int.from_bytes(record[:4], "big"), record[4:-4]
        start = -(-journal.tell() // sector) * sector


def _page_size(head: bytes) -> int:
    """The size of a database's pages, for a journal that says 0: SQLite wrote such ones until 2008, and reads them."""
    # 65536 does not fit into the two bytes, and is written as 1.
    size = int.from_bytes(head[_PAGE_SIZE], "big")
    size = 65536 if size == 1 else size
    return size if _is_size(size, least=512) else 4096  # SQLite's default


def _is_size(size: int, *, least: int) -> bool:
    """Whether SQLite takes a size of a page or of a sector: a power of two."""
    return least <= size <= 65536 and size & (size - 1) == 0
