"""Steps to a likelihood's maximum: the Kalman filter in closed form, and errors that simulations have."""

import numpy as np
import pytest
from scipy.special import expit

from dpsparse.inference.bounded_step import Slopes, bounded_step, left_out, row_bound, squares_left_out, updated
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.one_step import power
from dpsparse.inference.tails import Norms

K = 3
TRUTH = np.array([-0.3, 0.8, -0.5])


def positive_definite(rng, k=K):
    root = rng.standard_normal((k, k))
    return root @ root.T + 0.5 * np.eye(k)


@pytest.mark.parametrize("seed", range(5))
def test_an_update_is_that_of_a_kalman_filter(seed):
    """State b, observation m + J b0 = J b + noise of variance sigma^2 I + J / n, in the textbook's own form."""
    rng = np.random.default_rng(seed)
    prior, slopes = positive_definite(rng), positive_definite(rng)
    before, mean, noise, n = rng.standard_normal(K), rng.standard_normal(K), 0.3, 50.0
    variance = noise**2 * np.eye(K) + slopes / n
    covariance = np.linalg.inv(prior)
    gain = covariance @ slopes.T @ np.linalg.inv(slopes @ covariance @ slopes.T + variance)
    expected = before + gain @ mean
    after = (np.eye(K) - gain @ slopes) @ covariance
    effects, precision = updated(before, prior, slopes, mean, noise, n)
    np.testing.assert_allclose(effects, expected, atol=1e-10)
    np.testing.assert_allclose(np.linalg.inv(precision), after, atol=1e-10)
    np.testing.assert_array_equal(precision, precision.T)


def test_noise_that_hides_everything_moves_nothing():
    effects, precision = updated(np.ones(K), np.eye(K), np.eye(K), np.full(K, 9.0), 1e6, 100.0)
    np.testing.assert_allclose(effects, 1.0, atol=1e-9)
    np.testing.assert_allclose(precision, np.eye(K), atol=1e-9)


def table(n, rng):
    X = np.column_stack([np.ones(n), rng.standard_normal((n, K - 1))])
    X[:, 2] += 0.5 * X[:, 1]
    return X, (rng.random(n) < expit(X @ TRUTH)).astype(float)


def maximum(X, y, weights=1.0):
    """The root of the (weighted) score, by Newton's own steps."""
    b = np.zeros(X.shape[1])
    for _ in range(30):
        p = expit(X @ b)
        slopes = (X * (weights * p * (1 - p))[:, None] if np.ndim(weights) else X * (p * (1 - p))[:, None]).T @ X
        b = b + np.linalg.solve(slopes, X.T @ (weights * (y - p)))
    return b


def test_updates_lead_to_the_maximum_of_the_likelihood():
    X, y = table(20_000, np.random.default_rng(0))
    n, b, precision = len(y), np.zeros(K), np.eye(K) / 100
    for _ in range(4):
        p = expit(X @ b)
        slopes = (X * (p * (1 - p))[:, None]).T @ X / n
        b, _ = updated(b, precision, slopes, X.T @ (y - p) / n, 1e-9, n)
    np.testing.assert_allclose(b, maximum(X, y), atol=1e-4)


def step_of(X, y, start, noise=0.0, matrix_noise=0.0, rng=None, bound=np.inf):
    """A step as the pursuit makes it, with rows weighted down to a norm and noise on each release."""
    n = len(y)
    p = expit(X @ start)
    slopes = (X * (p * (1 - p))[:, None]).T @ X / n
    turn = power(slopes, -0.5)
    rows = X @ turn.T
    weights = np.minimum(1, bound / np.linalg.norm(rows, axis=1))
    scores = rows * (weights * (y - p))[:, None]
    inner = (rows * (weights * p * (1 - p))[:, None]).T @ rows / n
    moments, mean = scores.T @ scores / n, scores.mean(axis=0)
    if rng is not None:
        draw = rng.standard_normal((K, K))
        inner = inner + matrix_noise * np.where(np.eye(K), draw, (draw + draw.T) / 2)
        mean = mean + noise * rng.standard_normal(K)
    slope = float((p * (1 - p)).mean())
    return bounded_step(
        start, Slopes.of(turn, NoisyMatrix(inner, matrix_noise)), NoisyMatrix(moments, 1e-6), mean, noise, n, slope
    )


@pytest.mark.parametrize("share", [-3.0, 0.0])
def test_the_bias_of_each_effect_is_its_own(share):
    """In another unit of one feature the others' are the same; the error of a straight line is within them."""
    X, _ = table(20_000, np.random.default_rng(4))
    y = expit(X @ TRUTH + share)
    far = TRUTH + np.array([share + 0.2, -0.15, 0.1])
    unit = np.array([1.0, 1e3, 1.0])
    step, scaled = step_of(X, y, far), step_of(X / unit, y, far * unit)
    np.testing.assert_allclose(scaled.bias, step.bias * unit, rtol=1e-6)
    root = maximum(X, y)
    assert np.all(np.abs(step.effects - root) <= step.bias)
    assert np.all(step.bias < np.abs(far - root))


def test_at_the_maximum_it_stays_and_has_the_errors_of_a_logistic_regression():
    Logit = pytest.importorskip("statsmodels.api", reason="extra bench").Logit
    X, y = table(20_000, np.random.default_rng(1))
    reference = Logit(y, X).fit(disp=0)
    step = step_of(X, y, reference.params)
    np.testing.assert_allclose(step.effects, reference.params, atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diagonal(step.covariance)), reference.bse, rtol=0.05)
    np.testing.assert_allclose(step.bias, 0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "matrix_noise", "bound"), [(0.0, 0.0, np.inf), (0.03, 0.02, np.inf), (0.02, 0.0, 2.0)]
)
def test_covariances_are_those_of_simulations(noise, matrix_noise, bound):
    """From near the truth, 600 tables: the spread of effects is what the step says, to a tenth."""
    rng = np.random.default_rng(2)
    effects, said = [], []
    for _ in range(600):
        step = step_of(*table(1_500, rng), TRUTH + 0.1, noise, matrix_noise, rng, bound)
        effects.append(step.effects)
        said.append(np.diagonal(step.covariance))
    spread, expected = np.std(effects, axis=0), np.sqrt(np.mean(said, axis=0))
    np.testing.assert_allclose(expected, spread, rtol=0.12)
    np.testing.assert_allclose(np.mean(effects, axis=0), TRUTH, atol=0.03)


def test_what_weights_leave_out_falls_with_the_bound():
    rows = Norms(np.array([1.0, 2.0, 4.0, 8.0]), np.array([50.0, 30.0, 15.0, 5.0]), 100.0)
    exact = [(rows.counts @ np.maximum(rows.values - b, 0)) / (rows.counts @ rows.values) for b in rows.values]
    np.testing.assert_allclose([left_out(rows, b) for b in rows.values], exact)
    assert exact == sorted(exact, reverse=True)
    # Of 50 + 120 + 240 + 320 squares the bound 4 leaves out 8 (8 - 4) of five rows.
    assert squares_left_out(rows, 4.0) == pytest.approx(160 / 730)
    assert squares_left_out(rows, 8.0) == 0
    bounds = [row_bound(rows, noise, 0.25) for noise in (1e-9, 0.01, 0.03, 10.0)]
    assert bounds == sorted(bounds, reverse=True)
    assert (bounds[0], bounds[-1]) == (8.0, 1.0)
