"""A charge killed at each of its system calls, a ledger under several names, and journals planted beside it."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpsparse import LedgerError, PrivacyLedger
from dpsparse.audit.checks.check_ledger import journal_of
from dpsparse.permissions import folder_others_may_change
from dpsparse.privacy.accounting.filter import Cost

HERE = Path(__file__).parent
HALF = Cost(0.5, 0.0)
GRANT = {"epsilon": 1, "delta": 1e-6}
posix = pytest.mark.skipif(os.name != "posix", reason="there are no POSIX permissions here")


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not sys.platform.startswith("linux") or compiler is None:
        pytest.skip("needs Linux and a C compiler: a preloaded library ends the process at a system call")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, HERE / "crash_shim.c", "-ldl"], check=True, timeout=120
    )
    return library


def run_worker(shim, *arguments, under=()):
    worker = [sys.executable, "-W", "ignore", HERE / "crash_worker.py", shim, *map(str, arguments)]
    preloaded = {**os.environ, "LD_PRELOAD": str(shim)}
    ran = subprocess.run([*under, *worker], env=preloaded, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


AGAIN = ["charge", "verify", "grant again", "another program", "symlink", "hard link", "move"]


def sweep(shim, folder, how, cut, every, record_property):
    counted = run_worker(shim, folder, how, cut, every)
    assert counted["lost after"] == []
    assert counted["points"] * every > (24 if cut else 150)
    # A second name is refused. A file that was moved is not, but the journal at its old name is.
    assert (counted["elsewhere"] > 0) == (how in ("charge", "symlink", "move"))
    assert counted["journals refused"] == 0 or how == "move"
    assert counted["journals refused"] > 0 or how != "move" or every > 1
    where = "in the middle of writes" if cut else "before system calls"
    record_property("counted", f"killed {where}, {counted['points']} times, then {how}: no charge lost")


@pytest.mark.slow
@pytest.mark.parametrize(("how", "every"), [("verify", 2), ("charge", 5), ("move", 5), ("hard link", 16)])
def test_no_reported_charge_is_lost_at_system_calls(shim, tmp_path, how, every, record_property):
    sweep(shim, tmp_path, how, 0, every, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["charge", "move"])
def test_no_reported_charge_is_lost_in_the_middle_of_a_write(shim, tmp_path, how, record_property):
    sweep(shim, tmp_path, how, 1, 1, record_property)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("cut", [0, 1], ids=["before the call", "in the middle of a write"])
@pytest.mark.parametrize("how", AGAIN)
def test_no_reported_charge_is_lost_at_any_system_call(shim, tmp_path, how, cut, record_property):
    sweep(shim, tmp_path, how, cut, 1, record_property)


@pytest.mark.slow
def test_the_shim_sees_every_system_call_of_a_charge(shim, tmp_path):
    """Those that strace shows between the two marks, on a file of the ledger's folder."""
    strace = shutil.which("strace")
    log = tmp_path / "log"
    tracing = [strace, "-f", "-y", "-s", "0", "-o", log]
    if strace is None or subprocess.run([*tracing, "true"], capture_output=True, check=False, timeout=60).returncode:
        pytest.skip("needs strace, and leave to trace")
    folder = tmp_path / "ledger"
    folder.mkdir(mode=0o700)
    counted = run_worker(shim, folder, "count", under=tracing)
    lines = log.read_text().splitlines()
    begin, end = (next(k for k, line in enumerate(lines) if f"/counted {mark} here" in line) for mark in ("from", "to"))
    # The shim asks for the names of files by readlinkat; nobody else does.
    calls = [line for line in lines[begin:end] if str(folder) in line and " readlinkat(" not in line]
    assert len(calls) == counted
    assert counted > 100


@pytest.fixture
def path(tmp_path):
    """The path of a ledger that grants epsilon 1."""
    path = tmp_path / "b.db"
    PrivacyLedger(path).grant("d", epsilon=1, delta=1e-6)
    return path


def spend(path):
    PrivacyLedger(path).reserve("d", HALF, adjacency="replace-one").charge()


