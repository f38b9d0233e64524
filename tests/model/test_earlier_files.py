"""Model files of this format load, predict and report as they did when they were written.

`files/expected.json` holds what the version that fitted them made of them, with intervals of 90 %. Only an effect of a
feature whose public centre was off has lost its interval since: such intervals did not hold.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsparse import load_model, save_model
from dpsparse.cli import main
from dpsparse.html import number
from dpsparse.model.effect import interval_text, p_text
from dpsparse.report.fit_page import fit_page

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text())


def test_every_file_is_expected():
    assert {path.stem for path in FILES.glob("*.json")} == {*EXPECTED, "expected"}


@pytest.fixture(params=EXPECTED)
def name(request):
    return request.param


def effects_expected(name):
    """Effects, intervals of 90 % as text, verdicts and intervals, as they were shown."""
    expected = EXPECTED[name]
    told = zip(expected["effects"], expected["verdicts"], expected["intervals"], strict=True)
    return [
        ([name, number(float(value)), "-"], "not reliable", None)
        if verdict == "centre off"
        else ([name, number(float(value)), text], verdict, interval)
        for (name, value, text), verdict, interval in told
    ]


def test_effects_and_guarantee_are_as_they_were(name):
    model, expected = load_model(FILES / f"{name}.json"), EXPECTED[name]
    told = effects_expected(name)
    rows = [effect.row() for effect in model.effects]
    shown = [(name, coef, verdict) for name, _, _, _, verdict, coef in rows]
    assert shown == [(*effect[:2], verdict) for effect, verdict, _ in told]
    assert model.privacy.epsilon == pytest.approx(expected["epsilon"], rel=1e-9)
    places = [model.feature_names.index(effect.feature) for effect in model.effects]
    intervals = [[np.nan, np.nan] if ends is None else ends for _, _, ends in told]
    np.testing.assert_allclose(model.conf_int(0.9)[places], np.reshape(intervals, (-1, 2)), rtol=1e-12)
    np.testing.assert_array_equal(np.isfinite(model.pvalues[places]), np.isfinite(intervals).all(axis=-1))


def test_predictions_are_as_they_were(name):
    model, expected = load_model(FILES / f"{name}.json"), EXPECTED[name]
    rows = np.array(expected["rows"])
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names)
    np.testing.assert_allclose(model.predict(rows), expected["predictions"], rtol=1e-12)


def test_they_have_no_median(name):
    with pytest.raises(ValueError, match="statistic='median' needs a released median, which this model has not"):
        load_model(FILES / f"{name}.json").predict(np.array(EXPECTED[name]["rows"]), "median")


def test_what_is_written_again_is_the_same_model(name, tmp_path):
    model = load_model(FILES / f"{name}.json")
    save_model(model, tmp_path / "again.json")
    assert load_model(tmp_path / "again.json") == model


def test_reports_tell_the_effects(name, capsys):
    path = FILES / f"{name}.json"
    model = load_model(path)
    page = fit_page(model)
    main(["inspect", str(path)])
    shown = capsys.readouterr().out
    for (_, effect, interval), _, ends in effects_expected(name):
        assert f">{effect}<" in page
        assert effect in shown
        assert (interval == "-") == (ends is None)
    for effect in model.effects:
        for text in (interval_text(effect.interval), p_text(effect.p_value)):
            assert f">{text.replace('<', '&lt;')}<" in page
            assert text in shown
