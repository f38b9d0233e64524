"""Ways of a browser through the page, and what is wrong with a page whatever it says."""

import json

from axe import findings

WIDTHS = {390: "dark", 1024: "light", 1920: "dark"}
PATH, ERROR = "location.pathname", "document.querySelector('.error')?.textContent"


def enter(tab, url):
    tab.open(url)
    tab.wait_for("location.pathname !== '/enter' && document.readyState === 'complete'")


def send(tab, form):
    tab.click(f"form[action='{form}'] button:not([value=apply])", leaves=True)


def faults(tab, axe=None):
    """What is wrong with a page whatever it says."""
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    seen = []
    for width in WIDTHS:
        tab.show_as(width)
        if tab.value("document.documentElement.scrollWidth") > width:
            seen.append(f"overflow at {width}")
        cut = (
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)"
        )
        seen += [f"{table} is cut at {width}" for table in tab.value(cut)]
    tab.show_as(1024)
    names = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
    shown = [json.dumps(event) for name in names for event in tab.events_named(name)]
    # A form that is refused answers with this status, which the console notes.
    seen += [event for event in shown if "status of 422" not in event]
    own = tab.value("location.origin") + "/"
    asked = [event["request"]["url"] for event in tab.events_named("Network.requestWillBeSent")]
    seen += [url for url in asked if not url.startswith((own, "data:"))]
    return seen if axe is None else seen + findings(tab, axe)
