"""The page in a real browser: the whole way, reloads, two tabs, a kill."""

import re
import time
from pathlib import Path

import pytest
from chromium import Tab
from made_up_people import people
from walk import ERROR, PATH, WIDTHS, enter, faults, send

from dpsparse import PrivacyLedger

pytestmark = pytest.mark.slow

HELD_UP = Path(__file__).parent / "held_up.py"
FRAME = "document.querySelector('iframe.report')"
INSIDE = f"{FRAME}.contentDocument"
RECEIVED = "Network.responseReceived"


def picture(tab, artifacts, name):
    for width, scheme in WIDTHS.items():
        tab.show_as(width, scheme)
        (artifacts / f"app-{name}-{width}-{scheme}.png").write_bytes(tab.screenshot())
    tab.show_as(1024)


def steady(tab):
    """A reload, and back and forth again, show the same page and change nothing."""
    before = tab.value(PATH), tab.value("document.querySelector('main').textContent")
    tab.leave_by(lambda: tab.call("Page.reload"))
    assert (tab.value(PATH), tab.value("document.querySelector('main').textContent")) == before
    tab.leave_by(lambda: tab.value("location.href = '/glossary'"))
    tab.leave_by(lambda: tab.value("history.back()"))
    assert (tab.value(PATH), tab.value("document.querySelector('main').textContent")) == before


