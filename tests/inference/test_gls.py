"""Generalised least squares over released gradients, against closed forms, dense linear algebra and simulations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, stats

from dpsparse.families.robust_linear import ROBUST_LINEAR
from dpsparse.inference import gls
from dpsparse.inference.gls import Gradient, solve_gls
from dpsparse.inference.inference_constants import INFLATION_WITHOUT_SANDWICH
from dpsparse.inference.matrices import clean_gram, positive_definite
from dpsparse.inference.sandwich import covariance
from dpsparse.inference.weights import row_weight

NO_PRIOR = 1e9


def expected(function, features):
    """The expectation of a function of |x|^2 for standard normal rows, by numerical integration."""
    law = stats.chi2(features)
    ends = law.ppf([1e-14, 0.5, 1 - 1e-14])
    return sum(
        integrate.quad(lambda q: function(q) * law.pdf(q), low, high, limit=200)[0]
        for low, high in zip([0, *ends], ends, strict=False)
    )


class TestRowWeight:
    # 4000 quantiles miss the ends of the distribution, where one feature has the heaviest tail.
    @pytest.mark.slow
    @pytest.mark.parametrize(("size", "error"), [(1, 2e-3), (2, 5e-4), (6, 3e-4), (40, 2e-4)])
    @pytest.mark.parametrize(("inner", "outer"), [(0.6, 1.5), (0.95, 1.3)])
    def test_constants_are_the_integrals(self, size, error, inner, outer):
        weight, root = row_weight(size, inner, outer, False), np.sqrt(size)
        assert (weight.inner, weight.outer) == (pytest.approx(inner * root), pytest.approx(outer * root))

        def v(q):
            return min(1, inner * root / np.sqrt(q)) * min(1, outer * root / np.sqrt(q))

        for constants, power in ((weight.gain, 1), (weight.power, 2)):
            exact = expected(lambda q, power=power: v(q) ** power * q / size, size)
            np.testing.assert_allclose(constants, np.full(size, exact), rtol=error)

    @pytest.mark.parametrize("constant", [True, False])
    def test_constants_are_those_of_simulated_rows(self, constant):
        x = np.random.default_rng(0).standard_normal((200_000, 4))
        x[:, 0] = 1 if constant else x[:, 0]
        weight, norm = row_weight(4, 0.6, 1.5, constant), np.linalg.norm(x, axis=1)
        v = (np.minimum(1, weight.inner / norm) * np.minimum(1, weight.outer / norm))[:, None]
        for constants, terms in ((weight.gain, v * x**2), (weight.power, v**2 * x**2)):
            # Five standard errors of the simulation.
            error = 5 * terms.std(axis=0) / np.sqrt(len(x))
            assert (np.abs(terms.mean(axis=0) - constants) < error + 1e-4).all()

    def test_a_wide_weight_leaves_rows_alone_and_a_narrow_one_only_their_direction(self):
        wide = row_weight(5, 1e6, 1e6, False)
        np.testing.assert_allclose(wide.gain, 1, rtol=1e-3)
        np.testing.assert_array_equal(wide.power, wide.gain)
        # Every row then has norm `inner`, and each of its five entries a fifth of the square.
        np.testing.assert_allclose(row_weight(5, 1e-6, 1e6, False).power, 1e-12, rtol=1e-9)

    def test_a_constant_alone(self):
        weight = row_weight(1, 0.6, 1.5, True)
        assert weight.gain.tolist() == pytest.approx([0.6])
        assert weight.power.tolist() == pytest.approx([0.36])


@pytest.fixture
def exact_models(monkeypatch):
    """Gradients whose linear model has no error."""
    monkeypatch.setattr(gls, "MODEL_ERROR", 0.0)
    monkeypatch.setattr(gls, "SATURATION", 0.0)


def make_gradient(columns, value, origin, *, noise=0.02, tau=0.7, fraction=0.5, intercept=False):
    weight = row_weight(len(columns), 0.6, 1.5, intercept)
    square = ROBUST_LINEAR.score_square(tau, fraction)
    return Gradient(np.array(columns), np.array(value), noise, np.array(origin), tau, fraction, square, weight)


def sampling_variance(gradient):
    """Of a record's term, by entry: E[psi^2] E[v^2 x_j^2], with psi^2 of residuals that are uniform within tau."""
    return gradient.tau**2 * (1 - 2 * gradient.slope / 3) * gradient.weight.power


