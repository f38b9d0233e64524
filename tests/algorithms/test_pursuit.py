"""The pursuit's releases under attack: neighbouring tables with the same releases replayed."""

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.algorithms.pursuit import private_pursuit
from dpsparse.algorithms.schedule import make_schedule, schedule_for
from dpsparse.datasets import make_heavy_tailed
from dpsparse.engine.rows import rows_of
from dpsparse.privacy import selection
from dpsparse.privacy.budget import Promise
from dpsparse.privacy.noise import SecureSource, SeededSource, ZeroSource
from dpsparse.privacy.record import Meter

PROMISE = Promise(1.0, 1e-5)
HOSTILE = [0.0, -0.0, 5e-324, 1e-300, 0.4, 0.5, 1.0, 1.5, 1e150, 1e300, 1.7976931348623157e308]
value = st.one_of(st.sampled_from(HOSTILE + [-v for v in HOSTILE]), st.floats(-3, 3))


class Replay:
    """A source that keeps every statistic it is shown; in a second run it gives back the first run's outputs."""

    name, private, noiseless = "replay", False, False

    def __init__(self, script=None):
        self.noise, self.script, self.seen, self.given = SeededSource(0), script, [], []

    def _answer(self, statistic, fresh):
        self.seen.append(np.array(statistic))
        self.given.append(fresh() if self.script is None else self.script[len(self.given)])
        return self.given[-1]

    def gaussian(self, values, scale):
        return self._answer(values, lambda: self.noise.gaussian(values, scale))

    def pick(self, scores, rate, source):
        return self._answer(scores, lambda: real_pick(scores, rate, self.noise))


real_pick = selection.pick_index


def run(X, y, monkeypatch, script=None, sparsity=3, **options):
    source = Replay(script)
    monkeypatch.setattr(selection, "pick_index", source.pick)
    meter = Meter(PROMISE, len(y), source)
    result = private_pursuit(rows_of(np.asarray(X), np.asarray(y), 5), meter, sparsity=sparsity, **options)
    return result, source, meter.record()


def changes(first, second, record):
    """The change of each release's statistic against its declared sensitivity."""
    a, b = iter(first.seen), iter(second.seen)
    for release in record.releases:
        change = next(b).astype(object) - next(a).astype(object)
        if "pick" in release.mechanism:
            yield release, float(np.abs(change).max())
        elif "Gram matrix" in release.mechanism:
            off, diagonal = change, next(b).astype(object) - next(a).astype(object)
            yield release, math.sqrt(float((diagonal**2).sum() + 2 * (off**2).sum()))
        else:
            yield release, math.sqrt(float((change**2).sum()))
    assert next(a, None) is None


def test_no_release_moves_more_than_declared(monkeypatch):
    rng = np.random.default_rng(0)

    @settings(max_examples=150, deadline=None)
    @given(
        st.lists(value, min_size=6, max_size=6), st.lists(value, min_size=6, max_size=6), st.integers(0, 24),
        st.sampled_from(["C", "F"]), st.booleans(),
    )  # fmt: skip
    def check(row, other_row, i, order, duplicates):
        table = rng.standard_t(2, size=(25, 6))
        if duplicates:
            table[:] = row
        table[i] = row
        other = table.copy()
        other[i] = other_row
        first = run(np.asarray(table[:, 1:], order=order), table[:, 0], monkeypatch)
        second = run(np.asarray(other[:, 1:], order=order), other[:, 0], monkeypatch, script=first[1].given)
        assert first[2].releases == second[2].releases
        for release, change in changes(first[1], second[1], first[2]):
            assert change <= release.sensitivity * (1 + 1e-12), release.name
        # With the same releases the results are the same: whatever is not a release was not read.
        np.testing.assert_array_equal(first[0].effects, second[0].effects)
        np.testing.assert_array_equal(first[0].standard_errors, second[0].standard_errors)
        assert first[0].intercept == second[0].intercept

    check()


