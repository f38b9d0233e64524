"""What a fit passes before its first release: it can be cancelled before, and never after."""

import threading


class Cancelled(Exception):
    """A fit was cancelled before its first release; its reservation was given back."""


class Gate:
    """What a fit passes before its first release.

    Examples
    --------
    >>> gate = Gate()
    >>> gate.enter(), gate.close()
    (True, False)
    """

    def __init__(self) -> None:
        self._lock, self.passed, self.closed = threading.Lock(), False, False

    def close(self) -> bool:
        """Cancel; False where the first release came before."""
        with self._lock:
            self.closed = self.closed or not self.passed
            return self.closed

    def enter(self) -> bool:
        """Go on to the first release; False where it was cancelled."""
        with self._lock:
            self.passed = self.passed or not self.closed
            return self.passed
