import json
import re
from pathlib import Path

import dpsparse

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_examples_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(examples) == 2
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
        assert "differentially private" in capsys.readouterr().out


def test_the_readme_names_only_what_exists():
    for name in re.findall(r"^\| `(\w+)`(?:, `(\w+)`)?", README.read_text(), re.M):
        for public in filter(None, name):
            assert hasattr(dpsparse, public)


def test_the_package_lists_its_names():
    assert set(dpsparse.__all__) <= set(dir(dpsparse))
    for public in dpsparse.__all__:
        assert getattr(dpsparse, public) is not None


def test_the_verdicts_are_those_of_the_committed_run():
    shown = re.search(r"<!-- verdicts -->\n(.*?)<!-- end of verdicts -->", README.read_text(), re.S).group(1)
    run = README.parent / "docs" / "reproduction"
    assert shown == (run / "verdicts.md").read_text()
    results = json.loads((run / "results.json").read_text())
    assert re.fullmatch("[0-9a-f]{40}", results["commit"]), "made from a clean checkout"
    assert results["command"] == "dpsparse reproduce all"
    assert results["left_out"] == {}
