"""`--person`: a guarantee to people with any number of rows."""

import json

import numpy as np
import pytest

from dpsparse import load_model
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
