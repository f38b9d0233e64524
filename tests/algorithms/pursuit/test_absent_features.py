"""Features that prove absent before the last step: what is known of the others' effects stays, and is theirs."""

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivateSparsePoissonRegressor, PrivateSparseRegressor, read_table, tune
from dpsparse.algorithms.pursuit.steps.scored import _marginal


def test_the_precision_of_effects_that_stay_is_the_marginal_one():
    covariance = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    precision = np.linalg.inv(covariance)
    # A fourth column has no evidence yet.
    kept = _marginal(precision, np.array([True, False, True, True]))
    assert np.linalg.inv(kept) == pytest.approx(covariance[np.ix_([0, 2], [0, 2])])
    assert _marginal(precision, np.array([True, True, True, False])) is precision


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_candidates_on_a_raw_table_are_fitted_where_a_text_proves_absent():
    rng = np.random.default_rng(13)
    n = int(rng.choice([40, 300]))
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    frame.loc[rng.random(n) < 0.2, "a"] = np.nan
    frame["s"] = [None if rng.random() < 0.3 else repr(float(z)) for z in frame.b]
    frame["t"] = rng.choice(["north", "so,uth", "NA"], size=n)
    frame["c"] = abs(frame.c)
    frame["y"] = rng.poisson(np.exp(frame.b))
    options = {"epsilon": 3.0, "delta": 1e-3, "random_state": 13}
    candidates = [PrivateSparsePoissonRegressor(sparsity=size, **options) for size in (1, 2)]
    assert len(tune(candidates, read_table(frame, "y", exposure="c")).candidates) == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_feature_that_no_record_with_a_response_has_gets_no_interval():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, 2)), columns=["a", "b"])
    frame["y"] = 2 * frame.a + frame.b + rng.standard_t(3, size=len(frame))
    gone = rng.random(len(frame)) < 0.05
    frame = frame.assign(a=frame.a.mask(gone), y=frame.y.mask(gone))
    # All fits find both features; in about half of them the gap of the first comes along.
    models = [PrivateSparseRegressor(sparsity=2, epsilon=3.0).fit(read_table(frame, "y")) for _ in range(4)]
    reliable = [{effect.feature for effect in model.released_.effects if effect.trusted} for model in models]
    assert reliable == [{"a", "b"}] * 4
    assert any(effect.feature == "a (gap)" for model in models for effect in model.released_.effects)
