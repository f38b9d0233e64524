import numpy as np
import pytest
from scipy import sparse

from dpsparse.data.as_table import as_table
from dpsparse.data.predictions import linear_predictions
from dpsparse.engine.quantize import WEIGHT_LEVELS
from dpsparse.engine.regrets import absolute_errors, regret_sums, regrets

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 5)), RNG.standard_t(2, 60)
COEFS, INTERCEPTS = np.where(RNG.random((3, 5)) < 0.5, 0.0, RNG.normal(size=(3, 5))), np.array([0.0, 0.3, -2.0])


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_errors_are_those_of_prediction_and_depend_on_one_record(storage):
    errors = absolute_errors(as_table(storage(X)).rows(Y), COEFS, INTERCEPTS)
    np.testing.assert_allclose(errors, np.abs(Y - COEFS @ X.T - INTERCEPTS[:, None]), rtol=1e-12)
    apart = [absolute_errors(as_table(storage(X[[i]])).rows(Y[[i]]), COEFS, INTERCEPTS) for i in range(len(Y))]
    np.testing.assert_array_equal(errors, np.hstack(apart))


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_gaps_count_as_in_predictions_and_blank_records_have_no_error(storage):
    X_gaps, y, center, missing_coef = X.copy(), Y.copy(), np.linspace(-1, 1, 5), np.linspace(2, 0, 5)
    X_gaps[RNG.random(X.shape) < 0.2], y[::7] = np.nan, np.nan
    coefs = np.hstack([COEFS, missing_coef + COEFS * center])
    errors = absolute_errors(as_table(storage(X_gaps)).rows(y), coefs, INTERCEPTS)
    for coef, intercept, error in zip(COEFS, INTERCEPTS, errors, strict=True):
        predicted = linear_predictions(X_gaps, coef, intercept, None, center, missing_coef)
        np.testing.assert_allclose(error, np.abs(y - predicted), rtol=1e-12)
    assert regret_sums(errors[:, ::7], 1.0).tolist() == [0, 0, 0]


def test_unclipped_regrets_rank_models_as_absolute_errors_do():
    errors = np.abs(RNG.standard_t(1.5, (6, 500)))
    np.testing.assert_array_equal(np.argsort(regret_sums(errors, errors.max())), np.argsort(errors.sum(axis=1)))


def test_sums_are_integers_within_a_record_s_bound():
    errors = np.abs(RNG.standard_t(1, (4, 50)))
    exact = [sum(round(min(1.0, r) * WEIGHT_LEVELS) for r in row) for row in errors - errors.min(axis=0)]
    assert regret_sums(errors, 1.0).tolist() == exact
    for record in errors.T:
        sums = regret_sums(record[:, None], 1e-3)
        assert sums.min() == 0
        assert sums.max() <= WEIGHT_LEVELS


@pytest.mark.parametrize("record", [[np.nan] * 3, [np.inf] * 3, [np.nan, 1.0, 2.0]])
def test_a_null_record_adds_nothing(record):
    assert regret_sums(np.array(record)[:, None], 1.0).tolist() == [0, 0, 0]
    assert not (regrets(np.array(record)[:, None]) <= np.inf).any()