def test_the_model_of_a_gradient_is_that_of_simulated_records():
    # Rows are standard normal and residuals at the true effects uniform on [-2, 2], so that p = tau / 2 throughout.
    rng, n, tau, offset = np.random.default_rng(1), 400_000, 0.7, np.array([0.1, -0.05, 0.02])
    x = rng.standard_normal((n, 3))
    psi = np.clip(rng.uniform(-2, 2, n) + x @ offset, -tau, tau)
    gradient = make_gradient([0, 1, 2], np.zeros(3), np.zeros(3), tau=tau, fraction=tau / 2)
    norm, weight = np.linalg.norm(x, axis=1), gradient.weight
    terms = (psi * np.minimum(1, weight.inner / norm) * np.minimum(1, weight.outer / norm))[:, None] * x
    # Five standard errors of the simulation.
    assert (np.abs(terms.mean(axis=0) - gradient.gain * offset) < 5 * terms.std(axis=0) / np.sqrt(n)).all()
    # Empirical variances are known to 0.3 %, and the small offset adds less than 1 % to them.
    np.testing.assert_allclose(terms.var(axis=0), sampling_variance(gradient), rtol=0.02)


class TestOneFeature:
    """Closed forms: g = p a (b - b_t) with p a = `gain`."""

    def solve(self, *gradients, prior=NO_PRIOR, n=1000, **options):
        one = np.array([0])
        return solve_gls(gradients, np.eye(1), one, prior_scale=np.array([prior]), n_records=n, **options)

    def error(self, *gradients, n=1000):
        variance = covariance(self.solve(*gradients, n=n), gradients, np.array([0]), np.eye(1), n)[0, 0]
        return np.sqrt(variance) / INFLATION_WITHOUT_SANDWICH

    def test_one_gradient(self, exact_models):
        gradient = make_gradient([0], [0.3], [0.5], noise=0.02)
        gain = 0.5 * gradient.weight.gain[0]
        assert self.solve(gradient).effects[0] == pytest.approx(0.5 + 0.3 / gain)
        sampling = 0.7**2 * (1 - 2 * 0.5 / 3) * gradient.weight.power[0] / 1000
        assert self.error(gradient) == pytest.approx(np.sqrt(0.02**2 + sampling) / gain)

    def test_two_gradients_are_weighted_by_their_variances(self, exact_models):
        first = make_gradient([0], [0.3], [0.0], noise=0.05, fraction=0.4)
        second = make_gradient([0], [0.1], [0.6], noise=0.01, fraction=0.6)
        estimate = self.solve(first, second)
        alone = np.array([self.solve(each).effects[0] for each in (first, second)])
        gains = np.array([first.gain[0], second.gain[0]])
        privacy = np.array([0.05, 0.01]) ** 2 / gains**2
        sampling = np.array([sampling_variance(each)[0] for each in (first, second)]) / 1000 / gains**2
        weights = 1 / (privacy + sampling)
        weights /= weights.sum()
        assert estimate.effects[0] == pytest.approx(weights @ alone)
        # Both gradients sum the same records: sampling errors add up before they are squared.
        variance = weights**2 @ privacy + (weights @ np.sqrt(sampling)) ** 2
        assert self.error(first, second) ** 2 == pytest.approx(variance)

    def test_errors_of_the_linear_model_count_as_noise(self, monkeypatch):
        gradient = make_gradient([0], [0.3], [0.5], noise=0.02)
        monkeypatch.setattr(gls, "SATURATION", 0.0)
        monkeypatch.setattr(gls, "MODEL_ERROR", 0.0)
        exact = self.error(gradient)
        monkeypatch.setattr(gls, "MODEL_ERROR", 0.5)
        # One gradient says how far the effect is, and is wrong by half of that.
        assert self.error(gradient) ** 2 == pytest.approx(exact**2 + (0.5 * 0.3 / gradient.gain[0]) ** 2, rel=1e-6)

    def test_a_prior_shrinks_and_without_one_nothing_does(self, exact_models):
        gradient = make_gradient([0], [0.3], [0.5])
        gain, variance = gradient.gain[0], 0.02**2 + sampling_variance(gradient)[0] / 1000
        alone = 0.5 + 0.3 / gain
        for prior in (1e-6, 0.1, 1.0, 1e6):
            share = prior**2 / (prior**2 + variance / gain**2)
            assert self.solve(gradient, prior=prior).effects[0] == pytest.approx(share * alone)
        assert abs(self.solve(gradient, prior=1e-9).effects[0]) < 1e-9

    def test_a_far_gradient_counts_less_by_its_model_error(self, monkeypatch):
        near = make_gradient([0], [0.0], [1.0], noise=1e-3)
        far = make_gradient([0], [near.gain[0] * 1.4], [0.0], noise=1e-3)
        # They say 1.0 and 1.4, and count alike where the model has no error.
        for name, error, effect in (("MODEL_ERROR", 0.0, 1.2), ("MODEL_ERROR", 0.5, 1.0), ("SATURATION", 0.5, 1.0)):
            monkeypatch.setattr(gls, "MODEL_ERROR", 0.0)
            monkeypatch.setattr(gls, "SATURATION", 0.0)
            monkeypatch.setattr(gls, name, error)
            assert self.solve(near, far, n=10**9).effects[0] == pytest.approx(effect, abs=0.01)
        monkeypatch.setattr(gls, "SATURATION", 0.0)
        assert self.solve(near, far, n=10**9, gram_noise=0.5).effects[0] == pytest.approx(1.0, abs=0.01)


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


