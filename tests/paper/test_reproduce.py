import json
import os
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from made_up import made_up, size
from scipy.stats import binomtest

from dpsparse import DPIHTH
from dpsparse.cli import main
from dpsparse.paper.designs import EPSILON, OURS, PANELS, PARTS, QUICK, SETTINGS, Data
from dpsparse.paper.experiments import Cell, Pilot, generate, run
from dpsparse.paper.reproduce import panel_data, run_all, size_of
from dpsparse.paper.results import count_beyond_chance, summarize
from dpsparse.paper.runner import TaskCache, source_digest
from dpsparse.paper.write import write_all

pytestmark = pytest.mark.slow

HAS_DATA = bool(os.environ.get("DPSPARSE_DATA"))
TINY = Data(60, 8, 2)


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_panels_are_the_papers():
    assert set(PARTS) == {f"fig{figure}{letter}" for figure in (1, 2) for letter in "abcd"} | {"table1", "table2"}
    for panel in PANELS.values():
        assert panel.methods == (("DP-IHT-H", "DP-SLR") if panel.figure == 1 else ("DP-IHT-L", "DP-IHT-H"))
    stated = DPIHTH(**SETTINGS["as stated"])
    assert (stated.step, stated.tau, stated.adjacency, stated.calibration) == (0.01, 1.0, "zero-out-one", "paper")


def test_panels_share_their_data_and_epsilons_share_theirs():
    data = panel_data(QUICK, PARTS)
    assert data == panel_data(QUICK, PARTS[:4])  # Figure 2 needs nothing that Figure 1 does not
    for regime in QUICK.regimes:
        assert data[regime.base] == regime.grids["epsilon"]
        assert all(epsilons == (EPSILON,) for way, epsilons in data.items() if way.zeta == 0.5)


def test_tails_are_compared_on_the_same_rows():
    heavy, light = (generate(Data(50, 6, 2, zeta), 0) for zeta in (0.5, 1.0))
    np.testing.assert_array_equal(heavy[0], light[0])
    np.testing.assert_array_equal(heavy[2], light[2])
    assert not np.array_equal(heavy[1], light[1])


def test_a_cell_tries_everything_once_and_repeats_itself():
    lam = Pilot(TINY).rows()[0]["lam"]
    cell = Cell(TINY, 3, (0.5, 1.0), lam)
    rows = run(cell)
    assert rows == run(cell)
    tried = [(row["setting"], row["method"], row["epsilon"]) for row in rows]
    assert len(tried) == len(set(tried)) == 2 + 2 * (2 * 3 + 1)
    coef = generate(TINY, 3)[2]
    assert {row["norm"] for row in rows} == {float(np.linalg.norm(coef))}


def make(folder, jobs):
    """One panel, on small data."""
    write_all(run_all(("fig1d",), size(4), folder, jobs, lambda done, total: None), folder, "test", {})


RUN = """
import sys
from test_reproduce import make
if __name__ == "__main__":
    make(sys.argv[1], 2)
"""


