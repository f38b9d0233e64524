import json

import numpy as np
import pandas as pd
import pytest

from dpsparse import load_model
from dpsparse.cli import main


@pytest.fixture
def model(folder, capsys, fit):
    """A model whose effects are set: of being a smoker, and of the east."""
    fit("people.csv", "--out", "model.json")
    content = json.loads((folder / "model.json").read_text())
    effect = content["effects"][0] | {"estimate": None, "standard_error": None, "clear": False}
    content["effects"] = [effect | {"feature": "smoker", "coef": 9.0}, effect | {"feature": "region=east", "coef": 4.0}]
    content |= {
        "intercept": 1.0,
        "prediction_range": None,
        "median_shift": -0.5,
        "calibration_slope": 1.0,
        "variables": [],
        "correlations": None,
    }
    (folder / "model.json").write_text(json.dumps(content))
    capsys.readouterr()
    return load_model("model.json")


def predicted(capsys, *more):
    main(["predict", "model.json", "new.csv", *more])
    return capsys.readouterr()


def test_predict_wants_the_selected_columns_alone_in_any_order(model, capsys, failed):
    new = pd.DataFrame({"other": ["x", ""], "region": ["east", "north"], "smoker": [0, 1]})
    new.to_csv("new.csv", index=False)
    assert predicted(capsys).out == "prediction\n5.0\n10.0\n"
    new.drop(columns="smoker").to_csv("new.csv", index=False)
    assert "no column 'smoker'" in failed("predict", "model.json", "new.csv")


def test_an_id_is_handed_on_as_it_is(model, capsys, failed):
    new = pd.DataFrame({"smoker": [0, 1, 1], "name": ["007", 'O"Neill, J', ""], "region": "north"})
    new.to_csv("new.csv", index=False)
    assert predicted(capsys, "--id", "name").out == 'name,prediction\n007,1.0\n"O""Neill, J",10.0\n,10.0\n'
    told = json.loads(predicted(capsys, "--id", "name", "--json").out)
    assert (told["ids"], told["predictions"]) == (["007", 'O"Neill, J', ""], [1.0, 10.0, 10.0])
    assert "no column 'nam'" in failed("predict", "model.json", "new.csv", "--id", "nam", "--out", "out.csv")
    new.to_parquet("new.parquet")
    main(["predict", "model.json", "new.parquet", "--id", "smoker"])
    assert capsys.readouterr().out == "smoker,prediction\n0,1.0\n1,10.0\n1,10.0\n"


def test_a_file_that_exists_is_not_overwritten(model, capsys, failed, folder):
    pd.DataFrame({"region": ["east"], "smoker": [0]}).to_csv("new.csv", index=False)
    (folder / "mine.csv").write_text("by hand")
    assert "it exists; choose another name" in failed("predict", "model.json", "new.csv", "--out", "mine.csv")
    assert (folder / "mine.csv").read_text() == "by hand"
    predicted(capsys, "--out", "out.csv")
    assert (folder / "out.csv").read_text() == "prediction\n5.0\n"


def test_numbered_columns_are_handed_on_too(folder, capsys):
    options = ["--target", "2", "--epsilon", "1", "--sparsity", "1", "--out", "model.json"]
    main(["fit", "people.npy", *options])
    np.save("new.npy", np.array([[50.5, 0.0, 1e6], [60.0, 1.0, 7.25]]))
    capsys.readouterr()
    main(["predict", "model.json", "new.npy", "--id", "2"])
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == ["2", "1000000", "7.25"]


def test_it_says_how_unseen_categories_count_and_counts_them_so(model, capsys):
    note = "region: any text but 'south', 'east', or none, counts as the baseline 'north'"
    pd.DataFrame({"region": ["moon", None, "north"], "smoker": 0}).to_csv("new.csv", index=False)
    told = predicted(capsys)
    assert told.out == "prediction\n1.0\n1.0\n1.0\n"
    assert told.err == f"Note: {note}\n"
    assert json.loads(predicted(capsys, "--json").out)["notes"] == [note]
    assert f"Note: {note}\n" in predicted(capsys, "--out", "predictions.csv").out
    pd.DataFrame({"region": ["east", "south", "north"], "smoker": 0}).to_csv("new.csv", index=False)
    assert predicted(capsys).err == ""


def test_it_counts_numbers_that_are_missing_or_written_in_another_way(folder, capsys, people):
    """A model that read decimal points gets a file with decimal commas: nothing refuses it, so a note says it."""
    options = ["--drop", "smoker", "--epsilon", "100", "--sparsity", "2", "--out", "model.json"]
    main(["fit", "people.csv", "--target", "cost", *options])
    capsys.readouterr()
    assert "age" in load_model("model.json").columns_selected
    new = people.head(4).assign(age=[50.5, 31.25, 40.75, 61.25])
    new.to_csv("new.csv", index=False)
    assert predicted(capsys).err == ""
    new.to_csv("new.csv", index=False, sep=";", decimal=",")
    note = "age: 4 of 4 cells are empty, or not written as in the table of the fit, and count as missing"
    assert f"Note: {note}\n" in predicted(capsys).err
    assert note in json.loads(predicted(capsys, "--json").out)["notes"]


def test_rare_text_is_mentioned_only_where_there_is_any(folder, capsys, people):
    """Learned categories: every cell of the records is one of those, or missing; then one is not."""
    main(["fit", "people.csv", "--target", "cost", "--epsilon", "8", "--sparsity", "4", "--out", "model.json"])
    capsys.readouterr()
    assert "region" in load_model("model.json").columns_needed
    people.head(9).assign(region=["north", "south", "east"] * 2 + ["north", "", "NA"]).to_csv("new.csv", index=False)
    assert predicted(capsys).err == ""
    assert json.loads(predicted(capsys, "--json").out)["notes"] == []
    people.head(3).assign(region=["north", "moon", "east"]).to_csv("new.csv", index=False)
    note = "region: text that was rare or unknown in the fit counts as 'region (another value)'"
    assert predicted(capsys).err == f"Note: {note}\n"


def test_a_model_without_effects_needs_no_column(model, capsys, folder):
    content = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(content | {"effects": []}))
    pd.DataFrame({"anything": ["x", "y"]}).to_csv("new.csv", index=False)
    assert predicted(capsys).out == "prediction\n1.0\n1.0\n"


def test_a_median_is_predicted_where_the_model_has_one(model, capsys, folder, failed):
    pd.DataFrame({"region": ["east", "north"], "smoker": [0, 1]}).to_csv("new.csv", index=False)
    assert predicted(capsys, "--statistic", "median").out == "prediction\n4.5\n9.5\n"
    assert predicted(capsys, "--statistic", "mean").out == predicted(capsys).out == "prediction\n5.0\n10.0\n"
    content = json.loads((folder / "model.json").read_text())
    (folder / "typical.json").write_text(json.dumps(content | {"estimand": "typical"}))
    refused = failed("predict", "typical.json", "new.csv", "--statistic", "mean")
    assert "this one is of the typical response: leave it out, or fit with estimand='mean'" in refused
    del content["median_shift"]
    (folder / "model.json").write_text(json.dumps(content))
    assert "statistic='median' needs a released median" in failed(
        "predict", "model.json", "new.csv", "--statistic", "median"
    )


def test_a_loaded_model_finds_the_columns_of_a_frame_by_name(model):
    new = pd.DataFrame({"other": ["x", "y"], "region": ["east", "moon"], "smoker": [0, 1]})
    assert model.columns_needed == ["smoker", "region"]
    assert model.predict(new).tolist() == [5.0, 10.0]
    assert "smoker" in model.summary()
