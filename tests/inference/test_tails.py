from dataclasses import replace

import numpy as np
import pytest

from dpsparse.algorithms.pursuit.pursuit_constants import NORM_BINS
from dpsparse.inference.tails import Norms, Tails


@pytest.mark.slow
def test_bins_that_noise_fills_are_no_tail():
    # By noise alone one window of twelve bins in a hundred histograms or so seems to have enough records. A clip there
    # would make the step one of noise.
    rng = np.random.default_rng(0)
    norms, n, noise = 1 / np.sqrt(rng.gamma(4, 1 / 4, 7_000)), 7_000, 60.0
    true = np.histogram(norms, np.append(NORM_BINS[:-1], np.inf))[0]
    far = [
        Norms.of(NORM_BINS, true + noise * rng.standard_normal(len(true)), noise, n).best_clip(0.01, 0.2).bound
        for _ in range(1_000)
    ]
    assert max(far) < 10 * np.quantile(norms, 0.99)


def test_a_far_lump_is_seen():
    rng = np.random.default_rng(1)
    norms, n, noise = np.append(np.ones(6_000), np.full(1_000, 300.0)), 7_000, 20.0
    true = np.histogram(norms, np.append(NORM_BINS[:-1], np.inf))[0]
    law = Norms.of(NORM_BINS, true + noise * rng.standard_normal(len(true)), noise, n)
    assert law.beyond(100.0) > 10


def test_equal_values_far_out_are_seen_in_a_few_bins():
    rng = np.random.default_rng(3)
    norms, n, noise = np.append(rng.gamma(4, 1 / 4, 27_000), np.full(240, 30.0)), 27_240, 20.0
    true = np.histogram(norms, np.append(NORM_BINS[:-1], np.inf))[0]
    found = [Norms.of(NORM_BINS, true + noise * rng.standard_normal(len(true)), noise, n) for _ in range(50)]
    expected = (240 * 10) / n
    assert all(0.8 * expected < law.beyond(20.0) < 2.5 * expected for law in found)


def test_the_farthest_norm_is_one_that_a_record_has():
    rng = np.random.default_rng(5)
    for exponent in (2, 4):
        norms, n, noise = rng.random(20_000) ** (-1 / exponent), 20_000, 20.0
        true = np.histogram(norms, np.append(NORM_BINS[:-1], np.inf))[0]
        found = [
            Norms.of(NORM_BINS, true + noise * rng.standard_normal(len(true)), noise, n).farthest for _ in range(20)
        ]
        assert 0.4 * n ** (1 / exponent) < np.median(found) < 2.5 * n ** (1 / exponent)


@pytest.mark.parametrize("n_lump", [0, 60])
def test_in_a_large_table_a_few_far_records_make_no_more_than_they_are(n_lump):
    rng = np.random.default_rng(4)
    n, noise = 400_000, 5.0
    norms = np.append(np.abs(rng.standard_normal(n - n_lump)), np.full(n_lump, 200.0))
    true = np.histogram(norms, np.append(NORM_BINS[:-1], np.inf))[0]
    for _ in range(20):
        law = Norms.of(NORM_BINS, true + noise * rng.standard_normal(len(true)), noise, n)
        clip = law.best_clip(1e-5, 0.5)
        assert law.mean(clip.of(law.values) ** 2) < 1.5 * np.mean(clip.of(norms) ** 2)
        assert clip.bound < (10 if not n_lump else 400)


def test_sums_of_bounded_residuals_have_lighter_tails_and_others_those_of_their_largest_term():
    one, sums = Tails(), Tails().of_sums(2.0, bounded=True)
    assert one.of_sums(1.0, bounded=True) == one.of_sums(1.0, bounded=False) == one
    # The heaviest laws that a histogram leaves possible count in full.
    assert one.of_sums(2.0, bounded=False) == replace(one, power=1.0)
    assert sums.index == 2 * one.index
    assert sums.left_out < one.left_out
    assert sums.bias < one.bias
