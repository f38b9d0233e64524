"""Shrinkage of effects whose errors go together."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from dpsparse.inference import shrinkage
from dpsparse.inference.inference_constants import UNRELIABLE_KEPT_FROM as RELIABLE
from dpsparse.inference.shrinkage import any_sure, combined, shrunk

effects = st.lists(st.floats(-20, 20), min_size=1, max_size=6).map(np.array)


def covariance_of(k, seed, collinear=0.0):
    """A random covariance; the first two columns' errors cancel where `collinear` is near 1."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((k, k + 2))
    covariance = factor @ factor.T / k
    if k > 1:
        direction = np.zeros(k)
        direction[:2] = 1, -1
        covariance += collinear * 100 * np.outer(direction, direction)
    return covariance


@given(effects, st.floats(1e-6, 1e6))
def test_independent_errors_shrink_each_effect_by_itself(b, unit):
    errors = np.linspace(0.5, 2, len(b))
    is_larger = np.abs(b) > errors
    expected = np.where(is_larger, b - errors**2 / np.where(is_larger, b, 1.0), 0.0)
    found = shrunk(unit * b, np.diag((unit * errors) ** 2), np.ones(len(b), dtype=bool))
    np.testing.assert_allclose(found / unit, expected, rtol=1e-5, atol=1e-5)


def log_likelihood(prior, b, covariance):
    return stats.multivariate_normal(np.zeros(len(b)), covariance + np.diag(prior)).logpdf(b)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10_000), st.floats(0, 1))
# Variances that creep to 0 over tens and thousands of sweeps.
@example(5, 510, 0.5)
@example(2, 1432, 1.0)
def test_no_other_variance_of_one_effect_is_more_likely(k, seed, collinear):
    covariance = covariance_of(k, seed, collinear)
    b = np.random.default_rng(seed + 1).normal(0, 3, k)
    found = shrunk(b, covariance, np.ones(k, dtype=bool))
    # The posterior means tell the variances: m = T (T + V)^-1 b, so t_j = m_j / ((V^-1 (b - m))_j).
    slopes = np.linalg.solve(covariance, b - found)
    prior = np.where(found == 0, 0.0, found / slopes)
    assert (prior >= 0).all()
    best = log_likelihood(prior, b, covariance)
    for j in range(k):
        for other in (0.0, 0.5 * prior[j], 2 * prior[j] + 0.01):
            changed = prior.copy()
            changed[j] = other
            assert log_likelihood(changed, b, covariance) <= best + 1e-4


@pytest.mark.parametrize("seed", range(8))
def test_variances_settle_however_collinear_the_features_are(seed, monkeypatch):
    """More sweeps than the bound change nothing, so that it was not the bound that ended them."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 25))
    features = rng.standard_normal((200, k))
    for j in range(1, k, 2):
        features[:, j] = features[:, j - 1] + 10.0 ** rng.uniform(-4, 0) * features[:, j]
    covariance = np.linalg.inv(features.T @ features)
    b = rng.normal(0, 1, k) * (rng.random(k) < 0.5) + np.linalg.cholesky(covariance) @ rng.standard_normal(k)
    reliable = rng.random(k) < 0.8
    settled = shrunk(b, covariance, reliable)
    monkeypatch.setattr(shrinkage, "SWEEPS", 10 * shrinkage.SWEEPS)
    np.testing.assert_array_equal(settled, shrunk(b, covariance, reliable))


def test_the_sum_of_nearly_collinear_effects_is_kept():
    # Two copies of a feature: their sum is known to 0.1, their difference to 10.
    covariance = 0.1**2 / 4 * np.ones((2, 2)) + 10**2 / 4 * np.array([[1, -1], [-1, 1]])
    found = shrunk(np.array([5.0, -3.0]), covariance, np.ones(2, dtype=bool))
    assert found.sum() == pytest.approx(2.0, abs=0.1)
    assert np.abs(found).max() < 2.5


@pytest.mark.parametrize("size", [RELIABLE - 0.1, RELIABLE + 0.1])
def test_effects_without_a_reliable_error_are_kept_from_four_errors_on(size):
    kept = shrunk(np.array([size, size]), np.eye(2), np.array([True, False])) != 0
    np.testing.assert_array_equal(kept, [True, size > RELIABLE])


def test_effects_that_are_sure_together():
    covariance = 0.1**2 / 4 * np.ones((2, 2)) + 10**2 / 4 * np.array([[1, -1], [-1, 1]])
    assert any_sure(np.array([5.0, -3.0]), covariance)
    assert not any_sure(np.array([5.0, -3.0]), np.diag(np.diagonal(covariance)))
    assert not any_sure(np.zeros(0), np.zeros((0, 0)))


@pytest.mark.slow
def test_without_effects_hardly_any_is_called_sure():
    covariance = covariance_of(4, 7, 0.5)
    root, rng = np.linalg.cholesky(covariance), np.random.default_rng(8)
    sure = sum(any_sure(root @ rng.standard_normal(4), covariance) for _ in range(4000))
    # Five tests at a two-sided level of .00047: 9.3 expected at most; 22 or more have a probability below .0004.
    assert sure < 22


class TestCombined:
    def test_effects_that_agree_are_weighted_by_their_precisions(self):
        covariance, other = np.diag([1.0, 4.0]), np.diag([0.25, 1.0])
        found, errors = combined(np.array([1.0, 1.0]), covariance, np.array([1.2, 0.5]), other)
        np.testing.assert_allclose(found, [(1 + 4 * 1.2) / 5, (0.25 + 0.5) / 1.25])
        np.testing.assert_allclose(errors, np.diag([1 / 5, 1 / 1.25]))

    def test_where_they_do_not_the_unbiased_ones_decide(self):
        for off in (10.0, 100.0, 1e4):
            found, errors = combined(np.array([1.0]), np.eye(1), np.array([1.0 + off]), np.eye(1) / 9)
            # The prior's variance is off^2 less both errors, the weight of the others 1 / (off^2 - 1).
            assert found[0] == pytest.approx(1 + off / (off**2), rel=0.05)
            assert errors[0, 0] == pytest.approx(1, rel=2 / off**2)

    @given(effects, st.integers(0, 10_000), st.floats(1e-6, 1e6))
    def test_the_result_is_no_less_precise_and_in_the_same_unit(self, b, seed, unit):
        k = len(b)
        covariance, other = covariance_of(k, seed) + 0.1 * np.eye(k), covariance_of(k, seed + 1) + 0.1 * np.eye(k)
        rest = b + np.random.default_rng(seed).standard_normal(k)
        found, errors = combined(b, covariance, rest, other)
        scaled, scaled_errors = combined(unit * b, unit**2 * covariance, unit * rest, unit**2 * other)
        np.testing.assert_allclose(scaled / unit, found, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(scaled_errors / unit**2, errors, rtol=1e-4, atol=1e-4)
        assert np.linalg.eigvalsh(covariance - errors).min() > -1e-9 * np.trace(covariance)

    def test_others_without_any_precision_change_nothing(self):
        found, errors = combined(np.array([1.0, -2.0]), np.eye(2), np.zeros(2), 1e12 * np.eye(2))
        np.testing.assert_allclose(found, [1.0, -2.0], atol=1e-9)
        np.testing.assert_allclose(errors, np.eye(2), atol=1e-9)
