"""Counts that a test wants seen are printed at the end, also under xdist: ``record_property("counted", "...")``."""


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "counted":
                terminalreporter.write_line(f"{report.nodeid.split('::')[-1]}: {value}")