def dense_gls(gradients, gram, kept, prior_scale, n_records, gram_noise):
    """The same estimate with one full covariance matrix and one loop for each entry: slow and plain."""
    entries = [(each, i) for each in gradients for i in range(len(each.columns))]
    design, target = np.zeros((len(entries), len(gram))), np.zeros(len(entries))
    start = np.zeros((len(entries), len(gram)))
    for row, (each, i) in enumerate(entries):
        p, a = each.slope, each.weight.gain
        root_of = {column: np.sqrt(a[j]) for j, column in enumerate(each.columns)}
        for column in range(len(gram)):
            root = root_of.get(column, np.sqrt(a[-1]))
            design[row, column] = p * np.sqrt(a[i]) * gram[each.columns[i], column] * root
        start[row, : len(each.origin)] = each.origin
        target[row] = each.value[i] + design[row] @ start[row]
    privacy = np.array([each.noise_scale**2 for each, _ in entries])
    columns = np.array([each.columns[i] for each, i in entries])
    sampling = np.array([sampling_variance(each)[i] / n_records for each, i in entries]) * np.diagonal(gram)[columns]
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
        gains = np.array([each.slope * each.weight.gain[i] for each, i in entries])
        far = np.abs(offset).max(axis=1) / np.array([each.tau for each, _ in entries])
        variance = privacy + sampling + (gls.MODEL_ERROR**2 + (gls.SATURATION * far) ** 2) * linearized**2
        # Noise on the diagonal has twice the variance of that off it.
        own = np.array([offset[row, each.columns[i]] for row, (each, i) in enumerate(entries)])
        variance += gains**2 * gram_noise**2 * ((offset**2).sum(axis=1) + own**2)
    return effects[kept], estimator


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("gram_noise", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_dense_generalized_least_squares(seed, gram_noise, intercept):
    gradients, gram = random_problem(seed, intercept=intercept)
    gram *= np.outer(*[np.linspace(0.5, 1.2, 5)] * 2)
    prior = np.linspace(0.5, 2.0, 5)
    for kept in (np.arange(5), np.array([0, 1, 2, 4])):
        estimate = solve_gls(gradients, gram, kept, prior_scale=prior, n_records=500, gram_noise=gram_noise)
        effects, estimator = dense_gls(gradients, gram, kept, prior, 500, gram_noise)
        np.testing.assert_allclose(estimate.effects, effects, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(estimate.matrix, estimator, rtol=1e-7, atol=1e-10)


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(1, 5)), st.integers(0, 2**32 - 1), st.booleans())
def test_the_order_of_selection_does_not_matter(order, seed, drop_one):
    gradients, gram = random_problem(seed, short_origins=False)
    order = np.array([0, *order])
    place = np.argsort(order)
    kept = np.array([0, 1, 2, 4]) if drop_one else np.arange(5)
    prior = np.linspace(0.5, 2.0, 5)
    options = {"n_records": 500, "gram_noise": 0.05}
    estimate = solve_gls(gradients, gram, kept, prior_scale=prior, **options)
    relabeled = [replace(each, columns=place[each.columns], origin=each.origin[order]) for each in gradients]
    other = solve_gls(relabeled, gram[np.ix_(order, order)], place[kept], prior_scale=prior[order], **options)
    np.testing.assert_allclose(other.effects, estimate.effects, rtol=1e-7, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 2**32 - 1))
def test_the_order_of_gradients_and_of_their_entries_does_not_matter(order, seed):
    gradients, gram = random_problem(seed, intercept=False)
    options = {"prior_scale": np.ones(5), "n_records": 500}
    estimate = solve_gls(gradients, gram, np.arange(5), **options)
    order, last = list(order), gradients[-1]
    swapped = replace(last, columns=last.columns[order], value=last.value[order])
    other = solve_gls([swapped, *gradients[:-1]], gram, np.arange(5), **options)
    np.testing.assert_allclose(other.effects, estimate.effects, rtol=1e-7, atol=1e-9)


