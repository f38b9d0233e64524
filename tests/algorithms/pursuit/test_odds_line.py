"""The line of log odds on predicted ones, where mean scores of many features are taken, and their given units."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpsparse import PrivateSparseClassifier
from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.log_odds import over_spreads, slope_at, spread_of
from dpsparse.algorithms.pursuit.schedule import schedule_for, steps_of
from dpsparse.algorithms.pursuit.steps.all_columns import AllColumnsStep, _halfway
from dpsparse.algorithms.pursuit.steps.odds_line import OddsLineStep, _line, _slopes
from dpsparse.engine.links import LARGEST_PREDICTOR
from dpsparse.families.binomial import BINOMIAL
from dpsparse.inference.scores_together import Together
from dpsparse.privacy.guarantee import Guarantee


def names(n, d, sparsity):
    schedule = schedule_for(Guarantee(1.0, 1e-5), n=n, d=d, sparsity=sparsity, family=BINOMIAL)
    return [slot.name for slot in schedule.slots()]


def test_it_is_the_last_release_where_many_features_are_taken_and_made_nowhere_else():
    assert names(5_000, 30, 30)[-1] == "line of log odds"
    assert "line of log odds" not in [*names(5_000, 30, 3), *names(50_000, 5, 5)]
    assert not any(isinstance(step, OddsLineStep) for step in steps_of(PublicFacts(5_000, 30, 30, 0.02)))


def test_the_line_makes_the_constant_and_the_prediction_from_its_middle():
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(1_000), rng.normal([0.5, 0.0, -1.0], 1.0, (1_000, 3))])
    effects = np.array([0.3, 1.0, -0.5, 0.2])
    spread = spread_of(effects, rows.T @ rows / 1_000, 1)
    made = rows @ _line(effects, spread, 1).T
    odds = rows @ effects
    assert spread.middle == pytest.approx(odds.mean())
    assert spread.deviation == pytest.approx(odds.std())
    assert np.allclose(made[:, 0], 1.0)
    assert np.allclose(made[:, 1], (odds - odds.mean()) / odds.std())
    assert not made[:, 2:].any()


def test_no_slope_is_below_that_of_the_largest_log_odds_of_a_record():
    """Effects that noise chose make log odds of a thousand; of a slope of 0 the next mean score had a quotient."""
    slope = slope_at(0.3, np.eye(2), 1)
    assert slope(np.array([1e3, 0.0]), 1.0) == pytest.approx(np.exp(-LARGEST_PREDICTOR), rel=1e-4)
    assert slope(np.array([0.1, 0.2]), 1.0) == pytest.approx(0.24, abs=0.01)


def test_a_fit_ends_with_a_result_where_no_record_has_a_response():
    X = np.random.default_rng(0).normal(size=(900, 4))
    model = PrivateSparseClassifier(
        sparsity="auto", epsilon=2.0, missing="center", feature_center=0, feature_scale=1e6, random_state=0
    )
    with pytest.warns(UserWarning, match="seeded|responses"):
        assert not model.fit(X, np.full(900, np.nan)).explains_


def test_slopes_are_those_of_normal_log_odds():
    spread = spread_of(np.array([0.4, 1.5]), np.eye(2), 1)
    u = np.random.default_rng(1).standard_normal(400_000)
    p = 1 / (1 + np.exp(-(-0.7 + 0.4 + 1.5 * u)))
    weights = p * (1 - p) * np.minimum(1, 0.5 / np.maximum(p, 1 - p))
    expected = [[weights.mean(), (weights * u).mean()], [(weights * u).mean(), (weights * u**2).mean()]]
    assert np.allclose(_slopes(spread, -0.7, 0.5), expected, atol=1e-3)


@pytest.mark.parametrize(("n", "d", "follows"), [(5_000, 30, False), (50_000, 5, True)])
def test_scores_are_taken_at_the_most_likely_effects_where_a_step_starts_from_them(n, d, follows):
    schedule = schedule_for(Guarantee(1.0, 1e-5), n=n, d=d, sparsity=d, family=BINOMIAL)
    steps = [step for step in schedule.steps if isinstance(step, AllColumnsStep)]
    assert steps
    assert all(step.reference_follows == follows for step in steps)


def test_scores_of_many_features_are_taken_between_the_most_likely_effects_and_their_mean():
    precision, likely = np.diag([400.0, 20.0, 20.0]), np.array([0.5, 0.2, -0.1])
    solution = Together(likely, precision, precision @ likely)
    kept = np.array([0, 2, 3])
    effects = np.zeros(4)
    effects[kept] = likely
    state = SimpleNamespace(effects=effects, kept=kept, constants=1, evidence=SimpleNamespace(together=None))
    assert np.array_equal(_halfway(state, np.eye(3)), effects)
    state.evidence.together = solution
    mean = over_spreads(solution, np.eye(3), 1).effects
    # Effects that may be noise are shrunk, and a feature that is not kept stays as it is.
    assert abs(mean[1]) < 0.1
    assert np.allclose(_halfway(state, np.eye(3))[kept], (likely + mean) / 2)
    assert effects[1] == _halfway(state, np.eye(3))[1] == 0.0


@pytest.mark.slow
def test_predictions_of_strong_effects_of_many_features_are_calibrated():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40_000, 40))
    beta = np.zeros(40)
    beta[:10] = 1.3
    odds = X @ beta
    y = rng.random(40_000) < 1 / (1 + np.exp(-odds))
    known = {"feature_center": 0.0, "feature_scale": 1.0}
    model = PrivateSparseClassifier(sparsity=40, random_state=1, **known).fit(X[:6_000], y[:6_000])
    predicted = model.decision_function(X[6_000:])
    # Without the line the slope of log odds on predicted ones is 1.6 to 1.7.
    slope = np.cov(predicted, odds[6_000:])[0, 1] / predicted.var()
    assert 0.8 < slope < 1.4


def test_given_units_of_many_features_are_checked_in_larger_tables_only():
    few, many = (PublicFacts(20_000, 60, sparsity, 0.01, family=BINOMIAL) for sparsity in (5, 60))
    assert few.size > c.CHECK_UNITS_OF_ODDS_FROM
    assert decisions.learns_units(few)
    assert not decisions.learns_units(many)
    assert decisions.learns_units(PublicFacts(200_000, 60, 60, 0.01, family=BINOMIAL))
