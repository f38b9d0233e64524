import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpsparse import OnDisk, PrivacyLedger, PrivateSparseRegressor, load_model
from dpsparse.cli import main
from dpsparse.data.inputs import open_input
from dpsparse.model.meaning import reaches_estimand
from dpsparse.privacy.accounting.meter import Meter


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
def test_from_a_file_to_predictions(folder, capsys, data, people, fit):
    fit(data, "--out", "model.json")
    told = capsys.readouterr().out
    for words in (
        "Guarantee: (3, ",
        "3,000 records, 3 columns",
        "smoker",
        "region=east",
        "95 % interval",
        "p-value",
        "P-values: each is of one effect alone, two-sided, and not adjusted for the number of features",
        "model.json",
    ):
        assert words in told
    assert "no --bounds" not in told
    model = load_model("model.json")
    assert model.privacy.private
    assert model.target == "cost"
    found = {effect.feature: effect for effect in model.effects}
    assert found["smoker"].estimate == pytest.approx(9_000, rel=0.1)
    assert found["smoker"].clear
    main(["predict", "model.json", data, "--out", "predictions.csv"])
    assert capsys.readouterr().out.startswith("predictions.csv: 3,000 predictions\n")
    predictions = pd.read_csv("predictions.csv").prediction
    np.testing.assert_array_equal(predictions, model.predict(people))
    assert np.median(np.abs(predictions - people.cost)) < 2_500


def test_npy_by_number_and_units_that_nobody_gave(folder, capsys, people):
    main(["fit", "people.npy", "--target", "2", "--epsilon", "1", "--sparsity", "2", "--json", "--out", "model.json"])
    told = json.loads(capsys.readouterr().out)
    assert "learns the columns' centres and scales within its guarantee" in told["notes"][0]
    assert [(feature["column"], feature.get("missing", False)) for feature in told["features"]] == [
        ("0", False),
        ("1", False),
        ("0", True),
        ("1", True),
    ]
    assert [(feature["center"], feature["scale"]) for feature in told["features"]] == [(None, None)] * 4
    assert all(effect["scale"] > 0 for effect in told["effects"])
    main(["predict", "model.json", "people.npy", "--json"])
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == len(people)


@pytest.mark.parametrize("out", ["no/such/model.json", ".", "people.csv", "bounds.toml", "/dev/null"])
def test_an_out_that_cannot_be_written_is_refused_before_anything_is_spent(folder, monkeypatch, out, people, failed):
    monkeypatch.setattr(PrivateSparseRegressor, "fit", lambda *_: pytest.fail("it was fitted"))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    arguments = ["fit", "people.csv", "--target", "cost", "--epsilon", 1, "--bounds", "bounds.toml", "--out", out]
    assert "cannot write" in failed(*arguments)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_fit_that_would_not_be_saved_spends_nothing(folder, capsys, monkeypatch, more):
    monkeypatch.setattr(Meter, "charge", lambda *_: pytest.fail("it was charged"))
    with pytest.raises(SystemExit) as stopped:
        main(["fit", "people.csv", "--target", "cost", "--epsilon", "1", "--bounds", "bounds.toml", *more])
    assert stopped.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "--out is missing, so nothing was fitted and nothing spent" in told.err


def test_a_report_alone_saves_the_model_beside_it(folder, capsys, monkeypatch, failed):
    options = ["fit", "people.csv", "--target", "cost", "--epsilon", "3", "--bounds", "bounds.toml"]
    main([*options, "--report", "result.html"])
    told = " ".join(capsys.readouterr().out.split())
    assert "Model: result.json; use it with: dpsparse predict result.json new.csv" in told
    assert "Report: result.html" in told
    assert load_model("result.json").target == "cost"
    assert "<html" in (folder / "result.html").read_text()
    # A model that was paid for is not overwritten, and nothing is spent before that is known.
    monkeypatch.setattr(Meter, "charge", lambda *_: pytest.fail("it was charged"))
    assert "result.json: it exists" in failed(*options, "--report", "result.html")