def uses(path):
    """Each way to open a ledger."""
    ledger = PrivacyLedger(path)
    return [ledger.verify, lambda: ledger.balance("d"), lambda: spend(path), lambda: ledger.grant("e", **GRANT)]


def assert_refused(path, message):
    for use in uses(path):
        with pytest.raises(LedgerError, match=message) as refused:
            use()
        assert str(path) in str(refused.value)
        assert len(str(refused.value).splitlines()) == 1


def test_a_journal_planted_beside_a_ledger_takes_nothing_back(path):
    before = path.read_bytes()
    spend(path)
    head = PrivacyLedger(path).verify()
    journal = path.with_name("b.db-journal")
    journal.write_bytes(journal_of(before))
    assert_refused(path, f"is not of its last transaction, and would lose charges by it; remove {journal}$")
    journal.unlink()
    assert PrivacyLedger(path).verify(head) == head
    assert PrivacyLedger(path).balance("d").epsilon_spent == 0.5


@pytest.mark.slow
def test_another_ledgers_journal_is_refused(path, tmp_path):
    """Left at this name by another ledger that crashed here, and was moved away."""
    other = tmp_path / "other.db"
    PrivacyLedger(other).grant("d", epsilon=1, delta=1e-6)
    spend(other)
    spend(path)
    path.with_name("b.db-journal").write_bytes(journal_of(other.read_bytes()))
    assert_refused(path, "is not of its last transaction")


@pytest.mark.parametrize("place", [*range(24, 28), *range(68, 72)])
def test_every_byte_tells_a_foreign_journal(path, place):
    """SQLite's format has the change counter in bytes 24 to 27 of a file and the application's number in 68 to 71."""
    planted = bytearray(path.read_bytes())
    planted[place] ^= 0x10
    path.with_name("b.db-journal").write_bytes(journal_of(bytes(planted)))
    with pytest.raises(LedgerError, match="is not of its last transaction"):
        PrivacyLedger(path).verify()


@pytest.mark.slow
def test_an_empty_journal_that_would_cut_the_file_is_refused(path):
    journal = path.with_name("b.db-journal")
    planted = bytearray(journal_of(path.read_bytes()[:4096]))
    planted[8:12] = bytes(4)  # no pages in it
    journal.write_bytes(planted)
    assert_refused(path, "remove .*-journal$")


def test_pages_beyond_those_that_a_journal_counts_are_not_read(path):
    """SQLite would not restore the first page, which is intact, and would cut the file."""
    journal = path.with_name("b.db-journal")
    content = path.read_bytes()
    planted = journal_of(content)
    first, second = planted[512 : 512 + 4104], planted[512 + 4104 : 512 + 2 * 4104]
    header = bytearray(planted[:512])
    header[8:12], header[16:20] = (1).to_bytes(4, "big"), (2).to_bytes(4, "big")
    assert len(content) > 2 * 4096
    journal.write_bytes(header + second + first)
    with pytest.raises(LedgerError, match="is not of its last transaction"):
        PrivacyLedger(path).verify()


@posix
@pytest.mark.parametrize("how", ["symlink", "hard link", "another's"])
def test_a_journal_that_its_owner_did_not_make_is_refused(path, tmp_path, how):
    journal, elsewhere = path.with_name("b.db-journal"), tmp_path / "elsewhere"
    # It holds the pages as they are: only where it comes from is wrong.
    elsewhere.write_bytes(journal_of(path.read_bytes()))
    if how == "another's":
        if os.geteuid():
            pytest.skip("only root can make a file of somebody else's")
        elsewhere.rename(journal)
        os.chown(journal, 65534, 65534)
    else:
        {"symlink": os.symlink, "hard link": os.link}[how](elsewhere, journal)
    assert_refused(path, "was not made by its owner")


@posix
def test_a_journal_of_the_last_transaction_is_rolled_back(path):
    """The one that a crash of our own leaves."""
    head = PrivacyLedger(path).verify()
    before = path.read_bytes()
    PrivacyLedger(path).reserve("d", HALF, adjacency="replace-one")
    path.with_name("b.db-journal").write_bytes(journal_of(before))
    assert PrivacyLedger(path).verify() == head
    assert not path.with_name("b.db-journal").exists()


