import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import dpsparse

README = Path(__file__).parents[1] / "README.md"
CI = README.parent / ".ci" / "run"


def test_the_readme_examples_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(examples) == 1
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
        assert "differentially private" in capsys.readouterr().out


@pytest.mark.skipif(not CI.exists() or shutil.which("bash") is None, reason="the script of CI is not here, or no bash")
def test_ci_makes_the_environment_of_the_second_command_and_leaves_its_quick_tier_to_the_suite():
    (assignment,) = (line for line in CI.read_text().splitlines() if line.startswith("command=$("))
    script = ["bash", "-c", f'{assignment}; printf %s "$command"']
    made = subprocess.run(script, cwd=README.parent, capture_output=True, text=True, check=True, timeout=60).stdout
    assert made == 'python3 -m venv .venv && .venv/bin/pip install -e ".[test]"'
    assert f'\n{made} && .venv/bin/python -m pytest -n 2 -m "not slow"\n' in README.read_text()


def test_the_package_lists_its_names():
    assert set(dpsparse.__all__) <= set(dir(dpsparse))
    for public in dpsparse.__all__:
        assert getattr(dpsparse, public) is not None


def test_the_verdicts_are_of_a_clean_checkout():
    results = json.loads((README.parent / "docs" / "reproduction" / "results.json").read_text())
    assert re.fullmatch("[0-9a-f]{40}", results["commit"]), "made from a clean checkout"
    assert results["command"] == "dpsparse reproduce all"
    assert results["left_out"] == {}
