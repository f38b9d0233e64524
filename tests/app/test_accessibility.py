"""Keyboard and screen reader, in a real browser."""

import pytest
from axe import VERSION, axe_source, findings
from walk import ERROR, PATH, enter, faults, send

pytestmark = pytest.mark.slow


def test_nobody_is_shut_out(tab, url, client, work, ended, tmp_path, record_property):
    axe, looked_at = axe_source(), []

    base = url.partition("/enter")[0]

    def look(path):
        tab.open(base + path)
        assert (path, faults(tab, axe)) == (path, [])
        looked_at.append(path)

    enter(tab, url)
    assert faults(tab, axe) == []
    client.ready()
    job = ended(client.spend()).path
    for path in ("/columns", "/accuracy", "/preview", "/spend", job, "/results", "/budget?verify=1", "/glossary"):
        look(path)
    for path in ("/file", "/accuracy", "/spend"):
        tab.open(base + path)
        if path == "/file":
            tab.fill("#path", "nobody.csv")
        if path == "/accuracy":
            tab.fill("#epsilon", "much")
        send(tab, path)
        assert tab.value(ERROR)
        assert (path, findings(tab, axe)) == (path, [])
        looked_at.append(f"{path} refused")
    work.jobs.all()[0].state = "lost"
    look(job)
    look("/file")
    # No script runs in a report that the page shows, not even the checker's: it is looked at as a file.
    work.jobs.all()[0].state = "done"
    (tmp_path / "report.html").write_text(client.get(f"{job}/report").text)
    tab.open((tmp_path / "report.html").as_uri())
    assert findings(tab, axe) == []
    pages = len(looked_at) + 2
    record_property("counted", f"axe-core {VERSION} finds nothing on {pages} pages, in light and dark")


def test_the_keyboard_alone_goes_from_step_to_step(tab, url):
    enter(tab, url)
    seen = []
    for _ in range(40):
        tab.press("Tab")
        focus = tab.value("(e => e.id || e.name || e.textContent.trim())(document.activeElement)")
        assert tab.value("getComputedStyle(document.activeElement).outlineStyle") != "none", focus
        seen.append(focus)
        if focus in ("path", "dataset"):
            tab.call("Input.insertText", text={"path": "people.csv", "dataset": "clinic"}[focus])
        if focus == "Read the names of the columns":
            break
    assert seen[0] == "Skip to the content"
    tab.leave_by(lambda: tab.press("Enter"))
    assert tab.value(PATH) == "/columns"
    # A word's explanation shows with the focus, and goes with Escape.
    tab.value("document.querySelector('main .term').focus()")
    tab.press("Tab")
    tab.value("document.querySelector('main .term').focus()")
    tip = "getComputedStyle(document.querySelector('main .term'), '::after')"
    assert "variable to be explained" in tab.value(f"{tip}.content")
    tab.press("Escape")
    assert tab.value(f"{tip}.display") == "none"
    # Enter in the response's field goes on.
    tab.value("document.querySelector('#target').focus()")
    tab.call("Input.insertText", text="cost")
    tab.leave_by(lambda: tab.press("Enter"))
    assert tab.value(PATH) == "/accuracy"