@pytest.mark.slow
def test_columns_can_be_dropped_by_name_and_by_pattern(folder, capsys, people, failed):
    people.assign(age_note="x").to_csv("people.csv", index=False)
    options = ["--target", "cost", "--epsilon", "8", "--sparsity", "2"]
    main(["fit", "people.csv", *options, "--drop", "id", "--drop", "*_note", "--out", "model.json"])
    assert {each.column for each in load_model("model.json").features} == {"age", "smoker", "region"}
    assert "no --bounds" in capsys.readouterr().out
    # Beside those of a bounds file.
    main(["fit", "people.csv", *options, "--bounds", "bounds.toml", "--drop", "age", "--drop", "a*", "--out", "b.json"])
    assert {each.column for each in load_model("b.json").features} == {"smoker", "region"}
    capsys.readouterr()
    main(["fit", "people.npy", "--target", "2", "--epsilon", "1", "--drop", "0", "--sparsity", "1", "--out", "n.json"])
    assert {each.column for each in load_model("n.json").features} == {"1"}
    capsys.readouterr()


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        (["agee"], "--drop: the data have no column 'agee'; did you mean 'age'?"),
        (["cost"], "--drop: 'cost' is the target; take it out there"),
        (["id", "a*", "*o*"], "no column is left beside the target 'cost'"),
        (["gene_*"], "--drop: the data have no column like 'gene_*'"),
    ],
)
def test_columns_that_cannot_be_dropped_cost_nothing(folder, monkeypatch, drop, message, failed):
    monkeypatch.setattr(Meter, "charge", lambda *_: pytest.fail("it was charged"))
    dropped = [word for name in drop for word in ("--drop", name)]
    assert message in failed("fit", "people.csv", "--target", "cost", "--epsilon", 1, "--out", "model.json", *dropped)


def test_json_has_intervals_p_values_and_verdicts(folder, capsys, fit):
    fit("people.csv", "--out", "model.json", "--json")
    told = json.loads(capsys.readouterr().out)["effects"]
    by_name = {effect.feature: effect for effect in load_model("model.json").effects}
    for effect in told:
        released = by_name[effect["feature"]]
        assert effect["verdict"] == released.verdict.value
        if released.interval is None:
            assert effect["interval"] is None
        else:
            assert (effect["interval"]["low"], effect["interval"]["high"]) == released.interval
        assert effect["p_value"] == released.p_value


def test_ctrl_c_leaves_no_partial_file(folder, capsys, monkeypatch, people, fit):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivateSparseRegressor, "fit", interrupted)
    before = sorted(os.listdir())
    with pytest.raises(SystemExit) as stopped:
        fit("people.csv", "--out", "model.json")
    assert stopped.value.code == 130
    assert sorted(os.listdir()) == before
    assert capsys.readouterr().err.splitlines() == [
        "dpsparse: there is no --ledger to tell what was released: count the whole epsilon as spent",
        "",  # click ends the line of the ^C
        "dpsparse: interrupted",
    ]


