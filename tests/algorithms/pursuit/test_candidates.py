"""Candidates of a selection: which there are, and what they score."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpsparse.algorithms.pursuit.candidates import ALONE, Candidates, Companions
from dpsparse.algorithms.pursuit.decisions import clip_bound
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import Differing, FeatureUnit
from dpsparse.algorithms.pursuit.state import Response, ResponseUnit
from dpsparse.algorithms.pursuit.updates import initial, with_column, with_response
from dpsparse.data.as_table import as_table
from dpsparse.data.public_units import public_units
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer, weight_levels
from dpsparse.inference.reliability import is_rare
from dpsparse.privacy import sensitivity

N, D = 400, 7
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)) * np.geomspace(1e-6, 1e6, D)
X[:, 2] = RNG.random(N) < 0.3
X[:, 5] = 3.0
Y = RNG.standard_t(3, N)
TINY, SMALL, LARGE = 100.0, 1000.0, 2000.0


def opened(size, units_known, center=None, scale=None, table=X, splits=None, **options):
    facts = PublicFacts(N, D, 3, (size / N) ** 2, units_known=units_known, **options)
    selection = Candidates(as_table(table).rows(Y), facts, public_units(center, scale, range(D)))
    if splits is not None:
        selection.set_splits(splits)
    return selection.open(check_finite=True), started(facts)


def started(facts):
    """A state that knows the response's unit."""
    unknown = ResponseUnit()
    response = Response(unknown, unknown, 0.0, 1.0, N)
    return with_response(initial(facts, unknown, unknown, 1.0), facts, response)


def by_pairs(table, y, tau):
    half = N // 2
    signs = np.sign(table[:half] - table[: half - 1 : -1])
    return np.abs(FEATURE_LEVELS * signs.T @ weight_levels(y[:half] - y[: half - 1 : -1], math.sqrt(2) * tau))


def by_threshold(table, y, tau, splits=0.0):
    return np.abs(FEATURE_LEVELS * np.where(table > splits, 1, -1).T @ weight_levels(y, tau))


def candidates(selection, center, state):
    """The scores of those that can be selected, and their features."""
    state = replace(state, response=replace(state.response, center=center))
    scores, features, selected = selection.scores(state)
    return np.delete(scores, selected), np.delete(features, selected)


def test_public_units_below_the_size_at_which_they_are_checked():
    center, scale = X.mean(axis=0), X.std(axis=0) + 1
    selection, state = opened(SMALL, "all", center, scale)
    scores, features = candidates(selection, 0.2, state)
    assert features.tolist() == list(range(D))
    levels = Quantizer(clip_bound(PublicFacts(N, D, 3, (SMALL / N) ** 2)), center, scale).levels(X)
    np.testing.assert_array_equal(scores, np.abs(levels.T @ weight_levels(Y - 0.2, selection.tau(state))))


def test_public_units_that_are_checked_have_pairs_beside_them():
    selection, state = opened(LARGE, "all", 0.0, 1.0)
    scores, features = candidates(selection, 0.0, state)
    assert features.tolist() == 2 * list(range(D))
    np.testing.assert_array_equal(scores[D:], by_pairs(X, Y, selection.tau(state)))


def test_unknown_units_by_thresholds_and_pairs():
    selection, state = opened(SMALL, "none")
    scores, features = candidates(selection, 0.0, state)
    assert features.tolist() == 2 * list(range(D))
    tau = selection.tau(state)
    np.testing.assert_array_equal(scores[:D], by_threshold(X, Y, tau))
    np.testing.assert_array_equal(scores[D:], by_pairs(X, Y, tau))


def test_a_value_at_its_split_is_not_above_it():
    splits = np.array([0.0, 1e-6, 0.0, -1.5, 40.0, 3.0, 1e6])
    table = X.copy()
    table[:100] = splits
    for dtype in (np.float64, np.float32):
        selection, state = opened(SMALL, "none", table=table.astype(dtype), splits=splits)
        scores, _ = candidates(selection, 0.0, state)
        expected = by_threshold(table.astype(dtype), Y, selection.tau(state), splits.astype(dtype))
        np.testing.assert_array_equal(scores[:D], expected)


def test_a_small_table_has_pairs_alone():
    selection, state = opened(TINY, "none")
    scores, features = candidates(selection, 0.0, state)
    assert features.tolist() == list(range(D))
    np.testing.assert_array_equal(scores, by_pairs(X, Y, selection.tau(state)))


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_where_some_units_are_given_only_these_have_a_clipped_score(size):
    center, scale = np.full(D, np.nan), np.full(D, np.nan)
    center[[0, 3, 4]], scale[[0, 3]] = 0.0, 2.0
    selection, state = opened(size, "some", center, scale)
    _, features = candidates(selection, 0.0, state)
    # The third family is of pairs; a centre alone is no unit.
    assert features.tolist() == [0, 3] + 2 * list(range(D))


