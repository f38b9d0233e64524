"""One step to a reference estimator: least squares on exact moments, and errors that simulations have."""

from dataclasses import replace

import numpy as np
import pytest

from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.one_step import AboutMeans, OneStep, Whitening, power, raised, score_root, shrunk_to_sphere
from dpsparse.inference.tails import Clip, Norms

N, K = 4_000, 3
NOWHERE = Clip(1e9)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(N), rng.standard_normal((N, K - 1))])
    X[:, 2] += 0.5 * X[:, 1]
    return X, 1 + X @ [0.3, -1.0, 0.5] + (1 + 0.5 * np.abs(X[:, 1])) * rng.standard_normal(N)


def law_of(norms):
    return Norms(norms, np.ones(len(norms)), len(norms))


def whitening_of(X, noise=0.0, rng=None, kind=Whitening):
    """From exact second moments, or with noise on those in white coordinates."""
    rough = X.T @ X / N + 0.1 * np.eye(K)
    rows = X @ power(rough, -0.5)
    inner = rows.T @ rows / N
    if noise:
        draw = rng.standard_normal((K, K))
        inner = inner + noise * np.where(np.eye(K), draw, (draw + draw.T) / 2)
    return kind.of(rough, NoisyMatrix(inner, noise), law_of((rows**2).sum(axis=1)), NOWHERE)


def step_of(table, start, whitening, clip=NOWHERE, noise=0.0, rng=None):
    X, y = table
    scores = X * (y - X @ start)[:, None]
    white = scores @ whitening.of_scores.T
    root, matrix = score_root(NoisyMatrix(white.T @ white / N, 0.0), whitening)
    vectors = scores @ matrix.T
    norms = np.linalg.norm(vectors, axis=1)
    mean = (vectors * (clip.of(norms) / norms)[:, None]).mean(axis=0)
    if noise:
        mean = mean + noise * rng.standard_normal(len(mean))
    return OneStep.of(np.inf, start, whitening, root, law_of(norms), clip, mean, noise)


def least_squares(table):
    return np.linalg.lstsq(*table, rcond=None)[0]


