import math

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.privacy.accounting.zcdp import epsilon_from_rho, rho_from_epsilon, split

EPSILONS = [1e-3, 1e-2, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0]
DELTAS = [1e-12, 1e-8, 10**-4.4, 1e-2, 0.1]


def independent_epsilon(rho, delta):
    """dp-accounting's answer over a grid of orders fine enough to include the optimum."""
    middle = math.sqrt(math.log(1 / delta) / rho)
    orders = 1 + np.geomspace(max(middle / 50, 0.0101), max(middle * 50, 1.0), 20_001)
    accountant = RdpAccountant(orders)
    accountant.compose(dp_event.ZCDpEvent(rho))
    return accountant.get_epsilon(delta)


def test_the_issue_of_the_simple_rule():
    rho = rho_from_epsilon(0.5, 10**-4.4)
    assert rho == pytest.approx(0.0102, abs=5e-5)
    log_term = math.log(10**4.4)
    simple = (math.sqrt(log_term + 0.5) - math.sqrt(log_term)) ** 2
    assert simple == pytest.approx(0.0060, abs=5e-5)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_agrees_with_dp_accounting(epsilon, delta):
    rho = rho_from_epsilon(epsilon, delta)
    assert epsilon_from_rho(rho, delta) <= epsilon
    assert epsilon_from_rho(rho, delta) == pytest.approx(epsilon, rel=1e-6)
    assert independent_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.slow
@given(st.floats(1e-3, 100), st.floats(1e-15, 0.5))
def test_roots_come_from_the_safe_side_and_are_tight(epsilon, delta):
    rho = rho_from_epsilon(epsilon, delta)
    assert epsilon_from_rho(rho, delta) <= epsilon
    assert epsilon_from_rho(rho * (1 + 1e-9), delta) > epsilon


@given(st.floats(1e-9, 50), st.floats(1e-12, 0.3))
def test_no_order_gives_less(rho, delta):
    # The theorem holds at every order, so the minimum must not lie above any of them.
    smallest = epsilon_from_rho(rho, delta)
    for alpha in 1 + np.geomspace(1e-2, 1e6, 200):
        at_alpha = alpha * rho + math.log(1 / (alpha * delta)) / (alpha - 1) + math.log1p(-1 / alpha)
        assert smallest <= max(at_alpha, 0) * (1 + 1e-9) + 1e-12


def test_limits():
    assert epsilon_from_rho(0.0, 1e-6) == 0.0
    assert epsilon_from_rho(math.inf, 1e-6) == math.inf


@given(
    st.floats(1e-12, 1e3),
    st.dictionaries(st.text(min_size=1), st.floats(1e-6, 1e6), min_size=1, max_size=30),
)
def test_splitting_never_gives_more_than_there_is(rho, shares):
    parts = split(rho, shares)
    assert math.fsum(parts.values()) <= rho
    assert sum(parts.values()) <= rho
    assert math.fsum(parts.values()) == pytest.approx(rho, rel=1e-12)


def test_a_share_may_be_0():
    assert split(1.0, {"a": 0.0, "b": 0.5}) == {"a": 0.0, "b": pytest.approx(1.0, rel=1e-12)}


def test_splitting_refuses_nonsense():
    for shares in ({}, {"a": -1.0, "b": 2.0}, {"a": 0.0}):
        with pytest.raises(ValueError, match="shares"):
            split(1.0, shares)


@pytest.mark.parametrize("bad", [0, 1, -1, math.nan])
def test_bad_deltas_are_refused(bad):
    for convert in (epsilon_from_rho, rho_from_epsilon):
        with pytest.raises(ValueError, match="delta="):
            convert(1.0, bad)


def test_bad_amounts_are_refused():
    for convert, name in ((epsilon_from_rho, "rho"), (rho_from_epsilon, "epsilon")):
        with pytest.raises(ValueError, match=f"{name}="):
            convert(-1.0, 1e-6)
    with pytest.raises(ValueError, match="epsilon="):
        rho_from_epsilon(0.0, 1e-6)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.3])
@pytest.mark.parametrize("rho", [1e-9, 1e-4, 0.3, 40.0])
def test_an_epsilon_is_rounded_up(rho, delta):
    """By more than its error, whatever rounds: the least value over all orders is computed by mpmath."""
    with mpmath.workdps(50):

        def at(log_order):
            order = 1 + mpmath.exp(log_order)
            loss = mpmath.log(1 / (order * mpmath.mpf(delta))) / (order - 1) + mpmath.log(1 - 1 / order)
            return order * mpmath.mpf(rho) + loss

        middle = math.log(-math.log(delta) / rho) / 2
        slope = lambda log_order: mpmath.diff(at, log_order)  # noqa: E731
        least = at(mpmath.findroot(slope, (middle - 3, middle + 3), solver="anderson", tol=1e-25))
        least = max(least, 0)
        assert least <= mpmath.mpf(epsilon_from_rho(rho, delta)) <= least * (1 + mpmath.mpf("1e-11")) + 1e-13
