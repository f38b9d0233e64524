"""A fixed share of many combinations of parameters: CI tests the share, `pytest -m long` the rest."""

import itertools

import pytest


def one_in(share, *axes):
    """All combinations for `pytest.mark.parametrize`, of which CI tests one in `share`.

    CI has those whose places on the axes add up to a multiple of `share`. So it has every value of an axis where
    another axis has as many values, and no two axes move together.

    Examples
    --------
    >>> [case.values for case in one_in(2, "ab", "xyz") if not case.marks]
    [('a', 'x'), ('a', 'z'), ('b', 'y')]
    """
    cases = []
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        case = [axis[place] for axis, place in zip(axes, places, strict=True)]
        marks = (pytest.mark.slow, pytest.mark.long) if sum(places) % share else ()
        cases.append(pytest.param(*case, marks=marks, id="-".join(map(str, case))))
    return cases
