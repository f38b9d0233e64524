"""A plugin of pytest: it runs only some tests, in a given order, and writes down how each ended.

``DPSPARSE_CHOSEN`` names a file with one test on a line; ``DPSPARSE_OUTCOMES`` the file to append to.
"""

import json
import os

_seconds = {}


def pytest_collection_modifyitems(config, items):
    """Keep the chosen tests, in their order."""
    chosen = os.environ.get("DPSPARSE_CHOSEN")
    if chosen:
        with open(chosen) as file:
            places = {name: place for place, name in enumerate(file.read().splitlines())}
        items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])


def pytest_runtest_logreport(report):
    """Append a test's outcome once it is torn down."""
    seconds, passed = _seconds.get(report.nodeid, (0.0, True))
    _seconds[report.nodeid] = seconds + report.duration, passed and report.passed
    if report.when == "teardown":
        seconds, passed = _seconds.pop(report.nodeid)
        with open(os.environ["DPSPARSE_OUTCOMES"], "a") as file:
            file.write(json.dumps({"test": report.nodeid, "seconds": round(seconds, 4), "passed": passed}) + "\n")
