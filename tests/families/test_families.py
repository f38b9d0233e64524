"""What a response is: the robust linear family against closed forms and simulation, and a second family that fits."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from dpsparse.algorithms.pursuit.pursuit import Pursuit
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.data.as_table import as_table
from dpsparse.data.public_units import public_units
from dpsparse.families.robust_linear import ROBUST_LINEAR, RobustLinear, RobustWords
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SeededSource

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("tau", [0.3, 0.7, 1.5])
def test_the_slope_is_the_share_of_normal_residuals_within_tau(tau):
    residuals = 2.0 * RNG.standard_normal(400_000)
    scale = np.median(np.abs(residuals))
    assert ROBUST_LINEAR.expected_slope(tau, scale) == pytest.approx(np.mean(np.abs(residuals) <= tau), abs=0.004)


def test_a_scale_follows_from_the_slope_that_it_lets_one_expect():
    for scale in (0.1, 0.6745, 1.3):
        slope = ROBUST_LINEAR.expected_slope(0.7, scale)
        assert ROBUST_LINEAR.residual_scale(0.7, slope, 1.0) == pytest.approx(scale, rel=1e-9)
    assert ROBUST_LINEAR.residual_scale(0.7, 0.01, 1.0) == 2.0


@pytest.mark.parametrize("within", [0.3, 0.9])
def test_the_mean_square_of_the_score_of_residuals_that_are_uniform_within_tau(within):
    residuals = np.where(RNG.random(400_000) < within, RNG.uniform(-0.7, 0.7, 400_000), 50.0)
    square = np.mean(np.clip(residuals, -0.7, 0.7) ** 2)
    assert ROBUST_LINEAR.score_square(0.7, within) == pytest.approx(square, rel=0.01)


def test_a_noisy_slope_is_pulled_to_what_is_expected():
    expected = ROBUST_LINEAR.expected_slope(0.7, 0.6745)
    slopes = [ROBUST_LINEAR.slope(0.9, noise, 0.7, 0.6745) for noise in (0.0, 0.1, 10.0)]
    np.testing.assert_allclose(slopes, [0.9, (0.9 + expected) / 2, expected], atol=1e-3)


def test_the_constant_moves_by_about_the_shift_of_normal_residuals():
    shift, scale = 0.2, stats.norm.ppf(0.75)
    tau = ROBUST_LINEAR.selection_tau(scale, units_known=False)
    level = np.mean(np.clip(shift + RNG.standard_normal(400_000), -tau, tau))
    assert ROBUST_LINEAR.constant_step(level, scale) == pytest.approx(shift, rel=0.15)
    # At most by the clip.
    assert ROBUST_LINEAR.constant_step(-9.0, scale) == pytest.approx(-0.6 * scale)


WORDS = replace(RobustWords(), all_equal="there is one answer only")


@dataclass(frozen=True)
class Narrow(RobustLinear):
    """A family of its own: another clip, other words."""

    words: RobustWords = WORDS

    def early_tau(self, residual_scale):
        return 0.3 * residual_scale

    def final_tau(self, noise):
        return 0.4


def pursued(y, **facts):
    X = np.random.default_rng(1).standard_normal((6_000, 5))
    guarantee = Guarantee(4.0, 1e-6)
    schedule = schedule_for(guarantee, 6_000, 5, 2, units_known="none", **facts)
    meter = Meter(guarantee, 6_000, SeededSource(0))
    return Pursuit(as_table(X).rows(y(X)), meter, schedule, units=public_units(None, None, range(5))).run()


def test_a_pursuit_takes_everything_about_a_response_from_its_family():
    rng = np.random.default_rng(2)

    def line(X):
        return 2 * X[:, 3] + rng.standard_t(3, 6_000)

    usual, narrow = pursued(line), pursued(line, family=Narrow())
    assert narrow.equation.tau < 0.6 * usual.equation.tau
    for result in (usual, narrow):
        effect = dict(zip(result.features.support, result.features.effects / result.features.scale, strict=True))
        assert effect[3] == pytest.approx(2, abs=0.15)
    assert pursued(lambda X: np.zeros(len(X)), family=Narrow()).reason == "there is one answer only"