def test_the_bounds_are_reached(monkeypatch):
    # All features and residuals far beyond their clips, then of the opposite sign.
    table = np.random.default_rng(1).normal(size=(40, 5))
    other = table.copy()
    table[0], other[0] = [1e6, 50.0, 50.0, 50.0, 50.0], [-1e6, 50.0, 50.0, 50.0, 50.0]
    first = run(table[:, 1:], table[:, 0], monkeypatch)
    second = run(other[:, 1:], other[:, 0], monkeypatch, script=first[1].given)
    reached = {r.name: change / r.sensitivity for r, change in changes(first[1], second[1], first[2])}
    assert reached["pick 1"] == 1.0
    assert reached["response centre"] == 1.0
    for name in ("gradient 1", "gradient 2", "final gradient 1"):
        assert reached[name] > 1 - 1e-5
    # Two features, orthogonal rows for the Gram matrix; a residual that leaves the middle for the fraction.
    table, other = table[:, :3].copy(), other[:, :3].copy()
    table[0], other[0] = [0.0, 50.0, 50.0], [1e6, 50.0, -50.0]
    first = run(table[:, 1:], table[:, 0], monkeypatch, sparsity=2)
    second = run(other[:, 1:], other[:, 0], monkeypatch, sparsity=2, script=first[1].given)
    reached = {r.name: change / r.sensitivity for r, change in changes(first[1], second[1], first[2])}
    assert reached["Gram matrix"] > 0.998
    assert reached["fraction at gradient 1"] == 1.0


@pytest.mark.parametrize("sparsity", [1, 2, 7])
@pytest.mark.parametrize("size", [(50, 9), (2_000, 30)])
def test_the_account_is_right_by_an_independent_accountant(sparsity, size):
    X, y, _ = make_heavy_tailed(*size, sparsity, random_state=0)
    meter = Meter(PROMISE, len(y), SecureSource())
    private_pursuit(rows_of(X, y), meter, sparsity=sparsity)
    record = meter.record()
    accountant = RdpAccountant(1 + np.geomspace(1, 1e3, 20_001))
    for release in record.releases:
        ratio = release.sensitivity / release.scale
        rho = (2 * ratio) ** 2 / 8 if release.kind == "pick" else ratio**2 / 2
        assert rho <= release.rho * (1 + 1e-12)
        accountant.compose(dp_event.ZCDpEvent(rho))
    assert 0.999 < record.epsilon <= 1.0
    # By zCDP the same releases look dearer, by what the tight account saves: a tenth of epsilon at most.
    assert 1.0 < accountant.get_epsilon(1e-5) < 1.12
    assert [(r.kind, pytest.approx(r.rho)) for r in record.releases] == list(
        schedule_for(PROMISE, *size, sparsity).prices()
    )


@pytest.mark.parametrize("center_known", [True, False])
@pytest.mark.parametrize("scale_known", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@settings(max_examples=25, deadline=None)
@given(st.integers(2, 10**6), st.integers(1, 10**6), st.integers(1, 40), st.floats(1e-8, 50))
def test_schedules_spend_all_and_no_more(center_known, scale_known, fit_intercept, n, d, sparsity, rho):
    plan = make_schedule(
        n, d, sparsity, rho, center_known=center_known, scale_known=scale_known, fit_intercept=fit_intercept
    )
    total = math.fsum(rho for _, rho in plan.prices())
    assert total <= rho
    assert total == pytest.approx(rho, rel=1e-9)


def test_without_noise_it_recovers_the_truth():
    X, y, coef = make_heavy_tailed(20_000, 40, 4, df=3, random_state=2)
    found = private_pursuit(rows_of(X, y + 3.0), Meter(PROMISE, len(y), ZeroSource()), sparsity=4)
    estimate = np.zeros(40)
    estimate[found.support] = found.effects
    np.testing.assert_allclose(estimate, coef, atol=0.05)
    assert found.intercept == pytest.approx(3.0, abs=0.05)


def test_features_are_picked_once():
    X, y, _ = make_heavy_tailed(300, 6, 2, random_state=0)
    found = private_pursuit(rows_of(X, y), Meter(PROMISE, 300, SeededSource(0)), sparsity=6)
    assert sorted(found.support) == list(range(6))
