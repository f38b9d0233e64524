import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.privacy.accounting.bisection import bracket, narrow


@given(st.floats(1e-12, 1e12), st.floats(1e-6, 1e6))
def test_a_bracket_holds_the_root_between_its_ends(root, first):
    low, high = bracket(lambda x: x <= root, first)
    assert low <= root < high
    assert high - low <= 1e-13 * high


def test_a_bracket_can_be_cut_elsewhere_and_left_wider():
    low, high = narrow(lambda x: x <= 3.0, 1.0, 1e3, lambda a, b: b > 1.01 * a, lambda a, b: math.sqrt(a * b))
    assert low <= 3.0 < high
    assert high / low == pytest.approx(1.01, abs=0.01)
