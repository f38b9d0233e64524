"""benchmarks/peers: every adapter runs, its noise has the paper's scale, and without noise it is the open method."""

import importlib
import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def load():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield lambda name: importlib.import_module(f"peers.{name}")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def budget(load):
    return load("problem").Budget


class Scripted:
    """A source whose normal variables are given, one array for each call."""

    def __init__(self, *values):
        self.values = list(values)

    def standard_normal(self, shape=None):
        return np.zeros(shape or ()) + self.values.pop(0)


def delta_of(mu, epsilon):
    """Delta of a Gaussian mechanism of sensitivity over scale mu (Balle and Wang 2018)."""
    return stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)


def table(n=2_000, d=4, noise=0.1, seed=0):
    """Bounded features in units of their own, a response with an intercept."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) * np.arange(1, d + 1) + 7
    coef = np.linspace(1, 2, d)
    return X, X @ coef + 3 + noise * rng.standard_normal(n), coef


@pytest.mark.slow
def test_every_peer_runs_and_returns_a_line_in_raw_units(load, budget):
    peers, problem = load("adapters").PEERS, load("problem")
    X, y, coef = table(1_500, noise=1.0)
    for name, peer in peers.items():
        assert peer.name == name
        assert peer.needs in problem.NEEDS
        assert peer.paper
        assert peer.reproduced
        if peer.missing or peer.most_features == 1 or name.startswith("ours"):
            continue
        with np.errstate(all="raise", under="ignore"):
            line = peer.fit(X, y, budget(5.0, 0.0 if peer.pure else 1e-6, 4), np.random.default_rng(1))
        assert line.coef.shape == (4,)
        assert np.isfinite([*line.coef, line.intercept, *line.predict(X)]).all()
        if not peer.private:
            assert np.abs(line.coef - coef).max() < 0.2, name


@pytest.mark.parametrize("wrapper", ["with_exact_units", "with_row_norms", "with_clipped_rows"])
def test_exact_units_are_undone(load, budget, wrapper):
    """Least squares does not depend on units; rows clipped at sqrt(d) are still those of a noiseless line."""
    problem, ols = load("problem"), load("adapters.open_fits").ols
    X, y, coef = table(noise=0.0)
    wrapped = getattr(problem, wrapper)(ols)
    if wrapper == "with_clipped_rows":
        X = X[np.linalg.norm((X - X.mean(axis=0)) / X.std(axis=0), axis=1) < 1.9]
        y = X @ coef + 3
        X, y = X[np.abs(y - np.median(y)) < 1], y[np.abs(y - np.median(y)) < 1]
    line = wrapped(X, y, budget(1, 0, 4), None)
    np.testing.assert_allclose(line.coef, coef, rtol=1e-6 if wrapper != "with_clipped_rows" else 0.3)
    np.testing.assert_allclose(line.predict(X), y, rtol=1e-6 if wrapper != "with_clipped_rows" else 0.1)


def test_adassp_follows_algorithm_2(load, budget):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y, epsilon, delta = rng.uniform(-1, 1, 300), 0.5, 1e-6
    draws = 0.3, rng.standard_normal((3, 3)), np.array([1.0, -2.0, 0.5])
    line = load("adapters.adassp").fit(X, y, budget(epsilon, delta, 0), Scripted(*draws))
    part, gram = epsilon / 3, X.T @ X + np.eye(3)
    smallest = np.linalg.eigvalsh(gram)[0] + math.sqrt(math.log(6 / delta)) / part * 0.3 - math.log(6 / delta) / part
    ridge = math.sqrt(3 * math.log(6 / delta) * math.log(2 * 9 / 0.05)) / part - max(0, smallest)
    noisy = gram + math.sqrt(math.log(6 / delta)) / part * (draws[1] + draws[1].T) / 2 + max(0, ridge) * np.eye(3)
    expected = np.linalg.solve(noisy, X.T @ y + math.sqrt(math.log(6 / delta)) / part * draws[2])
    np.testing.assert_allclose(line.coef, expected)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_gaussian_noise_keeps_the_guarantee(load, epsilon):
    """Each scale against the Gaussian mechanism's curve, at the share of the guarantee that the paper gives it."""
    delta = 1e-6
    sgd, mixing, boosted = (load(f"adapters.{name}") for name in ("dp_sgd", "hessian_mixing", "boosted_adassp"))
    assert delta_of(2 * math.sqrt(sgd.STEPS) / sgd.noise_multiplier(epsilon, delta), epsilon) == pytest.approx(delta)
    mu = math.sqrt(mixing.STEPS) / mixing.product_scale(epsilon, delta)
    assert delta_of(mu, epsilon / 2) == pytest.approx(delta / 4)
    matrix = 1 / boosted.noise_scale(epsilon, delta)
    each_round = matrix / math.sqrt(boosted.ROUNDS)
    assert delta_of(math.sqrt(2 * matrix**2 + boosted.ROUNDS * each_round**2), epsilon) == pytest.approx(delta)


