"""The unit of a feature, from exact answers to what the pursuit asks about it."""

import numpy as np
import pytest

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.grids import Tally, center_window, size_window
from dpsparse.algorithms.pursuit.pursuit_constants import MOST_SIZES, MOST_UNITS
from dpsparse.engine.vector_sums import counts_at_most
from dpsparse.inference.inference_constants import NORMAL_DIFFERENCE

N = 40_000


def best(values, grid, window=None, nonzero=False, tail=None):
    """The point of highest utility, the prior aside."""
    tally = Tally.of(lambda thresholds: counts_at_most(values, thresholds), grid.points, window, nonzero)
    return grid.points[np.argmax(tally.located() if tail is None else tally.balanced(tail))]


def learned(x, tail=10, center=np.nan, scale=np.nan):
    """The unit that noise-free releases give."""
    unit = FeatureUnit.public(center, scale)
    half = len(x) // 2
    differences = np.abs(x[:half] - x[half : 2 * half])
    grid = unit.size_grid()
    unit = unit.with_size(best(differences, grid, size_window(grid.points), nonzero=True))
    reach = (differences / unit.size).clip(0, MOST_SIZES).mean()
    unit = unit.with_spread((differences > 0).mean(), reach, 1e-9, tail > 0)
    if tail:
        factor = 1.0
        if unit.has_tail:
            grid = unit.tail_grid(tail)
            factor = grids.TAILS.points[np.argmax(grid.points == best(differences, grid, nonzero=True, tail=tail))]
        unit = unit.with_tail(factor)
    grid = unit.center_grid()
    unit = unit.with_center(best(x, grid, center_window(grid.points, unit.scale)))
    units = ((x - unit.center) / unit.scale).clip(-MOST_UNITS, MOST_UNITS)
    unit = unit.with_mean(units.mean(), (units**2).mean(), 1e-9)
    return unit


@pytest.mark.parametrize("tail", [0, 5, 10])
@pytest.mark.parametrize(("center", "scale"), [(0, 1), (50, 15), (2011, 1.5), (-3e8, 1e8), (1e-7, 1e-8)])
def test_a_normal_column(center, scale, tail):
    unit = learned(center + scale * np.random.default_rng(0).standard_normal(N), tail)
    # Sizes come in steps of 1.3, and clipping takes about 1 % of the mean square.
    assert 1 / 1.3 < unit.scale / scale < 1.45
    assert unit.center == pytest.approx(center, abs=0.05 * scale)
    assert unit.second_moment == pytest.approx((scale / unit.scale) ** 2, rel=0.05)
    assert unit.differing.share == 1.0
    assert unit.learned


@pytest.mark.parametrize("share", [0.5, 0.2, 0.05, 0.01])
@pytest.mark.parametrize("tail", [0, 10])
def test_a_column_of_0_and_1(share, tail):
    unit = learned((np.random.default_rng(1).random(N) < share).astype(float), tail)
    assert unit.size == 1.0
    differ = max(2 * share * (1 - share), 1 / 64)
    assert unit.differing.share == pytest.approx(differ, rel=0.15)
    # Its standard deviation, with carriers at 5 of it at most.
    assert unit.scale == pytest.approx(max(np.sqrt(differ / 2), 0.2), rel=0.1)
    # Carriers beyond the clip of the mean count as if they were at it.
    carriers = min(1 / unit.scale, MOST_UNITS)
    assert unit.center == pytest.approx(share * carriers * unit.scale, abs=0.02)
    assert unit.second_moment == pytest.approx(share * (1 - share) * carriers**2, rel=0.3)


def test_a_year_is_found_in_scales():
    x = 2000.0 + np.random.default_rng(2).integers(0, 20, N)
    unit = learned(x)
    assert unit.center == pytest.approx(x.mean(), abs=0.5)
    assert unit.scale == pytest.approx(x.std(), rel=0.5)


def test_a_heavy_tail_widens_the_scale():
    rng = np.random.default_rng(3)
    normal, heavy = learned(rng.standard_normal(N)), learned(np.exp(1.5 * rng.standard_normal(N)))
    plain = learned(np.exp(1.5 * np.random.default_rng(4).standard_normal(N)), tail=0)
    assert heavy.scale / heavy.size > 1.9 * normal.scale / normal.size
    assert plain.scale / plain.size > 1.2 * normal.scale / normal.size


