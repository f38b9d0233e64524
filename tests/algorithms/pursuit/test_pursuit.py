"""The pursuit's account and results; its releases are attacked in `tests/audit`."""

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant

from dpsparse.algorithms.pursuit.pursuit import Pursuit
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.algorithms.pursuit.steps.select import SplitsStep
from dpsparse.data.as_table import as_table
from dpsparse.data.public_units import public_units
from dpsparse.datasets import make_heavy_tailed
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SecureSource, SeededSource, ZeroSource

GUARANTEE = Guarantee(1.0, 1e-5)
KNOWN = {"center": 0.0, "scale": 1.0}


def at_centers(result):
    """The prediction where all features are at their centres."""
    return result.predictions.constant - result.features.shrunk_effects @ result.features.mean


def pursued(X, y, source, sparsity, *, center=None, scale=None, guarantee=GUARANTEE, meter=None, **options):
    """What a pursuit finds."""
    units = public_units(center, scale, range(X.shape[1]))
    schedule = schedule_for(guarantee, *X.shape, sparsity, units_known=units.known(), **options)
    meter = meter or Meter(guarantee, len(y), source)
    return Pursuit(as_table(X).rows(y), meter, schedule, units=units).run()


@pytest.mark.slow
@pytest.mark.parametrize("units", [KNOWN, {}, {"center": {0: 1.0}}])
@pytest.mark.parametrize("sparsity", [1, 2, 7])
@pytest.mark.parametrize("size", [(50, 9), (2_000, 30), (20_000, 12)])
def test_the_account_is_right_by_an_independent_accountant(sparsity, size, units):
    X, y, _ = make_heavy_tailed(*size, sparsity, random_state=0)
    meter = Meter(GUARANTEE, len(y), SecureSource())
    pursued(X, y, None, sparsity, meter=meter, **units)
    record = meter.record()
    accountant = RdpAccountant(1 + np.geomspace(1, 1e3, 20_001))
    slots = schedule_for(
        GUARANTEE, *size, sparsity, units_known=public_units(*map(units.get, KNOWN), range(size[1])).known()
    ).slots()
    made = {release.name: release for release in record.releases}
    for slot in slots:
        release = made.get(slot.name)
        if release is not None:
            ratio = release.sensitivity / release.scale
            count = size[1] if slot.name == "splits" else 1
            rho = count * (2 * ratio) ** 2 / 8 if release.kind.startswith("pick") else ratio**2 / 2
            assert rho <= release.rho * (1 + 1e-9)
            assert slot.pays_for(release)
        accountant.compose(dp_event.ZCDpEvent(slot.rho))
    assert 0.99 < record.epsilon <= 1.0
    # By zCDP the same releases cost a tenth of epsilon more at most: the saving of the Gaussian account.
    assert 1.0 < accountant.get_epsilon(1e-5) < 1.13


@pytest.mark.parametrize("units", [KNOWN, {}], ids=["known", "unknown"])
def test_without_noise_it_recovers_the_truth(units):
    X, y, coef = make_heavy_tailed(20_000, 40, 4, df=3, random_state=2)
    result = pursued(X, y + 3.0, ZeroSource(), 4, **units)
    estimate = np.zeros(40)
    estimate[result.features.support] = result.features.effects / result.features.scale
    np.testing.assert_allclose(estimate, coef, atol=0.05)
    at_zero = at_centers(result) - (result.features.shrunk_effects / result.features.scale) @ result.features.center
    assert at_zero == pytest.approx(3.0, abs=0.06)
    assert result.predictions.explains
    assert result.response.scale_known
    # A unit is near the standard deviation of its normal column; sizes come in steps of 1.3.
    np.testing.assert_allclose(result.features.center, 0.0, atol=0.1)
    assert (np.abs(np.log(result.features.scale)) < np.log(1.45)).all()


def root_of(equation, X, y, start):
    """The solution of the estimating equation on a sample, by damped Newton steps; the equation is written out here."""
    z = np.column_stack([np.ones(len(y)), (X[:, equation.features] - equation.center) / equation.scale])
    norm = np.linalg.norm(z, axis=1)
    v = np.minimum(1, equation.inner / norm) * np.minimum(1, equation.outer / norm)
    b = start
    for _ in range(60):
        r = y - z @ b
        score = (np.clip(r, -equation.tau, equation.tau) * v) @ z
        b = b + 0.7 * np.linalg.solve(((np.abs(r) <= equation.tau) * v * z.T) @ z, score)
    assert np.abs(score).max() < 1e-6 * len(y)
    return b[1:]