def test_a_code_among_the_numbers_of_a_column_lengthens_that_column_alone():
    """Rows that rough moments of the bulk made white are white again along the column of the code."""
    rng = np.random.default_rng(1)
    bulk = np.column_stack([np.ones(N), rng.standard_normal((N, K - 1))])
    bulk[:, 1] += 0.8 * bulk[:, 2]
    coded = bulk.copy()
    coded[: N // 40, 2] = 50.0
    rough, noise = bulk.T @ bulk / N, 0.05
    white = coded @ power(rough, -0.5)
    lengthened = raised(rough, NoisyMatrix(white.T @ white / N, noise))
    again = coded @ power(lengthened, -0.5)
    np.testing.assert_allclose(np.linalg.eigvalsh(again.T @ again / N), 1, atol=3.5 * noise)
    assert np.linalg.norm(again[0]) < np.linalg.norm(white[0]) / 5


@pytest.mark.parametrize("values", [np.eye(K), np.diag([1.0, 0.4, 1.1]), -np.eye(K)])
def test_noise_lengthens_no_column(values):
    rough = np.diag([1.0, 4.0, 0.3])
    np.testing.assert_allclose(raised(rough, NoisyMatrix(values, 0.1)), rough, atol=1e-12)


@pytest.mark.parametrize("start", [[0.0, 0.0, 0.0], [2.0, -1.0, 3.0]])
def test_on_exact_moments_it_is_least_squares(table, start):
    step = step_of(table, np.array(start), whitening_of(table[0]))
    np.testing.assert_allclose(step.effects, least_squares(table), atol=1e-9)
    np.testing.assert_allclose(step.bias, 0, atol=1e-12)


def test_without_noise_its_errors_are_those_of_the_sandwich(table):
    X, y = table
    beta = least_squares(table)
    step = step_of(table, beta, whitening_of(X))
    bread, residuals = np.linalg.inv(X.T @ X / N), y - X @ beta
    sandwich = bread @ ((X * residuals[:, None] ** 2).T @ X / N) @ bread / N
    np.testing.assert_allclose(step.covariance, sandwich, rtol=1e-6)


@pytest.mark.parametrize("start", [[0.0, 0.0, 0.0], [2.0, -1.0, 3.0]])
def test_scores_of_features_about_their_means_leave_the_mean_prediction(table, start):
    """Features here have means: their effects are those of least squares all the same, wherever the constant is."""
    X, y = table
    X = X + np.array([0, 0.7, -2.0])
    beta = least_squares((X, y))
    whitening = whitening_of(X, kind=AboutMeans)
    np.testing.assert_allclose((X @ whitening.of_scores.T).mean(axis=0), 0, atol=1e-9)
    step = step_of((X, y), np.array(start), whitening)
    np.testing.assert_allclose(step.effects[1:], beta[1:], atol=1e-9)
    assert np.mean(X @ step.effects) == pytest.approx(np.mean(X @ start))
    # A first step, by white rows.
    mean = (X * (y - X @ start)[:, None] @ whitening.of_scores.T).mean(axis=0)
    np.testing.assert_allclose(start + whitening.step @ mean, step.effects, atol=1e-9)


def test_scores_about_means_have_the_errors_of_the_sandwich_for_effects(table):
    X, y = table
    X = X + np.array([0, 0.7, -2.0])
    beta = least_squares((X, y))
    whitening = whitening_of(X, kind=AboutMeans)
    step = step_of((X, y), beta, whitening)
    bread, residuals = np.linalg.inv(X.T @ X / N), y - X @ beta
    sandwich = bread @ ((X * residuals[:, None] ** 2).T @ X / N) @ bread / N
    np.testing.assert_allclose(step.covariance[1:, 1:], sandwich[1:, 1:], rtol=1e-6)
    # Of the mean prediction they tell nothing: an error of its own is all that there is.
    means = X.mean(axis=0)
    assert means @ step.covariance @ means == pytest.approx(0, abs=1e-12)
    unseen = whitening.with_unseen(step.covariance, 0.3)
    assert means @ unseen @ means == pytest.approx(0.09)
    np.testing.assert_array_equal(unseen[1:, 1:], step.covariance[1:, 1:])
    np.testing.assert_array_equal(whitening_of(X).with_unseen(unseen, 0.3), unseen)


@pytest.mark.parametrize("kind", [Whitening, AboutMeans])
def test_noise_of_the_mean_score_spreads_effects_as_is_said(table, kind):
    rng, noise, whitening = np.random.default_rng(1), 0.1, whitening_of(table[0], kind=kind)
    steps = [step_of(table, least_squares(table), whitening, noise=noise, rng=rng) for _ in range(400)]
    spread = np.cov(np.array([step.effects for step in steps]).T)
    said = steps[0].covariance - step_of(table, least_squares(table), whitening).covariance
    np.testing.assert_allclose(np.diagonal(spread), np.diagonal(said), rtol=0.25)


@pytest.mark.slow
def test_noise_of_second_moments_spreads_the_ends_of_long_steps_as_is_said(table):
    rng, noise, start = np.random.default_rng(2), 0.03, np.array([1.0, 1.0, 1.0])
    steps = [step_of(table, start, whitening_of(table[0], noise, rng)) for _ in range(400)]
    spread = np.var([step.effects for step in steps], axis=0)
    without = np.diagonal(step_of(table, start, whitening_of(table[0])).covariance)
    said = np.mean([np.diagonal(step.covariance) for step in steps], axis=0) - without
    # Within a factor of 2: their sum over all effects, since the direction of the step decides which of them move.
    assert 0.5 < said.sum() / spread.sum() < 2
    assert (said > 0.3 * spread).all()


def test_a_clip_leaves_out_no_more_than_the_bias_says(table):
    X, _ = table
    rng = np.random.default_rng(3)
    skewed = X @ [1.0, -1.0, 0.5] + np.exp(0.8 * X[:, 1]) * (rng.exponential(size=N) - 1)
    beta = least_squares((X, skewed))
    whitening, biases = whitening_of(X), []
    for bound in (2.0, 4.0, 8.0):
        step = step_of((X, skewed), beta, whitening, Clip(bound))
        assert (np.abs(step.effects - beta) <= step.bias + 1e-12).all()
        biases.append(step.bias)
    assert (biases[0] > biases[1]).all()
    assert (biases[1] > biases[2]).all()


def test_second_moments_that_are_noise_become_round():
    rng = np.random.default_rng(4)
    draw = rng.standard_normal((6, 6))
    matrix = 2 * np.eye(6) + 0.5 * np.where(np.eye(6), draw, (draw + draw.T) / 2)
    round_one = shrunk_to_sphere(NoisyMatrix(matrix, 10.0))
    np.testing.assert_allclose(round_one, np.eye(6) * np.trace(matrix) / 6)
    np.testing.assert_allclose(shrunk_to_sphere(NoisyMatrix(matrix, 0.0)), matrix)
    assert np.trace(shrunk_to_sphere(NoisyMatrix(matrix, 0.5))) == pytest.approx(np.trace(matrix))
    # Second moments of people's rows do; of single rows they are as they are released.
    law, released = law_of(np.ones(N)), NoisyMatrix(matrix, 0.1)
    of_people, of_rows = (Whitening.of(np.eye(6), released, law, NOWHERE, steeper).inner for steeper in (2.0, 1.0))
    np.testing.assert_allclose(of_rows, matrix)
    assert np.ptp(np.linalg.eigvalsh(of_people)) < np.ptp(np.linalg.eigvalsh(of_rows))


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_roundness_has_no_unit(unit):
    """Responses may be in units of 1e100, and of 1e-100: their variances are squares of that."""
    rng = np.random.default_rng(4)
    draw = rng.standard_normal((4, 4))
    matrix = 2 * np.eye(4) + draw + draw.T
    for noise in (0.0, 0.3, 10.0):
        expected = unit * shrunk_to_sphere(NoisyMatrix(matrix, noise))
        np.testing.assert_allclose(shrunk_to_sphere(NoisyMatrix(unit * matrix, unit * noise)), expected)
    np.testing.assert_array_equal(shrunk_to_sphere(NoisyMatrix(np.eye(3), 1.0)), np.eye(3))


def test_matrices_that_are_noise_alone_still_have_roots():
    rng = np.random.default_rng(5)
    for _ in range(50):
        draw = rng.standard_normal((K, K))
        released = NoisyMatrix(1e-6 * (draw + draw.T), 1e-6)
        whitening = Whitening.of(np.eye(K), released, law_of(np.ones(N)), NOWHERE)
        root, matrix = score_root(released, whitening)
        np.testing.assert_allclose(matrix @ root, np.eye(K), atol=1e-9)
        assert np.isfinite(whitening.inverse_root).all()


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.5, 2.0])
def test_powers(exponent):
    matrix = np.array([[2.0, 0.3], [0.3, 1.0]])
    found = power(matrix, exponent)
    np.testing.assert_allclose(np.linalg.eigvalsh(found), np.sort(np.linalg.eigvalsh(matrix) ** exponent))
    np.testing.assert_allclose(found @ matrix, matrix @ found, atol=1e-12)


