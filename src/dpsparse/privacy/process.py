"""The process that may spend: a budget opened before a fork is spent on one side of the fork alone."""

import os

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


# Process numbers are reused: a grandchild may have that of an ancestor that has ended. The count of forks is not.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class OpenedHere:
    """A check that the process is still the one in which this object was made.

    Parameters
    ----------
    error : type of RuntimeError
        The error raised in another process.
    message : str
        One line with the remedy.

    Examples
    --------
    >>> from dpsparse.privacy.process import OpenedHere
    >>> OpenedHere(RuntimeError, "charge where you opened").require()
    """

    def __init__(self, error: type[RuntimeError], message: str) -> None:
        self._error, self._message = error, message
        self._process = os.getpid(), _forks

    def require(self) -> None:
        """Refuse to go on in any other process."""
        if (os.getpid(), _forks) != self._process:
            raise self._error(self._message)
