from itertools import pairwise

import numpy as np
import pytest

from dpsparse.algorithms.pursuit.pursuit_constants import LEVEL_BIAS, OCTAVES
from dpsparse.inference.ranges import Sides
from dpsparse.privacy.sensitivity import half_width

N = 6_000


def replaced(below, above):
    return half_width(below, above, "replace-one")


def sides_of(numbers, noise, rng):
    rising = np.append(OCTAVES[1:-1], np.inf)
    edges = np.concatenate([[-np.inf], -rising[-2::-1], [0.0], rising])
    counts = np.histogram(numbers, edges)[0]
    return Sides.of(OCTAVES, counts + noise * rng.standard_normal(len(counts)), noise, len(numbers))


def costs(rng):
    """Residuals of costs: most are a little below 0, and the others far above it."""
    numbers = 3 * rng.pareto(2.2, N) - 1.0
    return numbers - 0.3 * rng.random(N)


def test_a_side_without_a_tail_is_clipped_near_and_the_other_far_out():
    rng = np.random.default_rng(0)
    for _ in range(5):
        clip = sides_of(costs(rng), 20.0, rng).best_range(replaced, 5e-3, LEVEL_BIAS)
        assert clip.below.bound < 3
        assert clip.above.bound > 15
        assert clip.above.rise > 0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_clipped_mean_is_near_the_mean(sign):
    rng, noise = np.random.default_rng(1), 5e-3
    errors = []
    for _ in range(20):
        numbers = sign * costs(rng)
        clip = sides_of(numbers, 20.0, rng).best_range(replaced, noise, LEVEL_BIAS)
        off = clip.of(numbers).mean() - numbers.mean()
        errors.append(np.hypot(off, noise * replaced(clip.below.most, clip.above.most)))
    assert np.sqrt(np.mean(np.square(errors))) < 0.12 * abs(costs(rng).mean())


def test_both_sides_are_those_of_numbers_with_the_other_sign():
    rng = np.random.default_rng(2)
    numbers = costs(rng)
    one, other = (sides_of(sign * numbers, 1e-9, rng).best_range(replaced, 5e-3, LEVEL_BIAS) for sign in (1, -1))
    assert one.below.bound == pytest.approx(other.above.bound)
    assert one.above.bound == pytest.approx(other.below.bound)
    np.testing.assert_allclose(one.of(numbers), -other.of(-numbers))
    assert one.of(np.array([0.0, -1e9, 1e9])).tolist() == [0.0, -one.below.most, one.above.most]


@pytest.mark.parametrize("size", [0.26, 0.49])
def test_equal_values_are_within_the_range_wherever_they_lie_in_their_octave(size):
    rng = np.random.default_rng(5)
    numbers = np.where(rng.random(N) < 0.8, -size, rng.exponential(2.0, N))
    clip = sides_of(numbers, 20.0, rng).best_range(replaced, 5e-3, LEVEL_BIAS)
    assert clip.of(np.array([-size])) == pytest.approx(-size, rel=0.1)


def test_counts_correct_a_law_where_no_tail_begins_yet():
    rng, noise = np.random.default_rng(6), 30.0
    numbers = np.where(rng.random(N) < 0.8, -0.3, rng.lognormal(size=N) - 0.3)
    within = [float(((numbers > low) & (numbers <= 2 * low)).sum()) for low in (0.5, 1.0, 2.0)]
    laws = [sides_of(numbers, noise, rng).above for _ in range(10)]
    for low, true in zip((0.5, 1.0, 2.0), within, strict=True):
        told = [law.counts[(law.values > low) & (law.values <= 2 * low)].sum() for law in laws]
        assert np.mean(told) == pytest.approx(true, rel=0.35)


def test_more_noise_means_a_nearer_range():
    rng = np.random.default_rng(3)
    sides = sides_of(costs(rng), 20.0, rng)
    ranges = [sides.best_range(replaced, noise, LEVEL_BIAS) for noise in np.geomspace(1e-4, 1, 12)]
    widths = [replaced(each.below.most, each.above.most) for each in ranges]
    assert widths[0] > 5 * widths[-1]
    assert all(a >= b * (1 - 1e-9) for a, b in pairwise(widths))


@pytest.mark.parametrize("counts", [np.zeros(38), np.full(38, -5.0), np.eye(38)[0] * 100, np.eye(38)[-1] * 100])
def test_any_histogram_has_a_range(counts):
    for n in (1.0, 100.0):
        clip = Sides.of(OCTAVES, counts, 3.0, n).best_range(replaced, 0.1, LEVEL_BIAS)
        assert 0 < clip.below.most < np.inf
        assert 0 < clip.above.most < np.inf


def test_equal_values_far_out_are_within_the_range():
    """A code such as 99 among counts: the range goes as far, or its rise makes up for it."""
    rng, off = np.random.default_rng(4), []
    for _ in range(10):
        numbers = np.append(rng.gamma(2, 1.0, 27_000) - 2, np.full(240, rng.uniform(40, 80)))
        clip = sides_of(numbers, 25.0, rng).best_range(replaced, 1.2e-3, LEVEL_BIAS)
        off.append(clip.of(numbers).mean() - numbers.mean())
    assert np.sqrt(np.mean(np.square(off))) < 0.25 * 240 * 60 / 27_240