def test_a_disk_that_fills_up_after_the_fit_does_not_lose_what_was_paid_for(folder, capsys, monkeypatch, people, fit):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemExit):
        fit("people.csv", "--out", "model.json")
    told = capsys.readouterr()
    assert "95 % interval" in told.out
    assert "No space left" in told.err
    assert not (folder / "model.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_that_leaves_does_not_lose_what_was_paid_for(folder, more):
    options = ["--target", "cost", "--epsilon", "3", "--bounds", "bounds.toml", "--out", "model.json", *more]
    command = [sys.executable, "-m", "dpsparse", "fit", "people.csv", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as fit:
        fit.stdout.close()
        fit.wait(120)
    assert load_model("model.json").target == "cost"


def test_a_report_that_cannot_be_made_does_not_lose_what_was_paid_for(folder, capsys, monkeypatch, people, fit):
    def broken(_):
        raise ValueError("no page")

    monkeypatch.setattr("dpsparse.report.fit_page.fit_page", broken)
    with pytest.raises(SystemExit):
        fit("people.csv", "--out", "model.json", "--report", "report.html")
    told = capsys.readouterr()
    assert "Model: model.json" in told.out
    assert "no page" in told.err
    assert load_model("model.json").target == "cost"
    assert not (folder / "report.html").exists()


def test_a_report_of_fewer_features_than_were_asked_for(folder, people):
    people[["age", "cost"]].to_csv("few.csv", index=False)
    main(["fit", "few.csv", "--target", "cost", "--epsilon", "1", "--out", "few.json", "--report", "few.html"])
    assert (folder / "few.html").read_text().endswith("</html>\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "income"}, "no column 'income'; the columns are"),
        ({"target": "cots"}, "no column 'cots'; did you mean 'cost'?"),
        ({"data": "empty.csv"}, "empty.csv is empty"),
        ({"data": "latin.csv"}, "--encoding latin-1"),
        ({"bounds": "none.toml"}, "none.toml does not exist"),
        ({"data": "none.csv"}, "none.csv does not exist"),
        ({"data": "bounds.toml"}, "must end in .csv, .parquet or .npy"),
        ({"epsilon": "0"}, "epsilon=0.0 must be"),
        ({"target": "age"}, "'age' is the target"),
    ],
)
def test_mistakes_cost_nothing(folder, capsys, monkeypatch, change, message, fit):
    monkeypatch.setattr(Meter, "charge", lambda *_: pytest.fail("it was charged"))
    (folder / "empty.csv").touch()
    (folder / "latin.csv").write_bytes("größe,cost\n1,2\n".encode("latin-1"))
    with pytest.raises(SystemExit) as stopped:
        fit(**change)
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err


def test_commands_to_copy_read_the_same_file(folder):
    (folder / "latin.csv").write_bytes("größe;cost\n1;2\n".encode("latin-1"))
    notes = open_input("latin.csv", "cost", separator=";", encoding="latin-1").notes
    for command in ("bounds init latin.csv --target cost", "check latin.csv"):
        assert any(f"dpsparse {command} --separator ';' --encoding latin-1" in note for note in notes)
    assert "--separator" not in "".join(open_input("people.csv", "cost").notes)
    made = open_input("people.csv", formula="log(cost) ~ age").notes
    assert any("dpsparse bounds init people.csv --target cost --out" in note for note in made)


def test_yes_or_no_without_a_family_names_the_one_it_is_of(folder, capsys, people):
    people.assign(smoker=people.smoker == 1).to_csv("people.csv", index=False)
    main(["fit", "people.csv", "--target", "smoker", "--out", "model.json", "--epsilon", "4"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "are true or false, and were fitted as the numbers 1 and 0" in shown
    assert "give --family binomial, which in Python is PrivateSparseClassifier" in shown
    # That most responses are equal is no news of yes and no.
    model = load_model("model.json")
    assert reaches_estimand(model)
    assert "Lump" not in replace(model, lumped=True).summary()
    assert "Lump" in replace(model, lumped=True, target_kind="number").summary()


def test_no_answer_tells_of_one_record_beyond_the_constant_sentence(folder, capsys, people, fit):
    """Neighbouring tables, one odd record: a cell that cannot be read is missing, and no word comes of it."""
    for column, odd in (("age", "ninety"), ("smoker", "perhaps"), ("cost", "refused"), ("region", "moon")):
        neighbour = people.astype({column: object})
        neighbour.loc[7, column] = odd
        neighbour.to_csv("people.csv", index=False)
        fit()
        assert odd not in capsys.readouterr().out


def test_what_was_paid_for_or_filled_in_is_not_overwritten(folder, capsys, people, fit, failed):
    fit("people.csv", "--out", "model.json")
    capsys.readouterr()
    start = ["fit", "people.csv", "--target", "cost", "--epsilon", 1, "--bounds", "bounds.toml"]
    assert "it exists" in failed(*start, "--out", "model.json")
    assert "it exists" in failed("bounds", "init", "people.csv", "--out", "bounds.toml")
    main(["budget", "grant", "budget.db", "people", "--epsilon", "3", "--delta", "1e-6"])
    capsys.readouterr()
    assert "database" in failed("predict", "model.json", "people.csv", "--out", "budget.db")


def test_columns_of_text_that_are_not_used_are_named_with_the_reason(folder, capsys, people):
    people.assign(id=[f"P{k}" for k in people.id]).to_csv("people.csv", index=False)
    main(["fit", "people.csv", "--target", "cost", "--epsilon", "8", "--sparsity", "3", "--out", "model.json"])
    told = " ".join(capsys.readouterr().out.split())
    assert "3 columns used" in told
    assert "Text not used: 'id', with too many different values for categories" in told
    assert load_model("model.json").text_unused == {"id": "many values"}


def test_text_is_not_called_an_identifier_where_records_are_too_few_to_tell(folder, capsys, people):
    """Three regions in 30 records: no value can be seen at this epsilon, and every one repeats."""
    people.drop(columns="id").head(30).to_csv("few.csv", index=False)
    for at in range(3):
        options = ["--epsilon", "0.5", "--sparsity", "1", "--out", f"{at}.json", "--report", f"{at}.html"]
        main(["fit", "few.csv", "--target", "cost", *options])
        told = " ".join(capsys.readouterr().out.split()) + (folder / f"{at}.html").read_text()
        assert "identifier" not in told.replace("identifiers are not used", "")
        unused = load_model(f"{at}.json").text_unused
        if unused:
            assert unused == {"region": "none common"}
            assert "where no value is common enough to be used with this many records at this epsilon" in told


def test_a_response_that_is_declared_as_text_costs_nothing(folder, capsys, people, failed):
    people.assign(id=[f"P{k}" for k in people.id]).to_parquet("people.parquet", index=False)
    main(["budget", "grant", "budget.db", "people", "--epsilon", "3", "--delta", "1e-6"])
    capsys.readouterr()
    ledger = ["--ledger", "budget.db", "--dataset", "people", "--out", "model.json"]
    told = failed("fit", "people.parquet", "--target", "id", "--epsilon", 1, *ledger)
    assert "declared as text" in told
    assert "choose a column of numbers" in told
    assert [event.kind for event in PrivacyLedger("budget.db").history()] == ["grant"]


def test_names_are_not_markup(folder, capsys, people, fit):
    people.rename(columns={"smoker": "[red]smoker[/red]"}).to_csv("people.csv", index=False)
    text = (folder / "bounds.toml").read_text().replace("columns.smoker", 'columns."[red]smoker[/red]"')
    (folder / "bounds.toml").write_text(text)
    fit()
    assert "[red]smoker[/red]" in capsys.readouterr().out


def units_of(told):
    values = [feature for feature in told["features"] if not feature.get("missing")]
    return {feature["column"]: (feature["center"], feature["scale"]) for feature in values}


def test_bounds_may_leave_out_columns_and_numbers(folder, capsys):
    (folder / "some.toml").write_text('drop = ["id", "region"]\n[columns.age]\ncenter = 50\n')
    options = ["--target", "cost", "--epsilon", "3", "--sparsity", "2", "--bounds", "some.toml"]
    main(["fit", "people.csv", *options, "--json", "--out", "one.json"])
    told = json.loads(capsys.readouterr().out)
    assert units_of(told) == {"age": (50.0, None), "smoker": (None, None)}
    assert [note for note in told["notes"] if "no --bounds" in note] == []
    main(["fit", "people.csv", *options, "--out", "two.json"])
    printed = capsys.readouterr().out
    assert "Units learned: centres and scales that the fit released within its guarantee" in printed
    # Among the effects and among the units.
    assert len(re.findall(r"│ smoker +│", printed)) == 2


def test_public_bounds_are_printed_as_learned_where_they_were_checked(folder, capsys, fit):
    # A check is a release.
    fit(epsilon="6")
    assert "Units learned" in capsys.readouterr().out


@pytest.mark.slow
def test_a_store_leaves_to_the_fit_what_nobody_knows(folder, capsys, people):
    (folder / "some.toml").write_text('drop = ["id", "region"]\n[columns.age]\nlow = 20\nhigh = 80\n')
    main(["convert", "people.parquet", "store", "--target", "cost", "--bounds", "some.toml", "--dtype", "float64"])
    store = OnDisk("store")
    np.testing.assert_allclose(store["age"], (people.age - 50.0) / 15.0)
    np.testing.assert_array_equal(store["smoker"], people.smoker)
    capsys.readouterr()
    given = open_input("store")
    assert given.units == ([0.0, None], [1.0, None])
    main(["fit", "store", "--epsilon", "3", "--sparsity", "2", "--json", "--out", "model.json"])
    told = json.loads(capsys.readouterr().out)
    assert units_of(told) == {"age": (50.0, 15.0), "smoker": (None, None)}
    learned = {effect["feature"]: effect["scale"] for effect in told["effects"]}
    # The given scale was checked, and is known to steps of 1.3.
    assert learned["age"] == pytest.approx(15, rel=0.45)
    assert learned["smoker"] > 0
    # The model is in the columns' own units again.
    effects = {effect.feature: effect for effect in load_model("model.json").effects}
    assert effects["age"].coef == pytest.approx(100, rel=0.5)


def test_predictions_from_a_file_stay_in_the_range(folder, capsys, fit):
    fit("people.csv", "--out", "model.json")
    content = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(content | {"prediction_range": {"low": 6_000.0, "high": 9_000.0}}))
    capsys.readouterr()
    main(["predict", "model.json", "people.csv", "--json"])
    predictions = json.loads(capsys.readouterr().out)["predictions"]
    assert (min(predictions), max(predictions)) == (6_000.0, 9_000.0)
    main(["inspect", "model.json"])
    assert "Predictions: clipped to [6,000, 9,000], a released range of cost" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"explains": False, "reason": "the effects drown in noise"},
            "no predictive value (the effects drown",
        ),
        ({"response_scale_known": False, "reason": "too few records"}, "Not sure: too few records. Effects and predic"),
        ({"response_scale_known": False, "explains": False, "reason": "too few"}, "Nothing learned: too few; predict"),
        ({"lumped": True, "cut": 1250.0}, "Lump: many values of cost are equal"),
    ],
)
def test_commands_say_what_the_releases_say(folder, capsys, fit, change, sentence):
    fit("people.csv", "--out", "model.json")
    content = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(content | change))
    capsys.readouterr()
    main(["inspect", "model.json"])
    assert sentence in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("sparsity", ["5", "auto"])
