"""Which journals SQLite may roll back, byte by byte, without SQLite."""

import os
import secrets
import stat
import struct
import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from dpsparse import LedgerError
from dpsparse.privacy.ledger import sqlite_file
from dpsparse.privacy.ledger.sqlite_file import _check_journal, _may_roll_back, check_file, random_application

MAGIC = bytes.fromhex("d9d505f920a163d7")
posix = pytest.mark.skipif(os.name != "posix", reason="there are no POSIX files here")


def page(counter=5, application=7, size=4096):
    """The first page of a database: its change counter and its application's number stand at bytes 24 and 68."""
    content = bytearray(size)
    content[24:28], content[68:72] = counter.to_bytes(4, "big"), application.to_bytes(4, "big")
    return bytes(content)


def journal(*pages, counted=None, whole=1, sector=512, size=4096, magic=MAGIC):
    """A journal of numbered pages, of a file that had `whole` pages."""
    header = magic + struct.pack(">5I", len(pages) if counted is None else counted, 0, whole, sector, size)
    records = [struct.pack(">I", number) + content + bytes(4) for number, content in pages]
    return header.ljust(sector, b"\0") + b"".join(records)


@pytest.fixture
def may(tmp_path):
    """Whether a journal may be rolled back into a file."""

    def ask(content, beside):
        path, name = tmp_path / "b.db", tmp_path / "b.db-journal"
        path.write_bytes(content)
        name.write_bytes(beside)
        return _may_roll_back(str(path), str(name))

    return ask


@pytest.mark.parametrize(
    ("now", "before", "holds"),
    [(5, 5, True), (6, 5, True), (7, 5, False), (5, 6, False), (69, 5, False), (0, 2**32 - 1, True), (1, 2**31, False)],
)
def test_a_journal_is_of_the_last_transaction_or_refused(may, now, before, holds):
    """The counter is a 32-bit number that wraps around."""
    assert may(page(now), journal((1, page(before)))) is holds
    # Of another ledger, whose number may differ in any byte.
    for other in (8, 7 + 2**8, 7 + 2**16, 7 + 2**24):
        assert not may(page(now, other), journal((1, page(before))))


def test_the_first_page_is_looked_for_among_those_that_count(may):
    other = (2, page(99))
    assert may(page() * 2, journal(other, (1, page()), whole=9))
    assert not may(page() * 2, journal(other, (1, page(3)), whole=2))
    assert may(page() * 2, journal(other, (1, page(3)), counted=1, whole=2))
    assert may(page() * 3, journal(other, other, (1, page(3)), counted=2, whole=3))


@pytest.mark.parametrize(("pages", "whole", "holds"), [(2, 2, True), (2, 1, False), (2, 3, False)])
def test_a_journal_without_the_first_page_may_keep_the_files_size(may, pages, whole, holds):
    assert may(page() * pages, journal(whole=whole)) is holds
    # The record of the first page is not on disk yet.
    assert may(page() * pages, journal((1, page(3)), whole=whole)[:-1]) is holds


def test_what_is_no_journal_is_not_rolled_back(may):
    cutting = journal(whole=9)
    assert not may(page(), cutting)
    for nothing in (b"", cutting[:20], cutting[:27], journal(whole=9, magic=bytes(8))):
        assert may(page(), nothing) is True
    assert may(page()[:99], cutting) is True
    assert not may(page()[:100], cutting)


@pytest.mark.parametrize(
    ("size", "sector", "is_known"),
    [
        *[(512, 512, True), (65536, 512, True), (256, 512, False), (511, 512, False), (65537, 512, False)],
        *[(4096, 32, True), (4096, 65536, True), (4096, 31, False), (4096, 65537, False), (131072, 16, False)],
    ],
)
def test_sizes_that_sqlite_does_not_know_are_no_journal(may, size, sector, is_known):
    assert may(page(), journal(whole=99, size=size, sector=sector)) is (not is_known)


@posix
@pytest.mark.parametrize(
    ("owner", "links", "mode", "refused"),
    [
        (4321, 1, stat.S_IFREG, False),
        (0, 1, stat.S_IFREG, False),
        (1, 1, stat.S_IFREG, True),
        (4321, 2, stat.S_IFREG, True),
        (4321, 1, stat.S_IFLNK, True),
    ],
)
def test_a_journal_is_its_owners_or_roots(tmp_path, monkeypatch, owner, links, mode, refused):
    (tmp_path / "b.db").write_bytes(page())
    (tmp_path / "b.db-journal").write_bytes(journal((1, page())))
    found = SimpleNamespace(st_mode=mode, st_nlink=links, st_uid=owner)
    monkeypatch.setattr(os, "lstat", lambda path: found)
    try:
        _check_journal(str(tmp_path / "b.db"), SimpleNamespace(st_uid=4321))
        outcome = ""
    except LedgerError as error:
        outcome = str(error)
    assert ("was not made by its owner" in outcome) is refused
    assert bool(outcome) is refused


def test_a_journal_is_read_again_for_a_while_before_it_is_refused(tmp_path, monkeypatch):
    """A transaction under way may be between two writes."""
    (tmp_path / "b.db").write_bytes(page(9))
    (tmp_path / "b.db-journal").write_bytes(journal((1, page(5))))
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with pytest.raises(LedgerError, match="is not of its last transaction"):
        _check_journal(str(tmp_path / "b.db"), os.stat(tmp_path / "b.db"))
    assert 0.2 <= sum(pauses) <= 1
    assert len(pauses) >= 5


@posix
@pytest.mark.parametrize("platform", ["darwin", "linux"])
@pytest.mark.parametrize("is_mount", [True, False])
def test_mounts_are_told_without_proc_too(tmp_path, monkeypatch, platform, is_mount):
    path = tmp_path / "b.db"
    path.write_bytes(page())
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os.path, "ismount", lambda asked: asked == str(path) and is_mount)

    def no_proc(*_):
        raise FileNotFoundError("no /proc here")

    monkeypatch.setattr(sqlite_file, "open", no_proc, raising=False)
    assert sqlite_file._is_mounted_alone(str(path)) is is_mount
    if is_mount:
        with pytest.raises(LedgerError, match="is mounted as a single file"):
            check_file(str(path))


@pytest.mark.parametrize("name", ["b.db", "with blanks\tand \\.db"])
@pytest.mark.parametrize("field", [3, 4])
def test_a_file_that_is_a_mount_point_is_seen(monkeypatch, name, field):
    """The fifth field of a line is the mount point, its blanks and backslashes in octal."""
    fields = ["36", "35", "98:0", "/root", "/", "rw", "-", "ext4", "/dev/sda1", "rw"]
    fields[field] = "/folder/" + name.replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")
    lines = [b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", " ".join(fields).encode() + b"\n"]
    monkeypatch.setattr(sys, "platform", "linux")
    files = {("/proc/self/mountinfo", "rb"): nullcontext(lines)}
    monkeypatch.setattr(sqlite_file, "open", lambda *asked: files[asked], raising=False)
    assert sqlite_file._is_mounted_alone(f"/folder/{name}") is (field == 4)


@pytest.mark.parametrize(("drawn", "number"), [(lambda below: 0, 1), (lambda below: below - 1, 2**31 - 1)])
def test_a_ledgers_number_is_any_that_sqlite_can_keep_but_0(monkeypatch, drawn, number):
    monkeypatch.setattr(secrets, "randbelow", drawn)
    assert random_application() == number
