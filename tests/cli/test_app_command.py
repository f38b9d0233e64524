"""`dpsparse app` on the command line; tests/app has the page."""

import os
import select
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from dpsparse.cli import main


def test_without_the_extra_one_line_names_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "dpsparse.app.server", raising=False)
    with pytest.raises(SystemExit) as stopped:
        main(["app", "--no-browser"])
    assert stopped.value.code == 2
    assert 'pip install "dpsparse[app]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "192.0.2.1"], "add --expose if that is meant"),
        (["--host", "0.0.0.0", "--expose"], "must be one address"),
        (["--ledger", "nowhere://me:secret@host/db"], "the URL's database is not known"),
    ],
)
def test_what_is_wrong_is_said_before_the_page_starts(arguments, message, tmp_path, failed):
    pytest.importorskip("uvicorn", reason='the page is not installed: pip install "dpsparse[app]"')
    told = failed("app", "--no-browser", "--folder", tmp_path, *arguments)
    assert message in told
    assert "secret" not in told


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal of POSIX systems")
def test_ctrl_c_is_the_usual_end(tmp_path):
    pytest.importorskip("uvicorn", reason='the page is not installed: pip install "dpsparse[app]"')
    command = [sys.executable, "-m", "dpsparse", "app", "--json", "--no-browser", "--folder", str(tmp_path)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        ready, _, _ = select.select([running.stdout], [], [], 120)
        assert ready
        assert "url" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    finally:
        running.kill()
    assert (running.returncode, told) == (0, "The page has ended.\n")


@pytest.mark.parametrize(("options", "resume"), [([], False), (["--folder", "mine"], True)])
def test_without_a_folder_nothing_of_an_earlier_start_is_opened(tmp_path, monkeypatch, options, resume):
    pytest.importorskip("uvicorn", reason='the page is not installed: pip install "dpsparse[app]"')
    seen = {}
    monkeypatch.setattr("dpsparse.app.server.serve", lambda folder, **how: seen.update(how, folder=folder))
    main(["app", "--no-browser", *options])
    assert seen["resume"] is resume


def test_a_file_is_named_where_the_page_begins(tmp_path, monkeypatch, failed):
    pytest.importorskip("uvicorn", reason='the page is not installed: pip install "dpsparse[app]"')
    from dpsparse.app.workspace import Workspace

    seen = {}
    monkeypatch.setattr("dpsparse.app.server.serve", lambda folder, **how: seen.update(how))
    assert "none.csv does not exist" in failed("app", "none.csv", "--no-browser")
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("age,cost\n1,2\n")
    main(["app", str(tmp_path / "one.csv"), "--no-browser"])
    work = Workspace(tmp_path / "home", seen["opened"])
    assert (work.opened, work.named) == (tmp_path.resolve(), "one.csv")
    work.change(path=str(tmp_path / "one.csv"))
    work.close()
    # Another file than last time is another table; the same one goes on.
    for name, known in (("two.csv", False), ("one.csv", True)):
        work = Workspace(tmp_path / "home", tmp_path / name)
        assert (work.draft.path is not None) is known
        work.close()
    main(["app", str(tmp_path), "--no-browser"])
    assert seen["opened"] == tmp_path


def test_the_page_opens_the_browser_through_a_file_that_hides_the_token(tmp_path, monkeypatch):
    pytest.importorskip("uvicorn", reason='the page is not installed: pip install "dpsparse[app]"')
    import webbrowser

    from dpsparse.app import server

    opened, told, called = [], [], threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda page: (opened.append(page), called.set()))
    monkeypatch.setattr(server, "_warm_up", lambda: None)
    url = "http://127.0.0.1:8000/enter?token=secret"
    server._ready(url, SimpleNamespace(folder=tmp_path), told.append, True)
    assert called.wait(10)
    assert told == [url]
    (page,) = opened
    assert page.startswith("file:")
    assert "secret" not in page
    file = tmp_path / server.OPENER
    assert url in file.read_text()
    assert os.name != "posix" or file.stat().st_mode & 0o077 == 0
