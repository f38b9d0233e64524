"""`--family two-part` of the commands: fit, predict, evaluate, inspect, report and plan."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from dpsparse import load_model
from dpsparse.cli import main


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((3_000, 3)), columns=["age", "income", "visits"])
    some = rng.random(3_000) < expit(frame.age)
    frame["cost"] = some * np.maximum(100 + 40 * frame.income, 5) * rng.exponential(1.0, 3_000)
    path = tmp_path_factory.mktemp("table") / "people.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def run(capsys):
    """The status of a command, and what it printed."""

    def ran(*words):
        try:
            code = main(list(map(str, words)))
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return code or 0, printed.out + printed.err

    return ran


@pytest.mark.slow
def test_from_a_file_to_a_report(run, table, tmp_path):
    model, page = tmp_path / "model.json", tmp_path / "report.html"
    asked = ("fit", table, "--target", "cost", "--family", "two-part", "--epsilon", 3, "--sparsity", 2)
    code, said = run(*asked, "--holdout", 0.2, "--out", model, "--report", page)
    assert code == 0, said
    assert "Whether cost is above 0" in said
    assert "the overall mean of cost" in said
    assert "two-part regression" in page.read_text()
    assert "--family two-part" in page.read_text()
    assert load_model(model).parts is not None
    code, said = run("predict", model, table, "--json")
    assert code == 0, said
    predictions = json.loads(said)["predictions"]
    assert len(predictions) == 3_000
    assert min(predictions) >= 0
    assert np.mean(predictions) == pytest.approx(pd.read_csv(table).cost.mean(), rel=0.3)
    code, said = run("evaluate", model, table, "--epsilon", 1, "--json")
    assert code == 0, said
    assert json.loads(said)["constant_name"] == "mean"
    for words in (("inspect", model), ("report", model, "--out", tmp_path / "again.html")):
        assert run(*words)[0] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--estimand", "mean"), "--estimand is for one part"),
        (("--positive", "yes"), "--positive is for yes/no"),
    ],
)
def test_what_two_parts_have_not_is_refused(run, table, tmp_path, options, words):
    asked = ("fit", table, "--target", "cost", "--family", "two-part", "--epsilon", 1, "--out", tmp_path / "m.json")
    code, said = run(*asked, *options)
    assert code != 0
    assert words in said


def test_units_of_the_response_are_refused(run, table, tmp_path):
    (tmp_path / "bounds.toml").write_text("[response]\ncenter = 0\nscale = 1\n")
    asked = ("fit", table, "--target", "cost", "--family", "two-part", "--epsilon", 1, "--out", tmp_path / "m.json")
    code, said = run(*asked, "--bounds", tmp_path / "bounds.toml")
    assert code != 0
    assert "in two parts has none" in said


def test_it_is_tuned(run, table, tmp_path):
    asked = ("tune", table, "--target", "cost", "--family", "two-part", "--epsilon", 1, "--out", tmp_path / "m.json")
    code, _ = run(*asked, "--sparsity", 1, "--sparsity", 2)
    assert code == 0
    assert json.loads((tmp_path / "m.json").read_text())["estimator"] == "PrivateSparseTwoPartRegressor"


def test_a_forecast_of_both_parts(run):
    asked = ("plan", "--n", 20_000, "--d", 20, "--family", "two-part", "--yes", 0.3)
    code, said = run(*asked)
    assert code == 0, said
    assert "Whether it is above 0" in said
    assert "How much" in said
    content = json.loads(run(*asked, "--epsilon", "1,2", "--json")[1])
    assert content["how_much"]["n"] == 6_000
    assert [row["epsilon"] for row in content["whether"]["forecasts"]] == [1, 2]
    assert run("plan", "--n", 100, "--d", 2, "--family", "two-part")[0] != 0


def test_a_forecast_names_the_epsilon_of_both_parts(run):
    said = run("plan", "--n", 5_000, "--d", 14, "--family", "two-part", "--yes", 0.4, "--epsilon", "0.1,1")[1]
    caveats = " ".join(said.split()).split("No intervals: ")[1:]
    assert [re.search(r"at epsilon (\S+):", caveat)[1] for caveat in caveats] == ["0.1", "1"]
    assert "typical" not in said  # an estimand that two parts have not
