"""Generalised least squares over released gradients, against closed forms, dense linear algebra and simulations."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, stats

from dpsparse.algorithms.pursuit.gls import Gradient, clean_gram, row_clip, solve_gls

NO_PRIOR = 1e9
CLEANING = {"keep_above": 2.5, "scale_error": 0.1, "floor": 0.1}


def expected(function, features):
    """The expectation of a function of |x|^2 for standard normal rows, by numerical integration."""
    law = stats.chi2(features)
    ends = law.ppf([1e-14, 0.5, 1 - 1e-14])
    return sum(
        integrate.quad(lambda q: function(q) * law.pdf(q), low, high, limit=200)[0]
        for low, high in zip([0, *ends], ends, strict=False)
    )


class TestRowClip:
    # 4000 quantiles miss the ends of the distribution, where one feature has the heaviest tail.
    @pytest.mark.parametrize(("size", "error"), [(1, 2e-3), (2, 5e-4), (6, 3e-4), (40, 2e-4)])
    @pytest.mark.parametrize("tightness", [0.6, 1.3])
    def test_constants_are_the_integrals(self, size, error, tightness):
        clip = row_clip(size, tightness, False)
        bound = tightness * np.sqrt(size)
        assert clip.bound == pytest.approx(bound)
        for constants, power in ((clip.gain, 1), (clip.power, 2)):
            exact = expected(lambda q, power=power: min(1, bound / np.sqrt(q)) ** power * q / size, size)
            np.testing.assert_allclose(constants, np.full(size, exact), rtol=error)

    @pytest.mark.parametrize("size", [2, 5, 20])
    def test_the_constant_column_comes_first_and_counts_in_the_norm(self, size):
        clip, features = row_clip(size, 0.6, True), size - 1
        for constants, power in ((clip.gain, 1), (clip.power, 2)):

            def clipped(q, power=power):
                return min(1, clip.bound / np.sqrt(q + 1)) ** power

            assert constants[0] == pytest.approx(expected(clipped, features), rel=5e-4)
            exact = expected(lambda q, clipped=clipped: clipped(q) * q / features, features)
            np.testing.assert_allclose(constants[1:], np.full(features, exact), rtol=2e-3)

    def test_constants_are_those_of_simulated_rows(self):
        x = np.random.default_rng(0).standard_normal((200_000, 4))
        x[:, 0] = 1
        clip = row_clip(4, 0.6, True)
        v = np.minimum(1, clip.bound / np.linalg.norm(x, axis=1))[:, None]
        for constants, terms in ((clip.gain, v * x**2), (clip.power, v**2 * x**2)):
            # Five standard errors of the simulation.
            error = 5 * terms.std(axis=0) / np.sqrt(len(x))
            assert (np.abs(terms.mean(axis=0) - constants) < error + 1e-4).all()

    def test_a_wide_clip_leaves_rows_alone_and_a_narrow_one_only_their_direction(self):
        wide = row_clip(5, 1e6, False)
        np.testing.assert_allclose(wide.gain, 1, rtol=1e-3)
        np.testing.assert_array_equal(wide.power, wide.gain)
        # Every row then has norm `bound`, and each of its five entries a fifth of the square.
        np.testing.assert_allclose(row_clip(5, 1e-6, False).power, 1e-12, rtol=1e-9)


def make_gradient(columns, value, origin, *, noise=0.02, tau=0.7, fraction=0.5, intercept=False):
    clip = row_clip(len(columns), 0.6, intercept)
    return Gradient(np.array(columns), np.array(value), noise, np.array(origin), tau, fraction, clip)


def test_the_model_of_a_gradient_is_that_of_simulated_records():
    # Rows are standard normal and residuals at the true effects uniform on [-2, 2], so that p = tau / 2 throughout.
    rng, n, tau, offset = np.random.default_rng(1), 400_000, 0.7, np.array([0.1, -0.05, 0.02])
    x = rng.standard_normal((n, 3))
    psi = np.clip(rng.uniform(-2, 2, n) + x @ offset, -tau, tau)
    gradient = make_gradient([0, 1, 2], np.zeros(3), np.zeros(3), tau=tau, fraction=tau / 2)
    terms = psi[:, None] * np.minimum(1, gradient.clip.bound / np.linalg.norm(x, axis=1))[:, None] * x
    # Five standard errors of the simulation.
    assert (np.abs(terms.mean(axis=0) - gradient.gain * offset) < 5 * terms.std(axis=0) / np.sqrt(n)).all()
    # Empirical variances are known to 0.3 %, and the small offset adds less than 1 % to them.
    np.testing.assert_allclose(terms.var(axis=0), gradient.sampling_variance, rtol=0.02)


class TestOneFeature:
    """Closed forms: g = p a (b - b_t) with p a = `gain`."""

    def solve(self, *gradients, prior=NO_PRIOR, n=1000, model_error=0.0, **options):
        one = np.array([0])
        return solve_gls(
            gradients, np.eye(1), one, prior_scale=np.array([prior]), n_records=n, model_error=model_error, **options
        )

    def test_one_gradient(self):
        gradient = make_gradient([0], [0.3], [0.5], noise=0.02)
        estimate = self.solve(gradient)
        gain = 0.5 * gradient.clip.gain[0]
        assert estimate.effects[0] == pytest.approx(0.5 + 0.3 / gain)
        sampling = 0.7**2 * (1 - 2 * 0.5 / 3) * gradient.clip.power[0] / 1000
        assert estimate.standard_errors[0] == pytest.approx(np.sqrt(0.02**2 + sampling) / gain)

    def test_two_gradients_are_weighted_by_their_variances(self):
        first = make_gradient([0], [0.3], [0.0], noise=0.05, fraction=0.4)
        second = make_gradient([0], [0.1], [0.6], noise=0.01, fraction=0.6)
        estimate = self.solve(first, second)
        alone = np.array([self.solve(each).effects[0] for each in (first, second)])
        gains = np.array([first.gain[0], second.gain[0]])
        privacy = np.array([0.05, 0.01]) ** 2 / gains**2
        sampling = np.array([first.sampling_variance[0], second.sampling_variance[0]]) / 1000 / gains**2
        weights = 1 / (privacy + sampling)
        weights /= weights.sum()
        assert estimate.effects[0] == pytest.approx(weights @ alone)
        # Both gradients sum the same records: sampling errors add up before they are squared.
        variance = weights**2 @ privacy + (weights @ np.sqrt(sampling)) ** 2
        assert estimate.standard_errors[0] ** 2 == pytest.approx(variance)

    def test_a_prior_shrinks_and_without_one_nothing_does(self):
        gradient = make_gradient([0], [0.3], [0.5])
        gain, variance = gradient.gain[0], 0.02**2 + gradient.sampling_variance[0] / 1000
        alone = 0.5 + 0.3 / gain
        for prior in (1e-6, 0.1, 1.0, 1e6):
            share = prior**2 / (prior**2 + variance / gain**2)
            assert self.solve(gradient, prior=prior).effects[0] == pytest.approx(share * alone)
        assert abs(self.solve(gradient, prior=1e-9).effects[0]) < 1e-9

    def test_a_far_gradient_counts_less_by_its_model_error(self):
        near = make_gradient([0], [0.0], [1.0], noise=1e-3)
        far = make_gradient([0], [0.5 * near.clip.gain[0] * 1.4], [0.0], noise=1e-3)
        # They say 1.0 and 1.4; without a model error they count alike.
        assert self.solve(near, far, n=10**9).effects[0] == pytest.approx(1.2, abs=0.01)
        assert self.solve(near, far, n=10**9, model_error=0.5).effects[0] == pytest.approx(1.0, abs=0.01)
        assert self.solve(near, far, n=10**9, gram_noise=0.5).effects[0] == pytest.approx(1.0, abs=0.01)

    def test_shrinkage_by_the_own_error(self):
        for value in (-0.4, -0.02, 0.0, 0.001, 0.03, 2.0):
            estimate = self.solve(make_gradient([0], [value], [0.0]))
            b, se = estimate.effects[0], estimate.standard_errors[0]
            expected_effect = 0.0 if abs(b) <= se else b * (1 - se**2 / b**2)
            assert estimate.shrunk()[0] == pytest.approx(expected_effect)


def random_problem(seed, k=5, intercept=True, short_origins=True):
    """Gradients on growing sets of columns, then on all but one of them, as a pursuit has them."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((k, 4 * k))
    covariance = root @ root.T
    gram = covariance / np.sqrt(np.outer(np.diagonal(covariance), np.diagonal(covariance)))
    sets = [range(size) for size in range(1 + intercept, k + 1)]
    sets += [[c for c in range(k) if c != k - 2]] * 2
    gradients = [
        make_gradient(
            list(columns),
            0.1 * rng.standard_normal(len(columns)),
            rng.standard_normal(len(columns) if short_origins and len(columns) < k - 1 else k),
            noise=rng.uniform(0.005, 0.05),
            tau=rng.uniform(0.5, 1.0),
            fraction=rng.uniform(0.3, 0.7),
            intercept=intercept,
        )
        for columns in sets
    ]
    return gradients, gram


