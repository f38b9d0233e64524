"""Certificates of picks: their margins, the reach of their grid, and the steps that they allow."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from dpsparse.privacy.accounting import gdp
from dpsparse.privacy.accounting.compose import compose_gdp, largest_factor
from dpsparse.privacy.accounting.gdp import CERTIFICATES, gaussian_curve, is_certified, with_pick
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism

# Without the cache of results, for tests that change what a certificate is made of.
certified_anew = is_certified.__wrapped__


def curve(mu, x):
    """D_mu(x) by its definition; right to a few digits less than floats have."""
    if mu == 0:
        return np.maximum(0.0, -np.expm1(x))
    return ndtr(-x / mu + mu / 2) - np.exp(x) * ndtr(-x / mu - mu / 2)


# In the last two cases the constant is decided at x = 0, in the others by a tangent.
@pytest.mark.parametrize(
    ("epsilon0", "ratio", "margin"),
    [(0.5, 0.0, 1e-4), (1.0, 0.5, 1e-4), (1.0, 2.0, 0.0), (2.0, 1.0, 1e-3), (1.0, 2.0, 1e-3)],
)
def test_a_certificate_keeps_every_margin_for_rounding_in_every_cell(epsilon0, ratio, margin, monkeypatch):
    """The least constant that a definition by the book allows, to nine digits.

    The loss is t or t - w, of mean 1 in exp(-L). Left side: the largest of their curves at the end of a cell, raised
    twice. Right side: the tangent of D at its beginning, whose value is lowered and whose slope is raised twice. At
    x = 0, where no cell ends, the two curves themselves.
    """
    before = ratio * epsilon0
    step = epsilon0 / 256
    ends, width = step * np.arange(258)[:, None], 257 * step
    shares = np.expm1(width - ends) / (np.expm1(width - ends) - np.expm1(-ends))
    # Where the tails are heavy enough for the definition; the constant is decided near 0.
    x = step * np.arange(math.ceil((3 * before + epsilon0) / step))
    at = np.append(0.0, x + step)
    left = np.max(shares * curve(before, at - ends) + (1 - shares) * curve(before, at - ends + width), axis=0)

    def room(constant):
        mu = math.sqrt(before**2 + constant * epsilon0**2 / 4)
        slope = -np.exp(x) * ndtr(-x / mu - mu / 2) * (1 + margin) ** 2
        right = np.append(0.0, slope * math.expm1(step)) + curve(mu, np.append(0.0, x)) * (1 - margin)
        return np.min(right - left * (1 + margin) ** 2)

    least = brentq(room, 0.9, 2.0, xtol=1e-14)
    monkeypatch.setattr(gdp, "_rounding", lambda mu: margin)
    assert certified_anew(epsilon0, ratio, least * (1 + 1e-9))
    assert not certified_anew(epsilon0, ratio, least * (1 - 1e-9))


@pytest.mark.parametrize(("ratio", "constant"), CERTIFICATES)
def test_a_certificate_has_every_window_and_reaches_the_tails_that_are_ordered(ratio, constant, monkeypatch):
    """Beyond it P(L > x - w) <= P(L' > x), by the arguments of two normal tails: the first rises faster."""
    epsilon0, grids, powers = 1.0, [], []

    def noted(mu, x):
        grids.append((mu, np.max(x)))
        return gaussian_curve(mu, x)

    monkeypatch.setattr(gdp, "gaussian_curve", noted)
    monkeypatch.setattr(
        gdp, "math", SimpleNamespace(**{**vars(math), "expm1": lambda x: powers.append(x) or math.expm1(x)})
    )
    assert certified_anew(epsilon0, ratio, constant)
    # The windows end at the multiples of a step, up to e0: each share takes exp(-t).
    assert set(np.arange(257) / -256) <= set(powers)
    (mu, _), (after, last) = grids
    assert (mu, after) == (ratio, pytest.approx(math.sqrt(ratio**2 + constant / 4)))
    width = epsilon0 * (1 + 1 / 256)
    assert last >= width
    if mu:
        assert 1 / mu > 1 / after
        assert (last - width) / mu - mu / 2 >= last / after - after / 2


@pytest.mark.parametrize(("epsilon0", "holds"), [(-1.0, False), (0.0, False), (8.0, True), (8.5, False)])
def test_certificates_are_for_picks_of_some_size(epsilon0, holds):
    assert is_certified(epsilon0, 1.0, 1.052) is holds


def test_a_step_takes_the_best_of_the_certified_pairs():
    """In units of 2 rho, where e0^2 = 8 rho: the least of max(b, 4 a^2) + c."""
    rho = 0.01
    for later in (0.0, 0.5, 0.9, 1.0, 3.0, 4.0, 15.0, 16.0, 50.0):
        expected = min(max(later, 4 * a**2) + c for a, c in CERTIFICATES)
        assert with_pick(2 * rho * later, rho) == pytest.approx(2 * rho * expected, rel=1e-12)


def test_nothing_is_claimed_without_a_certificate_unless_that_is_asked_for():
    rho = 9.0**2 / 8
    assert with_pick(0.0, rho) == compose_gdp([ExponentialMechanism(rho)]) == math.inf
    assert with_pick(0.0, rho, certify=False) < math.inf
    assert compose_gdp([ExponentialMechanism(rho)], certify=False) < math.inf


def test_a_factor_that_is_found_without_certificates_is_certified():
    """At e0 = 7.5 the first pair is not certified: the factor that it would allow is not taken."""
    assert not is_certified(7.5, *CERTIFICATES[0])
    sequence = [ExponentialMechanism(7.5**2 / 8), GaussianMechanism(20.0**2 / 2)]
    assert largest_factor(sequence, 1.02 * compose_gdp(sequence)) == 1


def test_no_curve_is_below_0():
    """The two terms of a tiny mu differ by less than they are rounded by."""
    for mu in (1e-12, 1e-13, 1e-14):
        assert (gaussian_curve(mu, mu * np.linspace(0, 30, 2_000)) >= 0).all()


@pytest.mark.parametrize(("later", "tightest"), [(0.0, math.pi / 2), (2.0, 1.139), (8.0, 1.040), (32.0, 1.010)])
def test_a_pick_costs_little_more_than_it_must(later, tightest):
    """mu^2 of later releases in units of rho: of mu = 0, e0 / 2, e0 and 2 e0. The first constant has a closed form."""
    added = (with_pick(later * 1e-3, 1e-3) - later * 1e-3) / 2e-3
    assert tightest <= added <= 1.02 * tightest
