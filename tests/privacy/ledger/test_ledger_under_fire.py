"""The ledger when many spend at once, when fits are killed, when the disk is full or may not be written."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from pathlib import Path

import pytest

from dpsparse import PrivacyLedger
from dpsparse.algorithms.iht.private_iht import iht_commitment
from dpsparse.privacy.guarantee import Guarantee, epsilon_from_rho

pytestmark = pytest.mark.slow

WORKER = Path(__file__).with_name("ledger_worker.py")
DELTA = 1e-6
# The zCDP of the worker's fit; no other account gives it a smaller share.
RHO = iht_commitment(Guarantee(0.2, DELTA), sparsity=2, n_steps=4, calibration="tight").composed.rho


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", str(WORKER), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def result(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out), err


def grant_for(location, fits):
    """A ledger whose budget admits this many of the worker's fits."""
    ledger = PrivacyLedger(location)
    ledger.grant("raced", epsilon=epsilon_from_rho(fits * RHO, DELTA), delta=DELTA)
    return ledger


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_fifty_processes_never_get_more_than_twenty_fits(where, request, tmp_path, record_property):
    location = str(tmp_path / "b.db") if where == "sqlite" else request.getfixturevalue("postgres_url")
    ledger = grant_for(location, 20.5)
    statuses, errors = result(start("race", location, 50))
    assert statuses == {"0": 20, "3": 30}, errors
    kinds = Counter(event.kind for event in ledger.history())
    assert kinds == {"grant": 1, "reserve": 20, "charge": 20}
    ledger.verify()
    record_property("counted", f"50 processes on {where}: {statuses['0']} admitted, {statuses['3']} refused")


def test_no_fit_killed_anywhere_has_released_without_its_charge(tmp_path, record_property):
    location, markers = tmp_path / "b.db", tmp_path / "markers"
    markers.mkdir()
    ledger = grant_for(location, 1000)
    workers = [start("kill", location, markers, first, 250) for first in (1, 251)]
    ended = Counter()
    for worker in workers:
        ended.update(result(worker)[0])
    assert ended["failed"] == 0
    assert sum(ended.values()) == 500
    ledger.verify()
    state = ledger.state()
    states = {number: state.fits.get(str(uuid.UUID(int=number))) for number in range(1, 501)}
    states = {number: fit.state if fit else "nothing" for number, fit in states.items()}
    released = {int(path.name) for path in markers.iterdir()}
    assert {states[number] for number in released} == {"charged"}
    counts = Counter(states.values())
    assert min(counts["nothing"], counts["reserved"], ended["killed"]) > 0
    assert len(state.filters["raced"].costs) == counts["charged"] + counts["reserved"]
    record_property(
        "counted",
        f"500 fits, {ended['killed']} killed: {counts['nothing']} before they reserved, {counts['reserved']} before "
        f"they charged, {counts['charged']} after; {len(released)} had released, all of them charged; the chain holds",
    )


@pytest.mark.parametrize("when", ["reserve", "charge"])
def test_a_full_disk_releases_nothing(when, tmp_path):
    ledger = grant_for(tmp_path / "b.db", 3)
    ended, message = result(start("no_space", tmp_path / "b.db", tmp_path / "marker", when))
    assert ended == {"status": 4}
    assert "could not be written" in message
    assert len(message.splitlines()) == 1
    assert not (tmp_path / "marker").exists()
    kinds = [event.kind for event in ledger.history()]
    assert kinds == ["grant", "reserve"][: 1 + (when == "charge")]
    ledger.verify()


def test_a_file_that_may_not_be_written_releases_nothing():
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        ledger = grant_for(folder / "b.db", 3)
        (folder / "b.db").chmod(0o400)
        if os.geteuid() == 0:
            # The worker's own file: another's would be refused for another reason.
            os.chown(folder / "b.db", 65534, 65534)
        folder.chmod(0o755)
        open_to_all = folder / "markers"
        open_to_all.mkdir()
        open_to_all.chmod(0o777)
        ended, message = result(start("as_nobody", folder / "b.db", open_to_all / "marker"))
        assert ended == {"status": 4}
        assert "could not be written" in message
        assert len(message.splitlines()) == 1
        assert not (open_to_all / "marker").exists()
        assert [event.kind for event in ledger.history()] == ["grant"]
    finally:
        shutil.rmtree(folder)
