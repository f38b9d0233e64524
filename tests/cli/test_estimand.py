import json

import pytest

from dpsparse import load_model
from dpsparse.cli import main


@pytest.mark.slow
@pytest.mark.parametrize("estimand", ["mean", "typical"])
def test_a_fit_asks_for_an_estimand_and_its_result_says_it(folder, capsys, estimand):
    options = ["--epsilon", "2", "--sparsity", "2", "--estimand", estimand, "--out", "m.json", "--report", "r.html"]
    main(["fit", "people.csv", "--target", "cost", *options])
    told = " ".join(capsys.readouterr().out.split())
    assert load_model("m.json").estimand == estimand
    assert f"--estimand {estimand}" in (folder / "r.html").read_text()
    words = {"mean": "Effects: on the mean of cost, as least squares", "typical": "Effects: on the typical cost"}
    other = words["typical" if estimand == "mean" else "mean"]
    assert other not in told
    assert words[estimand] in told or "effects on a mean cannot be had" in told
    assert "Estimates: of effects on cost, per one-unit increase" in told
    assert told.count("Effects:") <= 1


def test_the_mean_is_the_default_and_nothing_else_is_taken(folder, capsys):
    main(["fit", "people.csv", "--target", "cost", "--epsilon", "1", "--sparsity", "2", "--out", "m.json"])
    assert load_model("m.json").estimand == "mean"
    assert json.loads((folder / "m.json").read_text())["estimand"] == "mean"
    with pytest.raises(SystemExit):
        main(["fit", "people.csv", "--target", "cost", "--epsilon", "1", "--estimand", "median", "--out", "n.json"])
    assert "'median' is not one of 'mean', 'typical'" in capsys.readouterr().err
    assert not (folder / "n.json").exists()


@pytest.mark.slow
def test_tuning_keeps_the_estimand(folder):
    options = ["--epsilon", "3", "--sparsity", "1", "--sparsity", "2", "--estimand", "typical", "--out", "t.json"]
    main(["tune", "people.csv", "--target", "cost", *options])
    assert load_model("t.json").estimand == "typical"
