"""Whose standard errors can be relied on, from made-up releases."""

import numpy as np
import pytest

from dpsparse.inference import reliability
from dpsparse.inference.constants import LEAST_CARRIERS
from dpsparse.inference.gls import Gradient
from dpsparse.inference.sandwich import Jacobian
from dpsparse.inference.weights import row_weight


def gradient(noise=1e-3, tau=0.7):
    weight = row_weight(4, 0.6, 1.5, 1)
    return Gradient(np.arange(4), np.zeros(4), noise, np.zeros(4), tau, 0.5, 0.3, weight)


def test_an_effect_has_settled_within_a_quarter_of_tau_or_four_errors():
    effects, columns = np.array([9.0, 0.17, 0.18, 0.5]), np.arange(1, 4)
    assert reliability.settled(effects, columns, np.full(3, 0.01), gradient(), None).tolist() == [True, False, False]
    assert reliability.settled(effects, columns, np.full(3, 0.125), gradient(), None).tolist() == [True, True, True]


def test_a_column_that_the_score_hardly_sees_has_not_settled():
    jacobian = Jacobian(np.eye(4), 0.0, np.zeros(4), np.array([False, False, True, False]))
    arrived = reliability.settled(np.zeros(4), np.arange(1, 4), np.ones(3), gradient(), jacobian)
    assert arrived.tolist() == [True, False, True]


def test_gradients_saturate_where_their_noise_moves_effects_by_a_quarter_of_tau():
    # In units of the effects, a gradient's entry for one tau.
    one_tau = 0.7 * 0.5 * row_weight(4, 0.6, 1.5, 1).gain[-1]
    assert not reliability.is_saturated(gradient(noise=0.2 * one_tau))
    assert reliability.is_saturated(gradient(noise=0.4 * one_tau))
    assert reliability.is_saturated(gradient(noise=np.nan))


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_a_rare_feature_has_few_carriers(share):
    """Of a share p of carriers, 2 p (1 - p) of the pairs differ: the records beside a carrier bound their number."""
    rng = np.random.default_rng(0)
    x = rng.random(10_000) < share
    differ = np.mean(x[:5_000] != x[5_000:])
    assert reliability.rare(10_000, np.array([differ])).item() == (x.sum() < LEAST_CARRIERS)


def test_effects_along_a_direction_of_near_collinearity_are_not_determined():
    gram, errors = np.eye(4), np.full(3, 0.1)
    gram[1, 2] = gram[2, 1] = 0.9

    def determined(*effects):
        return reliability.determined(np.array([0.0, *effects]), errors, gram, 1).tolist()

    # The first two effects cancel, which gradients hardly see; their sum, and the third, are determined.
    assert determined(2.0, -2.0, 5.0) == [False, False, True]
    assert determined(2.0, 2.0, 5.0) == [True, True, True]
    # Uncorrelated features are, whatever their effects.
    gram[1, 2] = gram[2, 1] = 0.0
    assert determined(2.0, -2.0, 5.0) == [True, True, True]
