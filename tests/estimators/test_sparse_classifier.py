"""`PrivateSparseClassifier`: scikit-learn's checks, statsmodels' logistic regression, and hostile tables."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import PrivateSparseClassifier, read_table
from dpsparse.data.public_units import STANDARDIZED

# Some tests leave out privacy's noise, others have few records.
pytestmark = [pytest.mark.filterwarnings("ignore:epsilon="), pytest.mark.filterwarnings("ignore:With n=")]

PUBLIC = "labels are public: those that the records hold are not learned from them, and yes is named by a parameter"
REFUSED = dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_fit2d_1feature",
    ),
    PUBLIC,
) | {"check_classifiers_one_label": "of ten records at this epsilon noise alone tells which label is more probable"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [PrivateSparseClassifier(sparsity=2, **STANDARDIZED)], expected_failed_checks=lambda _: REFUSED, xfail_strict=True
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_what_is_not_fitted_says_so():
    for ask in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(PrivateSparseClassifier(), ask)(np.zeros((3, 2)))


def table(n=6_000, d=8, share=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 2] = (X[:, 2] > 1) + 0.5 * X[:, 0]
    odds = X @ np.array([1.0, -0.6, 0.8, *[0.0] * (d - 3)])
    odds += np.log(share / (1 - share)) - odds.mean()
    return X, (rng.random(n) < expit(odds)).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"sparsity": 3, **STANDARDIZED},
        {"sparsity": 3},
        {"sparsity": 8},
        {"sparsity": 3, "fit_intercept": False, **STANDARDIZED},
    ],
    ids=["units known", "units unknown", "all features", "no intercept"],
)
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_without_privacy_to_speak_of_it_is_statsmodels_logit(options, share):
    Logit = pytest.importorskip("statsmodels.api", reason="extra bench").Logit
    X, y = table(share=share)
    model = PrivateSparseClassifier(epsilon=1_000.0, random_state=0, **options).fit(X, y)
    assert set(model.support_) >= {0, 1}
    chosen = np.sort(model.support_)
    design = X[:, chosen]
    if model.fit_intercept:
        design = np.column_stack([np.ones(len(y)), design])
    reference = Logit(y, design).fit(disp=0)
    constants = int(model.fit_intercept)
    middles = model.conf_int(0.9)[chosen].mean(axis=1)
    errors = reference.bse[constants:]
    # Two steps from a pursuit's effects leave a little of the curve, in units of sampling errors.
    np.testing.assert_allclose(middles, reference.params[constants:], atol=0.25 * errors.max())
    np.testing.assert_allclose(model.coef_se_[chosen], errors, rtol=0.25)
    if model.fit_intercept and not np.any(model.coef_[chosen] == 0):
        np.testing.assert_allclose(expit(model.decision_function(X)).mean(), y.mean(), atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 10, 100])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300])
@pytest.mark.filterwarnings("ignore")
def test_noise_larger_than_every_share_ends_in_finite_numbers(n, epsilon, scale):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 3)) * scale, rng.integers(0, 2, n)
    for options in ({}, STANDARDIZED, {"fit_intercept": False}, {"sparsity": 3}):
        model = PrivateSparseClassifier(**({"sparsity": 1, "epsilon": epsilon, "random_state": 0} | options)).fit(X, y)
        assert np.isfinite([*model.coef_, model.intercept_]).all()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.01, 1.0])
def test_rare_and_equal_outcomes_end_in_finite_numbers(share):
    X = np.random.default_rng(0).standard_normal((5_000, 4))
    y = (np.arange(5_000) < share * 5_000).astype(int)
    model = PrivateSparseClassifier(sparsity=2, random_state=0, **STANDARDIZED).fit(X, y)
    assert np.isfinite([*model.coef_, model.intercept_]).all()
    assert abs(model.predict_proba(X)[:, 1].mean() - share) < 0.15


@pytest.mark.slow
def test_separated_classes_end_in_finite_numbers():
    X = np.random.default_rng(0).standard_normal((5_000, 4))
    model = PrivateSparseClassifier(sparsity=1, epsilon=5.0, random_state=0, **STANDARDIZED).fit(X, X[:, 2] > 0)
    assert model.support_.tolist() == [2]
    assert 1 < model.coef_[2] < 100
    assert model.score(X, X[:, 2] > 0) > 0.95


@pytest.mark.slow
def test_one_record_far_out_moves_little():
    X, y = table()
    fits = []
    for far in (1.0, 1e6, 1e300):
        X[7] = far * np.sign(X[7])
        fits.append(PrivateSparseClassifier(sparsity=3, random_state=0, **STANDARDIZED).fit(X, y).coef_)
    np.testing.assert_allclose(fits[1], fits[2], atol=1e-3)
    np.testing.assert_allclose(fits[0], fits[1], atol=0.1)


def test_a_label_and_its_complement_have_opposite_odds():
    X, y = table(3_000)
    yes, no = (
        PrivateSparseClassifier(sparsity=2, positive=positive, random_state=0, epsilon=50.0, **STANDARDIZED).fit(X, y)
        for positive in (1, 0)
    )
    assert no.classes_.tolist() == ["not 0", "0"]
    np.testing.assert_allclose(no.coef_, -yes.coef_, atol=0.05)
    np.testing.assert_allclose(no.predict_proba(X), yes.predict_proba(X)[:, ::-1], atol=0.05)


def test_the_label_of_yes_in_a_raw_table_is_given_where_it_is_read():
    table = read_table(pd.DataFrame({"x": np.arange(100.0), "denied": ["yes", "no"] * 50}), "denied")
    with pytest.raises(ValueError, match="positive is for arrays: give it to read_table"):
        PrivateSparseClassifier(positive="yes").fit(table)


def test_accuracy_is_of_labels_as_fit_reads_them():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4_000, 2))
    yes = X[:, 0] + rng.logistic(size=4_000) > 0
    model = PrivateSparseClassifier(sparsity=1, positive="yes", random_state=0, **STANDARDIZED)
    model.fit(X, np.where(yes, "yes", "no"))
    # The label of no is not known: predictions call it "not yes", and "no" is right all the same.
    right = np.mean((model.predict(X) == "yes") == yes)
    assert model.score(X, np.where(yes, "yes", "no")) == pytest.approx(right)
    assert right > 0.6


def test_predicted_log_odds_stay_within_what_the_records_can_tell():
    X, y = table()
    model = PrivateSparseClassifier(sparsity=3, random_state=0, **STANDARDIZED).fit(X, y)
    low, high = model.prediction_range_
    odds = model.decision_function(np.vstack([X, 1e6 * X[:50]]))
    assert low < odds[: len(X)].mean() < high < 12
    assert (odds.min(), odds.max()) == (low, high)
    assert ((odds[: len(X)] > low) & (odds[: len(X)] < high)).mean() > 0.99
