"""Significance over all features together, against simulation."""

import numpy as np

from dpsparse.inference.significance import critical_value, significant


def test_one_family_in_twenty_has_a_significant_effect_by_chance():
    rng = np.random.default_rng(0)
    found = [significant(rng.standard_normal(50), np.ones(50), 50).any() for _ in range(4_000)]
    # Bonferroni's bound is met to .1 % for independent effects; 1 % is three standard deviations.
    assert abs(np.mean(found) - 0.05) < 0.01


def test_an_effect_without_a_known_error_is_not_significant():
    assert significant(np.array([100.0, 100.0]), np.array([np.nan, 1.0]), 2).tolist() == [False, True]


def test_more_features_ask_for_larger_effects():
    assert critical_value(1) < critical_value(10) < critical_value(10_000) < 5
