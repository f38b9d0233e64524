import math

import numpy as np
import pytest
from scipy import stats

from dpsparse.privacy.accounting.meter import BudgetExceeded, Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.quantile import prior_levels, release_point, release_quantile
from dpsparse.privacy.noise import SecureSource, SeededSource, ZeroSource


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


def test_a_prior_is_given_back_in_odds():
    log_prior = np.log([0.7, 0.2, 0.1])
    rho, change = 0.02, 4
    rate = math.sqrt(8 * rho) / (2 * change)
    odds = np.exp(rate * prior_levels(log_prior, change, rho))
    np.testing.assert_allclose(odds / odds.sum(), [0.7, 0.2, 0.1], rtol=rate)


@pytest.mark.parametrize("rho", [1e-2, 1e-30, 1e-60, 1e-200])
def test_scores_with_a_prior_move_as_their_utilities_however_small_the_price(rho):
    prior = prior_levels(np.array([-1.0, -700.0, 0.0, 300.0]), 1, rho)
    utility = np.array([-(2**52), 0, 2**52, 2**52])
    scores = [(side + prior).astype(object) for side in (utility, utility - 1)]
    assert (scores[0] - scores[1] == 1).all()
    # `pick_index` takes differences of scores.
    assert max(scores[0]) - min(scores[0]) < 2**63


@pytest.mark.slow
def test_a_point_follows_the_closed_form_with_its_prior():
    utility, log_prior = np.array([0, -3, 2]), np.log([0.2, 0.5, 0.3])
    rho, change = 0.02, 2
    rate = math.sqrt(8 * rho) / (2 * change)
    law = np.exp(rate * (utility + prior_levels(log_prior, change, rho)))
    source = SeededSource(3)
    grid = np.array([0.0, 1.0, 2.0])
    drawn = [
        release_point(meter(source), utility, grid, sensitivity=change, rho=rho, name="point", log_prior=log_prior)
        for _ in range(20_000)
    ]
    seen = np.bincount(np.array(drawn, dtype=int), minlength=3)
    assert stats.chisquare(seen, 20_000 * law / law.sum()).pvalue > 1e-4


def test_priors_are_whole_units_up_to_the_largest():
    """At rho = 1/2 a unit of log prior is a unit of utility."""
    levels = prior_levels(np.array([0.0, -1e6, 1e15, 2.0**60, 1e30, -1e30]), 1, 0.5)
    assert levels.tolist() == [0, -(10**6), 10**15, 2**60, 2**60, -(2**60)]
