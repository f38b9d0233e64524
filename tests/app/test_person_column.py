"""The column that says whose row it is: chosen in step 2, told from then on, and given to the fit."""

import html
import re

import pandas as pd
import pytest


@pytest.fixture
def panel(client, data, csv):
    """Three rows a patient."""
    frame = pd.read_csv(data / "people.csv")
    frame.assign(patient=[f"p{k // 3}" for k in range(len(frame))]).to_csv(data / "visits.csv", index=False)
    client.choose("visits.csv")
    return len(frame)


def test_the_page_speaks_of_people(client, work, panel):
    client.columns("cost", drop=["id"], person="patient")
    people = -(-panel // 3)
    assert work.draft.settings.person == "patient"
    assert (work.facts.n_records, work.facts.n_people) == (panel, people)
    page = client.get("/accuracy").text
    for words in (f"{people:,}, by patient", f"With {people:,} people", "With how many people", "for whole people"):
        assert words in page
    client.grant()
    client.plan()
    assert "to each person, whatever number of rows they have" in client.get("/spend").text
    # Another table without this column forgets it.
    assert "patient" in client.choose("people.csv").text
    assert work.draft.settings.person is None


def test_a_column_that_is_called_as_ids_are_is_pointed_at_until_people_are_named(client, panel):
    hint = "If <code>id</code> says whose row it is, type it here"
    assert hint in client.get("/columns").text
    client.columns("cost", drop=["id"], person="patient")
    assert hint not in client.get("/columns").text


# Names of fields are no sentences; the budget says up to how many records of a person it was granted for.
STRAY = re.compile(r"(?<![-_\w])[Rr]ecords?(?![-_\w]| a person| per person| of one person)")


def stray(page):
    """What a page says of records."""
    text = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
    labels = " ".join(re.findall(r'(?:aria-label|title|placeholder|data-short)="([^"]*)"', page))
    return [each[max(0, at.start() - 60) : at.end() + 60] for each in (text, labels) for at in STRAY.finditer(each)]


@pytest.mark.slow
def test_no_page_speaks_of_records_once_people_are_known(client, work, ended, panel):
    client.columns("cost", drop=["id"], person="patient")
    client.grant()
    client.plan(epsilon="2", sparsity="2", holdout="0.2")
    pages = {path: client.get(path).text for path in ("/columns", "/accuracy", "/budget", "/spend", "/preview")}
    report = ended(client.spend())
    pages |= {path: client.get(path).text for path in (report.path, f"{report.path}/report", "/results")}
    assert {path: found for path, page in pages.items() if (found := stray(page))} == {}


@pytest.mark.parametrize(
    ("person", "told"), [("nobody", "there is no column"), ("cost", "both the response and the column of people")]
)
def test_a_column_that_cannot_be_it_is_refused(client, work, panel, person, told):
    assert told in client.columns("cost", drop=["id"], person=person).text
    assert work.draft.settings.person is None


def test_two_parts_by_person_have_a_forecast(client, work, panel):
    client.columns("cost", drop=["id"], person="patient", family="two-part")
    assert work.draft.settings.person == "patient"
    assert f"{-(-panel // 3):,}, by patient" in client.get("/accuracy").text


@pytest.mark.slow
def test_a_fit_is_by_person(client, work, ended, panel):
    client.columns("cost", drop=["id"], person="patient")
    client.grant()
    client.plan(epsilon="2", sparsity="2")
    report = ended(client.spend())
    model = work.jobs.all()[0].model
    assert (model.privacy.n_records, model.privacy.guarantee.rows) == (-(-panel // 3), panel)
    assert f"{-(-panel // 3):,} people with {panel:,} rows" in client.get(f"{report.path}/report").text
    assert 'person="patient"' in client.get(f"{report.path}/fit_again.py").text
