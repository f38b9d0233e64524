"""How well probabilities do on records held out: the releases, what follows from them, and coverage."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from dpsparse.algorithms.evaluation_outcomes import (
    BIN_WIDTH,
    OUTCOME_SHARES,
    OutcomePlan,
    grouped,
    plausible,
    release_outcomes,
)
from dpsparse.inference.intervals import reach
from dpsparse.privacy.accounting.meter import BudgetExceeded, Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SeededSource, ZeroSource
from dpsparse.privacy.protection import ADJACENCIES

ESTIMATES = ("model", "constant", "improvement", "log_loss", "constant_log_loss", "auc")


def released(y, log_odds, *, constant=-1.0, source=None, guarantee=None):
    guarantee = guarantee or Guarantee(1.0, 1e-5)
    meter, plan = Meter(guarantee, len(y), source or ZeroSource()), OutcomePlan(guarantee, len(y))
    meter.commit(plan.commitment)
    return release_outcomes(meter, plan, y, log_odds, constant), meter


def records(n, rng, predicted=1.2, true=1.2, level=-1.0):
    z = rng.standard_normal(n)
    return (rng.random(n) < expit(level + true * z)).astype(float), level + predicted * z


def plain(y, log_odds, constant=-1.0):
    """What scikit-learn gives."""
    p, c = expit(log_odds), np.full(len(y), expit(constant))
    brier, of_constant = brier_score_loss(y, p), brier_score_loss(y, c)
    losses = log_loss(y, p), log_loss(y, c)
    return dict(zip(ESTIMATES, (brier, of_constant, of_constant - brier, *losses, roc_auc_score(y, p)), strict=True))


@settings(deadline=None, max_examples=30)
@given(
    st.floats(1e-3, 50), st.floats(1e-12, 0.2), st.sampled_from(ADJACENCIES), st.integers(1, 7), st.integers(2, 10**7)
)
def test_a_plan_is_within_its_guarantee_and_uses_it(epsilon, delta, adjacency, records_per_person, n):
    guarantee = Guarantee(epsilon, delta, adjacency, records_per_person)
    commitment = OutcomePlan(guarantee, n).commitment
    assert [slot.name for slot in commitment.slots] == list(OUTCOME_SHARES)
    assert commitment.is_within(guarantee)
    assert commitment.composed.rho >= 0.99 * guarantee.rho_per_record


def test_every_release_is_charged_at_its_price():
    y, log_odds = records(300, np.random.default_rng(0))
    guarantee = Guarantee(0.7, 1e-4)
    _, meter = released(y, log_odds, source=SeededSource(1), guarantee=guarantee)
    record = meter.record()
    assert [release.name for release in record.releases] == list(OUTCOME_SHARES)
    assert 0.69 < record.epsilon <= 0.7
    with pytest.raises(BudgetExceeded):
        release_outcomes(meter, OutcomePlan(guarantee, 300), y, log_odds, 0.0)


@pytest.mark.parametrize(("predicted", "true"), [(1.2, 1.2), (1.6, 1.0), (0.8, 1.2), (0.0, 1.0)])
def test_without_noise_the_estimates_are_those_of_scikit_learn(predicted, true):
    y, log_odds = records(20_000, np.random.default_rng(0), predicted, true)
    scores, _ = released(np.append(y, [np.nan] * 500), np.append(log_odds, np.zeros(500)))
    assert (scores.n_records, scores.n_responses) == (20_500, 20_000)
    for name, expected in plain(y, log_odds).items():
        found = getattr(scores, name)
        # What grouping costs is far below the standard error, of sampling and noise; that of a constant's difference
        # from itself is 0 but for rounding.
        assert abs(found.value - expected) < max(0.25 * found.standard_error, 1e-9), name


def test_calibration_is_that_of_tenths_of_the_records():
    y, log_odds = records(50_000, np.random.default_rng(0), predicted=1.6, true=0.8)
    scores, _ = released(y, log_odds)
    assert 8 <= len(scores.calibration) <= 10
    assert sum(each.share for each in scores.calibration) == pytest.approx(1.0)
    first, p, order = 0.0, expit(log_odds), np.argsort(log_odds)
    for decile in scores.calibration:
        inside = order[round(first * 50_000) : round((first + decile.share) * 50_000)]
        assert decile.predicted == pytest.approx(p[inside].mean(), abs=0.01)
        assert decile.observed.value == pytest.approx(y[inside].mean(), abs=1e-9)
        assert decile.observed.low <= y[inside].mean() <= decile.observed.high
        first += decile.share
    # Too extreme at both ends.
    assert scores.calibration[0].observed.low > scores.calibration[0].predicted
    assert scores.calibration[-1].observed.high < scores.calibration[-1].predicted


def test_the_stated_sampling_error_is_that_of_the_records():
    rng = np.random.default_rng(1)
    stated, values = [], []
    for _ in range(200):
        scores, _ = released(*records(2_000, rng), guarantee=Guarantee(500.0, 1e-5))
        values.append([getattr(scores, name).value for name in ESTIMATES])
        stated.append([getattr(scores, name).standard_error for name in ESTIMATES])
    # A standard deviation of 200 has an error of 5 %.
    assert np.median(stated, axis=0) == pytest.approx(np.std(values, axis=0), rel=0.2)


@cache
def expected(predicted, true, level):
    y, log_odds = records(400_000, np.random.default_rng(9), predicted, true, level)
    return plain(y, log_odds, level)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1_000, 10_000])
@pytest.mark.parametrize("law", [(1.2, 1.2, -1.0), (1.6, 1.0, 0.4), (0.8, 1.2, -2.5)])
def test_intervals_cover(law, n):
    rng, hits, known = np.random.default_rng(5), np.zeros(len(ESTIMATES)), np.zeros(len(ESTIMATES))
    for seed in range(400):
        scores, _ = released(*records(n, rng, *law), constant=law[-1], source=SeededSource(seed))
        for k, (name, truth) in enumerate(expected(*law).items()):
            found = getattr(scores, name)
            if found is not None:
                known[k] += 1
                hits[k] += abs(found.value - truth) <= reach(0.9) * found.standard_error
    # At 400 the standard deviation of a share of .9 is .015.
    assert (known >= 300).all()
    assert (hits / known).min() >= 0.86 - 0.015
    assert (hits / known).max() <= 0.97


@pytest.mark.parametrize("y", [np.full(100, np.nan), np.zeros(100), np.ones(100), np.full(100, np.inf)])
@pytest.mark.parametrize("log_odds", [0.0, 1e300, -np.inf, np.nan])
def test_degenerate_records_give_finite_numbers_within_their_limits(y, log_odds):
    for seed in range(3):
        scores, _ = released(y, np.full(100, log_odds), source=SeededSource(seed))
        for name in ESTIMATES:
            each, least = getattr(scores, name), -1.0 if name == "improvement" else 0.0
            if each is not None:
                assert least <= each.low <= each.value <= each.high < (math.inf if "log" in name else 1.0001)
        for decile in scores.calibration:
            assert 0 <= decile.observed.low <= decile.observed.value <= decile.observed.high <= 1
            assert 0 <= decile.predicted <= 1
            assert 0 <= decile.share <= 1


def test_too_few_of_yes_have_no_auc_and_too_few_records_the_whole_range():
    y = np.zeros(3_000)
    y[:5] = 1
    scores, _ = released(y, np.zeros(3_000), source=SeededSource(0))
    assert scores.auc is None
    scores, _ = released(np.full(200, np.nan), np.zeros(200), source=SeededSource(3))
    assert (scores.model.low, scores.model.high) == (0.0, 1.0)
    assert (scores.improvement.low, scores.improvement.high) == (-1.0, 1.0)


def test_a_constant_model_improves_on_itself_by_nothing():
    y, _ = records(5_000, np.random.default_rng(0))
    scores, _ = released(y, np.full(5_000, -1.0), constant=-1.0)
    assert scores.improvement.value == pytest.approx(0.0, abs=1e-12)
    assert scores.auc.value == pytest.approx(0.5)


def test_shares_are_the_nearest_that_are_possible():
    assert plausible(np.array([3.0, 1.0])) == pytest.approx([0.75, 0.25])
    assert plausible(np.array([-3.0, -9.0])).sum() == pytest.approx(1.0)


def test_groups_are_narrow_where_records_are_and_everywhere_of_some_width():
    points = BIN_WIDTH * np.arange(-64, 65)
    shares = np.where(np.abs(points) < 0.5, 1.0, 0.0)
    of = grouped(shares / shares.sum(), points[:-1] + BIN_WIDTH / 2, 20)
    assert of[0] == 0
    assert set(np.diff(of)) <= {0, 1}
    assert of[-1] < 20
    # Where all records are, each bin is a group of its own; elsewhere none spans more than a sixth of the angles.
    assert len(set(of[np.abs(points) < 0.5])) >= 7
    angles = np.arcsin(np.sqrt(expit(points))) / (np.pi / 2)
    assert max(np.ptp(angles[of == group]) for group in range(of[-1] + 1)) < 1 / 6
