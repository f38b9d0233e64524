"""Forked children of tests, which end by themselves."""

import signal


def end_within(seconds):
    """Have this process, a forked child, killed after so many seconds: whoever waits for it waits no longer."""
    # The handler is that of the parent's time limit, which would fail the test a second time, here.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