def test_a_step_that_leads_further_than_expected_has_not_settled():
    step = OneStep(np.array([1.0, 2.0]), np.diag([0.04, 0.04]), np.zeros(2), np.inf)
    errors = np.array([0.1, 0.1])
    assert step.since(np.array([1.0, 1.5]), errors).settled
    assert not step.since(np.array([1.0, 1.0]), errors).settled


def test_what_a_step_leaves_is_a_bias_along_it():
    whitening = Whitening(np.eye(2), np.eye(2), np.eye(2), 0.01, 0.0)
    far = OneStep(np.array([1.0, 2.0]), np.diag([0.04, 0.04]), np.zeros(2), tau=100.0)
    start, none = np.zeros(2), np.zeros((2, 2))
    still, moving = (far.clipped_anew(start, none, whitening, drift) for drift in (0.0, -0.1))
    assert 0 < still.bias[0] < moving.bias[0] < 1.0
    np.testing.assert_allclose(moving.bias[1] / moving.bias[0], 2.0)
    assert np.all(far.clipped_anew(start, none, replace(whitening, cubed=30.0), 0.0).bias > still.bias)


def test_a_step_that_may_be_noise_of_its_own_or_of_its_start_leaves_nothing():
    whitening = Whitening(np.eye(2), np.eye(2), np.eye(2), 0.01, 0.0)
    step = OneStep(np.array([1.0, 2.0]), np.diag([0.1, 0.1]), np.zeros(2), tau=1.0)
    start, before = np.zeros(2), np.diag([0.6, 0.6])
    assert np.all(step.clipped_anew(start, np.zeros((2, 2)), whitening, 0.1).bias > 1.0)
    np.testing.assert_array_equal(step.clipped_anew(start, before, whitening, 0.1).bias, 0.0)
    # Sampling is no noise of a step: the records are those of the reference.
    sampled = replace(step, sampling=np.diag([0.1, 0.1]))
    assert np.all(sampled.clipped_anew(start, before, whitening, 0.1).bias > 0.0)


def test_a_large_bias_counts_beyond_some_errors():
    step = OneStep(np.zeros(2), np.diag([0.04, 0.04]), np.array([0.1, 1.4]), np.inf)
    np.testing.assert_allclose(step.with_large_bias, np.diag([0.04, 1.04]))