def dense_gls(gradients, gram, kept, prior_scale, n_records, model_error, gram_noise):
    """The same estimate with one full covariance matrix and one loop for each entry: slow and plain."""
    entries = [(each, i) for each in gradients for i in range(len(each.columns))]
    design, target = np.zeros((len(entries), len(gram))), np.zeros(len(entries))
    start = np.zeros((len(entries), len(gram)))
    for row, (each, i) in enumerate(entries):
        p, a = each.fraction, each.clip.gain
        root_of = {column: np.sqrt(a[j]) for j, column in enumerate(each.columns)}
        for column in range(len(gram)):
            root = root_of.get(column, np.sqrt(a[-1]))
            design[row, column] = p * np.sqrt(a[i]) * gram[each.columns[i], column] * root
        start[row, : len(each.origin)] = each.origin
        target[row] = each.value[i] + design[row] @ start[row]
    privacy = np.array([each.noise_scale**2 for each, _ in entries])
    sampling = np.array(
        [each.tau**2 * (1 - 2 * each.fraction / 3) * each.clip.power[i] / n_records for each, i in entries]
    )
    effects = np.zeros(len(gram))
    variance = privacy + sampling
    for _ in range(3):
        H, V = design[:, kept], np.diag(variance)
        prior = np.diag(prior_scale[kept] ** -2.0)
        estimator = np.linalg.inv(H.T @ np.linalg.inv(V) @ H + prior) @ H.T @ np.linalg.inv(V)
        effects = np.zeros(len(gram))
        effects[kept] = estimator @ target
        offset = effects - start
        linearized = np.array([design[row] @ offset[row] for row in range(len(entries))])
        gains = np.array([each.fraction * each.clip.gain[i] for each, i in entries])
        variance = privacy + sampling + (model_error * linearized) ** 2
        variance += gains**2 * gram_noise**2 * (offset**2).sum(axis=1)
    columns = np.array([each.columns[i] for each, i in entries])
    covariance = np.diag(privacy) + np.sqrt(np.outer(sampling, sampling)) * gram[np.ix_(columns, columns)]
    return effects[kept], np.sqrt(np.diagonal(estimator @ covariance @ estimator.T))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("model_error", "gram_noise"), [(0.0, 0.0), (0.15, 0.0), (0.15, 0.05)])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_dense_generalized_least_squares(seed, model_error, gram_noise, intercept):
    gradients, gram = random_problem(seed, intercept=intercept)
    prior = np.linspace(0.5, 2.0, 5)
    for kept in (np.arange(5), np.array([0, 1, 2, 4])):
        estimate = solve_gls(
            gradients, gram, kept, prior_scale=prior, n_records=500, model_error=model_error, gram_noise=gram_noise
        )
        effects, errors = dense_gls(gradients, gram, kept, prior, 500, model_error, gram_noise)
        np.testing.assert_allclose(estimate.effects, effects, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(estimate.standard_errors, errors, rtol=1e-8)


def test_standard_errors_are_the_spread_of_the_estimates():
    # Gradients that follow the model: fresh privacy noise in each, and one sampling error of the records in all.
    rng, runs, n = np.random.default_rng(2), 4000, 300
    templates, gram = random_problem(3, short_origins=False)
    effects = np.array([0.2, 1.0, -0.7, 0.4, 0.1])
    root = np.linalg.cholesky(gram)
    estimates = []
    for _ in range(runs):
        sampling = root @ rng.standard_normal(5)
        gradients = []
        for each in templates:
            roots = np.full(5, np.sqrt(each.gain[-1]))
            roots[each.columns] = np.sqrt(each.gain)
            mean = (roots[:, None] * gram * roots @ (effects - each.origin))[each.columns]
            error = np.sqrt(each.sampling_variance / n) * sampling[each.columns]
            value = mean + error + each.noise_scale * rng.standard_normal(len(mean))
            gradients.append(
                Gradient(each.columns, value, each.noise_scale, each.origin, each.tau, each.fraction, each.clip)
            )
        estimates.append(
            solve_gls(gradients, gram, np.arange(5), prior_scale=np.full(5, NO_PRIOR), n_records=n, model_error=0.0)
        )
    solutions = np.array([estimate.effects for estimate in estimates])
    errors = estimates[0].standard_errors
    # The spread of 4000 runs is known to 1.1 %, their mean to 1.6 % of a standard error: over four times that.
    np.testing.assert_allclose(solutions.std(axis=0), errors, rtol=0.05)
    assert (np.abs(solutions.mean(axis=0) - effects) < 0.07 * errors).all()


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(1, 5)), st.integers(0, 2**32 - 1), st.booleans())
def test_the_order_of_selection_does_not_matter(order, seed, drop_one):
    gradients, gram = random_problem(seed, short_origins=False)
    order = np.array([0, *order])
    place = np.argsort(order)
    kept = np.array([0, 1, 2, 4]) if drop_one else np.arange(5)
    prior = np.linspace(0.5, 2.0, 5)
    options = {"n_records": 500, "model_error": 0.15, "gram_noise": 0.05}
    estimate = solve_gls(gradients, gram, kept, prior_scale=prior, **options)
    relabeled = [
        Gradient(
            place[each.columns], each.value, each.noise_scale, each.origin[order], each.tau, each.fraction, each.clip
        )
        for each in gradients
    ]
    other = solve_gls(relabeled, gram[np.ix_(order, order)], place[kept], prior_scale=prior[order], **options)
    np.testing.assert_allclose(other.effects, estimate.effects, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(other.standard_errors, estimate.standard_errors, rtol=1e-7)


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 2**32 - 1))
def test_the_order_of_gradients_and_of_their_entries_does_not_matter(order, seed):
    gradients, gram = random_problem(seed, intercept=False)
    options = {"prior_scale": np.ones(5), "n_records": 500, "model_error": 0.15}
    estimate = solve_gls(gradients, gram, np.arange(5), **options)
    order, last = list(order), gradients[-1]
    swapped = Gradient(
        last.columns[order], last.value[order], last.noise_scale, last.origin, last.tau, last.fraction, last.clip
    )
    other = solve_gls([swapped, *gradients[:-1]], gram, np.arange(5), **options)
    np.testing.assert_allclose(other.effects, estimate.effects, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(other.standard_errors, estimate.standard_errors, rtol=1e-7)


noises = st.floats(1e-4, 1.0)


@st.composite
def noisy_grams(draw):
    k = draw(st.integers(1, 6))
    entries = draw(arrays(np.float64, (k, k), elements=st.floats(-3, 3)))
    return (entries + entries.T) / 2


class TestCleanGram:
    @given(noisy_grams(), noises)
    def test_it_is_symmetric_and_positive_definite(self, noisy, noise):
        cleaned = clean_gram(noisy, noise, **CLEANING)
        np.testing.assert_allclose(cleaned, cleaned.T, atol=1e-12)
        assert np.linalg.eigvalsh(cleaned)[0] >= 0.1 - 1e-9

    @given(st.integers(1, 8), noises)
    def test_the_identity_stays(self, k, noise):
        np.testing.assert_allclose(clean_gram(np.eye(k), noise, **CLEANING), np.eye(k), atol=1e-12)

    @given(noisy_grams(), noises)
    def test_entries_within_the_noise_vanish(self, noisy, noise):
        threshold = 2.499 * noise / np.sqrt(2)
        small = np.clip(noisy, -threshold, threshold)
        cleaned = clean_gram(small, noise, **CLEANING)
        np.testing.assert_allclose(cleaned, np.diag(np.diagonal(cleaned)), atol=1e-12)

    @given(noises, st.floats(0.2, 3.0))
    def test_the_diagonal_is_pulled_toward_one_by_its_noise(self, noise, value):
        share = 0.1**2 / (0.1**2 + noise**2)
        expected_value = max(0.1, share * value + (1 - share))
        assert clean_gram(np.array([[value]]), noise, **CLEANING)[0, 0] == pytest.approx(expected_value)

    @given(st.floats(-0.85, 0.85), st.floats(1e-3, 0.5))
    def test_an_entry_beyond_the_noise_is_shrunk_by_it(self, entry, noise):
        cleaned = clean_gram(np.array([[1, entry], [entry, 1]]), noise, **CLEANING)
        off_noise = noise / np.sqrt(2)
        assume(abs(abs(entry) - 2.5 * off_noise) > 1e-9)
        kept = abs(entry) > 2.5 * off_noise
        assert cleaned[0, 1] == pytest.approx(entry * (1 - off_noise**2 / entry**2) if kept else 0.0, abs=1e-12)
        np.testing.assert_allclose(np.diagonal(cleaned), 1)

    def test_small_eigenvalues_are_raised_to_the_floor_and_no_others(self):
        # Eigenvalues 1.99 and 0.01 of the directions (1, 1) and (1, -1).
        cleaned = clean_gram(np.array([[1, 0.99], [0.99, 1]]), 1e-9, **CLEANING)
        values, vectors = np.linalg.eigh(cleaned)
        np.testing.assert_allclose(values, [0.1, 1.99])
        np.testing.assert_allclose(np.abs(vectors), np.sqrt(0.5))
