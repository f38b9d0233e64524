import math

import numpy as np
import pytest
from scipy import stats

from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL, SHOWN_LEVEL
from dpsparse.inference.intervals import SHOWN_PERCENT, p_value, reach
from dpsparse.inference.significance import significant
from dpsparse.model.effect import EFFECT_HEADINGS, Effect, Verdict, p_text


def test_people_read_intervals_of_95_percent():
    assert (SHOWN_LEVEL, SHOWN_PERCENT) == (0.95, "95 %")
    assert EFFECT_HEADINGS[2:4] == ("95 % interval", "p-value")
    low, high = Effect("a", 1.0, 2.0, 0.5).interval
    assert (low, high) == pytest.approx((2 - 0.5 * 1.959964, 2 + 0.5 * 1.959964))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_intervals_reach_as_far_as_the_normal_law_says(level):
    assert reach(level) == pytest.approx(stats.norm.ppf((1 + level) / 2), rel=1e-9)


@pytest.mark.parametrize("z", [0.0, 0.3, 1.96, -4.5, 30.0])
def test_p_values_are_those_of_the_normal_law(z):
    assert p_value(7 * z, 7.0) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)


def test_odd_p_values():
    assert p_value(0.0, 0.0) == 1.0
    assert p_value(-1.0, 0.0) == 0.0
    assert math.isnan(p_value(1.0, np.nan))
    assert math.isnan(p_value(np.nan, 1.0))


def test_an_interval_without_0_has_a_p_value_below_5_percent_and_no_interval_has_none():
    for estimate in (1.9, 2.0):
        effect = Effect("a", 1.0, estimate, 1.0)
        assert (effect.interval[0] > 0) == (effect.p_value < 1 - SHOWN_LEVEL)
    for effect in (Effect("a", 1.0), Effect("a", 1.0, 2.0, 1.0, trusted=False)):
        assert effect.interval is effect.p_value is None
        assert p_text(effect.p_value) == "-"


@pytest.mark.parametrize("n_features", [1, 2, 100, 10_000])
def test_the_verdict_is_a_p_value_below_bonferronis_limit(n_features):
    """So that the sentence about both is true; the p-value itself does not know the number of features."""
    limit = FAMILY_WISE_LEVEL / n_features
    for beside, expected in ((0.999, True), (1.001, False)):
        z = stats.norm.isf(limit * beside / 2)
        (clear,) = significant(np.array([-3 * z]), np.array([3.0]), n_features)
        effect = Effect("a", 1.0, -3 * z, 3.0, clear=bool(clear))
        assert (effect.p_value < limit, effect.verdict is Verdict.SIGNIFICANT) == (expected, expected)
