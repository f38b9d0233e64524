"""`evaluate` and `fit_and_evaluate` of counts and costs: deviance explained, with an exposure and without."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import d2_tweedie_score

from dpsparse import PrivateSparsePoissonRegressor, evaluate, fit_and_evaluate, load_model, read_table, save_model
from dpsparse.algorithms.evaluation_means import deviance_residuals
from dpsparse.data.public_units import STANDARDIZED

pytestmark = [
    pytest.mark.filterwarnings("ignore:epsilon="),
    pytest.mark.filterwarnings("ignore:random_state"),
    pytest.mark.filterwarnings("ignore:With n="),
]

RNG = np.random.default_rng(0)
YEARS = RNG.uniform(0.5, 4, 4_000)
X = RNG.standard_normal((4_000, 4))
Y = RNG.poisson(YEARS * np.exp(0.6 * X[:, 1]))
TRAIN, TEST = slice(0, 2_500), slice(2_500, None)
MODEL = PrivateSparsePoissonRegressor(sparsity=1, epsilon=9.0, random_state=0, **STANDARDIZED).fit(X[TRAIN], Y[TRAIN])


def test_deviances_are_scikit_learns():
    from sklearn.metrics import mean_poisson_deviance

    means = np.exp(0.3 * X[:, 1])
    assert (deviance_residuals(Y * 1.0, means) ** 2).mean() == pytest.approx(mean_poisson_deviance(Y, means))


def test_d2_is_that_of_the_records_as_far_as_deviances_are_not_cut():
    found = evaluate(MODEL, X[TEST], Y[TEST], epsilon=1e3, delta=1e-6, random_state=0)
    means = MODEL.predict(X[TEST])
    constant = np.full_like(means, np.exp(MODEL.released_.constant))
    cut = [np.minimum(deviance_residuals(Y[TEST] * 1.0, each), found.scores.deviance_cut) for each in (means, constant)]
    assert found.d2.value == pytest.approx(1 - (cut[0] ** 2).sum() / (cut[1] ** 2).sum(), abs=0.01)
    assert found.d2.low < found.d2.value < found.d2.high
    assert found.d2.value == pytest.approx(d2_tweedie_score(Y[TEST], means, power=1), abs=0.1)
    assert "D²" in found.summary()
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_model_file_keeps_the_scores(tmp_path):
    Z = np.column_stack([X, YEARS])
    asked = PrivateSparsePoissonRegressor(sparsity=1, epsilon=5.0, exposure=4)
    model, evaluation = fit_and_evaluate(asked, Z, Y)
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").scores == evaluation.scores
    assert evaluation.d2.low > 0
    assert evaluation.privacy == model.privacy_


def test_an_exposure_of_cells_counts_for_the_constant_too():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(years=YEARS, visits=Y)
    asked = PrivateSparsePoissonRegressor(sparsity=1, epsilon=5.0)
    model, evaluation = fit_and_evaluate(asked, read_table(frame, "visits", exposure="years"))
    # A constant rate knows the exposure: its mean is not one number.
    assert evaluation.constant_prediction == pytest.approx(Y.sum() / YEARS.sum(), rel=0.3)
    again = evaluate(model, frame, Y, epsilon=8.0)
    assert again.d2.low < evaluation.d2.high


def test_an_exposure_beside_the_records_is_refused():
    model = PrivateSparsePoissonRegressor(sparsity=1, epsilon=5.0).fit(X[TRAIN], Y[TRAIN], exposure=YEARS[TRAIN])
    with pytest.raises(ValueError, match="as a column of X"):
        evaluate(model, X[TEST], Y[TEST], epsilon=1.0)
