import json
from pathlib import Path

import numpy as np
import pytest

from dpsparse.cli import main
from dpsparse.privacy.accounting.meter import Meter

SECRET = 73_918_243


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table whose every value holds a number that nothing else does."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("secret-name.npy", SECRET + rng.normal(size=(200, 4)))
    return tmp_path


def fit(*more):
    main(["fit", "secret-name.npy", "--target", "3", "--epsilon", "1", "--sparsity", "2", *more])


def failed(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert stopped.value.code == 1
    return capsys.readouterr().err


def test_the_report_of_a_fit_and_of_its_model_are_the_same_bytes(folder, capsys):
    fit("--out", "model.json", "--report", "first.html")
    assert "Report: first.html" in capsys.readouterr().out
    Path("secret-name.npy").unlink()
    main(["report", "model.json", "--out", "second.html"])
    main(["report", "model.json"])
    page = Path("first.html").read_bytes()
    assert page == Path("second.html").read_bytes() == Path("report.html").read_bytes()
    assert str(SECRET)[:6].encode() not in page
    assert b"secret-name" not in page


def test_json_names_the_files(folder, capsys):
    fit("--report", "page.html", "--json", "--out", "model.json")
    assert json.loads(capsys.readouterr().out)["report"] == "page.html"
    main(["report", "model.json", "--out", "again.html", "--json"])
    assert json.loads(capsys.readouterr().out) == {"out": "again.html"}


def test_a_report_that_cannot_be_written_costs_nothing(folder, capsys, monkeypatch):
    monkeypatch.setattr(Meter, "charge", None)
    arguments = ["fit", "secret-name.npy", "--target", "3", "--epsilon", "1", "--out", "model.json", "--report"]
    assert "no/such.html" in failed(capsys, *arguments, "no/such.html")
    assert "something else; choose another name" in failed(capsys, *arguments, "model.json")
    assert "something else; choose another name" in failed(capsys, *arguments, "secret-name.npy")
    assert [file.name for file in folder.iterdir()] == ["secret-name.npy"]


def test_no_report_of_what_is_no_model(folder, capsys):
    Path("model.json").write_text("{}")
    assert "is not a model file" in failed(capsys, "report", "model.json")
    assert "does not exist" in failed(capsys, "report", "other.json")
    assert not Path("report.html").exists()
