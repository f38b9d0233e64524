"""Responses that are yes or no, from the command line."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivacyLedger, load_model
from dpsparse.cli import main
from dpsparse.report.details import PURPOSE

# Of smoking, in log odds.
EFFECT = 1.5


@pytest.fixture
def loans(tmp_path, monkeypatch):
    """A table with text and gaps, and whether a loan was denied; as labels, as 0 and 1, and as true and false."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 8_000
    smoker, income = rng.random(n) < 0.3, rng.normal(50_000, 20_000, n).round()
    yes = rng.random(n) < 1 / (1 + np.exp(0.8 - EFFECT * smoker))
    table = pd.DataFrame({"smoker": np.where(smoker, "yes", "no"), "income": income, "age": rng.normal(50, 10, n)})
    table = table.mask(rng.random(table.shape) < 0.05)
    label = np.where(yes, "Denied", np.where(rng.random(n) < 0.5, "granted", "withdrawn"))
    table = table.assign(answer=label, denied=1 * yes, refused=yes)
    for name, others in {"answer": ["denied", "refused"], "denied": ["answer", "refused"]}.items():
        table.drop(columns=others).to_csv(f"{name}.csv", index=False)
    table.drop(columns=["denied", "refused"]).to_parquet("answer.parquet", index=False)
    table.drop(columns=["denied", "answer"]).to_parquet("refused.parquet", index=False)
    np.save("denied.npy", np.column_stack([smoker, income, 1 + yes]))
    return tmp_path


def fit(data, target, *more, out="model.json"):
    main(["fit", data, "--target", target, "--epsilon", "3", "--sparsity", "1", "--out", out, *more])


def finds_smoking(model, *names):
    """Whether the effect of smoking is about right: of a column of words for yes and no, or of a category."""
    found = {each.feature: each.value for each in model.effects}
    (value,) = [found[name] for name in (*names, "smoker", "smoker=yes") if name in found]
    return abs(value - EFFECT) < 0.4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "target", "options", "label"),
    [
        ("answer.csv", "answer", ["--positive", "denied"], "denied"),
        ("answer.parquet", "answer", ["--family", "binomial", "--positive", "Denied"], "Denied"),
        ("denied.csv", "denied", ["--family", "binomial"], "1"),
        ("refused.parquet", "refused", ["--family", "binomial"], "yes"),
    ],
)
def test_a_file_leads_to_odds_ratios_and_a_report(loans, capsys, data, target, options, label):
    fit(data, target, *options, "--report", "report.html")
    told = " ".join(capsys.readouterr().out.split())
    model = load_model("model.json")
    assert (model.estimator, model.estimand) == ("PrivateSparseClassifier", "log odds")
    assert finds_smoking(model)
    assert f"Odds ratios: of the odds that {target} is {label}, per one-unit increase" in told
    assert re.search(r"about (3[5-9]|4\d) % of them", told)
    report = (loans / "report.html").read_text()
    assert f"times the odds that {target} is {label}" in report
    assert "A logistic regression on 8,000 records" in report
    named = "--positive" in options
    assert (f"--positive {label}" if named else "--family binomial") in report
    assert "--estimand" not in report
    # Every release is explained.
    assert {name.split(": ")[-1] for name in model.privacy.grouped()} <= set(PURPOSE)


def test_numbers_in_an_array(loans, failed, capsys):
    fit("denied.npy", "2", "--positive", "2")
    capsys.readouterr()
    model = load_model("model.json")
    assert model.classes == ("not 2", "2")
    assert finds_smoking(model, "0")
    assert "'denied' is no number" in failed(*_asked("denied.npy", "2", "--positive", "denied"))


def _asked(data, target, *more):
    return ["fit", data, "--target", target, "--epsilon", "1", "--out", "other.json", *more]


def test_what_cannot_be_is_refused_before_anything_is_spent(loans, failed, capsys):
    ledger = PrivacyLedger("budget.db")
    ledger.grant("loans", epsilon=1.0, delta=1e-4)
    kept = ("--ledger", "budget.db", "--dataset", "loans")
    (loans / "bounds.toml").write_text("[response]\ncenter = 0.5\n")
    (loans / "both.toml").write_text('[response]\ncenter = 0.5\npositive = "denied"\n')
    refusals = {
        "--estimand is for numbers": ("answer.csv", "--positive", "denied", "--estimand", "mean"),
        "--family linear: a label of yes is given": ("answer.csv", "--positive", "denied", "--family", "linear"),
        "say which label is yes: --positive LABEL": ("answer.parquet", "--family", "binomial"),
        "which only --family linear uses": ("answer.csv", "--family", "binomial", "--bounds", "bounds.toml"),
        "has no centre and no scale": ("answer.csv", "--bounds", "both.toml"),
    }
    for words, (data, *options) in refusals.items():
        assert words in failed(*_asked(data, "answer", *options, *kept))
    with pytest.raises(SystemExit):
        main(_asked("answer.csv", "answer", "--positive", "denied", "--positive", "granted", *kept))
    assert "one fit for each, with its own --positive LABEL" in " ".join(capsys.readouterr().err.split())
    assert ledger.history("loans")[1:] == []


def test_labels_without_the_one_of_yes_cannot_be_read(loans, failed):
    told = failed(*_asked("answer.csv", "answer", "--family", "binomial"))
    assert "say which one is yes: --positive LABEL" in told
    assert "with more than two labels make one fit for each" in told


