import numpy as np
import pytest

from dpsparse.privacy.accounting.meter import BudgetExceeded, Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.quantile import release_quantile
from dpsparse.privacy.noise import SecureSource, ZeroSource


def meter(source):
    return Meter(Guarantee(1.0, 1e-6), 100, source)


def test_quantile_finds_the_median_and_is_charged():
    data = np.random.default_rng(0).standard_t(2, 2_001) + 40
    grid = np.linspace(0, 100, 1001)
    counts = np.searchsorted(np.sort(data), grid, side="right")
    used = meter(SecureSource())
    median = release_quantile(used, counts, grid, target=1000, rho=0.01, name="median")
    # At rate sqrt(8 * 0.01) / 2 a miss by 170 ranks has odds below e^-24 of the grid's 1001 points.
    assert abs(np.searchsorted(np.sort(data), median) - 1000) < 200
    assert used.record().rho == 0.01


def test_quantile_without_noise_is_the_nearest_count():
    counts, grid = np.array([0, 3, 5, 9]), np.array([-1.0, 0.0, 1.0, 2.0])
    assert release_quantile(meter(ZeroSource()), counts, grid, target=5, rho=0.01, name="q") == 1.0


def test_a_quantile_that_is_not_paid_for_is_refused_before_a_draw():
    class Bomb(ZeroSource):
        noiseless = False

        def bits(self, count):
            raise AssertionError("drawn before it was paid for")

    poor = meter(Bomb())
    with pytest.raises(BudgetExceeded):
        release_quantile(poor, np.zeros(2, int), np.zeros(2), target=1, rho=1.0, name="q")
    assert poor.record().releases == ()
