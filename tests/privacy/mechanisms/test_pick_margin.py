"""How near to an edge a pick is still settled in floating point: no nearer than its rounding allows."""

import numpy as np
import pytest

from dpsparse.privacy.mechanisms import selection
from dpsparse.privacy.mechanisms.selection import pick_index


class Uniform:
    """A source whose uniform number is given, in 64 bits."""

    noiseless = False

    def __init__(self, number):
        self.number = number

    def bits(self, count):
        assert count == 64
        return self.number


@pytest.mark.parametrize("count", [10, 2**21])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_draw_within_the_rounding_of_an_edge_is_settled_in_decimals(count, side, monkeypatch):
    """Equal scores have edges at known places. The error of an edge, in units of 2^-53 of the total, is

    1502 of a weight and `count` of their sum, the same again of the total; weights below e^-45 may move both by
    `count` 2^-64.
    """
    units = 2 * (1502 + count) + 2 * count * 2.0**-11
    settled = []
    monkeypatch.setattr(selection, "_pick_in_decimals", lambda *_: settled.append(True) or 0)
    near = 2**63 + side * int((units - 8) * 2**11)
    pick_index(np.zeros(count, dtype=np.int64), 1.0, Uniform(near))
    assert settled
    far = 2**63 + side * int(4 * units * 2**11)
    picked = pick_index(np.zeros(count, dtype=np.int64), 1.0, Uniform(far))
    assert len(settled) == 1
    assert picked == count // 2 - (side < 0)
