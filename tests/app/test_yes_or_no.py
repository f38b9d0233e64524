"""A response that is yes or no on the page: the choice in step 2, and a report of odds ratios."""

import re

import numpy as np
import pytest
from made_up_people import people
from walk import PATH, WIDTHS, enter, faults, send

from dpsparse.app.settings import Settings, settings_of
from dpsparse.schema import FileError, read_json

# Of smoking, in log odds.
EFFECT = 1.5


def denied(n=6_000):
    """People of whom some were denied a loan, smokers more often; a few answers are missing."""
    table, rng = people(n), np.random.default_rng(1)
    yes = rng.random(n) < 1 / (1 + np.exp(0.8 - EFFECT * (table.smoker == "yes")))
    table["answer"] = np.where(rng.random(n) < 0.02, "", np.where(yes, "Denied", "granted"))
    return table.drop(columns="cost")


@pytest.fixture
def table(data):
    denied().to_csv(data / "people.csv", index=False)


@pytest.mark.slow
def test_the_way_to_odds_ratios(tab, url, work, table, artifacts, seeded):
    enter(tab, url)
    tab.fill("#path", "people.csv")
    tab.fill("#dataset", "loans")
    send(tab, "/file")
    assert not tab.value("document.querySelector('#response_positive').checkVisibility()")
    tab.fill("#target", "answer")
    tab.click("[name=family][value=binomial]")
    assert tab.value("document.querySelector('#response_positive').checkVisibility()")
    assert not tab.value("document.querySelector('#of-a-number').checkVisibility()")
    tab.fill("#response_positive", "denied")
    tab.click("[name=use-0]")
    for width, scheme in WIDTHS.items():
        tab.show_as(width, scheme)
        (artifacts / f"app-yes-or-no-2-columns-{width}-{scheme}.png").write_bytes(tab.screenshot())
    assert faults(tab) == []
    tab.click("#next", leaves=True)
    assert tab.value(PATH) == "/accuracy"
    assert tab.value("document.querySelector('[name=estimand]')") is None
    assert "multiplies the odds of yes by" in tab.value("document.querySelector('#forecast').textContent")
    (artifacts / "app-yes-or-no-3-accuracy.png").write_bytes(tab.screenshot())
    assert faults(tab) == []
    tab.fill("#epsilon", "2")
    tab.click("[name=sure]")
    tab.click("[formaction='/accuracy/grant']", leaves=True)
    send(tab, "/accuracy")
    assert tab.value(PATH) == "/preview"
    tab.wait_for("document.querySelector('#loading').hidden")
    (artifacts / "app-yes-or-no-4-preview.png").write_bytes(tab.screenshot())
    tab.leave_by(lambda: tab.click(".go .button"))
    assert "It is yes where" in tab.value("document.body.textContent")
    tab.click("[name=sure]")
    send(tab, "/spend")
    tab.wait_for("document.querySelector('h1').textContent === 'The report'")
    tab.wait_for("document.readyState === 'complete'")
    published = tab.value("document.querySelector('blockquote').textContent")
    told = re.search(r"smoker: yes, compared with no, is associated with ([\d.]+) times the odds", published)
    assert abs(np.log(float(told[1])) - EFFECT) < 0.4
    for width, scheme in WIDTHS.items():
        tab.show_as(width, scheme)
        (artifacts / f"app-yes-or-no-6-report-{width}-{scheme}.png").write_bytes(tab.screenshot())
    assert faults(tab) == []
    # What is taken home makes the same fit.
    (job,) = work.jobs.all()
    tab.open(url.partition("/enter")[0] + f"/fits/{job.name}/report")
    (artifacts / "app-yes-or-no-report.png").write_bytes(tab.screenshot())
    assert job.model.classes == ("not denied", "denied")


@pytest.mark.slow
def test_what_is_chosen_is_kept_and_checked(client, work, table):
    client.choose("people.csv")
    form = {"family": "binomial", "response_positive": " denied ", "response_center": "not read"}
    client.columns("answer", **form)
    chosen = work.draft.settings
    assert (chosen.family, chosen.response) == ("binomial", {"positive": "denied"})
    assert 'positive = "denied"' in chosen.bounds_text()
    page = client.get("/columns").text
    assert 'value="binomial" checked' in page
    assert 'value="denied"' in page
    assert "multiplies the odds of yes by" in client.get("/accuracy").text
    # Fewer of yes find less, and the guess is kept.
    asked = "/forecast?epsilon=1&sparsity=3&share_of_yes="
    ratios = [
        float(re.search(r"of yes by <b>([\d.]+)</b>", client.get(f"{asked}{share}").text)[1]) for share in (0.5, 0.1)
    ]
    assert ratios[0] < ratios[1]
    assert "between 0 and 1" in client.get(f"{asked}2").text
    client.plan(share_of_yes="0.1")
    assert work.draft.settings.share_of_yes == 0.1
    assert 'value="0.1"' in client.get("/accuracy").text
    # Back to numbers, nothing of it stays.
    client.columns("age", family="linear", response_positive="denied")
    assert (work.draft.settings.family, work.draft.settings.response) == ("linear", {})


def test_text_needs_a_label_of_yes(client, work, data):
    denied(200).astype(str).to_parquet(data / "people.parquet")
    client.choose("people.parquet")
    for family in ("linear", "binomial"):  # Parquet declares it as text.
        assert "which value is yes" in client.columns("answer", family=family).error
    assert client.columns("answer", family="binomial", response_positive="denied").path == "/accuracy"


def test_settings_are_read_again(tmp_path):
    chosen = Settings(target="answer", family="binomial", response={"positive": "denied"})
    path = tmp_path / "settings.json"
    path.write_text(chosen.to_json())
    assert settings_of(read_json(path)) == chosen
    wrong = Settings(target="answer", response={"positive": "denied"})
    path.write_text(wrong.to_json())
    with pytest.raises(FileError, match="'positive' is for a family of 'binomial'"):
        settings_of(read_json(path))
