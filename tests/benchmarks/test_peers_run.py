"""benchmarks/peers: seeds, resuming, and designs that follow their papers."""

import importlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def load():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(BENCHMARKS))


def fit_mean(X, y, budget, rng):
    return importlib.import_module("peers.problem").Line(np.zeros(X.shape[1]), float(y.mean()))


def fit_noise(X, y, budget, rng):
    return importlib.import_module("peers.problem").Line(rng.standard_normal(X.shape[1]), 0.0)


def fit_nothing(X, y, budget, rng):
    raise ValueError("no line\nfor anyone")


def fit_infinity(X, y, budget, rng):
    return importlib.import_module("peers.problem").Line(np.full(X.shape[1], np.inf), 0.0)


@pytest.fixture
def small(load, monkeypatch):
    """Two designs and four peers, and a runner that works in this process."""
    peer, design = load("peers.problem").Peer, load("peers.settings.design")
    data = load("peers.settings.simulated").best_subset_data
    budgets, repeats = ((1.0, 0.0), (1.0, 1e-6)), (2, 2, 3)
    designs = [
        design.Design("ground", name, 40, 6, 5, budgets, repeats, lambda seed: data(40, 6, seed), ("l2",))
        for name in ("one", "two")
    ]
    peers = [
        peer("noise", fit_noise, True, "nothing", "", ""),
        peer("pure", fit_noise, True, "nothing", "", "", pure=True),
        peer("raises", fit_nothing, True, "nothing", "", ""),
        peer("narrow", fit_noise, True, "nothing", "", "", most_features=5),
        peer("judged by squared error", fit_noise, True, "nothing", "", "", of_mean=True),
        peer("mean", fit_mean, False, "nothing", "", ""),
        peer("slow", fit_mean, False, "nothing", "", "", heavy=True),
    ]
    runner, worker = load("peers.runner"), load("peers.worker")
    for module in (runner, worker):
        monkeypatch.setattr(module, "PEERS", {each.name: each for each in peers})
        monkeypatch.setattr(module, "DESIGNS", {each.name: each for each in designs})
    monkeypatch.setattr(runner, "_pool", ThreadPoolExecutor)
    return runner


def run(small, folder, **options):
    said = []
    rows = small.run("quick", folder=folder / "parts", results=folder / "all.parquet", say=said.append, **options)
    return rows, "\n".join(said)


def test_a_run_has_every_fit_once_and_survives_a_peer_that_raises(small, tmp_path):
    rows, said = run(small, tmp_path)
    # Two designs, two repeats: three private fits (noise, pure, raises) at delta 1e-6, one at delta 0, one open fit;
    # and the slow one on the first repeats.
    assert len(rows) == 2 * (2 * 5 + 1)
    assert not rows.duplicated(["design", "epsilon", "delta", "repeat", "peer"]).any()
    assert set(rows.loc[rows["delta"] == 0, "peer"]) == {"pure"}
    assert (rows.loc[rows["peer"] == "raises", "failed"] == "ValueError: no line").all()
    assert (rows["failed"] != "").sum() == 4
    assert rows.loc[rows["peer"] == "slow", "repeat"].unique().tolist() == [0]
    assert "narrow: not above 5 features (2 of 2 designs left out)" in said
    assert "failed: raises on one, two: ValueError: no line" in said


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_where_it_was(small, tmp_path, monkeypatch):
    whole, _ = run(small, tmp_path / "whole")
    calls = []
    real = importlib.import_module("peers.worker").run_fit

    def stopping(design, data, repeat, fit):
        calls.append((design.name, repeat, fit.key))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(design, data, repeat, fit)

    monkeypatch.setattr(importlib.import_module("peers.worker"), "run_fit", stopping)
    first, _ = run(small, tmp_path / "parts")
    assert len(first) == 5
    again, _ = run(small, tmp_path / "parts")
    # The one that was interrupted is the only one that was begun twice.
    assert len(calls) == len(whole) + 1
    assert len(set(calls)) == len(whole)
    errors = ["design", "repeat", "peer", "l2"]
    pd.testing.assert_frame_equal(again[errors], whole[errors])
    nothing, said = run(small, tmp_path / "parts")
    assert "0 fits" in said
    assert len(nothing) == len(whole)


@pytest.mark.slow
def test_results_of_another_machine_are_gone_on_from(small, tmp_path):
    run(small, tmp_path / "there")
    rows, said = run(small, tmp_path / "here", resume=tmp_path / "there" / "all.parquet")
    assert "0 cells, 0 fits" in said
    assert len(rows) == 22


@pytest.mark.slow
@pytest.mark.parametrize(("times", "rows", "said"), [(1, 22, "22 fits in"), (2, 16, "worker died twice")])
def test_a_worker_that_dies_takes_one_cell_with_it_at_most(small, tmp_path, monkeypatch, times, rows, said):
    real, deaths = small.run_cell, []

    def dying(name, repeat, *rest):
        if (name, repeat) == ("one", 0) and len(deaths) < times:
            deaths.append(name)
            raise BrokenProcessPool
        return real(name, repeat, *rest)

    monkeypatch.setattr(small, "run_cell", dying)
    found, text = run(small, tmp_path)
    assert len(found) == rows
    assert said in text