def test_a_file_with_fewer_features_than_asked_for(folder, people, capsys, sparsity):
    people[["age", "smoker", "cost"]].to_csv("people.csv", index=False)
    options = ["--target", "cost", "--epsilon", "3", "--sparsity", sparsity, "--json"]
    main(["fit", "people.csv", *options, "--out", "model.json"])
    told = {effect["feature"]: effect for effect in json.loads(capsys.readouterr().out)["effects"]}
    assert told["smoker"]["estimate"] == pytest.approx(9_000, rel=0.2)
    assert set(told) <= {"age", "smoker", "age (gap)", "smoker (gap)"}


@pytest.mark.parametrize(("family", "where"), [("linear", ""), ("two-part", " in each part")])
def test_auto_says_how_many_features_it_looked_for(folder, capsys, family, where):
    options = ["--target", "cost", "--epsilon", "3", "--sparsity", "auto", "--family", family]
    main(["fit", "people.csv", *options, "--out", "model.json"])
    names = [release.name.split(": ")[-1] for release in load_model("model.json").privacy.releases]
    picks = len({name for name in names if name.startswith("pick ")})
    told = " ".join(capsys.readouterr().out.split())
    assert f"Chosen: --sparsity auto: up to {picks} features{where} were looked for, by the number of records" in told


