"""Progress of a fit, reported to a caller."""

from contextlib import contextmanager


class ProgressReporter:
    """Reports the steps of a fit; a long step may report the share of it that is done.

    Parameters
    ----------
    progress : callable or None
        Called with the number of steps done, which may be a fraction, and the number of all steps.
    total : int
        The number of all steps.

    Examples
    --------
    >>> from dpsparse.algorithms.progress import ProgressReporter
    >>> reporter = ProgressReporter(print, 2)
    >>> with reporter.step() as on_progress:
    ...     on_progress(0.5)
    0.5 2
    1 2
    """

    def __init__(self, progress, total):
        self._progress, self._total, self._done = progress, total, 0

    @contextmanager
    def step(self):
        """The next step: yields a function that takes the share of it that is done, or None without a listener."""
        yield None if self._progress is None else lambda share: self._progress(self._done + share, self._total)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
