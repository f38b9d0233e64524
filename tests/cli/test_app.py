"""`dpsparse app` on the command line; tests/app has the page."""

import sys

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


def test_the_page_opens_the_browser_through_a_file_that_hides_the_token(tmp_path, monkeypatch, capsys):
    pytest.importorskip("uvicorn", reason='the page is not installed: pip install "dpsparse[app]"')
    import webbrowser

    from dpsparse.app import server

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(server, "_warm_up", lambda: None)
    # Ends as soon as it has begun.
    ready = server._ready
    running = []
    start = server._Server.__init__

    def watched(self, *arguments):
        start(self, *arguments)
        running.append(self)

    def end_at_once(*arguments):
        ready(*arguments)
        running[0].should_exit = True

    monkeypatch.setattr(server._Server, "__init__", watched)
    monkeypatch.setattr(server, "_ready", end_at_once)
    main(["app", "--folder", str(tmp_path / "home")])
    told = capsys.readouterr().out
    url = told.split()[4]
    assert url.startswith("http://127.0.0.1:")
    assert "The address is secret" in told
    (page,) = opened
    assert page.startswith("file:")
    assert "token" not in page
    assert not (tmp_path / "home" / "open.html").exists()
    assert not (tmp_path / "home" / "uploads").exists()
