"""benchmarks/theory.py: the bound of docs/theory.md holds where its conditions do; its algorithm costs its budget."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def theory():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("theory")
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_the_bound_is_the_page_s(theory):
    """One effect, worked out by hand: q = 0, M = 2 (1 + 24) = 50, L = log(12 * 20 / .05) + log(1e6)."""
    setting = theory.Setting(n=1_000_000, rho=1.0, s=1)
    level = np.log(4800) + np.log(1e6)
    last = 7 / 6 * level + 2 * np.sqrt(6) * np.sqrt(2 * np.log(6 * 3 / 0.05))
    assert setting.factors[1] == pytest.approx(last)
    assert setting.factors[0] == pytest.approx(last + 2 * np.log(3 * 20 / 0.05))
    assert setting.bound == pytest.approx(2 * np.sqrt(100 * last / 1e6) + 8 / 1e6)
    assert setting.holds
    assert not replace(setting, n=1_000).holds


@pytest.mark.slow
def test_errors_stay_below_the_bound_where_its_conditions_hold(theory):
    setting = theory.Setting(n=200_000, rho=2.0, moment=theory.student_moment(3.0, 2.0), d=8, s=1, correlation=0.04)
    assert setting.holds
    truth = np.eye(8)[0]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = theory.draw(setting.n, setting.d, setting.s, setting.correlation, 3.0, rng)
        found = theory.plain_pursuit(X, y, setting, rng)
        assert np.linalg.norm(found - truth) < setting.bound


def test_features_and_noise_are_as_assumed(theory):
    X, y = theory.draw(40_000, 6, 2, 0.04, 3.0, np.random.default_rng(0))
    assert set(np.unique(X)) == {-1, 1}
    correlations = np.corrcoef(X.T.astype(float))[np.triu_indices(6, 1)]
    # The standard error of one is 1 / sqrt(40,000) = .005, of their mean less.
    assert np.mean(correlations) == pytest.approx(0.04, abs=0.01)
    assert theory.student_moment(3.0, 2.0) == pytest.approx(3.0)
    np.testing.assert_allclose(theory.scores(X, y, np.zeros(6), np.inf), (X * y[:, None]).mean(axis=0), atol=1e-5)


def test_the_plain_pursuit_spends_its_budget(theory):
    """Two records at the bounds, with opposite residuals, against the noise of every step."""
    setting = theory.Setting(n=1_000, rho=0.3, s=3, d=5)
    cost = setting.s * setting.pick_epsilon**2 / 8
    for stage, tau in enumerate((setting.clips[0], setting.clips[0], setting.clips[1])):
        one = np.full(stage + 1, tau * setting.clip) / setting.n
        moved = np.linalg.norm(one - -one)
        cost += setting.steps * moved**2 / (2 * setting.step_noise(stage) ** 2)
    assert cost == pytest.approx(setting.rho)


def test_the_page_says_what_the_committed_results_say(theory):
    page = (BENCHMARKS.parent / "docs" / "theory.md").read_text()
    assert theory.table(json.loads(theory.RESULTS.read_text())) in page
