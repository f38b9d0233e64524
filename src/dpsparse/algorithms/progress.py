"""Progress of a fit, reported to a caller."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dpsparse.engine.protocols import OnProgress

Progress = Callable[[float, int], object] | None


class ProgressReporter:
    """Reports the steps of a fit; a long step may report the share of it that is done.

    `progress` is called with the number of steps done, which may be a fraction, and the number of all steps.

    Examples
    --------
    >>> reporter = ProgressReporter(print, 2)
    >>> with reporter.step() as on_progress:
    ...     on_progress(0.5)
    0.5 2
    1 2
    """

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    @contextmanager
    def step(self) -> Iterator[OnProgress]:
        """The next step: yields a function that takes the share of it that is done, or None without a listener."""
        progress = self._progress
        yield None if progress is None else lambda share: progress(self._done + share, self._total)
        self._done += 1
        if progress is not None:
            progress(self._done, self._total)
