"""Roots by bisection: a caller takes the end of the bracket that errs on the private side."""

from collections.abc import Callable


def bracket(holds: Callable[[float], bool], first: float) -> tuple[float, float]:
    """Bracket the point above 0 at which `holds` turns from true to false, to a relative width of 1e-13.

    `holds` is true up to some number above 0 and false beyond it. The first guess is doubled while it holds. Of the two
    numbers returned ``holds(low)`` is true, or `low` is 0, and ``holds(high)`` is false.

    Examples
    --------
    >>> low, high = bracket(lambda x: x * x <= 2, 1.0)
    >>> low * low <= 2 < high * high
    True
    """
    low, high = 0.0, first
    while holds(high):
        low, high = high, 2 * high
    return narrow(holds, low, high, lambda low, high: high - low > 1e-13 * high, lambda low, high: (low + high) / 2)


def narrow(
    holds: Callable[[float], bool],
    low: float,
    high: float,
    is_wide: Callable[[float, float], bool],
    middle: Callable[[float, float], float],
) -> tuple[float, float]:
    """Narrow a bracket while `is_wide`, cutting it at `middle` and keeping the half in which `holds` turns false."""
    while is_wide(low, high):
        cut = middle(low, high)
        low, high = (cut, high) if holds(cut) else (low, cut)
    return low, high
