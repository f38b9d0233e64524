"""A PostgreSQL server, a browser, sizes of the engines, units of the features, and counts that a test wants seen."""

import contextlib
import os
import shutil
import sys
from pathlib import Path

import pytest

from dpsparse import PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine.config import configured

sys.path.insert(0, str(Path(__file__).parent))

from chromium import Chromium
from postgres import server

ARTIFACTS = Path(__file__).parents[1] / "artefacts"


@pytest.fixture(scope="session")
def postgres_url():
    """The URL of an empty database on loopback, with its password; the server lies in a temporary folder."""
    with server() as running:
        yield running.url


@pytest.fixture(scope="session")
def postgres_to_kill():
    """A server of its own, for tests that end it."""
    with server() as running:
        yield running


def pytest_terminal_summary(terminalreporter):
    """Counts are printed at the end, also under xdist: ``record_property("counted", "...")``."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "counted":
                terminalreporter.write_line(f"{report.nodeid.split('::')[-1]}: {value}")


# Where a worker may be busy elsewhere, seconds until it must be there.
WORKERS_BACK = 240


@pytest.fixture(scope="session")
def _dask_cluster():
    import dask
    from distributed import LocalCluster

    # By default a cluster gives up a worker that is not back 15 seconds after it was killed.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": WORKERS_BACK})
    with patient, LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def dask_client(_dask_cluster):
    """The current client of two workers, processes of one thread each."""
    from distributed import Client

    with Client(_dask_cluster) as client:
        client.wait_for_workers(2, timeout=WORKERS_BACK)
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