@pytest.mark.parametrize("units_known", ["all", "none", "some"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_selected_features_never_come_again(units_known, fit_intercept):
    center = {"all": 0.0, "none": None, "some": np.where(np.arange(D) < 4, 0.0, np.nan)}[units_known]
    scale = {"all": 1.0, "none": None, "some": np.where(np.arange(D) < 4, 1.0, np.nan)}[units_known]
    selection, state = opened(LARGE, units_known, center, scale, fit_intercept=fit_intercept)
    selected = []
    for feature in (4, 1, 6):
        scores, features = candidates(selection, 0.0, state)
        assert not set(selected) & set(features)
        assert set(selected) | set(features) == set(range(D))
        assert len(scores) == len(features)
        selection.records.add(feature)
        selection.pairs.add(feature)
        state = with_column(state, feature, FeatureUnit())
        selected.append(feature)


def test_no_score_exceeds_what_its_sensitivity_says():
    extreme = np.where(RNG.random((N, D)) < 0.5, -1e308, 1e308)
    selection, state = opened(SMALL, "none", table=extreme)
    scores, _ = candidates(selection, 0.0, state)
    assert scores.max() <= N * FEATURE_LEVELS * WEIGHT_LEVELS


def test_a_constant_column_has_no_score_by_pairs():
    selection, state = opened(LARGE, "none")
    scores, _ = candidates(selection, 0.0, state)
    assert scores[D:][5] == 0


def test_splits_are_counted_without_a_session():
    facts = PublicFacts(N, D, 3, (LARGE / N) ** 2, units_known="none")
    selection = Candidates(as_table(X).rows(Y), facts, public_units(None, None, range(D)))
    points = np.array([-1.0, 0.0, 0.5])
    counts = selection.count_splits(points, check_finite=True)
    assert counts.tolist() == [[*((column <= point).sum() for point in points), len(X)] for column in X.T]
    broken = X.copy()
    broken[0, 0] = np.nan
    selection = Candidates(as_table(broken).rows(Y), facts, public_units(None, None, range(D)))
    with pytest.raises(ValueError, match="finite"):
        selection.count_splits(points, check_finite=True)


# A variable of three levels beside a rest, as 0/1 features 1 to 3.
LEVELS = np.array([[False, False, False], [True, False, False], [False, True, False], [False, False, True]])
VARIABLE = Companions(
    {1: [2, 3], 2: [1, 3], 3: [1, 2]}, shares={1: 0.3, 2: 0.2, 3: 0.1}, groups=[[1, 2, 3]]
)  # fmt: skip


def scores_of_levels(levels, y, companions=VARIABLE):
    """Scores by threshold, of a table with a variable whose level each record has."""
    table = X.copy()
    table[:, 1:4] = LEVELS[levels]
    facts = PublicFacts(N, D, 3, (SMALL / N) ** 2, units_known="none")
    binary = np.isin(np.arange(D), [1, 2, 3])
    candidates = Candidates(as_table(table).rows(y), facts, public_units(None, None, range(D)), binary)
    candidates.set_splits(np.zeros(D - 3))
    selection, state = candidates.open(check_finite=True), started(facts)
    return selection.scores(state, companions)[0][:D], selection.tau(state)


def test_a_category_counts_for_its_variable():
    """Against the definition: the mean of its own score and the sum of |S_l|, less what chance gives."""
    levels = RNG.integers(4, size=N)
    # All levels matter alike, and no one of them much.
    y = np.array([1.5, -1.5, 1.5, -1.5])[levels] + RNG.standard_normal(N) / 4
    scores, tau = scores_of_levels(levels, y)
    alone, _ = scores_of_levels(levels, y, ALONE)
    weights = weight_levels(y, tau)
    whole = FEATURE_LEVELS * sum(abs(weights[levels == level].sum()) for level in range(4))
    chance = sum(map(math.sqrt, (0.3, 0.2, 0.1, 0.4))) - 1
    whole -= math.ceil(FEATURE_LEVELS * WEIGHT_LEVELS * math.sqrt(N) * chance)
    np.testing.assert_array_equal(scores[1:4], np.maximum(alone[1:4], (alone[1:4] + whole) // 2))
    np.testing.assert_array_equal(np.delete(scores, [1, 2, 3]), np.delete(alone, [1, 2, 3]))
    assert np.all(scores[1:4] > alone[1:4])


@pytest.mark.parametrize("seed", range(40))
def test_one_record_moves_a_variable_no_further_than_a_feature(seed):
    """Neighbours at random, and the worst: one level, opposite residuals; the bound is reached there."""
    rng = np.random.default_rng(seed)
    levels, y = rng.integers(4, size=N), rng.standard_t(2, N) * 10.0 ** rng.integers(-2, 3)
    others = levels.copy(), y.copy()
    others[0][17], others[1][17] = rng.integers(4), -1e9 * rng.choice([-1, 1])
    y[17] = 1e9
    bound = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, "replace-one")
    free = replace(VARIABLE, shares=dict.fromkeys((1, 2, 3), 0.0))
    for companions in (VARIABLE, free):
        moved = scores_of_levels(levels, y, companions)[0] - scores_of_levels(*others, companions)[0]
        assert np.abs(moved).max() <= bound


def test_the_bound_of_a_variable_is_reached():
    levels, y = np.arange(N) % 4, np.where(np.arange(N) % 4 == 1, 1e9, -1e9)
    other = y.copy()
    other[1] = -1e9
    free = replace(VARIABLE, shares=dict.fromkeys((1, 2, 3), 0.0))
    moved = scores_of_levels(levels, y, free)[0] - scores_of_levels(levels, other, free)[0]
    assert np.abs(moved[1]) == sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, "replace-one")


def test_a_category_that_comes_along_and_hardly_a_record_has_is_rare():
    companions = Companions({0: [1, 2]}, {1: 0.2, 2: 0.005})
    shares = np.array([companions.unit(feature, {}).differing.least for feature in (1, 2)])
    assert is_rare(10_000, shares).tolist() == [False, True]


PRODUCT = Companions({}, {1: 0.3, 2: 0.2, 3: 0.1}, products=[[1, 2, 3]], numbers={0: 0, 1: 0, 2: 0, 3: 0})


def scores_of_product(numbers, levels, y, companions=PRODUCT):
    """Scores by threshold: features 1 to 3 are feature 0 in records of a category, and missing in all others."""
    table = np.zeros((N, D))
    table[:, 0] = numbers
    table[:, 1:4] = np.where(levels[:, None] == np.arange(1, 4), numbers[:, None], np.nan)
    facts = PublicFacts(N, D, 3, (SMALL / N) ** 2, units_known="none", missing=True)
    units, same = public_units(None, None, range(D)), companions.numbers
    candidates = Candidates(
        as_table(table).rows(y), facts, units, may_be_missing=np.zeros(D, dtype=bool), same_split=same
    )
    # The others have the threshold of the number.
    candidates.set_splits(np.append(0.5, np.zeros(D - 4)))
    selection, state = candidates.open(check_finite=False), started(facts)
    return selection.scores(state, companions)[0][:D], selection.tau(state)


def test_a_product_counts_as_a_whole():
    """Against the definition: the mean of its own score and the sum of |S_l|, less what chance gives."""
    levels, numbers = RNG.integers(4, size=N), RNG.standard_normal(N)
    signs = np.where(numbers > 0.5, 1, -1)
    y = np.array([0, 1.5, -1.5, 1.5])[levels] * signs + RNG.standard_normal(N) / 4
    scores, tau = scores_of_product(numbers, levels, y)
    alone, _ = scores_of_product(numbers, levels, y, Companions(numbers=PRODUCT.numbers))
    weights = weight_levels(y, tau) * signs
    sums = np.array([abs(weights[levels == level].sum()) for level in (1, 2, 3)])
    np.testing.assert_array_equal(alone[1:4], FEATURE_LEVELS * sums)
    chance = sum(map(math.sqrt, (0.3, 0.2, 0.1))) - 1
    whole = FEATURE_LEVELS * sums.sum() - math.ceil(FEATURE_LEVELS * WEIGHT_LEVELS * math.sqrt(N) * chance)
    np.testing.assert_array_equal(scores[1:4], np.maximum(alone[1:4], (alone[1:4] + whole) // 2))


@pytest.mark.parametrize("seed", range(20))
def test_one_record_moves_a_product_no_further_than_a_feature(seed):
    rng = np.random.default_rng(seed)
    levels, numbers, y = rng.integers(4, size=N), rng.standard_normal(N), rng.standard_t(2, N)
    others = numbers.copy(), levels.copy(), y.copy()
    others[0][17], others[1][17], others[2][17] = rng.choice([-9.0, 9.0, np.nan]), rng.integers(4), -1e9
    y[17] = 1e9
    free = replace(PRODUCT, shares=dict.fromkeys((1, 2, 3), 0.0))
    moved = scores_of_product(numbers, levels, y, free)[0] - scores_of_product(*others, free)[0]
    assert np.abs(moved).max() <= sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, "replace-one")


def test_a_product_has_the_unit_of_its_number_among_its_records():
    number = FeatureUnit(center=50.0, scale=15.0, learned=True)
    of_few = FeatureUnit(center=40.0, scale=15 * 0.3, differing=Differing(0.09), learned=True)
    for unit in (PRODUCT.unit(1, {0: number}), PRODUCT.of_product(1, of_few, {0: number})):
        assert (unit.center, unit.scale, unit.differing.share) == (50.0, pytest.approx(15 * math.sqrt(0.3)), 0.3)
    # A unit that noise may have chosen stays one.
    unsure = replace(of_few, differing=replace(of_few.differing, least=-0.01))
    assert PRODUCT.of_product(1, unsure, {}).differing.least < 0
    assert PRODUCT.unit(0, {1: unsure}).differing.least < 0
    # Before the number is selected its own unit tells, and the number has it then.
    assert PRODUCT.of_product(1, of_few, {}).center == 40.0
    assert PRODUCT.unit(0, {1: of_few}).scale == pytest.approx(15.0)
    assert PRODUCT.of_product(0, number, {}) is number