def test_the_whole_way_from_a_raw_table_to_a_report(tab, url, work, data, artifacts, seeded):
    people(5_000).to_csv(data / "people.csv", index=False)
    enter(tab, url)
    steady(tab)
    assert faults(tab) == []
    tab.fill("#path", "nobody.csv")
    tab.fill("#dataset", "clinic")
    send(tab, "/file")
    assert "does not exist" in tab.value(ERROR)
    assert tab.value("document.activeElement.id") == "error"
    tab.fill("#path", "people.csv")
    send(tab, "/file")
    assert tab.value(PATH) == "/columns"
    steady(tab)
    # Search among the columns, leave some out, type what is public.
    tab.fill("#search", "LAB_1")
    assert tab.value("[...document.querySelectorAll('#rows tr')].filter(row => row.checkVisibility()).length") == 10
    assert "10 are shown" in tab.value("document.querySelector('#count').textContent")
    tab.fill("#search", "")
    tab.click("[name=use-0]")
    tab.fill("[name=known-1]", "range")
    tab.fill("[name=value-1]", "twenty")
    tab.fill("#target", "cost")
    tab.click("#next", leaves=True)
    assert "two numbers, such as 20 to 80" in tab.value(ERROR)
    tab.fill("[name=value-1]", "20 to 80")
    picture(tab, artifacts, "2-columns")
    assert faults(tab) == []
    tab.click("#next", leaves=True)
    assert tab.value(PATH) == "/accuracy"
    steady(tab)
    # The sliders.
    before = tab.value("document.querySelector('#forecast').textContent")
    tab.value(
        "(e => { e.value = -0.5; e.dispatchEvent(new Event('input', {bubbles: true})); })"
        "(document.querySelector('[data-log-for=epsilon]'))"
    )
    tab.wait_for("document.querySelector('#forecast').textContent.includes('epsilon 0.32')")
    assert tab.value("document.querySelector('#forecast').textContent") != before
    assert tab.value("document.querySelector('#accuracy-form button').textContent") == "Take epsilon 0.32"
    tab.fill("#effect", "2000")
    tab.fill("#noise", "2500")
    tab.wait_for("document.querySelector('#forecast').textContent.includes('for 2,000.')")
    assert "likely missed" in tab.value("document.querySelector('#forecast').textContent")
    tab.fill("#epsilon", "1")
    picture(tab, artifacts, "3-accuracy")
    tab.fill("#epsilon", "much")
    send(tab, "/accuracy")
    assert "write a number" in tab.value(ERROR)
    assert tab.value("document.querySelector('#epsilon').value") == "much"
    tab.fill("#epsilon", "2")
    tab.click("[formaction='/accuracy/grant']", leaves=True)
    assert "tick the box" in tab.value(ERROR)
    # A grant takes along what was typed above it.
    tab.click("[name=sure]")
    tab.click("[formaction='/accuracy/grant']", leaves=True)
    assert "100 % of the budget of epsilon 3 left" in tab.value("document.querySelector('.ledger').textContent")
    assert tab.value("['epsilon', 'effect', 'noise'].map(id => document.getElementById(id).value)") == [
        *("2", "2000", "2500")
    ]
    send(tab, "/accuracy")
    assert tab.value(PATH) == "/preview"
    shown = tab.value("document.body.textContent")
    assert "Nothing below comes from your table" in shown
    assert "likely missed" in shown
    tab.wait_for("document.querySelector('#loading').hidden")
    tab.wait_for(f"{INSIDE}.documentElement.scrollHeight <= {FRAME}.clientHeight")
    steady(tab)
    tab.leave_by(lambda: tab.click(".go .button"))
    assert tab.value("document.querySelector('h1').textContent") == "Spend epsilon 2 of 3"
    steady(tab)
    send(tab, "/spend")
    assert "tick the box" in tab.value(ERROR)
    assert work.jobs.all() == []
    tab.click("[name=sure]")
    send(tab, "/spend")
    tab.wait_for("document.querySelector('h1').textContent === 'The report'")
    tab.wait_for("document.readyState === 'complete'")
    steady(tab)
    assert len(tab.value("[...document.querySelectorAll('.downloads a')].map(a => a.textContent)")) == 14
    # The report is whole: nothing of it scrolls within the page, also where its details are open.
    for opened in ("false", "true"):
        tab.value(f"{INSIDE}.querySelectorAll('details').forEach(each => {{ each.open = {opened}; }})")
        tab.wait_for(f"{INSIDE}.documentElement.scrollHeight <= {FRAME}.clientHeight")
        tab.wait_for(f"{FRAME}.clientHeight < {INSIDE}.body.offsetHeight + 50")
    tab.value(f"{INSIDE}.querySelectorAll('details').forEach(each => {{ each.open = false; }})")
    assert "What matters" in tab.value("document.querySelector('main').textContent")
    # The sentence to publish is true: smoking costs 9,000 in these made-up records.
    published = tab.value("document.querySelector('blockquote').textContent").replace(",", "")
    told = re.search(r"smoker: yes compared with no is associated with (\d+) higher cost", published)
    assert 8_000 < float(told[1]) < 10_000
    assert "(2 " in published
    assert faults(tab) == []
    picture(tab, artifacts, "6-report")
    # The budget: a grant that was not meant, and what was spent.
    tab.open(url.partition("/enter")[0] + "/budget")
    tab.fill("#dataset", "others")
    send(tab, "/budget/grant")
    assert "tick the box" in tab.value(ERROR)
    tab.open(url.partition("/enter")[0] + "/budget")
    steady(tab)
    assert "PrivateSparseRegressor" in tab.value("document.querySelector('main').textContent")
    assert faults(tab) == []
    # Back to the confirmation: it is a new one, and says that it spends anew.
    tab.open(url.partition("/enter")[0] + "/spend")
    assert "This spends anew" in tab.value("document.body.textContent")
    assert [event.kind for event in work.ledger.history()] == ["grant", "reserve", "charge"]


def test_a_file_opens_the_page_and_another_page_cannot_use_it(tab, url, work, tmp_path):
    # As the command opens the browser: through a file, which is another site to the browser.
    opener, foreign, base = tmp_path / "open.html", tmp_path / "foreign.html", url.partition("/enter")[0]
    opener.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={url}">')
    tab.open(opener.as_uri())
    tab.wait_for("location.pathname === '/file' && document.readyState === 'complete'")
    foreign.write_text(
        f'<!doctype html><iframe src="{base}/file"></iframe><form method="post" action="{base}/budget/grant">'
        '<input name="dataset" value="x"><input name="grant_epsilon" value="9"><input name="sure" value="on"></form>'
    )
    tab.open(foreign.as_uri())
    answers = {event["response"]["url"]: event["response"]["status"] for event in tab.events_named(RECEIVED)}
    assert answers[f"{base}/file"] == 403
    tab.leave_by(lambda: tab.value("document.forms[0].submit()"))
    assert "does not come from the page" in tab.value("document.body.textContent")
    assert work.ledger_state() is None