def unequal(n, seed):
    """Responses whose noise is four times as large on a quarter of the records; columns in all sorts of units."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12)) * np.geomspace(1e-3, 1e3, 12) + np.linspace(-5, 5, 12)
    X[:, 3] = rng.random(n) < 0.25
    X[:, 7] = np.exp(rng.standard_normal(n))
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    noise = rng.standard_t(3, n) * np.where(X[:, 3] > 0, 4, 1)
    return X, 100 + 2 * X[:, 3] + z[:, 10] - 0.6 * z[:, 0] + 0.5 * z[:, 7] + noise


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("epsilon", [100.0, 1e4, 1e6])
def test_with_little_noise_it_is_the_root_of_the_estimating_equation(known, epsilon):
    X, y = unequal(100_000, 0)
    units = {"center": X.mean(axis=0), "scale": X.std(axis=0)} if known else {}
    result = pursued(X, y, SeededSource(1), 4, guarantee=Guarantee(epsilon, 1e-6), **units)
    assert sorted(result.features.support) == [0, 3, 7, 10]
    root = root_of(result.equation, X, y, np.append(np.median(y), result.features.effects))
    assert np.linalg.norm(result.features.effects - root) < 0.01 * np.linalg.norm(root)
    assert (result.equation.features == result.features.support).all()
    assert result.features.trusted.all()


def test_units_of_normal_columns_come_out_right():
    rng = np.random.default_rng(0)
    center, scale = np.array([2011.0, 0.0, -3e-8, 50.0]), np.array([2.0, 1e8, 1e-8, 15.0])
    z = rng.standard_normal((20_000, 4))
    result = pursued(center + scale * z, z @ [1, -1, 0.5, 0.5] + rng.standard_normal(20_000), SeededSource(0), 4)
    assert result.features.support.tolist() == [0, 1, 2, 3]
    assert (np.abs(np.log(result.features.scale / scale)) < np.log(1.45)).all()
    np.testing.assert_allclose((result.features.center - center) / scale, 0.0, atol=0.15)
    assert result.features.learned.all()


@pytest.mark.parametrize("units", [KNOWN, {}], ids=["known", "unknown"])
@pytest.mark.parametrize("sparsity", [4, 6])
def test_features_are_picked_once(units, sparsity):
    X, y, _ = make_heavy_tailed(1_500, 6, 2, random_state=0)
    result = pursued(X, y, SeededSource(0), sparsity, **units)
    assert len(set(result.features.support)) == sparsity


@pytest.mark.slow
def test_where_nothing_is_there_it_says_so_or_predicts_almost_a_constant():
    explained = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((5_000, 20)), 7 + rng.standard_t(3, 5_000)
        result = pursued(X, y, SeededSource(seed), 3)
        assert np.linalg.norm(result.features.shrunk_effects) < 0.15
        assert at_centers(result) == pytest.approx(7, abs=0.2)
        explained.append(result.predictions.explains)
        if not result.predictions.explains:
            assert (result.features.shrunk_effects == 0).all()
            assert not result.features.trusted.any()
    assert not all(explained)


def test_the_range_of_predictions_holds_nearly_all_responses():
    X, y, _ = make_heavy_tailed(10_000, 10, 2, df=3, random_state=3)
    low, high = pursued(X, y + 50, SeededSource(0), 2).predictions.range
    assert ((y + 50 < low) | (y + 50 > high)).mean() < 0.05
    assert low < 50 < high
    assert high - low < 60 * np.median(np.abs(y))


def test_predictions_have_the_mean_of_a_skewed_response():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20_000, 5))
    y = X[:, 0] + rng.exponential(2.0, 20_000)
    result = pursued(X, y, SeededSource(0), 1)
    z = (X[:, result.features.support] - result.features.center) / result.features.scale
    predictions = at_centers(result) + z @ result.features.shrunk_effects
    # The median of the noise is 0.6 below its mean.
    assert (y - predictions).mean() == pytest.approx(0.0, abs=0.15)


def test_a_failed_release_is_not_hidden_by_the_sessions_that_were_never_opened(monkeypatch):
    X, y, _ = make_heavy_tailed(20_000, 6, 2, random_state=0)
    units = public_units(None, None, range(6))
    schedule = schedule_for(GUARANTEE, *X.shape, 2, units_known="none")
    assert schedule.slots()[0].name == "splits"
    pursuit = Pursuit(as_table(X).rows(y), Meter(GUARANTEE, len(y), SeededSource(0)), schedule, units=units)

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SplitsStep, "run", fail)
    with pytest.raises(KeyboardInterrupt):
        pursuit.run()


@pytest.mark.slow
def test_the_errors_are_those_of_repeated_fits():
    # Of 120 intervals at 90 %, 108 are expected to hold the truth; fewer than 98 have a probability of 0.1 %.
    held = total = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = 5 + 3 * rng.standard_normal((10_000, 10))
        y = X[:, :3] @ [0.4, -0.3, 0.2] + rng.standard_t(3, 10_000)
        result = pursued(X, y, SeededSource(seed), 3)
        truth = np.array([0.4, -0.3, 0.2, *np.zeros(7)])[result.features.support] * result.features.scale
        near = np.abs(result.features.effects - truth) < 1.645 * result.features.standard_errors
        held, total = held + (near & (truth != 0)).sum(), total + (truth != 0).sum()
    assert total > 100
    assert held / total > 98 / 120
