import json
import re
from pathlib import Path

import dpsparse

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_examples_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(examples) == 1
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
        assert "differentially private" in capsys.readouterr().out


def test_the_package_lists_its_names():
    assert set(dpsparse.__all__) <= set(dir(dpsparse))
    for public in dpsparse.__all__:
        assert getattr(dpsparse, public) is not None


def test_the_verdicts_are_of_a_clean_checkout():
    results = json.loads((README.parent / "docs" / "reproduction" / "results.json").read_text())
    assert re.fullmatch("[0-9a-f]{40}", results["commit"]), "made from a clean checkout"
    assert results["command"] == "dpsparse reproduce all"
    assert results["left_out"] == {}
