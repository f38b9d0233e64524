"""benchmarks/peers: the rule of who is first, on numbers worked out by hand, and the page that is made of it."""

import importlib
import math
import sys
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


def test_the_interval_is_that_of_the_log_ratios(load):
    # Log ratios 1, 2, 3: mean 2, standard deviation 1, Student's 97.5 % point with 2 degrees of freedom 4.302653.
    other = np.array([0.3, 1.0, 7.0])
    found = load("peers.ranking").gap("squared", other * np.exp([1, 2, 3]), other)
    half = 4.302653 / math.sqrt(3)
    assert found.value == pytest.approx(math.exp(2))
    assert (found.low, found.high) == pytest.approx((math.exp(2 - half), math.exp(2 + half)), rel=1e-6)
    assert found.verdict == "undecided"


@pytest.mark.parametrize(
    ("metric", "ours", "theirs", "verdict"),
    [
        ("l2", [0.5, 0.5, 0.5], [1.0, 1.0, 1.0], "first"),
        ("l2", [1.0, 1.0, 1.0], [0.5, 0.5, 0.5], "lost"),
        ("l2", [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], "tied"),
        ("l2", [0.5], [1.0], "undecided"),  # one repeat has no interval
        # Log ratios -0.1, 0, 0.1: half the interval 4.302653 * 0.1 / sqrt(3) = 0.248, high over low exp(0.497) = 1.64.
        ("l2", [np.exp(-0.1), 1.0, np.exp(0.1)], [1.0, 1.0, 1.0], "undecided"),
        # Of 0.08: high over low is exp(0.397) = 1.49.
        ("l2", [np.exp(-0.08), 1.0, np.exp(0.08)], [1.0, 1.0, 1.0], "tied"),
        ("f1", [1.0, 1.0, 1.0], [0.5, 0.5, 0.5], "first"),  # a large share is good
        ("f1", [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], "tied"),
        # Differences of what is missing: 0, 0, -0.3; mean -0.1, deviation 0.173, half the interval 0.43.
        ("f1", [1.0, 1.0, 1.0], [1.0, 1.0, 0.7], "undecided"),
        ("f1", [1.0, 1.0, 1.0], [1.0, 1.0, 0.9], "tied"),  # half the interval 0.14
    ],
)
def test_the_verdict_is_by_the_interval(load, metric, ours, theirs, verdict):
    assert load("peers.ranking").gap(metric, ours, theirs).verdict == verdict


def example_rows():
    """Three repeats of one design: "a" is best, "b" is close to it, "c" is best where it does not fail."""
    values = {"ours": [1.0, 1.1, 0.9], "a": [0.5, 0.6, 0.4], "b": [0.5, 0.5, 0.5], "c": [0.1, 0.1, np.nan]}
    return pd.DataFrame([
        {"design": "x", "epsilon": 1.0, "delta": 1e-6, "repeat": repeat, "peer": peer, "l2": value,
         "failed": "" if value == value else "it failed"}
        for peer, each in values.items() for repeat, value in enumerate(each)
    ])  # fmt: skip


def test_the_best_rival_is_one_that_never_failed(load):
    ranking, simulated = load("peers.ranking"), load("peers.settings.simulated")
    design = next(d for d in simulated.SIMULATED if d.name == "task A")
    unfinished = pd.DataFrame([{"epsilon": 1.0, "delta": 1e-6, "repeat": 3, "peer": "b", "l2": 0.01, "failed": ""}])
    rows = pd.concat([example_rows(), unfinished]).assign(design="task A")
    (setting,) = ranking.settings_of(rows, design, "l2")
    # Geometric means: a (0.5 * 0.6 * 0.4)^(1/3) = 0.493, b 0.5, ours 0.997.
    assert setting.best(["a", "b", "c"]) == "a"
    assert setting.typical("a") == pytest.approx(0.12 ** (1 / 3))
    assert setting.gap("b", "a").verdict == "undecided"
    rival, gap, verdict = ranking.verdict_of(setting, "ours", ["a", "b", "c"])
    assert (rival, verdict) == ("a", "lost")
    # Ratios 2, 1.1 / 0.6 and 2.25: their geometric mean is (8.25)^(1/3).
    assert gap.value == pytest.approx(8.25 ** (1 / 3))
    assert ranking.verdict_of(setting, "c", ["a", "b"])[2] == "failed"
    assert ranking.verdict_of(setting, "ours", ["c"]) is None
    assert setting.ranks(["ours", "a", "b", "c"]) == {"ours": 3.0, "a": 1.0, "b": 2.0}
    assert ranking.mean_ranks([setting], ["ours", "c"])["settings"].to_dict() == {"ours": 1, "c": 0}