@pytest.mark.parametrize("command", ["fit", "tune", "convert"])
def test_a_file_of_another_program_is_to_be_saved_as_csv(folder, command, failed):
    (folder / "book.XLSX").write_bytes(b"PK")
    told = failed(command, "book.XLSX", "--target", "cost", *["--epsilon", "1"] * (command != "convert"), "--out", "x")
    assert "book.XLSX: save the table as CSV in the program that made it, then give that file" in told


def test_a_formula_names_the_target_and_the_terms(folder, capsys, people):
    formula = "cost ~ smoker*C(region) + I(smoker + 1)"
    main(["fit", "people.csv", "--formula", formula, "--epsilon", "6", "--sparsity", "2", "--out", "model.json"])
    assert "3,000 records" in capsys.readouterr().out
    model = load_model("model.json")
    assert (model.target, model.formula.text) == (
        "cost",
        "cost ~ smoker + C(region) + smoker:C(region) + I(smoker + 1)",
    )
    people.drop(columns="cost").to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv", "--json"])
    assert json.loads(capsys.readouterr().out)["predictions"] == model.predict(people).tolist()
    # Refused before anything is spent.
    for options, message in (
        (["--formula", "cost ~ scale(smoker)"], "reads other records"),
        (["--formula", "cost ~ smoker*region"], "C(...) for categories"),
        (["--formula", "cost ~ smokr"], "did you mean 'smoker'"),
        (["--formula", "cost ~ smoker", "--target", "region"], "the response of the formula is 'cost'"),
    ):
        with pytest.raises(SystemExit):
            main(["fit", "people.csv", *options, "--epsilon", "1", "--out", "other.json"])
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["fit", "people.npy", "--formula", "cost ~ smoker", "--epsilon", "1", "--out", "other.json"])
    assert "--formula needs a table" in capsys.readouterr().err