noises = st.floats(1e-4, 1.0)


@st.composite
def noisy_grams(draw):
    k = draw(st.integers(1, 6))
    entries = draw(arrays(np.float64, (k, k), elements=st.floats(-3, 3)))
    return (entries + entries.T) / 2


def cleaned_gram(noisy, noise, expected=1.0, trust=0.1):
    return clean_gram(noisy, noise, np.full(len(noisy), expected), trust)


class TestCleanGram:
    @given(noisy_grams(), noises, st.floats(0.1, 2.0))
    def test_it_is_symmetric_and_its_correlations_are_positive_definite(self, noisy, noise, expected_value):
        cleaned = cleaned_gram(noisy, noise, expected_value)
        np.testing.assert_allclose(cleaned, cleaned.T, atol=1e-12)
        # Raising eigenvalues to the floor only adds to the diagonal, 0.2 of what is expected or more.
        assert np.linalg.eigvalsh(cleaned)[0] >= 0.1 * 0.2 * expected_value - 1e-9

    @given(st.integers(1, 8), noises, st.floats(0.1, 2.0))
    def test_what_is_expected_stays(self, k, noise, expected_value):
        cleaned = cleaned_gram(expected_value * np.eye(k), noise, expected_value)
        np.testing.assert_allclose(cleaned, expected_value * np.eye(k), atol=1e-12)

    @given(noisy_grams(), noises)
    def test_entries_within_the_noise_vanish(self, noisy, noise):
        threshold = 2.499 * noise / np.sqrt(2)
        small = np.clip(noisy, -threshold, threshold)
        cleaned = cleaned_gram(small, noise)
        np.testing.assert_allclose(cleaned, np.diag(np.diagonal(cleaned)), atol=1e-12)

    @given(noises, st.floats(0.0, 3.0), st.floats(0.2, 2.0), st.floats(0.05, 1.0))
    def test_the_diagonal_is_pulled_to_what_is_expected_by_its_noise(self, noise, value, expected_value, trust):
        share = (trust * expected_value) ** 2 / ((trust * expected_value) ** 2 + noise**2)
        pulled = max(0.2 * expected_value, share * value + (1 - share) * expected_value)
        assert cleaned_gram(np.array([[value]]), noise, expected_value, trust)[0, 0] == pytest.approx(pulled)

    @given(st.floats(-0.85, 0.85), st.floats(1e-3, 0.5))
    def test_an_entry_beyond_the_noise_is_shrunk_by_it(self, entry, noise):
        off_noise = noise / np.sqrt(2)
        threshold = (2.5 if off_noise < 0.08 else 3.5) * off_noise
        assume(abs(abs(entry) - threshold) > 1e-9)
        cleaned = cleaned_gram(np.array([[1, entry], [entry, 1]]), noise)
        kept = abs(entry) > threshold
        assert cleaned[0, 1] == pytest.approx(entry * (1 - off_noise**2 / entry**2) if kept else 0.0, abs=1e-12)
        np.testing.assert_allclose(np.diagonal(cleaned), 1)

    def test_small_eigenvalues_are_raised_to_the_floor_and_no_others(self):
        # Eigenvalues 1.99 and 0.01 of the directions (1, 1) and (1, -1).
        cleaned = cleaned_gram(np.array([[1, 0.99], [0.99, 1]]), 1e-9)
        values, vectors = np.linalg.eigh(cleaned)
        np.testing.assert_allclose(values, [0.1, 1.99])
        np.testing.assert_allclose(np.abs(vectors), np.sqrt(0.5))

    def test_units_do_not_matter(self):
        noisy, scale = np.array([[1.1, 0.4], [0.4, 0.8]]), 0.3
        np.testing.assert_allclose(
            cleaned_gram(noisy * scale, 0.05 * scale, scale), cleaned_gram(noisy, 0.05) * scale, rtol=1e-12
        )


@given(noisy_grams())
def test_positive_definite_is_the_identity_where_nothing_is_to_mend(matrix):
    usable = matrix @ matrix.T + 0.3 * np.eye(len(matrix)) * np.abs(matrix @ matrix.T).max() + 0.1 * np.eye(len(matrix))
    np.testing.assert_allclose(positive_definite(usable), usable, atol=1e-9 * np.abs(usable).max())
    mended = positive_definite(matrix + 1e-3 * np.eye(len(matrix)))
    np.testing.assert_allclose(mended, mended.T, atol=1e-12)
    assert np.linalg.eigvalsh(mended)[0] > -1e-12
