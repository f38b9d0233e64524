"""A table of people for the commands."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsparse.cli import main

BOUNDS = """
drop = ["id"]
[columns.age]
low = 20
high = 80
[columns.smoker]
center = 0.2
scale = 0.4
[columns.region]
categories = ["north", "south", "east"]
"""


@pytest.fixture(scope="session")
def people():
    """What smoking, age and a region cost, with heavy tails."""
    rng = np.random.default_rng(0)
    n = 3_000
    table = pd.DataFrame(
        {
            "id": 100_000 + np.arange(n),
            "age": rng.normal(50, 15, n).round(1),
            "smoker": (rng.random(n) < 0.2).astype(int),
            "region": rng.choice(["north", "south", "east"], n),
        }
    )
    effects = 100 * table.age + 9_000 * table.smoker + 4_000 * (table.region == "east")
    return table.assign(cost=effects + rng.standard_t(3, n) * 2_000)


@pytest.fixture
def bounds(tmp_path):
    """The bounds file of such a table, in the test's folder."""
    path = tmp_path / "bounds.toml"
    path.write_text(BOUNDS)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch, people, bounds):
    """The working folder, with the table in three formats and its bounds."""
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    people.to_parquet("people.parquet", index=False)
    np.save("people.npy", people[["age", "smoker", "cost"]].to_numpy())
    return tmp_path


@pytest.fixture
def fit():
    """`dpsparse fit` on the table."""

    def run(data="people.csv", *more, target="cost", bounds="bounds.toml", epsilon="3"):
        if "--out" not in more:
            # A model that was paid for is not overwritten, and nobody asks for this one.
            Path("unnamed.json").unlink(missing_ok=True)
            more = (*more, "--out", "unnamed.json")
        main(["fit", data, "--target", target, "--epsilon", epsilon, "--sparsity", "3", "--bounds", bounds, *more])

    return run


@pytest.fixture
def failed(capsys):
    """The one line of a command's error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        assert stopped.value.code == 1
        assert shown.out == ""
        assert shown.err.count("\n") == 1
        return shown.err

    return run