def test_hessian_mixing_renyi_divergence_is_the_gaussian_one(load):
    """One row of a sketch is N(0, L) and without a record N(0, L - 1); order a against numerical integration."""
    level, order, rows, delta = 30.0, 4.0, 50, 1e-7
    wide, narrow = stats.norm(scale=math.sqrt(level)), stats.norm(scale=math.sqrt(level - 1))

    def renyi(p, q):
        moment = integrate.quad(lambda x: math.exp(order * p.logpdf(x) + (1 - order) * q.logpdf(x)), -80, 80)[0]
        return math.log(moment) / (order - 1)

    formula = (order * math.log1p(-1 / level) - math.log1p(-order / level)) / (2 * (order - 1))
    assert max(renyi(wide, narrow), renyi(narrow, wide)) <= formula * (1 + 1e-6)
    mixing = load("adapters.hessian_mixing")
    at = mixing.mixing_level(rows, 3, 0.5, 3 * delta)
    assert mixing.sketch_epsilon(at, rows, 3, delta) == pytest.approx(0.5, rel=1e-4)


def test_dense_peers_become_least_squares(load, budget):
    """With a huge epsilon: features and residuals stay within all clips, so that only noise could part them."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (5_000, 3))
    X /= X.std(axis=0)
    y = X @ [0.5, -0.3, 0.2] + rng.uniform(-0.1, 0.1, 5_000)
    plenty, ols = budget(2_000.0, 1e-3, 3), load("adapters.open_fits").ols(X, y, None, None).coef
    small = X / np.linalg.norm(X, axis=1).max()
    factor = X[0, 0] / small[0, 0]
    # Three Newton steps with sketches of 6 d rows do not end at least squares exactly.
    for name, tolerance in (("adassp", 0.01), ("hessian_mixing", 0.03)):
        line = load(f"adapters.{name}").fit(small, y / 2, plenty, np.random.default_rng(0))
        np.testing.assert_allclose(line.coef * 2 / factor, ols, atol=tolerance, err_msg=name)
    for name, shrink in (("boosted_adassp", 0.55), ("dp_sgd", 1), ("tukey", 1)):
        # Boosted AdaSSP clips rows (1, x) at the norm 2.
        line = load(f"adapters.{name}").fit(shrink * X, y, plenty, np.random.default_rng(0))
        np.testing.assert_allclose(line.coef * shrink, ols, atol=0.01, err_msg=name)


def test_tukey_samples_the_shell_uniformly(load):
    tukey, rng = load("adapters.tukey"), np.random.default_rng(3)
    columns = np.sort(rng.standard_normal((21, 2)), axis=0)
    points = np.array([tukey.uniform_in_shell(columns, 4, rng) for _ in range(4_000)])
    low, high, inner_low, inner_high = columns[3], columns[-4], columns[4], columns[-5]
    assert ((points >= low) & (points <= high)).all()
    inside = (points > inner_low) & (points < inner_high)
    assert not inside.all(axis=1).any()
    # The share of points left of the inner box is that of its area.
    area, inner = np.prod(high - low), np.prod(inner_high - inner_low)
    expected = (inner_low[0] - low[0]) * (high - low)[1] / (area - inner)
    assert (points[:, 0] < inner_low[0]).mean() == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 4_000))


def test_tukey_fails_on_few_groups_and_passes_on_many(load, budget):
    tukey, rng = load("adapters.tukey"), np.random.default_rng(4)
    models = rng.standard_normal((1_500, 3)) * 0.1 + [1, 2, 3]
    assert tukey.deep_point(models[:40], 1.0, 1e-6, rng) is None
    np.testing.assert_allclose(tukey.deep_point(models, 1.0, 1e-6, rng), [1, 2, 3], atol=0.03)
    X, y, _ = table(60)
    line = tukey.fit(X, y, budget(1.0, 1e-6, 4), rng)
    assert not line.coef.any()
    assert line.intercept == y.mean()


def tau_a(x, y):
    """n/2 |tau| by the definition: all pairs, ties neither concordant nor discordant."""
    signs = np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))
    return abs(signs.sum() / 2) / (len(x) - 1)


def kendall_scores(kendall, X, y):
    orders = np.argsort(X, axis=0, kind="stable").T.astype(np.int32)
    return kendall.scores(np.ascontiguousarray(X.T), orders, y)


@pytest.mark.slow
def test_kendall_scores_and_their_sensitivity(load):
    kendall = load("adapters.kendall")

    @settings(max_examples=60)
    @given(st.lists(st.tuples(*[st.integers(-4, 4)] * 3), min_size=3, max_size=25))
    def check(records):
        data = np.array(records, dtype=float)
        every = kendall_scores(kendall, data[:, :2], data[:, 2])
        np.testing.assert_allclose(every, [tau_a(data[:, j], data[:, 2]) for j in range(2)])
        fewer = kendall_scores(kendall, data[1:, :2], data[1:, 2])
        assert np.abs(every - fewer).max() <= 1.5 + 1e-12

    check()
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 10))
    X[:, 4] = X[:, 3] + 0.01 * rng.standard_normal(400)
    chosen = kendall.select(X, X[:, 3] + 0.5 * X[:, 7] + 0.1 * rng.standard_normal(400), 2, 1e6, rng)
    # The copy of the selected feature is redundant.
    assert set(chosen) in ({3, 7}, {4, 7})


def test_dp_huber_scales_and_start(load):
    huber = load("adapters.dp_huber")
    n, d, s = 5_000, 4_999, 12
    clip = math.sqrt(math.log(5_000) + math.log(5_000))
    assert huber.peeling_scale(n, d, s, 0.1) == pytest.approx(2 * clip / n * 11 / 0.1)
    radius = math.sqrt(12) / 6
    expected = 2 * math.sqrt(1 + radius**2) * 3.0 * math.sqrt(2 * math.log(1.25 / 1e-5)) / (n * 0.1 * 0.2)
    assert huber.start_scale(n, 11, 3.0, 0.1, 1e-5) == pytest.approx(expected)
    for steps, delta in itertools.product((5, 20, 2_000), (1e-3, 1e-8)):
        each, each_delta = huber.step_budget(steps, 0.3, delta)
        assert each <= 0.3 / math.sqrt(steps)
        assert each_delta * steps <= delta
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((500, 3)), rng.standard_t(2, 500)
    start, rows = huber.huber_ridge(X, y, 1.0), np.minimum(1, 2 / 6 / np.linalg.norm(X, axis=1))[:, None] * X
    residuals = np.clip(y - start[0] - rows @ start[1:], -1, 1)
    gradient = 0.2 * start - 2 / 500 * np.append(residuals.sum(), rows.T @ residuals)
    np.testing.assert_allclose(gradient, 0, atol=1e-8)


@pytest.mark.slow
def test_dp_huber_without_noise_finds_the_features(load, budget):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((2_000, 50))
    y = X[:, [3, 20]] @ [2.0, -2.0] + rng.standard_normal(2_000)
    line = load("adapters.dp_huber").procedure(X, y, budget(1e6, 1e-6, 2), rng)
    assert set(np.argsort(-np.abs(line.coef))[:2]) == {3, 20}
    assert np.count_nonzero(line.coef) <= 4


@pytest.mark.slow
def test_best_subset_weighs_supports_as_the_exponential_mechanism(load):
    subset, rng = load("adapters.best_subset"), np.random.default_rng(8)
    X = np.clip(rng.standard_normal((200, 6)), -1, 1)
    y = np.clip(0.4 * X[:, 0] + 0.2 * X[:, 1] + 0.5 * rng.standard_normal(200), -1, 1)
    gram, products = X.T @ X, X.T @ y
    supports = np.array(list(itertools.combinations(range(6), 2)))
    losses = subset.fit_losses(gram, products, supports)

    def loss(coef, support):
        return coef @ gram[np.ix_(support, support)] @ coef - 2 * products[support] @ coef + 100 * coef @ coef

    ball = {"type": "ineq", "fun": lambda coef: 1.1**2 - coef @ coef}
    for value, support in zip(losses, supports, strict=True):
        best = optimize.minimize(loss, np.zeros(2), args=(support,), constraints=ball)
        assert value == pytest.approx(best.fun, rel=1e-5)
    rate = 0.3
    weights = np.exp(-rate * (losses - losses.min()))
    ends = [tuple(sorted(subset._chain(gram, products, rng.permutation(6), 2, rate, rng.random((150, 3)))))
            for _ in range(2_000)]  # fmt: skip
    shares = np.array([ends.count(tuple(support)) for support in supports]) / 2_000
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=5 * math.sqrt(0.25 / 2_000))
    # One record moves the loss by no more than the sensitivity that the rate rests on.
    other = gram + np.outer(np.ones(6), np.ones(6)) - np.outer(X[0], X[0]), products - np.ones(6) - X[0] * y[0]
    moved = subset.fit_losses(*other, supports) + 1 - y[0] ** 2 - losses
    assert np.abs(moved / (2 * 200)).max() <= subset.sensitivity(200, 2)


def test_frank_wolfe_noise_and_limit(load, budget):
    wolfe, rng = load("adapters.frank_wolfe"), np.random.default_rng(9)
    lipschitz = wolfe.FEATURE_CLIP * wolfe.RESIDUAL_CLIP
    expected = lipschitz * 2 * math.sqrt(8 * 50 * math.log(1e5)) / (1_000 * 0.5)
    assert wolfe.noise_scale(1_000, 50, budget(0.5, 1e-5, 4)) == pytest.approx(expected)
    X = rng.uniform(-1.7, 1.7, (2_000, 8))
    coef = np.array([0.8, -0.5, 0, 0, 0, 0, 0, 0.3])
    line = wolfe.fit(X, X @ coef, budget(1e6, 1e-5, 4), rng)
    np.testing.assert_allclose(line.coef, coef, atol=0.05)
    assert np.abs(line.coef).sum() <= 2 + 1e-12


def test_binagg_bins_are_a_partition_and_its_correction_is_that_of_noise_in_features(load):
    binagg, rng = load("adapters.binagg"), np.random.default_rng(11)
    X = rng.uniform(-1, 2, (400, 3))
    boxes, members = binagg.private_tree(X, np.tile([-1.0, 2.0], (3, 1)), 1.0, rng)
    assert sorted(np.concatenate(members)) == list(range(400))
    for box, rows in zip(boxes, members, strict=True):
        assert ((X[rows] >= box[:, 0]) & (X[rows] <= box[:, 1])).all()
    # A pure epsilon is as good as the mu whose likelihood ratio is e^epsilon at the even threshold.
    assert stats.norm.cdf(0.25) == pytest.approx(1 / (1 + math.exp(-binagg.pure_epsilon(0.5))))
    # Features with noise of variance 4: plain least squares is too small by 9 / 13, the corrected one is not.
    sums = 3 * rng.standard_normal((20_000, 1))
    noisy, ones = sums + 2 * rng.standard_normal(sums.shape), np.ones(20_000)
    found = binagg.corrected_least_squares(noisy, sums[:, 0], ones, np.full(sums.shape, 4.0), whole=True)
    plain = binagg.corrected_least_squares(noisy, sums[:, 0], ones, np.full(sums.shape, 4.0), whole=False)
    assert found.coef[0] == pytest.approx(1, abs=4 * found.errors[0])
    assert plain.coef[0] == pytest.approx(9 / 13, abs=0.02)
    # Its error: the noise's deviation 2 over the features' 3, and what the correction adds.
    assert 1 < found.errors[0] / (2 / 3 / math.sqrt(20_000)) < 2


def test_binagg_noise_of_sums_pays_for_all_coordinates(load, monkeypatch):
    """One record moves every coordinate of its bin's sum by its bound: together no more than the share of mu."""
    binagg = load("adapters.binagg")
    X, y = np.full((50, 4), 1.0), np.zeros(50)
    bounds = np.tile([0.0, 1.0], (4, 1))
    seen = []
    monkeypatch.setattr(binagg, "corrected_least_squares", lambda *arguments: seen.append(arguments))
    binagg.estimate(X, y, bounds, 1.0, 2.0, np.random.default_rng(0), intercept=False)
    variances = seen[0][3]
    share = 2.0 * 3 / math.sqrt(28)
    # All boxes that have records reach to 1, the bound of each coordinate.
    assert math.sqrt((1 / variances.min(axis=0)).sum()) <= share * (1 + 1e-12)


