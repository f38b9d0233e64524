"""`dpsparse evaluate`, and `dpsparse fit --holdout`."""

import json

import numpy as np
import pytest

from dpsparse import PrivacyLedger, load_model
from dpsparse.cli import main


@pytest.fixture
def parts(folder, people, fit):
    """A model fitted on the first records, and a file of the others."""
    people.iloc[:2_400].to_csv("first.csv", index=False)
    people.iloc[2_400:].to_csv("test.csv", index=False)
    fit("first.csv", "--out", "model.json")
    return folder


def evaluated(capsys, *arguments):
    capsys.readouterr()
    main(["evaluate", *arguments])
    return capsys.readouterr().out


def test_estimates_are_near_the_plain_means(parts, people, capsys):
    shown = json.loads(evaluated(capsys, "model.json", "test.csv", "--epsilon", "8", "--json", "--delta", "0.001"))
    model, test = load_model("model.json"), people.iloc[2_400:]
    errors = np.abs(test.cost.to_numpy() - model.predict(test))
    of_constant = np.abs(test.cost.to_numpy() - model.constant)
    scores = shown["scores"]
    assert scores["model"]["value"] == pytest.approx(np.minimum(errors, scores["cut"]).mean(), rel=0.1)
    assert scores["constant"]["value"] == pytest.approx(np.minimum(of_constant, scores["cut"]).mean(), rel=0.1)
    assert scores["improvement"]["low"] > 0
    assert scores["n_responses"] == pytest.approx(600, abs=30)
    assert shown["privacy"]["epsilon"] <= 8
    assert shown["target"] == "cost"


def test_responses_written_in_another_way_are_named(parts, people, capsys):
    """A model that read decimal points gets a file with decimal commas; a released count alone says it."""
    people.iloc[2_400:].assign(cost=lambda rows: rows.cost.round(2)).to_csv(
        "comma.csv", index=False, sep=";", decimal=","
    )
    remedy = "The others counted as missing: if they are not, write responses as in the table of the fit."
    shown = " ".join(evaluated(capsys, "model.json", "comma.csv", "--epsilon", "5", "--delta", "0.001").split())
    assert remedy in shown
    shown = " ".join(evaluated(capsys, "model.json", "test.csv", "--epsilon", "5", "--delta", "0.001").split())
    assert remedy not in shown


def test_text_names_the_means_and_says_who_is_better(parts, capsys):
    shown = evaluated(capsys, "model.json", "test.csv", "--epsilon", "5", "--out", "evaluation.json")
    assert "min(|error|," in shown
    assert "better than the mean" in " ".join(shown.split())
    assert "differentially private" in shown
    assert json.loads((parts / "evaluation.json").read_text())["scores"]["n_records"] == 600


def test_a_missing_response_is_a_blank_record(parts, people, capsys):
    people.iloc[2_400:].assign(cost=lambda table: table.cost.where(table.index % 3 == 0)).to_csv(
        "gaps.csv", index=False
    )
    shown = json.loads(evaluated(capsys, "model.json", "gaps.csv", "--epsilon", "8", "--json"))
    assert shown["scores"]["n_responses"] == pytest.approx(200, abs=30)


@pytest.mark.slow
def test_the_cost_is_in_the_ledger(parts, capsys, failed):
    PrivacyLedger("ledger.db").grant("people", epsilon=1, delta=1e-3)
    options = ["--epsilon", "0.8", "--ledger", "ledger.db", "--dataset", "people"]
    shown = " ".join(evaluated(capsys, "model.json", "test.csv", *options).split())
    assert "people in ledger.db: 1 fit has spent epsilon" in shown
    assert PrivacyLedger("ledger.db").balance("people").epsilon_spent > 0.5
    assert "epsilon=" in failed("evaluate", "model.json", "test.csv", *options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="cost"), "has no column 'cost'"),
        (lambda table: table.drop(columns="age"), "has no column 'age'"),
        (lambda table: table.iloc[:0], "holds no records"),
        (lambda table: table.iloc[:1], "at least 2"),
    ],
)
def test_faults_of_a_table_take_one_line(parts, people, failed, change, message, capsys):
    change(people.iloc[2_400:]).to_csv("bad.csv", index=False)
    capsys.readouterr()
    assert message in failed("evaluate", "model.json", "bad.csv", "--epsilon", "1")


def test_an_output_that_is_there_is_refused_before_anything_is_spent(parts, failed, capsys):
    PrivacyLedger("ledger.db").grant("people", epsilon=1, delta=1e-3)
    (parts / "evaluation.json").write_text("mine")
    capsys.readouterr()
    options = ["--epsilon", "0.5", "--ledger", "ledger.db", "--dataset", "people", "--out", "evaluation.json"]
    assert "evaluation.json" in failed("evaluate", "model.json", "test.csv", *options)
    assert PrivacyLedger("ledger.db").balance("people").epsilon_spent == 0
    assert (parts / "evaluation.json").read_text() == "mine"


def test_fit_holds_records_out_for_one_guarantee(folder, fit, capsys):
    fit("people.csv", "--holdout", "0.25", "--out", "model.json", "--report", "report.html", "--json")
    shown = json.loads(capsys.readouterr().out)
    assert shown["scores"]["n_records"] == 750
    assert shown["privacy"]["epsilon"] <= 3
    assert shown["privacy"]["n_records"] == 3_000
    assert {release["part"] for release in shown["privacy"]["releases"]} == {0, 1}
    model = load_model("model.json")
    assert model.scores.improvement.low > 0
    report = (folder / "report.html").read_text()
    assert "--holdout 0.25" in report
    assert "nearer to cost" in report
    main(["inspect", "model.json"])
    assert "min(|error|," in capsys.readouterr().out
    assert "min(|error|," in model.summary()


def test_a_holdout_that_leaves_nothing_is_refused(folder, failed):
    options = ["--target", "cost", "--epsilon", "1", "--bounds", "bounds.toml", "--out", "model.json"]
    assert "strictly between 0 and 1" in failed("fit", "people.csv", *options, "--holdout", "1")


def test_a_store_cannot_be_divided(folder, capsys):
    main(["convert", "people.csv", "--target", "cost", "--bounds", "bounds.toml", "store"])
    with pytest.raises(SystemExit):
        main(["fit", "store", "--epsilon", "1", "--holdout", "0.2", "--out", "model.json"])
    assert "hold records out before" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_raw_file_is_evaluated_by_the_models_own_kinds(tmp_path, monkeypatch, people, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = people.assign(member=rng.choice(["yes", "no"], len(people)))
    table.loc[rng.random(len(table)) < 0.1, "age"] = np.nan
    table.loc[rng.random(len(table)) < 0.1, "region"] = None
    table.loc[rng.random(len(table)) < 0.1, "cost"] = np.nan
    table.iloc[:2_400].to_csv("first.csv", index=False)
    table.iloc[2_400:].to_csv("test.csv", index=False)
    main(["fit", "first.csv", "--target", "cost", "--epsilon", "5", "--sparsity", "3", "--out", "model.json"])
    scores = json.loads(evaluated(capsys, "model.json", "test.csv", "--epsilon", "5", "--json"))["scores"]
    assert scores["n_records"] == 600
    assert scores["n_responses"] == pytest.approx(table.cost.iloc[2_400:].notna().sum(), abs=30)
    assert scores["improvement"]["low"] > 0
    main(["fit", "first.csv", "--target", "cost", "--epsilon", "5", "--holdout", "0.2", "--out", "held.json"])
    assert load_model("held.json").scores.improvement.low > 0
