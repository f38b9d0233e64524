import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

import dpsparse
from dpsparse.cli import main

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_examples_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(examples) == 2
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
        assert "differentially private" in capsys.readouterr().out


def test_the_readme_commands_run(tmp_path, monkeypatch, capsys):
    """With the bounds of the README filled in by hand between the first and the second."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.normal(50, 15, 5_000), "smoker": 1 * (rng.random(5_000) < 0.2)})
    people["region"] = rng.choice(["north", "south"], 5_000)
    people["cost"] = 100 * people.age + 9_000 * people.smoker + 2_000 * rng.standard_t(2, 5_000)
    people.to_csv("people.csv", index=False)
    people.drop(columns="cost").to_csv("new.csv", index=False)
    text = README.read_text()
    first, *others = re.findall(r"^dpsparse (.*)$", text, re.M) + re.findall(
        r"`dpsparse ((?:inspect|plan|report) .*?)`", text
    )
    assert len(others) == 7
    main(first.split())
    (tmp_path / "bounds.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.S)[1])
    for command in others:
        main(command.split())
    told = capsys.readouterr().out
    assert "differentially private" in told
    assert "smoker" in told
    assert "What explains cost" in (tmp_path / "report.html").read_text()
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 5_001


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
    found = json.loads((run / "results.json").read_text())
    assert re.fullmatch("[0-9a-f]{40}", found["commit"]), "made from a clean checkout"
    assert found["command"] == "dpsparse reproduce all"
    assert found["left_out"] == {}
