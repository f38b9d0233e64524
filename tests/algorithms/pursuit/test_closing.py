"""Is the response's scale learned, is there a lump, and does a result name the true cause?"""

import math
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse import PrivateSparseRegressor
from dpsparse.algorithms.pursuit import updates
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.outcome import problem_of
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.algorithms.pursuit.state import Column, Conclusion, Evidence, Moments, Response, ResponseUnit
from dpsparse.algorithms.pursuit.steps import closing
from dpsparse.engine import queries
from dpsparse.engine.vector_sums import VECTOR_LEVELS
from dpsparse.privacy import sensitivity
from dpsparse.privacy.guarantee import Guarantee

RNG = np.random.default_rng(0)
X = RNG.normal(5.0, 2.0, (6_000, 8))


def fitted(y, X=X, **parameters):
    """A released model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"sparsity": 2, "epsilon": 1.0, "random_state": 0} | parameters
        return PrivateSparseRegressor(**options).fit(X[: len(y)], y).released_


def term(y, center, effect, most, near):
    """The integers that one record adds."""
    columns = (queries.Column.of(np.array([1.5])),)
    return queries.gain_sums(queries.Records(np.array([y]), None, columns), center, [effect], most, near)


anything = st.floats(allow_nan=True, allow_infinity=True)
finite, positive = st.floats(-1e9, 1e9), st.floats(1e-9, 1e9)


@given(anything, anything, finite, finite, positive, st.floats(0.01, 0.9))
def test_a_record_moves_gain_and_lump_by_no_more_than_the_sensitivity(y, other, center, effect, most, share):
    here, there = (np.float64(term(each, center, effect, most, share * most)) for each in (y, other))
    assert np.linalg.norm(here) <= VECTOR_LEVELS
    assert np.linalg.norm(here - there) <= sensitivity.bounded_norm_sum(VECTOR_LEVELS, "replace-one")


def test_a_null_record_adds_nothing():
    assert (term(np.nan, 0.0, 1.0, 1.0, 0.1) == 0).all()


def test_gain_and_lump_are_sums_over_records():
    y, x, most = np.array([0.0, 0.05, 3.0, -9.0]), np.array([0.0, 1.0, 2.0, -1.0]), 4.0
    records = queries.Records(y, None, (queries.Column.of(x),))
    sums = queries.gain_sums(records, 0.0, [1.0], most, 0.1) * math.sqrt(1.5) / VECTOR_LEVELS
    # Predictions are x. Products: 0, .05, 6, and 1 times 4 (clipped); squares: 0, 1, 4, 1. Two of four are near.
    np.testing.assert_allclose(sums, [10.05 / most**2, 6 / most**2 - 2, 0.0], atol=1e-5)


@pytest.mark.slow
def test_a_plain_response_has_neither_lump_nor_problem():
    model = fitted(X[:, 3] + RNG.standard_t(3, len(X)))
    assert (model.lumped, model.response_scale_known, model.explains, model.reason) == (False, True, True, "")


@pytest.mark.parametrize("units", [{}, {"feature_center": 5.0, "feature_scale": 2.0}])
def test_a_response_of_many_zeros_is_lumped(units):
    cost = np.where(RNG.random(len(X)) < 0.6, 0.0, np.exp(6 + RNG.normal(size=len(X))))
    assert fitted(cost, **units).lumped


def test_equal_responses_are_named():
    model = fitted(np.zeros(len(X)))
    assert not model.response_scale_known
    assert model.reason == "nearly all responses are equal"


def test_hardly_a_response_is_named():
    for share, named in ((0.0, True), (0.01, True), (0.6, False)):
        y = np.where(RNG.random(len(X)) < share, X[:, 3] + RNG.normal(size=len(X)), np.nan)
        model = fitted(y, missing="center")
        assert model.response_scale_known != named
        too_few = "too few records at this epsilon have a response that can be read as a number, a date, or true"
        assert (too_few in model.reason) == named


def test_too_few_records_are_named_from_public_numbers_alone():
    reasons = {fitted(X[:100, 0] * scale, epsilon=0.5).reason for scale in (0.0, 1.0, 1e6)}
    assert reasons == {"100 records are too few at this epsilon to learn the response's centre and scale"}
    # What is public is not learned.
    known = fitted(X[:100, 0], epsilon=0.5, response_center=5.0, response_scale=1.4)
    assert "the response's centre" not in known.reason


@pytest.mark.parametrize(
    ("residual_scale", "lumped", "words"),
    [
        (0.02, False, "a fiftieth of the response's: the fit is nearly exact"),
        (0.02, True, "a fiftieth of the response's: most responses are equal"),
        (2.0, False, "twice the response's: the fit went astray"),
        (0.03, False, None),
        (1.5, True, None),
    ],
)
def test_a_scale_at_the_end_of_its_range_is_named(residual_scale, lumped, words):
    schedule = schedule_for(Guarantee(1.0, 1e-6), 6_000, 8, 2)
    state = replace(
        started(schedule.facts),
        residual_scale=3.0 * residual_scale,
        conclusion=Conclusion(1.0, lumped=lumped, exact=residual_scale == 0.02),
    )
    problem = problem_of(schedule, state)
    assert words in problem.words if words else not problem
    assert problem.nearly_exact == (words is not None and words.endswith("nearly exact"))


def started(facts):
    """A state that knows the response's unit."""
    unknown = ResponseUnit()
    response = Response(unknown, unknown, 0.0, 3.0, facts.n)
    return updates.with_response(updates.initial(facts, unknown, unknown, 1.0), facts, response)


