"""The categories of a selected one: how they enter a state, and the release that tells their effects."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivateSparseRegressor, read_table
from dpsparse.algorithms.pursuit import updates
from dpsparse.algorithms.pursuit.candidates import Companions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.schedule import steps_of
from dpsparse.algorithms.pursuit.state import Response, ResponseUnit
from dpsparse.algorithms.pursuit.steps.category_means import (
    CategoryMeansStep,
    _indicators,
    with_category,
    with_category_means,
)
from dpsparse.engine import scores
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.vector_sums import VECTOR_LEVELS
from dpsparse.families.estimands import MEAN
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.inference.weights import row_weight

SHARES = {20: 0.3, 21: 0.2, 22: 0.1}
VARIABLE = Companions({20: [21, 22], 21: [20, 22], 22: [20, 21]}, SHARES)


FACTS = PublicFacts(1000, 50, 2, 0.1)


def of_variable():
    """A state with two numbers, whose newest feature is a category, with the two others behind it."""
    unknown = ResponseUnit()
    state = updates.with_response(
        updates.initial(FACTS, unknown, unknown, 1.0), FACTS, Response(unknown, unknown, 0.0, 1.0, FACTS.n)
    )
    for number in (10, 11):
        state = updates.with_column(state, number, FeatureUnit())
    state = updates.with_column(state, 20, VARIABLE.unit(20, {}))
    for other in VARIABLE.categories(20):
        state = with_category(state, other, VARIABLE.unit(other, {}))
    return state


def take_gradient(state, offset, noise=0.01):
    """A gradient that says the effects of the kept columns are `offset` away from the present ones."""
    weight = row_weight(len(state.kept), 0.6, 1.5, state.constants)
    value = 0.5 * weight.gain * np.diagonal(state.moments.gram)[state.kept] * offset
    return updates.solved(updates.with_gradient(state, FACTS, value, noise, 0.7, 0.5, 0.0))


def by_category(state):
    """What is predicted for records of each category and of none, at 0 of all other columns."""
    units = [column.unit for column in state.columns[-3:]]
    records = np.vstack([np.eye(3), np.zeros(3)])
    columns = np.column_stack(
        [(record - unit.center) / unit.scale for record, unit in zip(records.T, units, strict=True)]
    )
    return state.effects[0] + columns @ state.effects[-3:]


def test_others_of_a_variable_come_behind_the_selected_one():
    state = of_variable()
    assert state.features == [10, 11, 20, 21, 22]
    assert state.came_with.tolist() == [-1, -1, -1, -1, 3, 3]
    assert state.kept.tolist() == [0, 1, 2, 3]
    assert state.newest == 3


def test_only_categories_have_others():
    products = replace(VARIABLE, numbers={20: 1, 21: 1, 22: 1})
    with_numbers = replace(VARIABLE, features={20: [21, 22, 30]})
    assert VARIABLE.categories(21) == [20, 22]
    assert VARIABLE.categories(10) == products.categories(20) == []
    assert with_numbers.categories(20) == [21, 22]


def test_precise_means_are_the_residuals_of_the_categories():
    state, residuals = of_variable(), np.array([2.0, -1.0, 7.0, -0.5])
    shares = np.array([*SHARES.values(), 0.4])
    moved = with_category_means(state, residuals * shares, 1e-9, shares[:3])
    np.testing.assert_allclose(by_category(moved), residuals, rtol=1e-6)
    np.testing.assert_array_equal(moved.effects[1:3], state.effects[1:3])
    np.testing.assert_array_equal(moved.fallback.before_slopes, state.effects)
    assert moved.columns[2].beside > 1e6


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_noise_moves_nothing(unit):
    state = of_variable()
    moved = with_category_means(state, unit * np.array([0.9, -0.9, 0.5, -0.2]), unit, np.array([*SHARES.values()]))
    np.testing.assert_array_equal(moved.effects, state.effects)
    assert moved.columns[2].beside == 0


def test_a_category_without_records_says_nothing():
    """What noise makes of those of none, where all records have a category."""
    moved = with_category_means(of_variable(), np.array([1.0, -1.0, 0.3, 0.5]), 0.1, np.array([0.5, 0.4, 0.1]))
    assert abs(by_category(moved)[3]) < 1e-9
    assert np.all(np.abs(by_category(moved)[:3]) > 1)


def test_least_squares_leave_effects_of_others_as_they_are():
    state = of_variable()
    state = with_category_means(state, np.array([0.3, -0.2, 0.4, -0.5]), 1e-3, np.array([*SHARES.values()]))
    before = state.effects[4:]
    state = take_gradient(state, np.array([0.0, 0.3, 0.0, 0.1]))
    np.testing.assert_array_equal(state.effects[4:], before)
    assert state.effects[1] == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(("sums", "kept"), [(0.4, [0, 1, 3]), (0.0, [0, 1, 2])])
def test_a_category_counts_for_the_others_and_goes_with_them(sums, kept):
    """Its own effect is the smallest. It stays where the means of the others are far from 0."""
    state = of_variable()
    noise = 1e-3 if sums else 1.0
    state = with_category_means(state, sums * np.array([0.0, 1.0, -1.0, 0.0]), noise, np.array([*SHARES.values()]))
    state = take_gradient(state, np.array([0.0, 0.5, 0.2, 0.0]), noise=0.02)
    state = updates.spare_dropped(state, FACTS)
    assert state.kept.tolist() == kept
    assert bool(state.effects[4:].any()) == (sums > 0)


def session_of(states):
    """Records of some categories and of none, each as columns in the units of a state."""
    rng = np.random.default_rng(3)
    levels = rng.integers(4, size=200)
    y = rng.standard_normal(200) + np.array([3.0, -2.0, 50.0, 0.0])[levels]
    X = np.column_stack([rng.standard_normal((200, 2)), *(levels == level for level in range(3))]).astype(float)
    session = DenseRows(X, y).session((), constant=True)
    for place, column in enumerate(states.columns):
        session.add(place)
        session.rescale(column.unit.center, column.unit.scale)
    return session, levels, y


def test_the_sums_are_of_clipped_residuals_by_category():
    """Against the definition. One record moves one entry, by the bound at most."""
    state, tau = of_variable(), 4.0
    session, levels, y = session_of(state)
    terms = scores.Terms("score", _indicators(state, [3, 4, 5]), (0, 3, 4, 5), 0.0, np.zeros(6), tau)
    sums = session.evaluate(scores.clipped_sums, terms, tau, tau, 0.0)
    expected = [np.clip(y[levels == level], -tau, tau).sum() for level in range(4)]
    np.testing.assert_allclose(sums * tau / VECTOR_LEVELS, expected, atol=1e-3)


def test_the_step_is_planned_where_a_step_to_the_estimand_follows():
    facts = PublicFacts(20_000, 30, 3, 0.02, units_known="none", family=RobustLinear(estimand=MEAN), categories=True)

    def shares(facts, rho=0.03):
        means = [step for step in steps_of(facts, rho) if isinstance(step, CategoryMeansStep)]
        return [planned.share for step in means for planned in step.planned()]

    assert shares(facts) == [0.005] * 4
    assert shares(facts, rho=0.0) == []
    for without in ({"categories": False}, {"fit_intercept": False}):
        assert set(shares(replace(facts, **without))) == {0.0}


def test_levels_that_matter_are_in_predictions_from_then_on():
    """Without them the number would be selected, and its effect made up for six levels that one of them leaves."""
    rng = np.random.default_rng(5)
    n = 20_000
    levels = rng.integers(7, size=n)
    number = levels + rng.standard_exponential(n) * 3
    y = 5.0 * np.array([0, 3, 1, 6, 2, 5, 4])[levels] + rng.standard_normal(n)
    frame = pd.DataFrame({"grade": np.array(list("ABCDEFG"))[levels], "paid": number, "noise": rng.random(n), "y": y})
    model = PrivateSparseRegressor(sparsity=1, epsilon=1.0, random_state=0).fit(read_table(frame, "y"))
    left = y - model.released_.predict(frame)
    assert math.sqrt(np.mean(left**2)) < 1.2
    assert {slot.name for slot in model.privacy_.releases if "category means" in slot.name}
