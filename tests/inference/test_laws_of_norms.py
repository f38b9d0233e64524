"""Laws of norms from noisy histograms: what they say of a tail, and the clips that they choose."""

import numpy as np
import pytest

from dpsparse.algorithms.pursuit.pursuit_constants import NORM_BINS
from dpsparse.inference.inference_constants import MOST_RISE
from dpsparse.inference.tails import Clip, Norms

DRAWS = {
    "Pareto": lambda rng, n: 1 + rng.pareto(2.5, n),
    "lognormal": lambda rng, n: np.exp(0.7 * rng.standard_normal(n)),
    "t3": lambda rng, n: np.abs(rng.standard_t(3, n)),
}


def law_of(values, noise, rng):
    counts = np.histogram(values, np.append(np.append(-np.inf, NORM_BINS[1:-1]), np.inf))[0]
    return Norms.of(NORM_BINS, counts + noise * rng.standard_normal(len(counts)), noise, len(values))


def laws(name, n, noise, seeds=12):
    rngs = map(np.random.default_rng, range(seeds))
    return [law_of(DRAWS[name](rng, n), noise, rng) for rng in rngs]


@pytest.mark.parametrize("name", DRAWS)
def test_a_tail_is_recovered_from_noisy_counts(name):
    true = DRAWS[name](np.random.default_rng(99), 1_000_000)
    found = laws(name, 100_000, 30.0)
    assert np.median([law.mean(law.values) for law in found]) == pytest.approx(true.mean(), rel=0.03)
    # Nine parts in ten of the records lie below the first bound, 97 in 100 below the second.
    for share, within in ((0.9, 0.15), (0.97, 0.3)):
        bound = np.quantile(true, share)
        assert np.median([law.beyond(bound) for law in found]) == pytest.approx(
            np.maximum(true - bound, 0).mean(), rel=within
        )


def test_light_tails_are_not_taken_for_lighter_than_they_are():
    """Where noise hides the tail, what lies beyond a bound is rather said to be more than less."""
    rng = np.random.default_rng(0)
    true = np.abs(rng.standard_normal(500_000))
    bound = np.quantile(true, 0.97)
    found = [law_of(np.abs(rng.standard_normal(5_000)), 20.0, rng).beyond(bound) for _ in range(20)]
    assert np.quantile(found, 0.1) > np.maximum(true - bound, 0).mean()


def test_what_lies_beyond_falls_with_the_bound():
    law = laws("t3", 20_000, 20.0, 1)[0]
    beyond = np.array([law.beyond(bound) for bound in np.geomspace(0.1, 1_000, 40)])
    assert (np.diff(beyond) <= 0).all()
    assert law.beyond(0.0) == pytest.approx(law.mean(law.values))
    assert law.beyond(1e6) == 0


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize("name", DRAWS)
def test_more_noise_means_a_nearer_clip_and_more_bias_a_further_one(name, rising):
    law = laws(name, 20_000, 20.0, 1)[0]
    by_noise = [law.best_clip(noise, 0.5, rising).bound for noise in np.geomspace(1e-4, 1, 15)]
    by_bias = [law.best_clip(1e-2, bias, rising).bound for bias in np.geomspace(1e-3, 10, 15)]
    assert (np.diff(by_noise) <= 0).all()
    assert by_noise[0] > by_noise[-1]
    assert (np.diff(by_bias) >= 0).all()
    assert by_bias[0] < by_bias[-1]


def test_a_single_record_far_out_does_not_bury_all_others_in_noise():
    rng = np.random.default_rng(0)
    norms = np.append(np.abs(rng.standard_normal(20_000)), 1e4)
    law = law_of(norms, 0.1, rng)
    least, most = 1e-4, 1e-2
    anywhere = law.best_clip(1e-5, 0.5)
    within = law.best_clip(1e-5, 0.5, least_noise=least, most_noise=most)
    assert 1e-5 * anywhere.most > 10 * most
    assert least <= 1e-5 * within.most <= most
    assert law.best_clip(1.0, 0.5, most_noise=0.0).bound == law.bounds[0]


def test_a_rise_keeps_the_mean_norm():
    law = laws("t3", 20_000, 20.0, 1)[0]
    bound = float(np.quantile(law.values, 0.6))
    clip = law.clip_at(bound)
    assert 0 < clip.rise < MOST_RISE
    assert law.mean(clip.of(law.values)) == pytest.approx(law.mean(law.values))
    assert law.mean(Clip(bound).of(law.values)) < law.mean(law.values)


def test_a_clip_by_its_definition():
    clip = Clip(4.0, 2.0, 0.5)
    assert clip.of(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 9.0, np.inf])).tolist() == [0.0, 1.0, 2.0, 3.5, 5.0, 5.0, 5.0]
    assert clip.most == 5.0
    assert Clip(4.0).most == 4.0
    assert Clip(4.0).of(np.array([3.0, 9.0])).tolist() == [3.0, 4.0]


@pytest.mark.parametrize("counts", [np.zeros(60), np.full(60, -5.0), np.eye(60)[0] * 100, np.eye(60)[-1] * 100])
def test_any_histogram_has_a_law_with_a_clip(counts):
    for n in (1.0, 100.0):
        law = Norms.of(NORM_BINS, counts, 3.0, n)
        assert (law.counts >= 0).all()
        assert np.isfinite(law.values).all()
        for rising in (False, True):
            clip = law.best_clip(0.1, 0.5, rising)
            assert 0 < clip.bound <= clip.most <= clip.bound * (1 + MOST_RISE / 2) * (1 + 1e-12)