@posix
def test_a_second_name_is_refused_and_a_symbolic_link_is_the_same_name(path, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert PrivacyLedger(link) == PrivacyLedger(path)
    spend(link)
    assert PrivacyLedger(path).balance("d").epsilon_spent == 0.5
    second = tmp_path / "second.db"
    os.link(path, second)
    for name in (path, second):
        assert_refused(name, r"has 2 names \(hard links\).*; remove the others: find / -xdev -samefile")
    second.unlink()
    PrivacyLedger(path).verify()


@posix
def test_a_folder_is_no_ledger(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o700)
    assert_refused(tmp_path / "folder", "is not a regular file; name a file")


@posix
def test_a_ledger_that_becomes_a_symbolic_link_is_refused(path, tmp_path):
    ledger = PrivacyLedger(path)
    path.rename(tmp_path / "moved.db")
    path.symlink_to(tmp_path / "moved.db")
    with pytest.raises(LedgerError, match="became a symbolic link"):
        ledger.verify()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["b.db", "with blanks and \\.db"])
def test_a_ledger_mounted_as_a_single_file_is_refused(path, tmp_path, name):
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, timeout=60).returncode:
        pytest.skip("needs a mount namespace")
    mounted, folder = tmp_path / "container" / name, tmp_path / "whole"
    mounted.parent.mkdir()
    mounted.touch()
    folder.mkdir()
    open_ledger = "import sys, dpsparse; print(dpsparse.PrivacyLedger(sys.argv[1]).verify())"
    script = (
        'mount --bind "$1" "$2" && mount --bind "$(dirname "$1")" "$3" && "$4" -c "$5" "$3/b.db" && "$4" -c "$5" "$2"'
    )
    command = [unshare, "-rm", "sh", "-c", script, "sh", path, mounted, folder, sys.executable, open_ledger]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.stdout.split() == [PrivacyLedger(path).verify()], ran.stderr  # the folder's mount
    assert f"the ledger {mounted} is mounted as a single file" in ran.stderr
    assert ran.stderr.endswith("mount its folder\n")


@posix
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize(("mode", "refused"), [(0o777, True), (0o757, True), (0o1777, False), (0o755, False)])
def test_folders_that_others_may_write_to_are_refused(tmp_path, mode, refused, above):
    folder = tmp_path / "shared"
    inner = folder / "mine" if above else folder
    inner.mkdir(parents=True)
    path = inner / "b.db"
    PrivacyLedger(path).grant("d", **GRANT)
    folder.chmod(mode)
    # In a folder such as /tmp others could add a journal; above the ledger's own it is safe.
    if refused or (mode == 0o1777 and not above):
        assert_refused(path, f"could be forged by others, who may write to {folder}; run chmod go-w {folder}")
        with pytest.raises(LedgerError, match="chmod go-w"):
            PrivacyLedger(inner / "new.db").grant("d", **GRANT)
        assert not (inner / "new.db").exists()
    else:
        spend(path)


@posix
def test_a_group_may_write_where_it_is_the_owners_alone(tmp_path, path, monkeypatch):
    import grp
    import pwd

    tmp_path.chmod(0o770)
    owner = pwd.getpwuid(tmp_path.stat().st_uid).pw_name
    for name, members, refused in [(owner, [], False), (owner, [owner, "x"], True), ("staff", [], True)]:
        group = grp.struct_group((name, "x", 7, members))
        monkeypatch.setattr(grp, "getgrgid", lambda _, group=group: group)
        assert (folder_others_may_change(path) == str(tmp_path)) == refused


@pytest.mark.slow
def test_threads_share_a_file(path):
    """Each closes the file, and with it the locks that the process holds on it."""
    with ThreadPoolExecutor(8) as threads:
        small = Cost(0.01, 0.0)
        charge = lambda _: PrivacyLedger(path).reserve("d", small, adjacency="replace-one").charge()  # noqa: E731
        list(threads.map(charge, range(24)))
    assert len(PrivacyLedger(path).balance("d").costs) == 24
