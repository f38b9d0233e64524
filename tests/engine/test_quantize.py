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


@pytest.mark.parametrize(
    ("center", "scale"),
    [
        (0.0, 1.0),
        (1.0, 1.0),
        (0.0, 2.0),
        (0.5, 2.0),
        (np.arange(3.0), np.array([1.0, 2.0, 0.5])),
        (0.0, np.ones(3)),
        (np.zeros(3), 1.0),
    ],
)
def test_units_are_clipped_and_gaps_are_at_0(center, scale):
    table = np.array([[0.3, -0.7, 5.0], [np.nan, np.inf, -9.0]])
    clipped = Quantizer(2.0, center, scale).clipped(table)
    units = np.clip((table - center) / scale, -2, 2)
    assert clipped.tolist() == np.where(np.isfinite(table), units, 0.0).tolist()


def test_sums_that_could_leave_the_integers_are_refused():
    # 2^53 over 127 * 2^16, rounded down.
    check_exact(1_082_196_484)
    with pytest.raises(OverflowError, match=r"1082196485 records are more than exact sums allow \(1082196484\)"):
        check_exact(1_082_196_485)
