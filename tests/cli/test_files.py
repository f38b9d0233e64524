import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivateSparseRegressor, load_model
from dpsparse.cli import main
from dpsparse.privacy.accounting.meter import Meter

RNG = np.random.default_rng(0)
N = 3_000
PEOPLE = pd.DataFrame(
    {
        "id": 100_000 + np.arange(N),
        "age": RNG.normal(50, 15, N).round(1),
        "smoker": (RNG.random(N) < 0.2).astype(int),
        "region": RNG.choice(["north", "south", "east"], N),
    }
)
PEOPLE["cost"] = (
    100 * PEOPLE.age + 9_000 * PEOPLE.smoker + 4_000 * (PEOPLE.region == "east") + RNG.standard_t(3, N) * 2_000
)
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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    PEOPLE.to_parquet("people.parquet", index=False)
    np.save("people.npy", PEOPLE[["age", "smoker", "cost"]].to_numpy())
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    return tmp_path


def fit(data="people.csv", *more, target="cost", bounds="bounds.toml", epsilon="3"):
    main(["fit", data, "--target", target, "--epsilon", epsilon, "--sparsity", "3", "--bounds", bounds, *more])


def failed(capsys, *arguments):
    """The one line of an error."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    told = capsys.readouterr()
    assert stopped.value.code == 1
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
def test_from_a_file_to_predictions(folder, capsys, data):
    fit(data, "--out", "model.json")
    told = capsys.readouterr().out
    for words in (
        "Guarantee: (3, ",
        "3,000 records, 4 features",
        "smoker",
        "region=east",
        "90 % interval",
        "model.json",
    ):
        assert words in told
    assert "no --bounds" not in told
    model = load_model("model.json")
    assert model.privacy.private
    assert model.target == "cost"
    found = {effect.feature: effect for effect in model.effects}
    assert found["smoker"].coef == pytest.approx(9_000, rel=0.1)
    assert found["smoker"].clear
    main(["predict", "model.json", data, "--out", "predictions.csv"])
    assert capsys.readouterr().out == "predictions.csv: 3,000 predictions\n"
    predictions = pd.read_csv("predictions.csv").prediction
    encoded = pd.get_dummies(PEOPLE, columns=["region"], prefix_sep="=")[model.feature_names].astype(float)
    np.testing.assert_allclose(predictions, model.predict(encoded), rtol=1e-12)
    assert np.median(np.abs(predictions - PEOPLE.cost)) < 2_500


def test_npy_by_number_and_the_standardised_default(folder, capsys):
    main(["fit", "people.npy", "--target", "2", "--epsilon", "1", "--sparsity", "2", "--json", "--out", "model.json"])
    told = json.loads(capsys.readouterr().out)
    assert "publicly standardised" in told["notes"][0]
    assert [feature["column"] for feature in told["features"]] == ["0", "1"]
    main(["predict", "model.json", "people.npy", "--json"])
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == N


def test_inspect_tells_the_promise_in_words_and_in_full(folder, capsys):
    fit("people.csv", "--out", "model.json")
    capsys.readouterr()
    main(["inspect", "model.json"])
    told = capsys.readouterr().out
    for words in ("at most 95.3 % sure", "differentially private", "exponential-mechanism pick", "Gram matrix", "rho"):
        assert words in told
    main(["inspect", "model.json", "--json"])
    assert json.loads(capsys.readouterr().out) == json.loads((folder / "model.json").read_text())


def test_bounds_init_asks_for_hands_and_reads_no_value(folder, capsys):
    main(["bounds", "init", "people.csv", "--target", "cost", "--out", "empty.toml"])
    assert "BY HAND" in capsys.readouterr().out
    assert "not filled in yet" in failed(
        capsys, "fit", "people.csv", "--target", "cost", "--epsilon", 1, "--bounds", "empty.toml"
    )
    main(["bounds", "init", "people.csv"])
    printed = capsys.readouterr().out
    assert "would leak" in printed
    # Other people, the same names and kinds: the same template.
    PEOPLE.assign(age=-PEOPLE.age, region="else")[::-1].to_csv("people.csv", index=False)
    main(["bounds", "init", "people.csv", "--json"])
    assert json.loads(capsys.readouterr().out)["template"] == printed


@pytest.mark.parametrize("out", ["no/such/model.json", ".", "people.csv", "bounds.toml", "/dev/null"])
def test_an_out_that_cannot_be_written_is_refused_before_anything_is_spent(folder, capsys, monkeypatch, out):
    monkeypatch.setattr(PrivateSparseRegressor, "fit", lambda *_: pytest.fail("it was fitted"))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    arguments = ["fit", "people.csv", "--target", "cost", "--epsilon", 1, "--bounds", "bounds.toml", "--out", out]
    assert "cannot write" in failed(capsys, *arguments)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_ctrl_c_leaves_no_partial_file(folder, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivateSparseRegressor, "fit", interrupted)
    before = sorted(os.listdir())
    with pytest.raises(SystemExit) as stopped:
        fit("people.csv", "--out", "model.json")
    assert stopped.value.code == 130
    assert sorted(os.listdir()) == before


def test_a_disk_that_fills_up_after_the_fit_does_not_lose_what_was_paid_for(folder, capsys, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemExit):
        fit("people.csv", "--out", "model.json")
    told = capsys.readouterr()
    assert "90 % interval" in told.out
    assert "No space left" in told.err
    assert not (folder / "model.json").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "income"}, "no column 'income'"),
        ({"bounds": "none.toml"}, "none.toml does not exist"),
        ({"data": "none.csv"}, "none.csv does not exist"),
        ({"data": "bounds.toml"}, "must end in .csv, .parquet or .npy"),
        ({"epsilon": "0"}, "epsilon=0.0 must be"),
        ({"target": "age"}, "'age' is the target"),
    ],
)
def test_mistakes_cost_nothing(folder, capsys, monkeypatch, change, message):
    monkeypatch.setattr(Meter, "charge", lambda *_: pytest.fail("it was charged"))
    with pytest.raises(SystemExit) as stopped:
        fit(**change)
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err


def test_predict_wants_the_columns_of_the_fit(folder, capsys):
    fit("people.csv", "--out", "model.json")
    capsys.readouterr()
    PEOPLE.drop(columns=["id", "cost"]).to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv"])
    assert len(capsys.readouterr().out.splitlines()) == N + 1
    PEOPLE.drop(columns="age").to_csv("new.csv", index=False)
    assert "no column 'age'" in failed(capsys, "predict", "model.json", "new.csv")
    # A place outside the public categories is predicted like the baseline.
    PEOPLE.assign(region="moon").to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv"])
    moon = capsys.readouterr().out
    PEOPLE.assign(region="north").to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv"])
    assert capsys.readouterr().out == moon


def test_no_answer_tells_of_one_record_beyond_the_constant_sentence(folder, capsys):
    """Neighbouring tables, one odd record: the same words come out, whichever column and category are asked about."""
    told = set()
    for column, odd in (("age", "ninety"), ("smoker", "NA"), ("cost", "refused")):
        neighbour = PEOPLE.astype({column: object})
        neighbour.loc[7, column] = odd
        neighbour.to_csv("people.csv", index=False)
        told.add(
            failed(capsys, *["fit", "people.csv", "--target", "cost", "--epsilon", "1", "--bounds", "bounds.toml"])
        )
    assert len(told) == 1
    assert "text where a number is due" in told.pop()
    neighbour = PEOPLE.copy()
    neighbour.loc[7, "region"] = "moon"
    neighbour.to_csv("people.csv", index=False)
    fit()
    assert "moon" not in capsys.readouterr().out


def test_what_was_paid_for_or_filled_in_is_not_overwritten(folder, capsys):
    fit("people.csv", "--out", "model.json")
    capsys.readouterr()
    start = ["fit", "people.csv", "--target", "cost", "--epsilon", 1, "--bounds", "bounds.toml"]
    assert "it exists" in failed(capsys, *start, "--out", "model.json")
    assert "it exists" in failed(capsys, "bounds", "init", "people.csv", "--out", "bounds.toml")
    main(["budget", "grant", "budget.db", "people", "--epsilon", "3", "--delta", "1e-6"])
    capsys.readouterr()
    assert "database" in failed(capsys, "predict", "model.json", "people.csv", "--out", "budget.db")


def test_plan_gives_a_table_a_picture_and_json(folder, capsys):
    main(["plan", "--n", "10000", "--d", "1000", "--epsilon", "1,0.1", "--out", "plan.png"])
    told = capsys.readouterr().out
    assert "Picture: plan.png" in told
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")
    main(["plan", "--n", "10000", "--d", "1000", "--epsilon", "1,0.1", "--json"])
    strict, loose = json.loads(capsys.readouterr().out)["forecasts"]
    assert (strict["epsilon"], loose["epsilon"]) == (0.1, 1.0)
    assert strict["expected_error"] > loose["expected_error"]
    assert "must end in .png" in failed(capsys, "plan", "--n", 10, "--d", 10, "--out", "plan.txt")


def test_names_are_not_markup(folder, capsys):
    PEOPLE.rename(columns={"smoker": "[red]smoker[/red]"}).to_csv("people.csv", index=False)
    text = (folder / "bounds.toml").read_text().replace("columns.smoker", 'columns."[red]smoker[/red]"')
    (folder / "bounds.toml").write_text(text)
    fit()
    assert "[red]smoker[/red]" in capsys.readouterr().out


def test_without_pyarrow_the_error_says_what_to_install(folder):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from dpsparse.cli import main; main(['bounds', 'init', 'people.csv'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'dpsparse[data]'" in done.stderr