def test_noisy_newton_and_noisy_statistics_become_robust_and_least_squares(load, budget):
    rng = np.random.default_rng(12)
    X = rng.uniform(-1, 1, (5_000, 3))
    X /= X.std(axis=0)
    y = X @ [0.5, -0.3, 0.2] + rng.uniform(-0.1, 0.1, 5_000)
    ols = load("adapters.open_fits").ols(X, y, None, None).coef
    for name, epsilon in (("noisy_newton", 2_000.0), ("noisy_statistics", 1e5), ("binagg", 300.0)):
        shrink = 0.5 if name == "noisy_newton" else 1  # so that no row is shortened
        line = load(f"adapters.{name}").fit(shrink * X, y, budget(epsilon, 1e-3, 3), np.random.default_rng(0))
        np.testing.assert_allclose(line.coef * shrink, ols, atol=0.01, err_msg=name)
    statistics = load("adapters.noisy_statistics")
    assert statistics.classical_scale(0.4, 1e-6) == pytest.approx(math.sqrt(2 * math.log(1.25e6)) / 0.4)


def test_noisy_newton_noise_covers_the_worst_neighbours(load):
    """Two records at the norm bound: opposite for the gradient, orthogonal for the Hessian."""
    newton, n, d = load("adapters.noisy_newton"), 100, 3
    gradient_scale, hessian_scale = newton.noise_scales(n, d, 1.0, 1e-6)
    one, other = 2.0 * np.eye(4)[0], 2.0 * np.eye(4)[1]
    gradient = np.linalg.norm(newton.HUBER * (one + one)) / n / gradient_scale
    # The noise is sqrt(2) hessian_scale on every coordinate of the symmetric matrices.
    change = np.outer(one, one) - np.outer(other, other)
    hessian = np.linalg.norm(change) / n / (math.sqrt(2) * hessian_scale)
    assert delta_of(math.sqrt(newton.STEPS * (gradient**2 + hessian**2)), 1.0) == pytest.approx(1e-6)


