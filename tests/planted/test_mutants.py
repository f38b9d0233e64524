"""The tool that makes mutants: what it changes, how it counts, and that tests notice a fixed few of them.

`python tests/planted/run.py` tries random ones, or all; CONTRIBUTING says how.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import run
from mutants import all_mutants, mutants_of

HERE, ROOT = run.HERE, run.ROOT
SOURCE = '''
"""Not this 1 + 1."""
LIMIT: int = 3


def f(x, y=0.5, *, kind="sum"):
    """Nor 2 < 3."""
    if x is None or not y:
        raise ValueError(f"{x + 1} is wrong")
    check(x)
    total = -x * (y + 1)  # a + b
    total += 2
    return total if x < y and kind == "sum" else True
'''


@pytest.fixture(scope="module")
def mutants():
    return all_mutants(ROOT)


def test_everything_that_computes_is_changed_and_nothing_that_is_told():
    changes = [mutant.change for mutant in mutants_of("f.py", SOURCE)]
    expected = ["3 -> 4", "0.5 -> 1.0", "\"sum\" -> 'sum_'", "or -> and", "is -> is not", "not  -> "]
    expected += ['raise ValueError(f"{x + 1} is wrong") -> pass', "check(x) -> pass", "* -> /", "- -> ", "+ -> -"]
    expected += ["1 -> 2", "+= -> -=", "2 -> 3", "and -> or", "< -> <=", "< -> >=", "== -> !=", "True -> False"]
    expected += ['return total if x < y and kind == "sum" else True -> return None']
    assert sorted(changes) == sorted([*expected, "\"sum\" -> 'sum_'"])


def test_a_mutant_changes_one_piece_of_text():
    for mutant in mutants_of("f.py", SOURCE):
        changed = mutant.applied(SOURCE)
        assert changed != SOURCE
        assert changed[: mutant.start] == SOURCE[: mutant.start]
        assert changed.endswith(SOURCE[mutant.stop :])
        assert SOURCE.splitlines()[mutant.line - 1].strip() == mutant.text


def test_keys_are_unique_and_survive_edits_elsewhere(mutants):
    assert len({mutant.key for mutant in mutants}) == len(mutants) > 2_500
    moved = {mutant.key for mutant in mutants_of("f.py", f"import os\n{SOURCE}")}
    assert {mutant.key for mutant in mutants_of("f.py", SOURCE)} == moved


def test_a_sample_has_every_file_and_repeats(mutants):
    sample = run.stratified(mutants, 150, seed=4)
    assert {mutant.file for mutant in sample} == {mutant.file for mutant in mutants}
    assert 130 <= len(sample) <= 190
    assert sample == run.stratified(mutants, 150, seed=4) != run.stratified(mutants, 150, seed=5)


def test_every_argued_mutant_is_still_one(mutants):
    known = {run.name_of(mutant) for mutant in mutants}
    assert [entry for entry in run.argued() if entry not in known] == []
    assert all(len(reason) > 20 for reason in run.argued().values())


def test_the_score_leaves_out_what_is_argued(tmp_path, mutants, capsys, monkeypatch):
    statuses = ["killed", "timeout", "survived", "no test"]
    results = {each.key: {"key": each.key, "status": status} for each, status in zip(mutants, statuses, strict=False)}
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results.values()))
    monkeypatch.setattr(run, "argued", lambda: {run.name_of(mutants[2]): "a reason"})
    assert run.print_score(mutants, run.results_in(tmp_path)) == [mutants[3]]
    assert "score 66.7%" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants live in forked processes")
def test_the_committed_few_are_noticed(tmp_path, record_property):
    command = [sys.executable, HERE / "run.py", "--noticed", "--results", tmp_path]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=840)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("killed: ") == len(json.loads(run.NOTICED.read_text())) >= 8
    record_property("counted", f"{ran.stdout.count('killed: ')} mutants planted, each noticed by its test")
