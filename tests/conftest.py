"""A PostgreSQL server, a browser, sizes of the engines, units of the features, and counts that a test wants seen."""

import contextlib
import glob
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dpsparse import PrivateSparseRegressor
from dpsparse.data.units import STANDARDIZED
from dpsparse.engine.config import configured

sys.path.insert(0, str(Path(__file__).parent))

from chromium import Chromium

PASSWORD = "not-a-secret"
ARTIFACTS = Path(__file__).parents[1] / "artefacts"


def _tool(name):
    program = shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))[::-1]), None)
    if program is None:
        reason = "PostgreSQL is not installed: apt-get install postgresql"
        if os.environ.get("DPSPARSE_REQUIRE_POSTGRES"):
            pytest.fail(reason)
        pytest.skip(reason)
    return program


def _server_user():
    """PostgreSQL refuses to run as root."""
    pwd = pytest.importorskip("pwd", reason="the PostgreSQL server of these tests needs a POSIX system")
    if os.geteuid() != 0:
        return {}, pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}, user
    pytest.skip("no user to run PostgreSQL as")


@pytest.fixture(scope="session")
def postgres_url():
    """The URL of an empty database on loopback, with its password; the server lies in a temporary folder."""
    initdb, pg_ctl = _tool("initdb"), _tool("pg_ctl")
    as_user, user = _server_user()
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    if as_user:
        os.chown(folder, user.pw_uid, user.pw_gid)
    password_file = os.path.join(folder, "password")
    with open(password_file, "w") as file:
        file.write(PASSWORD)
    os.chmod(password_file, 0o644)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = os.path.join(folder, "data")
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **as_user}
    login = ["--username=keeper", "--auth=scram-sha-256", f"--pwfile={password_file}"]
    subprocess.run([initdb, "-D", data, "--no-sync", "--encoding=UTF8", "--locale=C", *login], **quiet)
    subprocess.run([pg_ctl, "-D", data, "-w", "-l", os.path.join(folder, "log"), "-o", options, "start"], **quiet)
    yield f"postgresql://keeper:{PASSWORD}@127.0.0.1:{port}/postgres"
    subprocess.run([pg_ctl, "-D", data, "-w", "-m", "immediate", "stop"], **quiet)
    shutil.rmtree(folder)


def pytest_terminal_summary(terminalreporter):
    """Counts are printed at the end, also under xdist: ``record_property("counted", "...")``."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "counted":
                terminalreporter.write_line(f"{report.nodeid.split('::')[-1]}: {value}")


@pytest.fixture(scope="session")
def _dask_cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def dask_client(_dask_cluster):
    """The current client of two workers, processes of one thread each."""
    from distributed import Client

    with Client(_dask_cluster) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def configure():
    """Other sizes of the engines, until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda **sizes: stack.enter_context(configured(**sizes))


@pytest.fixture(scope="session")
def units_of():
    """Options that tell a class of estimators that features are standardised; the paper's take it for granted."""
    return lambda estimator: STANDARDIZED if estimator is PrivateSparseRegressor else {}


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium."""
    binary = shutil.which("chromium")
    if binary is None:
        reason = "Chromium is not installed: apt-get install chromium"
        if os.environ.get("DPSPARSE_REQUIRE_CHROMIUM"):
            pytest.fail(reason)
        pytest.skip(reason)
    running = Chromium(binary, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def artifacts():
    """Where pictures for people go; git ignores it."""
    ARTIFACTS.mkdir(exist_ok=True)
    return ARTIFACTS
