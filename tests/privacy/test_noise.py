"""Laws of the noise. Tests on the secure source cannot be seeded: each has a false-alarm rate below 1e-9."""

import numpy as np
import pytest
from scipy import stats

from dpsparse.privacy.noise import SecureSource, SeededSource, ZeroSource

FALSE_ALARM = 1e-10


def discrete_law(log_weight, scale, reach):
    k = np.arange(-reach, reach + 1)
    weight = np.exp(log_weight(k, scale))
    return k, weight / weight.sum()


LAWS = {
    "laplace": lambda k, scale: -np.abs(k) / scale,
    "gaussian": lambda k, scale: -(k**2) / (2 * scale**2),
}


def goodness_of_fit(draws, law, scale):
    """p-value of a chi-square test of integer draws against the closed form, cells of expectation >= 20."""
    k, probability = discrete_law(LAWS[law], scale, int(60 * scale) + 5)
    edges, mass = [], 0.0
    for value, p in zip(k, probability, strict=True):
        mass += p
        if mass * len(draws) >= 20:
            edges.append(value)
            mass = 0.0
    edges = edges[:-1]
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1)
    expected = np.bincount(np.searchsorted(edges, k), weights=probability, minlength=len(edges) + 1) * len(draws)
    return stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.7, 3.0, 40.0])
def test_secure_noise_has_its_law(law, scale):
    draws = getattr(SecureSource(), law)(np.zeros(20_000, dtype=np.int64), scale)
    assert goodness_of_fit(draws, law, scale) > FALSE_ALARM


@pytest.mark.parametrize(("law", "scale"), [("laplace", 0.7), ("laplace", 3.0), ("laplace", 40.0), ("gaussian", 40.0)])
def test_seeded_noise_has_the_same_law(law, scale):
    # Rounded Gaussians equal discrete ones only up to floating point, and only where the scale is well above 1.
    draws = getattr(SeededSource(3), law)(np.zeros(20_000, dtype=np.int64), scale)
    assert goodness_of_fit(draws, law, scale) > 1e-4


def test_the_test_can_fail():
    draws = SeededSource(3).laplace(np.zeros(20_000, dtype=np.int64), 2.5)
    assert goodness_of_fit(draws, "laplace", 3.0) < FALSE_ALARM


@pytest.mark.parametrize("source", [SecureSource(), SeededSource(0), ZeroSource()])
@pytest.mark.parametrize("law", LAWS)
def test_noise_is_added_and_never_wraps(source, law):
    values = np.array([2**62 - 1, -(2**62) + 1, 0], dtype=np.int64)
    kept = values.copy()
    for scale in (1.0, 1e17, 1e30):
        noisy = getattr(source, law)(values, scale)
        assert noisy.dtype == np.int64
        assert np.abs(noisy.astype(float)).max() < 2.0**63
        assert (np.abs(noisy) >= 0).all()
    np.testing.assert_array_equal(values, kept)


def test_large_noise_is_centered_on_the_values():
    values = np.full(4_000, 10**9, dtype=np.int64)
    for law, deviation in (("laplace", np.sqrt(2)), ("gaussian", 1.0)):
        noisy = getattr(SecureSource(), law)(values, 1e8)
        z = (noisy.mean() - 1e9) / (deviation * 1e8 / np.sqrt(len(values)))
        assert abs(z) < 6.5


def test_seeds_repeat_and_secure_draws_do_not():
    zeros = np.zeros(16, dtype=np.int64)
    assert (SeededSource(5).laplace(zeros, 1e6) == SeededSource(5).laplace(zeros, 1e6)).all()
    assert SeededSource(5).bits(64) == SeededSource(5).bits(64)
    assert SecureSource().bits(128) != SecureSource().bits(128)
    assert (SecureSource().gaussian(zeros, 1e9) != SecureSource().gaussian(zeros, 1e9)).any()
    with pytest.raises(TypeError):
        SecureSource(seed=1)


@pytest.mark.parametrize("source", [SecureSource(), SeededSource(0)])
def test_bits_are_uniform(source):
    draws = np.array([source.bits(3) for _ in range(8_000)])
    assert draws.min() == 0
    assert draws.max() == 7
    assert stats.chisquare(np.bincount(draws)).pvalue > FALSE_ALARM


def test_only_the_secure_source_claims_privacy():
    assert SecureSource().private
    assert not SeededSource(0).private
    assert not ZeroSource().private
    assert [each.noiseless for each in (SecureSource(), SeededSource(0), ZeroSource())] == [False, False, True]
    with pytest.raises(RuntimeError, match="no bits"):
        ZeroSource().bits(1)


@pytest.mark.parametrize("law", LAWS)
def test_seeded_noise_is_added_to_the_values(law):
    values = np.array([5, -(10**6), 10**12])
    noise = [getattr(SeededSource(2), law)(some, 1e4) - some for some in (values, np.zeros(3, dtype=np.int64))]
    np.testing.assert_array_equal(*noise)
    if law == "gaussian":
        np.testing.assert_array_equal(noise[0], np.rint(np.random.default_rng(2).normal(0.0, 1e4, 3)))
    assert not getattr(SeededSource(2), law)(np.zeros(99, dtype=np.int64), 1e-9).any()


@pytest.mark.parametrize("law", LAWS)
def test_seeded_noise_beyond_all_bounds_is_cut_at_half_of_the_largest(law):
    """So that its sum with any value is an integer of 64 bits."""
    noise = getattr(SeededSource(2), law)(np.zeros(50, dtype=np.int64), 1e40)
    assert set(noise.tolist()) == {-(2**61), 2**61}


@pytest.mark.parametrize("count", [1, 7, 8, 9, 64, 128])
def test_bits_reach_all_of_their_range(count):
    """Of 200 numbers some are in each half, and in each half of the lowest bit: all but 2^-199."""
    for source in (SecureSource(), SeededSource(4)):
        drawn = [source.bits(count) for _ in range(200)]
        assert {number >> (count - 1) for number in drawn} == {number & 1 for number in drawn} == {0, 1}


def test_seeded_bits_take_as_many_bytes_as_they_need():
    source, same = SeededSource(4), np.random.default_rng(4)
    for count, size in ((64, 8), (128, 16), (61, 8), (1, 1)):
        assert source.bits(count) == int.from_bytes(same.bytes(size), "little") % 2**count
