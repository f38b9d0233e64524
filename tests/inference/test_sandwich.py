"""Standard errors of M-estimation, against closed forms and simulated records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.families.robust_linear import ROBUST_LINEAR
from dpsparse.inference import gls
from dpsparse.inference.gls import Gradient, solve_gls
from dpsparse.inference.inference_constants import INFLATION_WITHOUT_SANDWICH as WITHOUT
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.sandwich import Jacobian, covariance
from dpsparse.inference.weights import row_weight

NO_PRIOR = 1e9


def standard_errors(*releases):
    return np.sqrt(np.diagonal(covariance(*releases)))


@pytest.fixture(autouse=True)
def exact_models(monkeypatch):
    """Gradients whose linear model has no error."""
    monkeypatch.setattr(gls, "MODEL_ERROR", 0.0)
    monkeypatch.setattr(gls, "SATURATION", 0.0)


def newton_step(J, M, *, tau=0.7, fraction=0.5, noise=0.0, n=1000, matrix_noise=0.0):
    """The errors of an effect that one gradient gives, with the released J and M of that gradient."""
    k = len(J)
    weight, kept = row_weight(k, 0.6, 1.5, False), np.arange(k)
    gradient = Gradient(
        kept, np.full(k, 0.01), noise, np.zeros(k), tau, fraction, ROBUST_LINEAR.score_square(tau, fraction), weight
    )
    jacobian = Jacobian.of(NoisyMatrix(J, matrix_noise), np.eye(k), fraction, weight)
    estimate = solve_gls([gradient], jacobian.gram, kept, prior_scale=np.full(k, NO_PRIOR), n_records=n)
    variance = NoisyMatrix(M / tau**2, matrix_noise)
    return standard_errors(estimate, [gradient], kept, jacobian.gram, n, jacobian, variance), estimate


def matrices(seed, k=3, fraction=0.5):
    """A Jacobian and a variance of the score as they might be under unequal variances: near p G, and not near it."""
    rng = np.random.default_rng(seed)
    gain = row_weight(k, 0.6, 1.5, False).gain
    root = 0.3 * rng.standard_normal((k, k))
    J = fraction * np.sqrt(np.outer(gain, gain)) * (np.diag(rng.uniform(0.6, 1.2, k)) + root @ root.T)
    root = rng.standard_normal((k, 2 * k))
    return J, 0.2 * root @ root.T


@pytest.mark.parametrize("seed", range(5))
def test_without_noise_they_are_the_sandwich(seed):
    J, M = matrices(seed)
    errors, estimate = newton_step(J, M)
    inverse = np.linalg.inv(J)
    np.testing.assert_allclose(errors, np.sqrt(np.diagonal(inverse @ M @ inverse.T) / 1000), rtol=1e-8)
    # One Newton step from 0.
    np.testing.assert_allclose(estimate.effects, inverse @ np.full(3, 0.01), rtol=1e-8)


def test_privacy_noise_of_the_gradient_adds_up():
    J, M = matrices(1)
    errors, _ = newton_step(J, M, noise=0.05)
    inverse = np.linalg.inv(J)
    exact = np.diagonal(inverse @ M @ inverse.T) / 1000 + 0.05**2 * np.diagonal(inverse @ inverse.T)
    np.testing.assert_allclose(errors, np.sqrt(exact), rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_the_matrices_inflates(seed):
    J, M = matrices(seed)
    exact, _ = newton_step(J, M)
    little, _ = newton_step(J, M, matrix_noise=1e-6)
    np.testing.assert_allclose(little, exact, rtol=1e-3)
    for fraction_of in (0.01, 0.05):
        # Pulled toward the expected ones too, which changes them either way; the factor alone is at least 1.
        released = Jacobian.of(NoisyMatrix(J, fraction_of), np.eye(3), 0.5, row_weight(3, 0.6, 1.5, False))
        assert (released.relative_noise > 0).all()


def test_without_released_matrices_they_rest_on_the_second_moments():
    k, n, tau, p = 3, 500, 0.6, 0.4
    weight, kept = row_weight(k, 0.6, 1.5, False), np.arange(k)
    gradient = Gradient(kept, np.zeros(k), 0.01, np.zeros(k), tau, p, ROBUST_LINEAR.score_square(tau, p), weight)
    estimate = solve_gls([gradient], np.eye(k), kept, prior_scale=np.full(k, NO_PRIOR), n_records=n)
    errors = standard_errors(estimate, [gradient], kept, np.eye(k), n)
    exact = np.sqrt(0.01**2 + tau**2 * (1 - 2 * p / 3) * weight.power / n) / (p * weight.gain)
    np.testing.assert_allclose(errors, WITHOUT * exact, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("carriers", [1.0, 3.0])
def test_they_are_the_spread_of_estimates_under_unequal_variances(carriers):
    # One Newton step from the truth, on fresh records each time; the noise of half of the records is larger.
    rng, n, tau, runs = np.random.default_rng(0), 400, 1.0, 1500
    weight, kept = row_weight(2, 0.6, 1.5, True), np.arange(2)

    def score(size):
        x = np.stack([np.ones(size), np.where(rng.random(size) < 0.5, -1.0, 1.0)])
        residuals = rng.standard_normal(size) * np.where(x[1] > 0, carriers, 1.0)
        norm = np.sqrt(2)
        rows = x * min(1, weight.inner / norm) * min(1, weight.outer / norm)
        return rows, x, residuals

    rows, x, residuals = score(400_000)
    within, psi = np.abs(residuals) <= tau, np.clip(residuals, -tau, tau)
    J = (rows * within) @ x.T / len(psi)
    M = (rows * psi) @ (rows * psi).T / len(psi)
    effects = []
    fraction = within.mean()
    jacobian = Jacobian.of(NoisyMatrix(J, 0.0), np.eye(2), fraction, weight)
    for _ in range(runs):
        rows, _, residuals = score(n)
        value = (rows * np.clip(residuals, -tau, tau)).mean(axis=1)
        square = ROBUST_LINEAR.score_square(tau, fraction)
        gradient = Gradient(kept, value, 0.0, np.zeros(2), tau, fraction, square, weight)
        estimate = solve_gls([gradient], jacobian.gram, kept, prior_scale=np.full(2, NO_PRIOR), n_records=n)
        effects.append(estimate.effects)
    variance = NoisyMatrix(M / tau**2, 0.0)
    errors = standard_errors(estimate, [gradient], kept, jacobian.gram, n, jacobian, variance)
    # The spread of 1500 runs is known to 1.8 %: four times that.
    np.testing.assert_allclose(np.std(effects, axis=0), errors, rtol=0.08)


def test_a_column_whose_carriers_lie_outside_tau_is_weak():
    J, _ = matrices(0)
    J[1] *= 1e-3
    J[:, 1] *= 1e-3
    weight = row_weight(3, 0.6, 1.5, False)
    jacobian = Jacobian.of(NoisyMatrix(J, 1e-6), np.eye(3), 0.5, weight)
    assert jacobian.weak.tolist() == [False, True, False]
    # It keeps its second moments.
    assert jacobian.gram[1].tolist() == pytest.approx([0, 1, 0], abs=0.1)


@given(st.integers(0, 2**32 - 1), st.floats(0, 3), st.integers(1, 6))
def test_any_released_matrix_gives_usable_ones(seed, noise, k):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((k, k))
    released = NoisyMatrix((values + values.T) / 2, noise)
    jacobian = Jacobian.of(released, np.eye(k), rng.uniform(0.1, 0.95), row_weight(k, 0.6, 1.5, False))
    assert np.linalg.eigvalsh(jacobian.gram)[0] > 0
    np.testing.assert_allclose(jacobian.gram, jacobian.gram.T, atol=1e-9)
    assert np.isfinite(jacobian.relative_noise).all()


def positive(rng, k, least=0.3):
    """A random positive definite matrix with a direction of small eigenvalue."""
    vectors, _ = np.linalg.qr(rng.standard_normal((k, k)))
    return (vectors * rng.uniform(least, 2.0, k)) @ vectors.T


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_without_noise_nothing_is_pulled_and_with_much_all_is(seed, k):
    rng = np.random.default_rng(seed)
    expected, values = positive(rng, k), positive(rng, k)
    exact = NoisyMatrix(values, 0.0).pulled(expected)
    np.testing.assert_allclose(exact.values, values, atol=1e-8)
    assert exact.noise == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(NoisyMatrix(values, 1e5).pulled(expected).values, expected, rtol=1e-4, atol=1e-4)


def test_a_direction_of_small_eigenvalue_keeps_what_is_expected():
    # Two columns of correlation .98; noise of .1 would turn the eigenvalue .02 into .12, or into nothing.
    expected = np.array([[1.0, 0.98], [0.98, 1.0]])
    along, across = np.array([1.0, 1.0]) / np.sqrt(2), np.array([1.0, -1.0]) / np.sqrt(2)
    released = expected + 0.1 * np.outer(across, across) + 0.1 * np.outer(along, along)
    pulled = NoisyMatrix(released, 0.1).pulled(expected).values
    assert across @ pulled @ across == pytest.approx(0.02, rel=0.15)
    # The other direction is known to a twentieth, and moves.
    assert along @ pulled @ along > 1.98 + 0.05


@pytest.mark.slow
def test_errors_of_forms_are_those_of_the_noise():
    rng, noise, runs = np.random.default_rng(4), 0.02, 4000
    expected, vector = positive(rng, 3), rng.standard_normal((3, 1))
    forms = []
    for _ in range(runs):
        shift = noise / np.sqrt(2) * rng.standard_normal((3, 3))
        shift = np.triu(shift, 1) + np.triu(shift, 1).T + np.diag(noise * rng.standard_normal(3))
        pulled = NoisyMatrix(expected + shift, noise).pulled(expected)
        forms.append(vector[:, 0] @ pulled.values @ vector[:, 0])
    # What the diagonal takes in first is not stated: a fifth of the error of an error.
    stated = pulled.error_of_form(vector)[0]
    assert 0.6 * stated < np.std(forms) < 1.2 * stated