def test_a_setting_without_a_narrow_interval_is_not_counted(load):
    """Four settings: one first, one lost, two undecided; half of the decided ones are held, three of four are ahead."""
    verdicts, gaps = ["first", "lost", "undecided", "undecided"], [0.5, 2.0, 0.9, 0.8]
    frame = pd.DataFrame({"verdict": verdicts, "gap": gaps, "metric": "l2"})
    assert load("peers.report")._counts(frame) == ("1 / 0 / 1 / 2", "50%", "75%")


def test_a_marker_is_filled_again_and_again(load):
    fill = load("peers.report").fill
    once = fill("x <!-- peers:a --><!-- /peers:a --> y", "a", "1 \\g<0>")
    assert fill(once, "a", "2") == fill("x <!-- peers:a --><!-- /peers:a --> y", "a", "2")
    with pytest.raises(ValueError, match="no markers peers:b"):
        fill(once, "b", "2")


@pytest.mark.slow
def test_the_page_is_made_of_the_results(load, tmp_path):
    results, report = load("peers.results"), load("peers.report")
    # Ours has half of AdaSSP's error at epsilon 1, twice its error at epsilon 3; DP-SLR is far behind.
    values = {"ours": (0.4, 1.6), "ours, nothing known": (0.4, 1.6), "AdaSSP": (0.8, 0.8), "DP-SLR": (9.0, 9.0)}
    # Squared error judges the entry of the mean, absolute error that of the typical response.
    values |= {"ours, mean": (0.4, 1.2), "ours, mean, nothing known": (0.4, 1.2)}
    rows = [
        {"design": "wine", "epsilon": epsilon, "delta": 1e-6, "repeat": repeat, "peer": peer, "seconds": 1.0,
         "squared": value, "absolute": value, "failed": "", "version": "v"}
        for peer, pair in values.items()
        for epsilon, value in zip((1.0, 3.0), pair, strict=True)
        for repeat in range(3)
    ]  # fmt: skip
    results.save(results.frame_of(rows), tmp_path / "peers.parquet")
    page = tmp_path / "comparison.md"
    page.write_text((BENCHMARKS.parent / "docs" / "comparison.md").read_text())
    report.write_page(tmp_path / "peers.parquet", tmp_path)
    text = page.read_text()
    lost = text.partition("<!-- peers:losses -->")[2].partition("<!-- /peers:losses -->")[0]
    assert "| wine | 3 | squared | units known | AdaSSP 0.8 | 1.2 | 1.50 [1.50, 1.50] |" in lost
    assert "| wine | 3 | absolute | units known | AdaSSP 0.8 | 1.6 | 2.00 [2.00, 2.00] |" in lost
    assert lost.count("| wine | 3 |") == 4
    assert "| wine | 1 |" not in lost
    assert "| real tables | 1 | squared | 1 / 0 / 0 / 0 | 100% | 100% | 1 / 0 / 0 / 0 | 100% | 100% |" in text
    counts = "2 / 0 / 2 / 0 | 50% | 50%"
    assert f"| **all, epsilon .3 and above** |  |  | {counts} | {counts} |" in text
    # At epsilon 3 every fit of ours is astray, at epsilon 1 none.
    assert "| ours | 0% | 100% |" in text
    assert (tmp_path / "img" / "peers_tables.png").stat().st_size > 0
    report.write_page(tmp_path / "peers.parquet", tmp_path)
    assert page.read_text() == text


@pytest.mark.slow
@pytest.mark.parametrize("part", ["losses", "tally"])
def test_the_committed_page_says_what_the_committed_results_say(load, part):
    page = (BENCHMARKS.parent / "docs" / "comparison.md").read_text()
    report = load("peers.report")
    frame = report.verdicts(report.results_of(BENCHMARKS / "results" / "peers.parquet"))
    content = {"losses": report.losses_table, "tally": report.tally_table}[part](frame)
    assert report.fill(page, part, content) == page
