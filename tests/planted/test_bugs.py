"""Planted bugs fit the source, and the checks of the audit notice them: CI hunts a few, `pytest -m long` all."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bugs.all import BUGS, in_ci
from planting import PACKAGE, Bug, StaleEdit, edited, planted

from dpsparse.audit.run import CHECKS

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
HUNTED = sorted({bug.check for bug in BUGS})
# Seconds for one run: all bugs of the check that takes longest.
TIME_LIMIT = 7_000


@cache
def as_written(path):
    return ast.dump(ast.parse(path.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_an_edit_finds_its_piece_of_source(bug):
    texts = bug.texts(ROOT / PACKAGE)
    for file, text in texts.items():
        assert ast.dump(ast.parse(text)) != as_written(ROOT / PACKAGE / file)


def test_there_are_enough_bugs_of_different_names_for_known_checks():
    assert len({bug.name for bug in BUGS}) == len({bug.key for bug in BUGS}) == len(BUGS) >= 320
    assert {bug.check for bug in BUGS} <= set(CHECKS)
    assert 6 <= sum(map(in_ci, BUGS)) <= 15


SOURCE = '''
def f(x):
    return x


class A:
    @property
    def f(self):
        """A doc.

        Of lines.
        """
        return f(1)
'''


def test_only_the_function_named_is_edited():
    assert "        return f(2)\n" in edited(SOURCE, "A.f", [("f(1)", "f(2)")])
    assert "def f(x):\n    return -x\n" in edited(SOURCE, "f", [("return x", "return -x")])
    assert edited(SOURCE, "A.f", [("f(1)", "f(1)")]) == SOURCE


@pytest.mark.parametrize(("function", "old"), [("f", "return f"), ("A.f", "f"), ("A.g", "f(1)")])
def test_an_edit_that_does_not_fit_is_refused(function, old):
    with pytest.raises(StaleEdit):
        edited(SOURCE, function, [(old, "")])


def test_a_change_is_taken_out_again(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    before = path.stat().st_mtime
    bug = Bug("two edits of one file", "terms", {"module:f": [("return x", "return 7")], "module:A.f": [("1", "2")]})

    def failing():
        with planted(bug, tmp_path):
            assert "return 7" in path.read_text()
            assert "f(2)" in path.read_text()
            assert path.stat().st_mtime != before
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert (path.read_text(), path.stat().st_mtime) == (SOURCE, before)


HUNTS = pytest.mark.skipif(not hasattr(os, "fork"), reason="bugs live in forked processes")


def hunt(bugs, tmp_path):
    names = [bug.name for bug in bugs]
    command = [sys.executable, HERE / "run.py", "--results", tmp_path, "--bugs", *names]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIME_LIMIT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    noticed = re.findall(r"^noticed: (.+) \| ", ran.stdout, re.MULTILINE)
    assert {*names} <= {*noticed}


@pytest.mark.slow
@pytest.mark.no_cover
@HUNTS
def test_a_few_planted_bugs_are_noticed_where_expected(tmp_path):
    hunt([bug for bug in BUGS if in_ci(bug)], tmp_path)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.no_cover
@HUNTS
@pytest.mark.parametrize("check", HUNTED)
def test_every_planted_bug_is_noticed_where_expected(check, tmp_path):
    hunt([bug for bug in BUGS if bug.check == check], tmp_path)


# Bugs that change what a sum is, or what is declared of it, and the statistic whose search for neighbours meets them.
FINDABLE = {
    "gradient sensitivity tau C/n": "a mean",
    "the factor 2 of replace-one dropped": "sums of a loss",
    "the Gram's sqrt 2 dropped": "a Gram matrix",
    "entrywise Gram rounding": "a Gram matrix",
    "weights unclipped": "scores of features",
    "a clip's rise left out of its bound": "a mean score that rises",
    "second moments of vectors of any length": "second moments of rows",
}
SEARCH = "tests/fuzz/test_neighbors.py::test_no_neighbor_moves_a_statistic_beyond_its_sensitivity"


@pytest.mark.slow
@pytest.mark.long
@HUNTS
def test_the_search_for_neighbors_finds_planted_bugs(tmp_path, record_property):
    found = []
    for name, statistic in FINDABLE.items():
        command = [sys.executable, HERE / "run.py", "--results", tmp_path / name.replace("/", " "), "--bugs", name]
        command += ["--tests", f"{SEARCH}[{statistic}]"]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIME_LIMIT)
        found += [name] if ran.returncode == 0 else []
    record_property("counted", f"the search for neighbours found {len(found)} of {len(FINDABLE)}: {', '.join(found)}")
    assert len(found) >= 4
