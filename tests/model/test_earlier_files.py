"""Model files that earlier versions wrote load, predict and report as they did.

`files/expected.json` holds what the version that wrote them made of them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsparse import load_model, save_model
from dpsparse.cli import main
from dpsparse.report.fit import fit_page

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text())


def test_every_file_is_expected():
    assert {path.stem for path in FILES.glob("*.json")} == {*EXPECTED, "expected"}


@pytest.fixture(params=EXPECTED)
def name(request):
    return request.param


def test_effects_and_guarantee_are_as_they_were(name):
    model, expected = load_model(FILES / f"{name}.json"), EXPECTED[name]
    assert [list(effect.row()[:3]) for effect in model.effects] == expected["effects"]
    assert [effect.verdict.value for effect in model.effects] == expected["verdicts"]
    assert model.privacy.epsilon == pytest.approx(expected["epsilon"], rel=1e-9)
    places = [model.feature_names.index(effect.feature) for effect in model.effects]
    intervals = [[np.nan, np.nan] if ends is None else ends for ends in expected["intervals"]]
    np.testing.assert_allclose(model.conf_int(0.9)[places], np.reshape(intervals, (-1, 2)), rtol=1e-12)


def test_predictions_are_as_they_were(name):
    model, expected = load_model(FILES / f"{name}.json"), EXPECTED[name]
    rows = np.array(expected["rows"])
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names)
    np.testing.assert_allclose(model.predict(rows), expected["predictions"], rtol=1e-12)


def test_what_is_written_again_is_the_same(name, tmp_path):
    save_model(load_model(FILES / f"{name}.json"), tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads((FILES / f"{name}.json").read_text())


def test_reports_tell_the_effects(name, capsys):
    path = FILES / f"{name}.json"
    page = fit_page(load_model(path))
    main(["inspect", str(path)])
    shown = capsys.readouterr().out
    for _, effect, interval in EXPECTED[name]["effects"]:
        assert f">{effect}<" in page
        assert f">{interval}<" in page
        assert effect in shown
        assert interval in shown
