"""`tune` among classifiers."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from dpsparse import NotPrivateWarning, PrivateSparseClassifier, PrivateSparseRegressor, read_table, tune
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine.regrets import regret_sums, squared_errors
from dpsparse.privacy import sensitivity

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6_000, 8))
Y = RNG.random(6_000) < expit(-0.5 + 1.2 * X[:, 0] + X[:, 1] - X[:, 2])
WORDS = np.where(Y, "yes", "no")


def candidates(sparsities=(1, 3), **options):
    return [PrivateSparseClassifier(sparsity=s, **{"epsilon": 2.0, "random_state": 0, **options}) for s in sparsities]


@pytest.mark.slow
@pytest.mark.parametrize("units", [{}, STANDARDIZED])
def test_the_better_candidate_is_chosen_for_one_guarantee(units):
    with pytest.warns(NotPrivateWarning):
        tuned = tune(candidates(positive="yes", **units), X, WORDS)
    assert (tuned.index, tuned.estimator.sparsity) == (1, 3)
    assert set(tuned.estimator.support_) == {0, 1, 2}
    assert tuned.privacy.epsilon <= 2.0
    assert tuned.estimator.privacy_ == tuned.privacy
    assert tuned.estimator.classes_.tolist() == ["not yes", "yes"]
    assert abs(tuned.estimator.coef_[0] - 1.2) < 0.5


def test_a_candidate_that_is_far_off_is_not_chosen():
    """Public units that are wrong by far leave a candidate blind; it stands first, so that ties would choose it."""
    blind = PrivateSparseClassifier(
        sparsity=3, epsilon=2.0, random_state=0, positive="yes", feature_center=1e6, feature_scale=1.0
    )
    with pytest.warns(NotPrivateWarning):
        tuned = tune([blind, *candidates((3,), positive="yes", **STANDARDIZED)], X, WORDS)
    assert tuned.index == 1


def test_raw_tables():
    frame = pd.DataFrame(X, columns=list("abcdefgh")).assign(out=WORDS)
    with pytest.warns(NotPrivateWarning):
        tuned = tune(candidates(epsilon=4.0), read_table(frame, "out", positive="yes"))
    assert tuned.estimator.sparsity == 3
    assert {effect.feature for effect in tuned.estimator.released_.effects} <= set("abcdefgh")


@pytest.mark.parametrize(
    ("mixed", "message"),
    [
        ([PrivateSparseClassifier(), PrivateSparseRegressor()], "all of one class"),
        ([PrivateSparseClassifier(positive="a"), PrivateSparseClassifier(positive="b")], "the same positive"),
        ([], "one or more PrivateSparseRegressor, PrivateSparseClassifier,"),
    ],
)
def test_candidates_are_of_one_kind(mixed, message):
    with pytest.raises(ValueError, match=message):
        tune(mixed, X, Y)


def test_a_record_moves_the_sums_of_regrets_by_no_more_than_their_sensitivity():
    odds = [np.array([9.0, 0.0, np.inf, np.nan]), np.array([-9.0, 0.5, -np.inf, 0.0])]
    cells = [(np.array([y]), [of[k : k + 1] for of in odds]) for y in (0.0, 1.0, np.nan) for k in range(4)]
    each = [regret_sums(squared_errors(*cell), 0.5) for cell in cells]
    for one in each:
        for other in each:
            assert np.abs(one - other).max() <= sensitivity.regret(2**16, "replace-one")
    # The bound is reached.
    assert max(np.abs(one - other).max() for one in each for other in each) == 2**16
