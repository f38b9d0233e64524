"""A raw table of 50 columns with gaps, the page in this process, and the page as a program of its own."""

import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from client import Client, Program
from made_up_people import people

# Without the extra `app` there is no page to test.
collect_ignore_glob = [] if find_spec("starlette") and find_spec("uvicorn") else ["test_*.py"]


@pytest.fixture(scope="session")
def csv():
    """The table as a CSV file has it."""
    return people().to_csv(index=False)


@pytest.fixture
def data(tmp_path, csv):
    """The folder that is opened, with the table."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "people.csv").write_text(csv)
    return folder


@pytest.fixture
def work(tmp_path, data):
    """What is behind the page."""
    from dpsparse.app.preview import preview_page
    from dpsparse.app.workspace import Workspace

    # A preview that an earlier test left would leave this test other noise.
    preview_page.cache_clear()
    work = Workspace(tmp_path / "home", data)
    yield work
    work.close()


@pytest.fixture
def seeded(monkeypatch):
    """Draws of the secure source that are the same in every run, for a test of what a fit finds."""
    from dpsparse.privacy.noise import SecureSource, SeededSource

    source = SeededSource(0)
    for name in ("laplace", "gaussian", "bits"):
        monkeypatch.setattr(SecureSource, name, getattr(source, name))


@pytest.fixture
def url(work):
    """The address of the page, served from a thread of this process."""
    import uvicorn

    from dpsparse.app.security import ENTER, Guard
    from dpsparse.app.server import create_app

    guard = Guard(create_app(work), [])
    server = uvicorn.Server(uvicorn.Config(guard, port=0, log_level="error", access_log=False, ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < deadline, "the page did not start"
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    guard.allow([f"127.0.0.1:{port}"])
    yield f"http://127.0.0.1:{port}{ENTER}?token={guard.token}"
    server.should_exit = True
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def client(url):
    """A client that was let in."""
    client = Client(url)
    client.get("/file")
    return client


@pytest.fixture
def ended(client):
    """Wait until a fit has ended; gives its page."""

    def wait(reply):
        assert reply.path.startswith("/fits/"), (reply.path, reply.error)
        deadline = time.monotonic() + 60
        while client.state(reply.path)["state"] == "started":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return client.get(reply.path)

    return wait


@pytest.fixture
def program(tmp_path, data):
    """Start the page as a program of its own; it is ended at last."""
    running = []

    def start(*arguments, script=None):
        running.append(Program("--folder", tmp_path / "home", "--data", data, *arguments, script=script))
        return running[-1]

    yield start
    for each in running:
        each.kill()


@pytest.fixture
def tab(browser):
    """A new tab; it is closed at last."""
    from chromium import Tab

    tab = Tab(browser)
    tab.show_as(1024)
    yield tab
    tab.call("Page.close")