def test_a_label_that_nobody_has_is_warned_of(loans, capsys):
    fit("answer.csv", "answer", "--positive", "deneid", "--report", "report.html")
    told = " ".join(capsys.readouterr().out.split())
    warning = "hardly any response in 'answer' is yes, no more than the noise would show of none"
    assert warning in told
    assert "Is 'deneid' written as in the table?" in told
    assert warning in html.unescape((loans / "report.html").read_text())
    fit("answer.csv", "answer", "--positive", "denied", out="right.json")
    assert "hardly any" not in capsys.readouterr().out


def test_predictions_are_probabilities(loans, capsys):
    fit("answer.csv", "answer", "--positive", "denied")
    capsys.readouterr()
    new = pd.DataFrame({"smoker": ["yes", "no", ""], "income": [50_000] * 3, "age": [50] * 3})
    new.to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv"])
    heading, *lines = capsys.readouterr().out.split()
    assert heading == "probability"
    assert np.allclose([float(line) for line in lines[:2]], [0.668, 0.31], atol=0.06)
    assert np.allclose([float(line) for line in lines], load_model("model.json").predict(new))
    main(["predict", "model.json", "new.csv", "--out", "new.out.csv", "--id", "smoker"])
    assert "3 probabilities that answer is denied" in capsys.readouterr().out
    assert pd.read_csv("new.out.csv").columns.tolist() == ["smoker", "probability"]
    main(["predict", "model.json", "new.csv", "--json"])
    assert json.loads(capsys.readouterr().out)["probability_of"] == "denied"


def test_inspect_has_odds_ratios_beside_log_odds(loans, capsys):
    fit("answer.csv", "answer", "--positive", "denied")
    capsys.readouterr()
    main(["inspect", "model.json", "--json"])
    for effect in json.loads(capsys.readouterr().out)["effects"]:
        assert effect["odds_ratio"] == pytest.approx(np.exp(effect["effect"]))
        low = effect["interval"] and effect["interval"]["low"]
        assert low is None or effect["odds_ratio_interval"]["low"] == pytest.approx(np.exp(low))
    main(["inspect", "model.json", "--nist", "sheet.md", "--registry", "entry.yaml"])
    assert "odds ratio" in capsys.readouterr().out
    assert "A sparse logistic model of whether answer is denied" in (loans / "sheet.md").read_text()
    assert "the label of yes (denied)" in (loans / "entry.yaml").read_text()


def test_a_store_keeps_the_label_and_another_may_be_asked_for(loans, capsys):
    main(["convert", "answer.csv", "store", "--target", "answer", "--positive", "denied"])
    main(["fit", "store", "--epsilon", "3", "--sparsity", "1", "--out", "kept.json"])
    main(["fit", "store", "--epsilon", "3", "--sparsity", "1", "--positive", "granted", "--out", "other.json"])
    assert load_model("kept.json").classes == ("not denied", "denied")
    assert finds_smoking(load_model("kept.json"))
    assert load_model("other.json").classes == ("not granted", "granted")
    # Of plain numbers a store holds features, and the fit says that they are yes or no.
    table = pd.read_csv("denied.csv")[["income", "age", "denied"]].dropna()
    table.to_parquet("numbers.parquet", index=False)
    main(["convert", "numbers.parquet", "numbers", "--target", "denied"])
    assert "features" in capsys.readouterr().out
    main(["fit", "numbers", "--epsilon", "3", "--sparsity", "1", "--family", "binomial", "--out", "numbers.json"])
    assert load_model("numbers.json").classes == ("0", "1")


def test_a_bounds_file_says_which_label_is_yes(loans):
    (loans / "bounds.toml").write_text('[columns.age]\nlow = 30\nhigh = 70\n[response]\npositive = "denied"\n')
    fit("answer.csv", "answer", "--bounds", "bounds.toml")
    assert load_model("model.json").classes == ("not denied", "denied")


def test_check_tells_the_holder_of_a_misspelt_label(loans, capsys):
    main(["check", "answer.csv", "--target", "answer", "--positive", "deneid"])
    told = " ".join(capsys.readouterr().out.split())
    assert "no cell is 'deneid', the label of yes" in told
    assert "not a number" not in told
    main(["check", "answer.csv", "--target", "answer", "--positive", "denied", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [each for each in found["faults"] + found["remarks"] if each["column"] == "answer"] == []


@pytest.mark.slow
def test_tune_and_records_held_out_pass_the_label_on(loans, capsys):
    options = ["--target", "answer", "--positive", "denied", "--epsilon", "3"]
    main(["tune", "answer.csv", *options, "--sparsity", "1", "--sparsity", "2", "--out", "tuned.json"])
    main(["fit", "answer.csv", *options, "--sparsity", "1", "--holdout", "0.2", "--out", "held.json"])
    capsys.readouterr()
    main(["evaluate", "held.json", "answer.csv", "--epsilon", "1"])
    assert "AUC" in capsys.readouterr().out
    for path in ("tuned.json", "held.json"):
        model = load_model(path)
        assert model.classes == ("not denied", "denied")
        assert finds_smoking(model)
        # Every release is explained.
        assert {name.split(": ")[-1] for name in model.privacy.grouped()} <= set(PURPOSE)
