"""The examples of a property are the same in every run, and others in a search, which draws more of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROPERTY = """
from pathlib import Path

import {imported}
from hypothesis import given, settings, strategies as st

drawn = []


@settings(max_examples=100)
@given(st.integers(), st.floats(), st.text())
def test_property(whole, real, text):
    drawn.append(repr((whole, real, text)))


def test_written():
    Path("drawn").write_text("\\n".join(drawn))
"""


def examples(folder, imported, *options):
    """What a property draws in a run of its own, which has imported a module."""
    folder.mkdir()
    (folder / "test_drawn.py").write_text(PROPERTY.format(imported=imported))
    (folder / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "drawn").read_text().split("\n")


@pytest.mark.slow
def test_examples_repeat_whatever_was_imported_and_a_search_draws_others(tmp_path):
    """Hypothesis would draw the numbers that it finds in the modules imported so far."""
    first, second = (examples(tmp_path / name, name) for name in ("json", "dpsparse.planning"))
    assert first == second
    assert len(first) == 100
    searched = examples(tmp_path / "search", "json", "--hypothesis-profile", "search")
    assert len(searched) > 1000
    assert {*searched[:100]} != {*first}