def test_a_constant_column_has_a_usable_unit():
    unit = learned(np.full(N, 7.0))
    assert 0 < unit.scale < np.inf
    assert np.isfinite(unit.center)
    assert unit.differing.share == 1 / 64
    assert unit.second_moment > 0


def test_public_numbers_are_kept_until_a_release_says_otherwise():
    unit = FeatureUnit.public(5.0, 2.0)
    assert (unit.center, unit.scale, unit.learned, unit.second_moment) == (5.0, 2.0, False, 1.0)
    unknown = FeatureUnit()
    assert (unknown.center, unknown.scale, unknown.learned) == (0.0, 1.0, False)


@pytest.mark.parametrize(("wrong_center", "wrong_scale"), [(0, 1), (3, 1), (0, 10), (0, 0.1), (1, 3)])
def test_given_units_that_are_wrong_are_mended_on_a_short_grid(wrong_center, wrong_scale):
    x = 50 + 15 * np.random.default_rng(5).standard_normal(N)
    unit = learned(x, center=50 + 15 * wrong_center, scale=15 * wrong_scale)
    assert unit.scale == pytest.approx(15, rel=0.3)
    assert unit.center == pytest.approx(50, abs=1.0)
    assert len(unit.size_grid().points) < 40


def test_a_noisy_mean_moves_the_center_less():
    moved = []
    for noise in (1e-9, 1.0, 100.0):
        unit = FeatureUnit()
        unit = unit.with_size(1.0)
        before = unit.center
        unit = unit.with_mean(0.5, 1.2, noise)
        moved.append(unit.center - before)
        assert 0.25 <= unit.second_moment <= 2.0
    assert moved[0] > moved[1] > moved[2] > 0
    assert moved[0] == pytest.approx(0.5 * unit.scale)


def test_a_size_that_noise_may_have_picked_is_not_believed_to_be_small():
    units = FeatureUnit(), FeatureUnit(), FeatureUnit.public(0.0, 1e-6)
    unit, sure, given = (each.with_size(1e-6) for each in units)
    # A twentieth of the pairs differ, known to a tenth and to a thousandth.
    unit = unit.with_spread(0.05, 0.05, 0.1 * MOST_SIZES, True)
    sure = sure.with_spread(0.05, 0.05, 0.001 * MOST_SIZES, True)
    given = given.with_spread(0.05, 0.05, 0.1 * MOST_SIZES, True)
    assert unit.size == 1.0
    assert unit.scale > 0.9
    for each in (sure, given):
        assert each.size == 1e-6
        assert each.scale < 2e-6


def test_a_rare_feature_of_a_small_size_needs_a_share_that_would_show_a_wrong_one():
    """A size far too small has sizes cut at 6 times it; only of a share of 6 deviations is that sure to be seen."""
    for share, deviation, believed in ((0.17, 0.05, False), (0.17, 0.02, True), (0.9, 0.25, True)):
        unit = FeatureUnit().with_size(1e-3).with_spread(share, share, deviation * MOST_SIZES, True)
        assert (unit.size == 1e-3) == believed
        # Were the size chosen by noise, the believed ones of few pairs would be seen.
        wrong = FeatureUnit().with_size(1e-3).with_spread(share, MOST_SIZES * share, deviation * MOST_SIZES, True)
        assert wrong.astray == (believed and share < 0.5)


@pytest.mark.parametrize(("share", "favoured"), [(0.05, True), (0.5, True), (0.9, False), (1.0, False)])
def test_the_share_that_differs_tells_where_a_size_is_likely(share, favoured):
    sure, noisy = (FeatureUnit().with_share(share, noise).size_grid() for noise in (0.02, 1.0))
    odds, hardly = (float(np.exp(grid.log_prior[grid.points == 1][0])) for grid in (sure, noisy))
    assert odds == pytest.approx(1 / (1 + np.exp(-3.0 if favoured else 3.0)))
    assert abs(hardly - 0.5) < 0.15
    # Near a public scale it is not asked.
    assert FeatureUnit.public(0.0, 2.0).size_grid().log_prior is grids.NEAR_SIZES.log_prior