def test_a_cell_that_raises_is_left_out_with_its_reason(small, tmp_path, monkeypatch):
    monkeypatch.setattr(small, "run_cell", lambda *_: 1 / 0)
    found, text = run(small, tmp_path)
    assert found.empty
    assert text.count("left out: ZeroDivisionError: division by zero") == 4


def test_no_fit_begins_after_the_deadline(small, load, tmp_path):
    fits = tuple(load("peers.plan").fits_of(small.DESIGNS["one"], 0, small.PEERS))
    assert load("peers.worker").run_cell("one", 0, fits, tmp_path, time.time() - 1) == (
        0, [], "stopped at the time given",
    )  # fmt: skip
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_fit_of_another_version_is_made_again(small, load, tmp_path, monkeypatch):
    run(small, tmp_path)
    versions = {name: "new" if name == "pure" else load("peers.results").version_of(peer)
                for name, peer in small.PEERS.items()}  # fmt: skip
    monkeypatch.setattr(small, "version_of", lambda peer: versions[peer.name])
    _, said = run(small, tmp_path)
    assert "4 cells, 8 fits" in said


def test_a_version_knows_the_adapters_that_an_adapter_calls(load):
    results, peers = load("peers.results"), load("peers.adapters").PEERS
    modules = {module.__name__.rpartition(".")[2] for module in results._modules(load("peers.adapters.kendall"))}
    assert modules >= {"kendall", "tukey", "boosted_adassp"}
    versions = {name: results.version_of(peer) for name, peer in peers.items()}
    assert versions["AdaSSP"] == versions["AdaSSP, rows clipped"]
    assert len({versions[name] for name in ("AdaSSP", "ours", "DP-SLR", "TukeyEM", "Kendall + Tukey")}) == 5


def test_a_part_that_a_crash_broke_counts_as_none(load, tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then the power went")
    assert load("peers.results").read_parts(tmp_path).empty


def test_every_peer_sees_the_same_data_and_noise_of_its_own(small, load):
    design = small.DESIGNS["one"]
    np.testing.assert_array_equal(design.data(1).X, design.data(1).X)
    assert (design.data(0).X != design.data(1).X).all()
    assert (design.data(0).X != small.DESIGNS["two"].data(0).X).all()
    run_fit, fit = load("peers.worker").run_fit, load("peers.plan").Fit
    errors = [run_fit(design, design.data(0), 0, fit(*key))["l2"] for key in (
        ("noise", 1.0, 1e-6), ("pure", 1.0, 1e-6), ("pure", 1.0, 0.0), ("noise", 1.0, 1e-6))]  # fmt: skip
    assert len(set(errors)) == 3
    assert errors[0] == errors[3]


def test_a_line_that_is_not_finite_is_a_failure(small, load, monkeypatch):
    peer = load("peers.problem").Peer("infinite", fit_infinity, True, "nothing", "", "")
    worker = load("peers.worker")
    monkeypatch.setitem(worker.PEERS, "infinite", peer)
    design = small.DESIGNS["one"]
    row = worker.run_fit(design, design.data(0), 0, load("peers.plan").Fit("infinite", 1.0, 1e-6))
    assert row["failed"] == "the line is not finite"


def test_text_becomes_columns_and_gaps_do_not_vanish(load):
    frame = pd.DataFrame(
        {"n": [1, 2, 3, 4], "t": ["u", None, "v", "w"], "id": list("abcd"), "y": [1.0, 2.0, np.nan, 4.0]}
    )
    X, y, names = load("peers.settings.tables").encoded(frame, "y", ("id",))
    # The third record has no response; the gap in the text is the first value, the reference.
    assert names == ["n", "t=u", "t=w"]
    np.testing.assert_array_equal(X, [[1, 1, 0], [2, 0, 0], [4, 0, 1]])
    np.testing.assert_array_equal(y, [1, 2, 4])


def test_designs_follow_their_papers(load):
    simulated = load("peers.settings.simulated")
    data = simulated.dphuber_data(4_000, 30, np.inf, 1)
    assert np.flatnonzero(data.coef).tolist() == list(range(9))
    assert set(np.abs(data.coef[:9])) == {1.0}
    # Standard errors are about 1/sqrt(4,000) = 0.016.
    neighbours = [np.corrcoef(data.X[:, j], data.X[:, j + 1])[0, 1] for j in range(29)]
    assert np.mean(neighbours) == pytest.approx(0.1, abs=0.02)
    assert (data.y - data.X @ data.coef).std() == pytest.approx(1, abs=0.06)
    data = simulated.best_subset_data(20_000, 20, 2)
    signal = data.X @ data.coef
    assert signal.var() / (data.y - signal).var() == pytest.approx(5, rel=0.06)
    assert len({design.name for design in simulated.SIMULATED}) == len(simulated.SIMULATED)