def test_the_sensitivity_of_dprivstats_fails_on_neighbours(load):
    """One record holds up the smallest eigenvalue: without it least squares moves 100 times as far as claimed."""
    claimed, small = load("adapters.not_run").dprivstats_sensitivity, np.repeat([-0.01, 0.01], 100)
    without, y = np.column_stack([np.ones(200), small]), np.sign(small)
    with_it = without.copy()
    with_it[0, 1] = 9.9
    moved = np.linalg.norm(np.linalg.lstsq(without, y)[0] - np.linalg.lstsq(with_it, y)[0])
    assert moved > 100 * claimed(with_it, response_width=2.0)
    assert load("adapters").PEERS["DPrivStats"].missing


def test_opendp_spends_the_budget(load, budget):
    pytest.importorskip("opendp")
    libraries = load("adapters.libraries")
    rng = np.random.default_rng(10)
    x = rng.uniform(0, 10, (3_000, 1))
    line = libraries.opendp_theil_sen(x, 2 * x[:, 0] + 1 + rng.standard_normal(3_000), budget(5.0, 0, 1), rng)
    # Noise of OpenDP has no seed: at epsilon 5 the median of 1,500 pairs misses a grid of 100 steps by far less.
    assert abs(line.coef[0] - 2) < 1


def test_a_check_passes_within_its_tolerance(load):
    checks = load("checks")
    assert checks.Check("peer", "number", 1.0, 1.05, 0.1).passed
    assert not checks.Check("peer", "number", 1.0, 1.05, 0.01).passed
    (check,) = checks.check_tukey()
    assert check.passed
