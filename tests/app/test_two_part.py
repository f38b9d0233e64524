"""A response that is mostly 0 on the page: the choice in step 2, a forecast of both parts, a preview, and a fit."""

import re

import numpy as np
import pytest
from made_up_people import people

from dpsparse.app.draft_forecast import Asked, parts_forecast
from dpsparse.app.preview import preview_page
from dpsparse.app.settings import Settings, settings_of
from dpsparse.schema import read_json


@pytest.fixture
def table(data):
    made = people(2_000)
    made["cost"] = made["cost"].where(np.random.default_rng(0).random(2_000) < 0.5, 0.0)
    made.to_csv(data / "people.csv", index=False)


def test_what_is_chosen_is_kept_and_forecast(client, work, table):
    client.choose("people.csv")
    client.columns("cost", family="two-part", response_center="not read", response_positive="not read")
    chosen = work.draft.settings
    assert (chosen.family, chosen.response, chosen.chosen_estimand) == ("two-part", {}, None)
    assert 'value="two-part" checked' in client.get("/columns").text
    page = client.get("/accuracy").text
    assert "the odds of being above 0" in page
    assert 'name="estimand"' not in page
    asked = "/forecast?epsilon=3&sparsity=2&records=50000&share_of_yes="
    ratios = [float(re.search(r"by <b>([\d.]+)</b>", client.get(f"{asked}{share}").text)[1]) for share in (0.5, 0.1)]
    assert ratios[0] < ratios[1]
    client.plan(share_of_yes="0.4")
    assert "the overall mean, in two parts" in client.get("/preview").text


def test_nothing_is_found_in_a_small_table():
    told = parts_forecast(Asked(50, 20, False, epsilon=0.1, delta=None, sparsity=3), share=0.05)
    assert (told["whether"], told["how_much"]) == (None, None)


def test_settings_are_read_again_and_ask_for_two_parts(tmp_path):
    chosen = Settings(target="cost", family="two-part")
    (tmp_path / "settings.json").write_text(chosen.to_json())
    assert settings_of(read_json(tmp_path / "settings.json")) == chosen


@pytest.mark.slow
def test_a_preview_has_both_parts():
    page = preview_page(("age", "income"), "cost", 500, 1, 3.0, 1e-4, 1, True, family="two-part")
    assert "Whether cost (made up) is above 0" in page
    assert "PREVIEW" in page
