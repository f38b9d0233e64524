"""`--person`: a guarantee to people with any number of rows."""

import json

import numpy as np
import pytest

from dpsparse import PrivacyLedger, load_model
from dpsparse.cli import main


@pytest.fixture
def visits(folder, people):
    """Three rows a patient, whose ids are text; some are missing."""
    patient = [f"p{k}" if k % 50 else "" for k in np.arange(len(people)) // 3]
    people.assign(patient=patient).drop(columns="id").to_csv("visits.csv", index=False)
    return folder


ARGUMENTS = ("visits.csv", "--target", "cost", "--person", "patient", "--epsilon", "4")


def test_a_fit_speaks_of_people(visits, capsys):
    main(["fit", *ARGUMENTS, "--sparsity", "2", "--out", "model.json", "--report", "report.html"])
    model, shown = load_model("model.json"), capsys.readouterr().out
    # 980 people with three rows, and 60 rows without an id.
    assert (model.privacy.n_records, model.privacy.guarantee.rows) == (1_040, 3_000)
    assert "visits.csv: 1,040 people with 3,000 rows" in shown
    assert "had all rows of one person held any other values" in shown
    assert "patient" not in {feature.column for feature in model.features}
    report = (visits / "report.html").read_text()
    assert "1,040 people with 3,000 rows" in report
    assert "--person COLUMN" in report
    main(["evaluate", "model.json", "visits.csv", "--person", "patient", "--epsilon", "4", "--json"])
    evaluation = json.loads(capsys.readouterr().out)
    assert (evaluation["privacy"]["n_records"], evaluation["privacy"]["asked"]["rows"]) == (1_040, 3_000)


def test_an_evaluation_without_people_says_what_is_missing_before_it_spends(visits, capsys):
    main(["fit", *ARGUMENTS, "--sparsity", "2", "--out", "model.json"])
    PrivacyLedger("ledger.db").grant("nothing", epsilon=0.1, delta=1e-3)
    capsys.readouterr()
    asked = ["evaluate", "model.json", "visits.csv", "--epsilon", "4"]
    with pytest.raises(SystemExit):
        main([*asked, "--ledger", "ledger.db", "--dataset", "nothing"])
    told = capsys.readouterr().err.splitlines()
    assert "Note: the model was fitted by person" in told[0]
    assert "--person" in told[0]
    assert "0.1" in told[-1]
    main([*asked, "--records-per-person", "3"])
    assert "fitted by person" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["visits.csv", "--person", "nobody"], "there is no column 'nobody'"),
        (["visits.csv", "--person", "cost"], "both the response and the column of people"),
        (["visits.csv", "--person", "patient", "--records-per-person", "3"], "is for tables without ids"),
        (["people.npy", "--person", "patient"], "it keeps no column of people"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(visits, capsys, arguments, told):
    target = ["--target", "2" if arguments[0].endswith("npy") else "cost"]
    with pytest.raises(SystemExit):
        main(["fit", *arguments, *target, "--epsilon", "1", "--out", "model.json"])
    assert told in capsys.readouterr().err
    assert not (visits / "model.json").exists()


def test_a_forecast_for_people(capsys):
    main(["plan", "--n", "2000", "--d", "40", "--rows-per-person", "5", "--epsilon", "1", "--json"])
    with_rows = json.loads(capsys.readouterr().out)["forecasts"][0]
    main(["plan", "--n", "2000", "--d", "40", "--epsilon", "1", "--json"])
    assert with_rows["expected_error"] < json.loads(capsys.readouterr().out)["forecasts"][0]["expected_error"]


def test_check_points_at_the_column(visits, capsys):
    main(["check", "visits.csv"])
    assert "--person patient" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_effects_within_people(visits, capsys):
    main(["fit", *ARGUMENTS, "--within", "--sparsity", "2", "--out", "model.json", "--report", "report.html"])
    model, shown = load_model("model.json"), " ".join(capsys.readouterr().out.split())
    # The 60 rows without an id are one person's each.
    assert (model.within, model.privacy.n_records, model.privacy.guarantee.rows) == (True, 980, 2_940)
    assert "60 of 1,040 people have one row, which tells nothing within a person" in shown
    assert "--within" in (visits / "report.html").read_text()


@pytest.mark.parametrize("options", [("--holdout", "0.2"), ("--family", "poisson")])
def test_what_cannot_be_within_people_is_refused(visits, capsys, options):
    with pytest.raises(SystemExit):
        main(["fit", *ARGUMENTS, "--within", *options, "--out", "model.json"])
    assert "--within" in capsys.readouterr().err
    assert not (visits / "model.json").exists()


def test_a_plan_for_people_with_several_rows(capsys):
    asked = ["plan", "--n", "2000", "--d", "40", "--epsilon", "1", "--rows-per-person", "5", "--row-correlation", "0.3"]
    main([*asked, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["rows_per_person"], told["row_correlation"]) == (5.0, 0.3)
    main(asked)
    assert "n = 2,000 people with 5 rows each (alike by 0.3)" in " ".join(capsys.readouterr().out.split())
