"""Rounding in picks errs on the private side: no pick is sharper than its price, and none is settled too early."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms import selection
from dpsparse.privacy.mechanisms.selection import (
    _geometric,
    _largest,
    _rounded_up,
    exponential_pick,
    exponential_picks,
    pick_index,
)
from dpsparse.privacy.noise import LARGEST, ZeroSource


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


def test_a_draw_nearer_than_the_margin_asks_for_more_bits():
    """With 60 digits a sum is right to 30: at half of that from an edge, 64 + 128 bits do not settle the pick."""
    scores, bits = np.array([0, 0]), 64 + 2 * 128
    for away, used in ((5, 320), (-5, 320), (50, 192), (-50, 192)):
        source = Uniform(2 ** (bits - 1) + away * 2**bits // 10**31, bits)
        assert pick_index(scores, 1.0, source) == (away > 0)
        assert bits - source.left == used


def test_a_draw_is_known_only_to_its_last_bit():
    """The first 448 bits of 1/3, an edge of three equal scores, say nothing about its side; those after them do."""
    bits = 64 + 4 * 128
    for tail, picked in ((0, 0), (2**128 - 1, 1)):
        assert pick_index(np.array([4, 4, 4]), 1.0, Uniform((2**448 // 3 << 128) | tail, bits)) == picked


def test_weights_far_below_all_floats_count():
    """The second of two scores has a weight of e^-400; the last numbers below 1 are its own."""
    bits = 64 + 5 * 128
    with mpmath.workdps(300):
        weight = mpmath.exp(-400)
        edge = int(2**bits / (1 + weight))
        near = int(2**bits * weight / 3)
    for place, picked in ((edge - near, 0), (edge + near, 1)):
        assert pick_index(np.array([100, 0]), 4.0, Uniform(place, bits)) == picked


@pytest.mark.parametrize("rate", [20.5, 23.0, 44.0])
def test_blocks_are_left_out_only_where_they_weigh_nothing(rate, monkeypatch):
    """A score one below the largest has a weight of e^-rate, in a block of its own."""
    monkeypatch.setattr(selection, "_BLOCK", 1)
    with mpmath.workdps(120):
        edge = 1 / (1 + mpmath.exp(-mpmath.mpf(rate)))
        inside = int(2**320 * (edge + 1) / 2)
    assert pick_index(np.array([7, 6]), rate, Uniform(inside, 320)) == 1
    assert pick_index(np.array([6, 7]), rate, Uniform(2**320 - inside, 320)) == 0


class Noises(ZeroSource):
    """A source of given Laplace noise, one number at a time."""

    noiseless = False

    def __init__(self, *noises):
        self.noises = list(noises)

    def laplace(self, values, scale):
        assert np.array_equal(values, [0])
        return np.array([self.noises.pop(0)])


def test_what_was_cut_off_is_drawn_whole():
    """Negative noise is no excess; noise that is cut again is added to, for it has no memory."""
    for noises, drawn in (((3,), 3), ((0,), 0), ((-4, -1, 5), 5), ((LARGEST, -2, LARGEST, 7), 2 * LARGEST + 7)):
        source = Noises(*noises)
        assert _geometric(source, 9.0) == drawn
        assert not source.noises


def test_cut_values_are_ranked_by_what_was_cut_off_and_others_by_their_place():
    def largest(*values, noises=()):
        source = Noises(*noises)
        index = _largest(np.array(values), source, 9.0)
        assert not source.noises
        return index

    assert largest(3, 8, 8, 1) == 1
    assert largest(3, LARGEST, -LARGEST) == 1
    assert largest(-LARGEST, 0, -LARGEST) == 1
    assert largest(LARGEST, 5, LARGEST, LARGEST, noises=(2, 6, 4)) == 2
    # Numbers that no float tells apart.
    assert largest(LARGEST, LARGEST, noises=(2**60, 2**60 + 1)) == 1
    assert largest(LARGEST, LARGEST, noises=(2, 2)) == 0
    # Below, the least shortfall is the largest value.
    assert largest(-LARGEST, -LARGEST, -LARGEST, noises=(5, 2, 9)) == 1


# Prices whose product with the number of picks is rounded down, below what the picks cost.
@example(0.4777, 7, 5)
@example(0.0862, 1000, 3)
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
        assert release.scale == pytest.approx(2 * sensitivity / float(windows[0]), rel=1e-12)
        assert (1 - Fraction(1, 10**12)) * Fraction(rho) <= sum(e0**2 / 8 for e0 in windows) <= Fraction(rho)
        assert sum(windows) <= Fraction(release.pure_epsilon) <= sum(windows) * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("sensitivity", [1, 3, 1000])
def test_several_picks_of_one_row_are_one_pick(sensitivity, monkeypatch):
    """Each row is picked as `exponential_pick` does, to the last bit of its rate."""
    rates, scores = [], np.zeros((1, 2), dtype=np.int64)
    monkeypatch.setattr(selection, "pick_index", lambda scores, rate, *_: rates.append(rate) or 0)
    for rho in (0.0862, 0.01, 1e-6):
        meter = Meter(Guarantee(1e3, 1e-6), 100, ZeroSource())
        exponential_pick(meter, scores[0], sensitivity=sensitivity, rho=rho, name="one")
        exponential_picks(meter, scores, sensitivity=sensitivity, rho=rho, name="several")
        assert rates[-2] == rates[-1]


def test_a_price_is_the_least_float_that_is_not_below():
    """A float is its own price; between two floats the upper one is taken, which is not always the nearest."""
    above = 0.5 + 2.0**-53
    assert _rounded_up(Fraction(1, 2)) == 0.5
    assert _rounded_up(Fraction(1, 2) + Fraction(1, 2**60)) == above
    assert _rounded_up(Fraction(above) - Fraction(1, 2**60)) == above
