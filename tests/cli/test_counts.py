"""Counts and costs, from the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from dpsparse import load_model
from dpsparse.cli import main
from dpsparse.report.details import PURPOSE


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """Visits of people who were observed for some years, smokers twice as often."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 4_000
    years, smoker, age = rng.uniform(0.5, 4, n), rng.random(n) < 0.4, rng.normal(50, 10, n)
    table = pd.DataFrame({"age": age, "smoker": 1 * smoker, "years": years})
    table.assign(visits=rng.poisson(years * np.where(smoker, 2.0, 1.0))).to_csv("visits.csv", index=False)
    return tmp_path


ASKED = ["fit", "visits.csv", "--target", "visits", "--epsilon", "5", "--sparsity", "1", "--out", "model.json"]


@pytest.mark.slow
def test_a_file_leads_to_rate_ratios_a_report_and_means(visits, capsys):
    main([*ASKED, "--family", "poisson", "--exposure", "years", "--report", "report.html", "--json"])
    told = json.loads(capsys.readouterr().out)
    (effect,) = told["effects"]
    assert effect["feature"] == "smoker"
    assert effect["rate_ratio_interval"]["low"] < effect["rate_ratio"] < effect["rate_ratio_interval"]["high"]
    assert effect["rate_ratio"] == pytest.approx(2, rel=0.15)
    page = (visits / "report.html").read_text()
    for words in ("the rate of visits per unit of years", "rate ratio", "--exposure years"):
        assert words in page
    model = load_model("model.json")
    assert {release.name.rstrip(" 0123456789") for release in model.privacy.releases} <= set(PURPOSE)
    main(["predict", "model.json", "visits.csv", "--json"])
    table = pd.read_csv("visits.csv")
    means = json.loads(capsys.readouterr().out)["predictions"]
    assert np.mean(means) == pytest.approx(table.visits.mean(), rel=0.1)
    main(["evaluate", "model.json", "visits.csv", "--epsilon", "5", "--json"])
    assert json.loads(capsys.readouterr().out)["scores"]["d2"]["value"] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--exposure", "years"], "--exposure is for counts and costs"),
        (["--family", "poisson", "--estimand", "mean"], "--estimand is for numbers"),
        (["--family", "poisson", "--positive", "1"], "--family poisson: a label of yes is given"),
        (["--family", "poisson", "--exposure", "yeers"], "did you mean 'years'"),
        (["--family", "poisson", "--exposure", "visits"], "is the response: name another column"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(visits, capsys, options, words):
    with pytest.raises(SystemExit):
        main([*ASKED, *options])
    assert words in capsys.readouterr().err
    assert not (visits / "model.json").exists()


@pytest.mark.slow
def test_a_plan_tells_the_rate_ratio(capsys):
    main(["plan", "--n", "10000", "--d", "60", "--mean", "3", "--overdispersion", "6", "--json"])
    told = json.loads(capsys.readouterr().out)
    ratios = [each["smallest_rate_ratio"] for each in told["forecasts"]]
    assert ratios == sorted(ratios, reverse=True)
    assert told["mean_response"] == 3
    main(["plan", "--n", "10000", "--d", "60", "--mean", "3"])
    assert "rate ratio" in capsys.readouterr().out
