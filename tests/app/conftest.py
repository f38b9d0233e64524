"""A raw table of 50 columns with gaps, the page in this process, and the page as a program of its own."""

import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason='the page is not installed: pip install "dpsparse[app]"')
pytest.importorskip("uvicorn", reason='the page is not installed: pip install "dpsparse[app]"')

import uvicorn

from dpsparse.app.security import ENTER, Guard
from dpsparse.app.server import create_app
from dpsparse.app.workspace import Workspace

sys.path.insert(0, str(Path(__file__).parent))

from client import Client, Program


def people(n=2_000, seed=0):
    """Text, dates, identifiers, 44 laboratory values and a cost with outliers; a twentieth of the cells is missing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "id": [f"P{k:06d}" for k in rng.permutation(n)],
            "age": rng.normal(50, 15, n).round(1),
            "smoker": np.where(rng.random(n) < 0.2, "yes", "no"),
            "region": rng.choice(["north", "south", "east"], n),
            "joined": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D")).strftime(
                "%Y-%m-%d"
            ),
        }
        | {f"lab_{k:02d}": rng.normal(k, 1 + k / 10, n).round(3) for k in range(44)}
    )
    table["cost"] = (100 * table.age + 9_000 * (table.smoker == "yes") + 2_000 * rng.standard_t(2, n)).round(2)
    gaps = rng.random(table.shape) < 0.05
    gaps[:, 0] = False
    return table.astype(object).mask(gaps, rng.choice(["", "n/a"]))


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
    work = Workspace(tmp_path / "home", data)
    yield work
    work.close()


@pytest.fixture
def url(work):
    """The address of the page, served from a thread of this process."""
    guard = Guard(create_app(work), [])
    server = uvicorn.Server(uvicorn.Config(guard, port=0, log_level="error", access_log=False, ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    guard.allow([f"127.0.0.1:{port}"])
    yield f"http://127.0.0.1:{port}{ENTER}?token={guard.token}"
    server.should_exit = True
    thread.join()


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
