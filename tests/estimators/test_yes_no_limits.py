"""Yes/no responses where they are hard: rare features far from 0, too many features, separation, a rare yes."""

import numpy as np
import pytest
from scipy.special import expit

from dpsparse import PrivateSparseClassifier
from dpsparse.algorithms.pursuit import decisions, grids
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.result import NOTHING_LEARNED, TOO_NOISY
from dpsparse.families.binomial import BINOMIAL

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_rare_feature_far_from_0_is_selected_in_unknown_units():
    found = 0
    for seed in range(4):
        rng = np.random.default_rng([2931, seed])
        X = 9.8 + 12.3 * (rng.random((10_000, 60)) < 0.1)
        y = rng.random(10_000) < expit(1.2 * (X[:, 7] - 11) / 12.3)
        found += 7 in PrivateSparseClassifier(sparsity=3, random_state=seed).fit(X, y).support_
    assert found == 4


def test_fine_splits_have_a_point_between_near_values_far_from_0():
    facts = PublicFacts(10_000, 60, 5, 0.012, units_known="none", family=BINOMIAL)
    nats = decisions.split_nats(facts)
    assert nats > decisions.split_nats(PublicFacts(10_000, 60, 5, 0.012, units_known="none"))
    points = grids.splits(nats).points
    assert len(points) > len(grids.SPLITS)
    # A step of 15 %: between 9.8 and 11.4, and between any two such values.
    assert all(((low < points) & (points < 1.16 * low)).any() for low in np.geomspace(1e-6, 1e6, 50))


@pytest.mark.slow
def test_effects_of_too_many_features_have_no_intervals_and_say_why():
    rng = np.random.default_rng(2932)
    X = rng.standard_normal((4_000, 20))
    y = rng.random(4_000) < expit(X[:, 0])
    many = PrivateSparseClassifier(sparsity=20, random_state=0).fit(X, y)
    assert np.isnan(many.conf_int()).all()
    assert {effect.doubt for effect in many.released_.effects} == {TOO_NOISY}
    few = PrivateSparseClassifier(sparsity=3, random_state=0).fit(X, y)
    assert np.isfinite(few.conf_int()[few.support_]).all()


def test_separation_ends_in_a_finite_estimate_of_the_right_sign():
    rng = np.random.default_rng(2933)
    X = rng.standard_normal((10_000, 10))
    model = PrivateSparseClassifier(sparsity=2, random_state=0).fit(X, X[:, 4] > 0)
    assert np.isfinite(model.coef_).all()
    assert 1 < model.coef_[4] < 30
    assert np.mean(model.predict(X) == (X[:, 4] > 0)) > 0.9


@pytest.mark.parametrize("response", [0, 1])
def test_where_hardly_any_response_is_yes_or_no_there_are_no_effects(response):
    X = np.random.default_rng(2935).standard_normal((3_000, 4))
    y = np.full(3_000, response)
    model = PrivateSparseClassifier(sparsity=2, random_state=0).fit(X, y).released_
    assert not model.explains
    assert {effect.doubt for effect in model.effects} == {NOTHING_LEARNED}
    told = model.summary()
    assert "Nothing learned" in told
    assert "Odds ratios" not in told
    assert "as logistic regression gives them" not in told


def test_one_yes_in_a_hundred_is_predicted_as_rare():
    rng = np.random.default_rng(2934)
    X = rng.standard_normal((20_000, 10))
    y = rng.random(20_000) < expit(X[:, 2] - 5)
    chances = PrivateSparseClassifier(sparsity=1, random_state=0).fit(X, y).predict_proba(X)[:, 1]
    assert abs(chances.mean() - y.mean()) < 0.005


def test_residuals_of_the_last_steps_are_whole_in_large_tables():
    sizes = [decisions.last_bound(PublicFacts(n, 10, 5, 0.0121, family=BINOMIAL)) for n in (1_000, 33_000, 10**6)]
    assert sizes == pytest.approx([0.8, 0.9075, 1.0])