def test_a_killed_run_goes_on_to_the_same_bytes_whatever_the_jobs(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(RUN)
    paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def start():
        command = [sys.executable, str(script), str(tmp_path / "killed")]
        return subprocess.Popen(command, env=environment, start_new_session=True)

    make(tmp_path / "whole", 1)
    killed = start()
    cells = tmp_path / "killed" / "cells" / source_digest()
    deadline = time.monotonic() + 200
    while len(list(cells.glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    killed.kill()  # the parent alone: its workers have to end by themselves
    killed.wait(60)
    while _group_lives(killed.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _group_lives(killed.pid)
    done = {path.name: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    assert 2 <= len(done) < len(list((tmp_path / "whole" / "cells" / source_digest()).glob("*.json")))
    assert not (tmp_path / "killed" / "results.json").exists()
    assert start().wait(timeout=300) == 0
    assert {name: (cells / name).stat().st_mtime_ns for name in done} == done  # finished work is not done again
    whole = contents(tmp_path / "whole")
    assert {path.name for path in whole} > {"results.json", "report.html", "panels.parquet", "fig1d.svg", "fig1d.png"}
    left_over = [path for path in contents(tmp_path / "killed") if path.name.startswith(".")]
    for path in left_over:  # what a killed worker was writing; never read
        (tmp_path / "killed" / path).unlink()
    assert contents(tmp_path / "killed") == whole


def _group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_results_of_other_code_are_not_taken_over(tmp_path, monkeypatch):
    task = Pilot(TINY)
    cache = TaskCache(tmp_path)
    cache.folder.mkdir(parents=True)
    cache.path(task).write_text('[{"lam": 7.0}]')
    assert cache.rows(task) == [{"lam": 7.0}]
    monkeypatch.setattr("dpsparse.paper.runner.versions", lambda: {"numpy": "another"})
    assert not TaskCache(tmp_path).path(task).exists()


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.text, self.images = "", 0
        self.feed(text)

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, name, attributes):
        self.images += name == "img"


def test_the_report_tells_everything(tmp_path):
    picked = ["A", "B", "C", "D", "E"]
    results = made_up(lambda *_: 0.7, lambda table, *_: 1.0, lambda *_: picked)
    verdicts = write_all(results, tmp_path, "dpsparse reproduce all", {"table9": "no such file"})
    page = Reader((tmp_path / "report.html").read_text())
    assert page.images == 9  # eight panels and the headline
    for words in ("dpsparse reproduce all", "no such file", source_digest(), "numpy 2", "24,368", "A 100.0%"):
        assert words in page.text
    for verdict in verdicts:
        assert verdict.claim.quote in page.text
        assert verdict.claim.rule in page.text
    plain = json.loads((tmp_path / "results.json").read_text())
    assert [verdict["verdict"] for verdict in plain["verdicts"]] == [verdict.verdict for verdict in verdicts]
    rows = pyarrow.parquet.read_table(tmp_path / "panels.parquet").to_pylist()
    assert rows == list(results.panel_rows)
    for panel in PANELS:
        assert b"<svg" in (tmp_path / "figures" / f"{panel}.svg").read_bytes()[:1000]


def test_counts_beyond_chance():
    # By hand: 100 runs of 5 among 1000 genes; a gene is picked k times with the binomial law of 100 and 0.005.
    threshold = count_beyond_chance(100, 1000)
    tails = [1000 * binomtest(k, 100, 0.005, "greater").pvalue for k in (threshold - 1, threshold)]
    assert tails[1] <= 0.05 < tails[0]


def test_table_rows_rank_genes_by_count_then_name():
    def picked(table, setting, method):
        return ["B", "A"] if setting == OURS else []

    results = made_up(lambda *_: 1.0, picked=picked)
    row = summarize(results, results.tables[0])[-1]
    assert row.genes == (("A", 1.0), ("B", 1.0))
    assert (row.method, row.beyond_chance, row.size) == (OURS, 2, 2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["fig9z"], "there is no part 'fig9z'; choose from fig1a"), (["table1"], "nci60.parquet is not there")],
)
def test_bad_parts_take_one_line(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("DPSPARSE_DATA", str(tmp_path / "empty"))
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *arguments, "--out", str(tmp_path / "out")])
    assert stopped.value.code == 1
    error_text = capsys.readouterr().err
    assert message in error_text
    assert error_text.count("\n") == 1
    assert not (tmp_path / "out").exists()


def check_errors(folder):
    """Our own method, on the data where the paper's stay at the origin."""
    rows = pyarrow.parquet.read_table(folder / "panels.parquet").to_pylist()
    base = QUICK.regimes[1].base
    errors = {}
    for row in rows:
        if (row["n"], row["d"], row["sparsity"], row["zeta"], row["epsilon"]) == (base.n, base.d, 5, 1.0, EPSILON):
            errors.setdefault((row["setting"], row["method"]), []).append(row["error"] / row["norm"])
    assert np.mean(errors[OURS, OURS]) < 0.05
    assert np.mean(errors["as stated", "DP-IHT-H"]) > 0.9


def reproduced(folder, *parts):
    command = [sys.executable, "-m", "dpsparse", "reproduce", *parts, "--quick", "--json", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["report"] == str(folder / "report.html")
    return json.loads((folder / "results.json").read_text())


def test_parts_are_reproduced(tmp_path):
    parts = ["fig1d", "table1"] if HAS_DATA else ["fig1d"]
    results = reproduced(tmp_path, *parts, "--repeats", "2")
    assert results["left_out"] == {}
    assert {path.stem for path in (tmp_path / "figures").glob("*.png")} == {"fig1d"}
    assert set(results["tables"]) == ({"nci60"} if HAS_DATA else set())
    check_errors(tmp_path)


@pytest.mark.long
def test_quick_reproduces_everything(tmp_path):
    results = reproduced(tmp_path, "all", "--repeats", "2")
    assert set(results["left_out"]) == (set() if HAS_DATA else {"table1", "table2"})
    assert {verdict["number"] for verdict in results["verdicts"]} == set(range(1, 23 if HAS_DATA else 14))
    assert {path.stem for path in (tmp_path / "figures").glob("*.png")} == {*PANELS, "headline"}
    if HAS_DATA:
        assert set(results["tables"]) == {"nci60", "tumour size", "GATA3"}
    check_errors(tmp_path)


def test_size_of_the_run_is_that_asked_for():
    assert size_of(False, None).repeats == 20
    assert (size_of(True, 5).repeats, size_of(True, 5).splits) == (5, 5)
