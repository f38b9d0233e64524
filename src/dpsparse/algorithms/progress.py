"""Telling a caller how far a fit has come."""

from contextlib import contextmanager


class Steps:
    """Steps of a fit, of which each may tell the share of it that is done.

    Parameters
    ----------
    progress : callable or None
        Called with the steps done, a fraction, and their number.
    total : int
        The number of steps.

    Examples
    --------
    >>> from dpsparse.algorithms.progress import Steps
    >>> steps = Steps(print, 2)
    >>> with steps.next() as tell:
    ...     tell(0.5)
    0.5 2
    1 2
    """

    def __init__(self, progress, total):
        self._progress, self._total, self._done = progress, total, 0

    @contextmanager
    def next(self):
        """The next step; gives a function to be called with the share that is done, or None where nobody listens."""
        yield None if self._progress is None else lambda share: self._progress(self._done + share, self._total)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
