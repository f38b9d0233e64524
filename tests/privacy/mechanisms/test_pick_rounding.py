"""Rounding in picks errs on the private side: no pick is sharper than its price, and none is settled too early."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms import selection
from dpsparse.privacy.mechanisms.selection import exponential_pick, exponential_picks, pick_index
from dpsparse.privacy.noise import ZeroSource


class Uniform:
    """A source whose uniform number is given, in 64 bits or more."""

    noiseless = False

    def __init__(self, number, size=64):
        self.number, self.left = number, size

    def bits(self, count):
        self.left -= count
        assert self.left >= 0
        return (self.number >> self.left) % 2**count


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


@pytest.mark.parametrize("excluded", [[], [2], [0, 5]])
@pytest.mark.parametrize("rate", [0.01, 0.4, 3.0])
def test_a_draw_beside_an_edge_falls_on_its_side(rate, excluded):
    """Far nearer than floats can tell: the edges, exp(rate s) added up, are computed by mpmath."""
    scores = np.array([3, -7, 0, 9, 1, 4])
    left = [j for j in range(len(scores)) if j not in excluded]
    with mpmath.workdps(90):
        weights = [mpmath.exp(mpmath.mpf(rate) * int(scores[j])) for j in left]
        edges = [mpmath.fsum(weights[: k + 1]) / mpmath.fsum(weights) for k in range(len(left) - 1)]
        near = int(mpmath.mpf(2) ** 192 * mpmath.mpf("1e-28"))
        places = [int(edge * mpmath.mpf(2) ** 192) for edge in edges]
    for k, place in enumerate(places):
        assert pick_index(scores, rate, Uniform(place - near, 192), excluded) == left[k]
        assert pick_index(scores, rate, Uniform(place + near, 192), excluded) == left[k + 1]


@given(st.floats(1e-9, 1.0), st.integers(1, 2**40), st.integers(1, 5))
def test_no_pick_is_sharper_than_its_price(rho, sensitivity, count):
    """A pick of rate r is e0-bounded-range with e0 = 2 r times the sensitivity, which costs e0^2 / 8: in fractions."""
    rates, roomy, scores = [], Guarantee(1e3, 1e-6), np.zeros((count, 2), dtype=np.int64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(selection, "pick_index", lambda scores, rate, *_: rates.append(Fraction(rate)) or 0)
        meter = Meter(roomy, 100, ZeroSource())
        exponential_pick(meter, scores[0], sensitivity=sensitivity, rho=rho, name="one")
        exponential_picks(meter, scores, sensitivity=sensitivity, rho=rho, name="several")
    one, several = ([2 * rate * sensitivity for rate in some] for some in (rates[:1], rates[1:]))
    assert len(several) == count
    for windows, release in zip((one, several), meter.record().releases, strict=True):
        assert (1 - Fraction(1, 10**12)) * Fraction(rho) <= sum(e0**2 / 8 for e0 in windows) <= Fraction(rho)
        # The sum of several is rounded once more.
        assert sum(windows) <= Fraction(release.pure_epsilon) * (1 + Fraction(windows is several, 2**53))
