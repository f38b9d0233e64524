"""Tallies of values around the points of a grid, against counts by hand; and the grids."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.grids import Tally, center_window, size_window, slope_window
from dpsparse.engine.vector_sums import counts_at_most
from dpsparse.privacy import sensitivity

hostile = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, -1.0, 5e-324, np.inf, -np.inf, np.nan]), st.floats(-10, 10)
)
grids_of_points = st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, -1.0, 0.3, 7.5, 1e-12]), min_size=1, unique=True)


def counter(values):
    return lambda thresholds: counts_at_most(values, thresholds)


@settings(max_examples=300, deadline=None)
@given(st.lists(hostile, max_size=30), grids_of_points, st.floats(0, 5), st.booleans())
def test_a_tally_counts_by_hand(values, points, reach, sizes):
    points, values = np.sort(points), np.array(values, dtype=float)
    if sizes:
        points, values = np.unique(np.abs(points) + 1e-3), np.abs(values)
    window = points - reach, points + reach
    tally = Tally.of(counter(values), points, window, nonzero=sizes)
    counted = values[~np.isnan(values)]
    counted = counted[counted != 0] if sizes else counted
    everything = values[~np.isnan(values)]
    assert tally.total == len(counted)
    for k in range(len(points)):
        # The cell of a point ends half way to its neighbours; those of the outermost points have no end.
        first = (points[k - 1] + points[k]) / 2 if k else -np.inf
        last = (points[k] + points[k + 1]) / 2 if k + 1 < len(points) else np.inf
        assert tally.below[k] == (counted < first).sum()
        assert tally.above[k] == (counted > last).sum()
        assert tally.near[k] == ((everything >= window[0][k]) & (everything <= window[1][k])).sum()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 6).map(float), min_size=1, max_size=40), st.integers(2, 10))
def test_balanced_is_0_at_a_quantile_and_there_alone(values, tail):
    values, points = np.array(values), np.arange(7.0)
    utility = Tally.of(counter(values), points).balanced(tail)
    for point, each in zip(points, utility, strict=True):
        above, below = (values > point).mean(), (values < point).mean()
        assert (each == 0) == (above <= 1 / tail + 1e-12 and below <= 1 - 1 / tail + 1e-12)
    # A tail quantile of the values is one of the points, and has the highest utility.
    assert utility.max() == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(hostile, min_size=1, max_size=20), hostile, st.integers(0, 19), st.integers(2, 10), st.booleans())
def test_one_value_moves_utilities_by_at_most_their_sensitivity(values, other, place, tail, nonzero):
    points = np.array([0.5, 1.0, 2.0, 3.0, 8.0])
    before = np.abs(np.array(values, dtype=float))
    after = before.copy()
    after[place % len(after)] = abs(other)
    for utility, most in (
        (lambda tally: tally.balanced(tail), sensitivity.balanced_utility(tail, "replace-one")),
        (lambda tally: tally.located(), sensitivity.located_utility("replace-one")),
        (lambda tally: tally.near, sensitivity.count("replace-one")),
    ):
        one, two = (utility(Tally.of(counter(each), points, size_window(points), nonzero)) for each in (before, after))
        assert np.abs(one - two).max() <= most


def test_located_prefers_the_median_among_values():
    values = np.concatenate([np.linspace(9, 11, 101), np.full(20, 1e9)])
    points = np.array([1.0, 8.0, 10.0, 13.0, 1e6, 1e9])
    assert points[np.argmax(Tally.of(counter(values), points, center_window(points, 1.0)).located())] == 10.0


@pytest.mark.parametrize("share", [0.1, 0.2, 0.4])
@pytest.mark.parametrize("lump", [0.0, 1.0, 0.37, 1989.3])
def test_a_lump_between_two_points_is_the_median_at_its_nearest_point_alone(lump, share):
    values = np.where(np.arange(1_000) < 1_000 * share, lump + 1, lump)
    points = np.arange(-20, 20) / 7 + np.round(lump)
    utility = Tally.of(counter(values), points, center_window(points, 0.6)).located()
    best = np.flatnonzero(utility == utility.max())
    assert best.tolist() == [np.argmin(np.abs(points - lump))]


@pytest.mark.parametrize("tail", [2, 10])
def test_values_beyond_the_grid_have_its_last_point_as_their_quantile(tail):
    points = np.geomspace(0.02, 2.0, 47)
    for value, end in ((1e-9, 0), (1e9, -1)):
        utility = Tally.of(counter(np.full(100, value)), points).balanced(tail)
        assert utility[end] == 0
        assert (np.delete(utility, end) < -90).all()


def test_windows_are_about_their_points():
    points = np.array([0.1, 1.0, 30.0])
    for low, high in (size_window(points), center_window(points, 0.5), slope_window(points, 0.2)):
        assert (low < points).all()
        assert (points < high).all()
        assert (np.diff(low) > 0).all()


ALL_GRIDS = {name: grid for name, grid in vars(grids).items() if isinstance(grid, grids.Grid)}
ALL_GRIDS["splits"] = grids.splits(9.0)


@pytest.mark.parametrize("name", ALL_GRIDS)
def test_grids_rise_and_their_priors_are_distributions(name):
    grid = ALL_GRIDS[name]
    assert (np.diff(grid.points) > 0).all()
    assert logsumexp(grid.log_prior) == pytest.approx(0.0, abs=1e-9)
    assert np.isfinite(grid.points).all()
    moved = grid.times(3.0).shifted(-2.0)
    np.testing.assert_allclose(moved.points, 3 * grid.points - 2)
    assert moved.log_prior is grid.log_prior


def test_lumps_of_the_priors():
    for nats in (-3.0, 0.0, 3.0):
        sizes = grids.feature_sizes(nats)
        assert sizes.log_prior[sizes.points == 1] == pytest.approx(-np.log1p(np.exp(-nats)))
    size = grids.RESPONSE_SIZES
    assert np.exp(size.log_prior[size.points == 1]) < 0.1
    assert np.exp(grids.SLOPES.log_prior[grids.SLOPES.points == 0]) == pytest.approx(20 / 21)
    for nats in (9.0, 30.0):
        assert grids.splits(nats).points[np.argmax(grids.splits(nats).log_prior)] == 0
    assert grids.CENTERS.points[np.argmax(grids.CENTERS.log_prior)] == 0


@pytest.mark.parametrize("grid", [grids.CENTERS, grids.SLOPES, grids.splits(9.0), grids.NEAR_CENTERS])
def test_signed_grids_are_symmetric(grid):
    np.testing.assert_allclose(grid.points, -grid.points[::-1], atol=1e-12)
    np.testing.assert_allclose(grid.log_prior, grid.log_prior[::-1])


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1.0, 1e8])
def test_sizes_and_splits_reach_every_unit(size):
    """Some point is within the grid's step, 1.3 and 1.5, of any size."""
    for grid, step in ((grids.feature_sizes(), 1.3), (grids.RESPONSE_SIZES, 1.3), (grids.splits(9.0), 1.5)):
        ratios = np.abs(np.log(np.where(grid.points > 0, grid.points, np.nan) / size))
        assert np.nanmin(ratios) <= np.log(step)