def test_shares_of_the_same_pairs_count_together():
    unit = FeatureUnit().with_share(0.1, 0.1).with_size(1.0).with_spread(0.3, 0.3, 0.1 * MOST_SIZES, True)
    assert unit.differing.share == pytest.approx(0.2)
    assert unit.differing.noise == pytest.approx(0.1 / np.sqrt(2))
    # A unit of a 0/1 feature that is too wide costs more than one that is too narrow: noise makes none wider.
    noisy = unit.with_tail(1.0)
    known = FeatureUnit().with_size(1.0).with_spread(0.2, 0.2, 1e-9, True).with_tail(1.0)
    assert 0.2 < noisy.scale < known.scale == pytest.approx(np.sqrt(0.1))


def test_the_mean_size_moves_a_scale_as_far_as_its_noise_lets():
    scales = [
        [FeatureUnit().with_size(3.0).with_spread(1.0, reach, noise, False).scale for reach in (0.5, 1.18, 3.0)]
        for noise in (1e-9, 0.5, 50.0)
    ]
    for narrow, middle, wide in scales:
        assert narrow < middle < wide
        assert middle == pytest.approx(1.3 * 3.0 / NORMAL_DIFFERENCE, rel=1e-3)
    ratios = [wide / narrow for narrow, _, wide in scales]
    assert ratios[0] == pytest.approx(6.0)
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert ratios[2] < 1.01
    given, unknown = FeatureUnit.public(0.0, 1.0).with_size(3.0), FeatureUnit().with_size(3.0)
    for unit, tail_follows in ((given, False), (given, True), (unknown, True)):
        assert len({unit.with_spread(1.0, reach, 1e-9, tail_follows).scale for reach in (0.5, 3.0)}) == 1


@pytest.mark.parametrize("side", [-1, 1])
def test_a_feature_whose_center_was_not_found_is_out_of_the_way(side):
    x = 500 + np.random.default_rng(3).standard_normal(N)
    unit = FeatureUnit()
    unit = unit.with_size(1.0)
    unit = unit.with_spread(1.0, 1.0, 1e-9, False)
    unit = unit.with_center(500 + side * 16_000)
    units = ((x - unit.center) / unit.scale).clip(-MOST_UNITS, MOST_UNITS)
    assert not unit.astray
    unit = unit.with_mean(units.mean(), (units**2).mean(), 0.1)
    unit = unit.settled()
    assert unit.astray
    assert np.abs((x - unit.center) / unit.scale).max() < 1e-9


def test_a_feature_whose_size_is_far_too_small_is_out_of_the_way():
    x = 1000 * np.random.default_rng(5).standard_normal(N)
    units = FeatureUnit(), FeatureUnit.public(0.0, 1e-3)
    unit, given = (each.with_size(1e-3).with_spread(1.0, MOST_SIZES, 0.1, False).settled() for each in units)
    assert unit.astray
    assert np.abs((x - unit.center) / unit.scale).max() < 1e-9
    assert not given.astray


@pytest.mark.parametrize("law", ["exponential", "lognormal", "zeros"])
def test_no_skewed_feature_is_left_out(law):
    # Their sizes and means are far from a normal law's, and within what a median allows.
    rng = np.random.default_rng(4)
    x = {
        "exponential": rng.exponential(size=N),
        "lognormal": np.exp(2 * rng.standard_normal(N)),
        "zeros": np.where(rng.random(N) < 0.51, 0.0, 1e3 + rng.random(N)),
    }[law]
    assert not learned(x).astray


def test_bounds_on_the_share_that_differs_hold_its_noise():
    unit = FeatureUnit().with_size(1.0).with_spread(0.5, 0.5, 0.1 * MOST_SIZES, True)
    assert (unit.differing.least, unit.differing.most) == pytest.approx((0.35, 0.65))
    part = unit.among(0.1)
    assert (part.differing.least, part.differing.most) == pytest.approx((0.07, 0.13))
    maybe, surely = (unit.maybe_absent(surely=surely) for surely in (False, True))
    assert (maybe.differing.least, maybe.differing.most) == pytest.approx((0.0, 0.65))
    assert (surely.differing.least, surely.differing.most) == (0.0, 0.0)