@pytest.mark.slow
def test_features_that_explain_nothing_are_named():
    models = [fitted(RNG.standard_t(2, 2_000), random_state=seed) for seed in range(12)]
    silent = [model for model in models if not model.explains]
    assert silent
    assert all(
        "not clearly nearer to the responses than a constant" in model.summary().replace("\n", " ") for model in silent
    )


@pytest.fixture
def shrunk_by(monkeypatch):
    """What the last steps make of effects with a constant before them."""

    def by(effects, covariance, trusted):
        features = len(effects)
        whole = np.eye(features + 1)
        whole[1:, 1:] = covariance
        facts = schedule_for(Guarantee(1.0, 1e-6), 6_000, 8, 2).facts
        state = replace(
            started(facts),
            columns=tuple(Column(place, FeatureUnit()) for place in range(features)),
            effects=np.append(7.0, effects),
            kept=np.arange(features + 1),
            moments=Moments(whole),
            conclusion=Conclusion(1.0),
            evidence=Evidence(solution=SimpleNamespace(effects=np.append(7.0, effects))),
        )
        monkeypatch.setattr(closing, "covariance_of", lambda _: whole)
        monkeypatch.setattr(closing, "trusted", lambda *_: trusted)
        made = closing.with_shrunk_effects(state, facts).concluded.effects
        assert made[0] == 7.0
        return made[1:]

    return by


def test_effects_with_uncorrelated_errors_shrink_by_themselves(shrunk_by):
    effects, errors = np.array([3.0, -2.0, 0.5]), np.array([1.0, 0.5, 1.0])
    shrunk = shrunk_by(effects, np.diag(errors**2), np.ones(3, dtype=bool))
    np.testing.assert_allclose(shrunk, effects * np.maximum(0, 1 - errors**2 / effects**2))
    unsure = shrunk_by(effects, np.diag(errors**2), np.array([False, True, True]))
    assert unsure[0] == 0.0


def test_effects_that_cancel_keep_what_they_say_together(shrunk_by):
    """The sum of two effects is known to .1, their difference to 4: to shrink each by itself would lose the sum."""
    turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    covariance = turn @ np.diag([0.1**2, 4.0**2]) @ turn
    effects = np.array([5.0, -3.0])
    alone = effects * np.maximum(0, 1 - np.diagonal(covariance) / effects**2)
    shrunk = shrunk_by(effects, covariance, np.ones(2, dtype=bool))
    assert abs(alone.sum() - 2.0) > 0.9
    assert shrunk.sum() == pytest.approx(2.0, abs=0.1)
