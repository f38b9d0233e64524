import numpy as np
import pytest

from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer, check_exact, weight_levels


def test_levels_are_total():
    nasty = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0])
    for dtype in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            levels = Quantizer(1.0, center=1e30, scale=1e-3).levels(nasty.astype(dtype))
        assert np.isfinite(levels).all()
        assert np.abs(levels).max() <= FEATURE_LEVELS
    weights = weight_levels(nasty, 1e-300)
    assert np.isfinite(weights).all()
    assert np.abs(weights).max() <= WEIGHT_LEVELS


def test_levels_are_within_half_a_step():
    x = np.linspace(-3, 3, 2001)
    quantizer = Quantizer(2.0)
    assert np.abs(quantizer.levels(x) * quantizer.step - np.clip(x, -2, 2)).max() <= quantizer.step / 2 + 1e-12
    np.testing.assert_allclose(quantizer.clipped(x), np.clip(x, -2, 2), rtol=1e-12)


def test_sums_that_could_leave_the_integers_are_refused():
    check_exact(10**9)
    with pytest.raises(OverflowError, match="more than exact sums allow"):
        check_exact(2 * 10**9)