def test_two_tabs_race_for_the_last_of_the_budget(tab, browser, url, client, work):
    client.choose("people.csv")
    client.columns("cost", drop=["id"])
    client.grant(epsilon="1")
    client.plan(epsilon="1")
    enter(tab, url)
    other = Tab(browser)
    base = url.partition("/enter")[0]
    for each in (tab, other):
        each.open(base + "/spend")
        each.click("[name=sure]")
    for each in (tab, other):
        each.value("window.left = false; document.querySelector('button.spend').click()")
    for each in (tab, other):
        each.wait_for("window.left === undefined && document.querySelector('h1')?.textContent === 'The report'")
    assert tab.value(PATH) == other.value(PATH)
    assert [event.kind for event in work.ledger.history()] == ["grant", "reserve", "charge"]
    # The budget is gone, and the next attempt costs nothing.
    other.open(base + "/spend")
    other.click("[name=sure]")
    send(other, "/spend")
    other.wait_for("document.querySelector('h1')?.textContent === 'The fit failed'")
    assert "Nothing was spent" in other.value("document.body.textContent")
    other.call("Page.close")


def test_a_fit_that_is_killed_is_lost_and_the_page_says_so(tab, program, tmp_path, monkeypatch, record_property):
    monkeypatch.setenv("HELD_UP", str(tmp_path))
    first = program(script=HELD_UP)
    enter(tab, first.url)
    tab.upload("#upload", tmp_path / "data" / "people.csv")
    tab.fill("#dataset", "clinic")
    send(tab, "/file")
    tab.fill("#target", "cost")
    tab.click("#next", leaves=True)
    # The budget may be granted where it is spent, too.
    send(tab, "/accuracy")
    tab.open(first.url.partition("/enter")[0] + "/spend")
    tab.click("[name=sure]")
    send(tab, "/spend/grant")
    tab.click("[name=sure]")
    send(tab, "/spend")
    job = tab.value(PATH)
    tab.wait_for("document.querySelector('#words').textContent.includes('Epsilon is charged')")
    assert tab.value("document.querySelector('#cancel').offsetParent === null")
    # A reload shows the same fit, and begins no other.
    tab.leave_by(lambda: tab.call("Page.reload"))
    assert tab.value(PATH) == job
    uploads = tmp_path / "home" / "uploads"
    assert list(uploads.glob("*/people.csv"))
    first.kill()
    tab.wait_for("document.querySelector('#words').textContent.includes('connection to the program is lost')")
    assert list(uploads.glob("*/people.csv"))
    start = time.perf_counter()
    second = program()
    record_property("counted", f"the page started in {time.perf_counter() - start:.1f} s")
    assert list(uploads.iterdir()) == []
    enter(tab, second.url)
    assert "The program ended during the last fit" in tab.value("document.querySelector('main').textContent")
    tab.click(".notice a", leaves=True)
    assert tab.value(PATH) == job
    shown = tab.value("document.querySelector('main').textContent")
    assert "The program ended during this fit" in shown
    assert "Its charge stands: epsilon 1 is spent" in re.sub(r"\s+", " ", shown)
    ledger = PrivacyLedger(tmp_path / "home" / "budget.db")
    assert [event.kind for event in ledger.history()] == ["grant", "reserve", "charge"]
    assert ledger.balance("clinic").epsilon_spent == pytest.approx(1.0)
    assert second.end() is not None
    assert not uploads.exists()
