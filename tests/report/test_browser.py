"""The report in a real browser: what a reader sees, hears and can reach."""

import base64
import itertools
from dataclasses import replace

import pytest

from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.report.fit_page import fit_page

pytestmark = pytest.mark.slow

WIDTHS = {"phone": 390, "desktop": 1280}
# Pairs of words of a picture that lie over each other, and words that stick out of it.
CROWDED = """[...document.querySelectorAll('svg.chart')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll('text')].filter(word => word.textContent)
    .map(word => [word.textContent, word.getBoundingClientRect()]);
  const out = words.filter(([, r]) => r.left < frame.left - 2 || r.right > frame.right + 2).map(([name]) => name);
  words.forEach(([one, a], k) => words.slice(k + 1).forEach(([other, b]) => {
    const beside = a.right < b.left || b.right < a.left, above = a.bottom < b.top + 3 || b.bottom < a.top + 3;
    if (!beside && !above) out.push(one + ' | ' + other);
  }));
  return out;
})"""
NAME = "(e => e.id || e.getAttribute('href') || e.getAttribute('aria-label') || e.textContent)"
FOCUS = f"{NAME}(document.activeElement)"
OPEN_ALL = "document.querySelectorAll('details').forEach(details => details.open = true)"


@pytest.fixture(scope="module")
def url(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(fit_page(model), encoding="utf-8")
    return path.as_uri()


def faults(browser, url):
    """What is wrong with a page whatever it says."""
    browser.open(url)
    faults_seen = [
        "console" for _ in (*browser.events_named("Log.entryAdded"), *browser.events_named("Runtime.consoleAPICalled"))
    ]
    faults_seen += ["exception" for _ in browser.events_named("Runtime.exceptionThrown")]
    asked = [event["request"]["url"] for event in browser.events_named("Network.requestWillBeSent")]
    faults_seen += ["request" for other in asked if other != url and not other.startswith("data:")]
    if max(browser.value(f"document.{part}.scrollWidth") for part in ("documentElement", "body")) > browser.width:
        faults_seen.append("overflow")
    links = browser.value("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    faults_seen += ["link" for link in links if not browser.value(f"document.getElementById({link[1:]!r}) !== null")]
    return faults_seen + [f"crowded: {words}" for words in browser.value(CROWDED)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
def test_it_looks_right(browser, url, artifacts, device, scheme):
    browser.show_as(WIDTHS[device], scheme)
    assert faults(browser, url) == []
    assert browser.value("document.querySelector('h1').textContent") == "What explains cost"
    picture = browser.screenshot()
    (artifacts / f"report-{device}-{scheme}.png").write_bytes(picture)
    assert picture.startswith(b"\x89PNG")
    browser.value(OPEN_ALL)
    assert browser.value(CROWDED) == []
    assert browser.value("document.documentElement.scrollWidth") <= WIDTHS[device]
    sizes = browser.value(
        "[...document.querySelectorAll('svg.chart')].map(e => e.getBoundingClientRect()).map(r => [r.width, r.height])"
    )
    assert len(sizes) == 3
    assert all(width > 300 and height > 150 for width, height in sizes)


def test_the_effects_fit_on_a_phone(browser, url):
    browser.show_as(390)
    browser.open(url)
    cut = "[...document.querySelectorAll('section#in-short *, section#effects th, section#effects td, nav *')]"
    beyond = f"{cut}.filter(e => e.getBoundingClientRect().right > 390).map(e => e.textContent)"
    assert browser.value(beyond) == []
    # The summary comes first, and the details are folded away.
    assert browser.value("[...document.querySelectorAll('h2')].map(e => e.textContent)") == [
        "In short",
        "Effects",
        "Details",
    ]
    assert browser.value("[...document.querySelectorAll('details')].filter(e => e.open).length") == 0
    assert browser.value("document.querySelectorAll('details').length") == 9


def test_no_table_is_cut_on_a_phone(browser, model, tmp_path):
    # A name that has no blank, and the frame in which `dpsparse app` shows a report.
    name = "average_household_income_before_taxes_2019"
    effects = (Effect(name, -1_234_567.0, -1_300_000.0, 200_000.0, clear=True), *model.effects)
    long = replace(model, features=(Feature(name, 0.0, 1.0), *model.features), effects=effects)
    path = tmp_path / "long.html"
    path.write_text(fit_page(long), encoding="utf-8")
    browser.show_as(360)
    browser.open(path.as_uri())
    browser.value(OPEN_ALL)
    tables = "[...document.querySelectorAll('.scroll')]"
    assert browser.value(f"{tables}.filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)") == []
    assert browser.value(f"{tables}.length") == 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_paper(browser, url, scheme):
    browser.show_as(1280, scheme)
    browser.open(url)
    paper = _rgb(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert (sum(paper) > 384) == (scheme == "light")
    for selector, ratio in (("body", 7), ("a", 4.5), ("figcaption", 4.5), ("svg.chart text", 7)):
        style = f"getComputedStyle(document.querySelector('{selector}'))"
        ink = _rgb(browser.value(style + (".fill" if "text" in selector else ".color")))
        assert _contrast(ink, paper) >= ratio, selector


def _rgb(text):
    return [int(part) for part in text[text.index("(") + 1 : -1].split(",")[:3]]


def _contrast(one, other):
    """The ratio of luminances of the accessibility guidelines (WCAG 2)."""

    def luminance(color):
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_keyboard_reaches_every_link_and_table(browser, url):
    browser.show_as(390)
    browser.open(url)
    links = browser.value("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert len(links) == 3
    reachable = f"[...document.querySelectorAll('a, .scroll, summary')].filter(e => e.checkVisibility()).map({NAME})"
    closed = browser.value(reachable)
    assert len(closed) == 3 + 1 + 9
    browser.value("document.querySelector('#details summary').focus()")
    browser.press("Enter")
    assert browser.value("document.querySelector('#details details').open")
    browser.open(url)
    browser.value(OPEN_ALL)
    everything = browser.value(reachable)
    assert set(closed) < set(everything)
    seen = []
    for _ in everything:
        browser.press("Tab")
        seen.append(browser.value(FOCUS))
        outline = browser.value("getComputedStyle(document.activeElement).outlineWidth")
        assert outline == "3px"
    assert seen == everything
    browser.open(url)
    for link in links:
        browser.value(f"document.querySelector('a[href=\"{link}\"]').focus()")
        browser.press("Enter")
        assert browser.value("location.hash") == link
        top = browser.value(f"document.getElementById({link[1:]!r}).getBoundingClientRect().top")
        at_the_end = browser.value("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
        assert abs(top) < 2 or at_the_end


def test_a_screen_reader_hears_names_tables_and_pictures(browser, url):
    browser.show_as(1280)
    browser.open(url)
    browser.value(OPEN_ALL)
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    heard = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
    ]
    names = {role: [name for other, name in heard if other == role] for role, _ in heard}
    assert names["heading"][:2] == ["What explains cost", "In short"]
    assert names["navigation"] == ["Sections"]
    assert len(names["image"]) == 3
    assert "noise floor" in names["image"][0]
    assert "this fit's epsilon" in names["image"][1].lower()
    assert "over the number of records" in names["image"][2]
    assert all(names["table"])
    assert "smoker" in names["rowheader"]


def test_it_prints(browser, url, artifacts):
    browser.open(url)
    printed = base64.b64decode(browser.call("Page.printToPDF")["data"])
    (artifacts / "report.pdf").write_bytes(printed)
    assert printed.startswith(b"%PDF")
    browser.show_as(700, media="print")
    assert faults(browser, url) == []
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    # Paper cannot be opened.
    unfolded = "getComputedStyle(document.querySelector('details'), '::details-content').contentVisibility"
    assert browser.value(unfolded) == "visible"


def test_the_checks_can_fail(browser, tmp_path):
    broken = {
        "request": '<img src="http://127.0.0.1:9/x.png" alt="">',
        "exception": "<script>nothing()</script>",
        "overflow": '<div style="width: 3000px">x</div>',
        "link": '<a href="#nowhere">x</a>',
        "crowded": '<svg class="chart"><text x="9" y="19">one</text><text x="9" y="19">two</text></svg>',
    }
    for name, html in broken.items():
        path = tmp_path / f"{name}.html"
        path.write_text(f'<!doctype html><meta name="viewport" content="width=device-width"><body>{html}')
        browser.show_as(390)
        assert any(fault.startswith(name) for fault in faults(browser, path.as_uri())), name
    for one, other in itertools.pairwise(sorted(broken)):
        assert one not in faults(browser, (tmp_path / f"{other}.html").as_uri())
