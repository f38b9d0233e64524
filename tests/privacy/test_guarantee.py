import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpsparse.privacy.guarantee import Guarantee, check_delta, check_epsilon, default_delta


def test_the_default_delta_is_below_one_over_n():
    assert default_delta(10_000) == 10_000.0**-1.1
    assert default_delta(2) < 1 / 2


def test_the_default_delta_is_never_above_a_grants():
    assert default_delta(10_000, granted=1e-6) == 1e-6
    assert default_delta(10_000, granted=1e-3) == 10_000.0**-1.1


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ((0, 1e-6), "epsilon"),
        ((-1, 1e-6), "epsilon"),
        ((1, 0), "delta"),
        ((1, 1), "delta"),
        ((math.nan, 1e-6), "epsilon"),
        ((1, math.nan), "delta"),
        ((math.inf, 1e-6), "epsilon"),
        (("1", 1e-6), "epsilon"),
    ],
)
def test_bad_guarantees_name_the_parameter(bad, name):
    with pytest.raises(ValueError, match=f"^{name}="):
        Guarantee(*bad)


def test_group_privacy_pays_m_squared():
    one, three = Guarantee(1.0, 1e-6), Guarantee(1.0, 1e-6, records_per_person=3)
    assert three.rho_per_record == pytest.approx(one.rho_per_record / 9)
    assert three.pure_epsilon_per_record == pytest.approx(1 / 3)
    assert three.epsilon_spent(three.rho_per_record) <= 1.0
    assert three.epsilon_spent(0.0) == 0.0


def test_bad_relation_and_group():
    with pytest.raises(ValueError, match="adjacency='add-or-remove'"):
        Guarantee(1.0, 1e-6, "add-or-remove")
    with pytest.raises(ValueError, match="records_per_person=0"):
        Guarantee(1.0, 1e-6, records_per_person=0)
    with pytest.raises(ValueError, match=r"records_per_person=1\.5 must be a whole number"):
        Guarantee(1.0, 1e-6, records_per_person=1.5)


@pytest.mark.parametrize("check", [check_epsilon, check_delta])
def test_numbers_of_arrays_are_numbers_and_arrays_are_not(check):
    for number in (0.5, np.float64(0.5), np.float32(0.5), np.array(0.5)):
        check(number)
    for other in (np.array([0.5]), np.array([[0.5]]), "0.5", None, SimpleNamespace(dtype=float), [0.5]):
        with pytest.raises(ValueError, match="must"):
            check(other)


@pytest.mark.parametrize(("epsilon", "holds"), [(1e-10, True), (1e10, True), (9.9e-11, False), (1.1e10, False)])
def test_epsilon_lies_in_the_range_of_accurate_conversions(epsilon, holds):
    if holds:
        check_epsilon(epsilon)
    else:
        with pytest.raises(ValueError, match="from 1e-10 to 1e10"):
            check_epsilon(epsilon)
